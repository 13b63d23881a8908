package schema

import (
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Service declares the type service.
func Service() resource.Schema {
	return resource.Schema{
		Type:         "service",
		Summary:      "A service of systemd or OpenRC: whether it runs, and whether it is started at boot. It restarts when it is notified.",
		NeedsMachine: true,
		Restorable:   true,
		Parameters: []resource.Parameter{
			{Name: "name", Kind: resource.String, Check: checkServiceName,
				Description: "The service's name; with systemd, any unit with its suffix, `.service` where there is none. Default: the title."},
			{Name: "ensure", Kind: resource.String, Scalars: true, Values: []string{"running", "stopped"},
				Same:        map[string]string{"true": "running", "false": "stopped"},
				Description: "`running` or `stopped`; true and false mean the same. Default: left as it is."},
			{Name: "enable", Kind: resource.String, Scalars: true, Values: []string{"true", "false", "mask"},
				Description: "Whether it is started at boot: true, false, or \"mask\" so that nothing can start it (systemd only). A unit that cannot be enabled (static) is left as it is. Default: left as it is."},
			{Name: "provider", Kind: resource.String, Values: []string{"systemd", "openrc"},
				Description: "The service manager. Default: the one that runs the node."},
			{Name: "restart", Kind: resource.String,
				Description: "A shell command that restarts the service. Default: the service manager's restart."},
			{Name: "hasrestart", Kind: resource.Bool, Unused: true,
				Description: "Accepted for Puppet's sake, and changes nothing: systemd and OpenRC restart every service."},
			{Name: "hasstatus", Kind: resource.Bool, Unused: true,
				Description: "Accepted for Puppet's sake, and changes nothing: systemd and OpenRC know the status of every service."},
		},
		Check:  checkService,
		Target: serviceTarget,
	}
}

func checkServiceName(v any) error {
	if name, _ := v.(string); !IsServiceName(name) {
		return fmt.Errorf("%q is not a service's name: letters, digits and : _ . @ - only", name)
	}
	return nil
}

func checkService(r resource.Resource) []invalid.Error {
	errs := errorOf("name", checkServiceName(r.Parameters.StringOr("name", r.Title)))
	masked := r.Parameters.String("enable") == "mask"
	if masked && r.Parameters.String("ensure") == "running" {
		errs = append(errs, invalid.Error{Attribute: "enable", Message: `"mask" keeps the service from being started; use ensure = "stopped" with it`})
	}
	if masked && r.Parameters.String("provider") == "openrc" {
		errs = append(errs, invalid.Error{Attribute: "enable", Message: `OpenRC cannot mask a service; use false`})
	}
	return errs
}

// serviceTarget is the service, whose name needs no suffix.
func serviceTarget(r resource.Resource) (name, aim string) {
	return strings.TrimSuffix(r.Parameters.StringOr("name", r.Title), ".service"), ""
}
