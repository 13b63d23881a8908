package schema

import "github.com/slipway/terraform-provider-slipway/planner/resource"

// Reboot declares the action reboot.
func Reboot() resource.Schema {
	return resource.Schema{
		Type:         "reboot",
		Summary:      "A restart of the node by a remote task, which waits until the node is back.",
		NeedsMachine: true,
		Parameters: []resource.Parameter{
			{Name: "timeout", Kind: resource.Integer, Check: checkSeconds,
				Description: "Seconds in which the node must be back, up to a year; 0 is no limit. Default: 600."},
		},
	}
}
