package schema

import (
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// LocaltimePath is the link to the zone of a node.
const LocaltimePath = "/etc/localtime"

// TimezonePath is the file with the name of the zone of a node.
const TimezonePath = "/etc/timezone"

// Timezone declares the type timezone.
func Timezone() resource.Schema {
	return resource.Schema{
		Type: "timezone",
		Summary: "The time zone of a node: the link /etc/localtime, and its name in /etc/timezone. The title is the zone, such as Europe/London. " +
			"Programs read it when they start: let a service that should follow it `subscribe`.",
		Restorable: true,
		Parameters: []resource.Parameter{
			{Name: "timezone", Kind: resource.String, Check: checkTimezone,
				Description: "The zone, by its name below /usr/share/zoneinfo on the node, which the package tzdata brings. Default: the title."},
		},
		Check: func(r resource.Resource) []invalid.Error {
			return errorOf("timezone", checkTimezone(TimezoneName(r)))
		},
		Target: func(resource.Resource) (object, aim string) { return LocaltimePath, "" },
	}
}

// TimezoneName returns the zone that r sets.
func TimezoneName(r resource.Resource) string { return r.Parameters.StringOr("timezone", r.Title) }

// checkTimezone accepts a path below /usr/share/zoneinfo. Which zones there are is known on the node.
func checkTimezone(value any) error {
	zone, _ := value.(string)
	valid := zone != "localtime" // a link to /etc/localtime on Debian
	for part := range strings.SplitSeq(zone, "/") {
		valid = valid && spelled(part, "", "+-_")
	}
	if !valid {
		return fmt.Errorf("%q is not the name of a time zone, such as Europe/London or UTC", zone)
	}
	return nil
}
