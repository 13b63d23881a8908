// Package schema declares what users may write: the configuration resource types and the actions of remote tasks, with
// their parameters, the checks of these, and the object on a node that a resource looks after. It is pure: planning
// needs nothing more of them, and package converge, which checks and applies them on nodes, builds on it.
package schema

import (
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// MostResources bounds the resources of one site on one node: those of a manifest, and those in the ledger.
const MostResources = 10_000

// TitleRoom returns how many bytes the titles of so many resources of a site on a node may have together. A node that
// reports far more is given up.
func TitleRoom(resources int) int { return 128<<10 + 400*resources }

// errorOf returns what is wrong with an attribute, nothing when err is nil.
func errorOf(attribute string, err error) []invalid.Error {
	if err == nil {
		return nil
	}
	return []invalid.Error{{Attribute: attribute, Message: err.Error()}}
}

// neededUnlessAbsent returns an error when a parameter is missing that only a resource with ensure = absent may lack.
func neededUnlessAbsent(r resource.Resource, parameter string) []invalid.Error {
	if WantsAbsent(r) || r.Parameters.Has(parameter) {
		return nil
	}
	return []invalid.Error{{
		Attribute: parameter, Code: invalid.MissingParameter, Message: "is required unless ensure is absent",
	}}
}

// Types returns the schema of every configuration resource type by name. The table stands in the function, so that the
// helper, which has tables of its own, does not carry it. A new type is one new file and one line here.
func Types() map[string]resource.Schema {
	return byType(AptRepository(), Archive(), Cron(), Exec(), File(), FileLine(), Group(), Host(), Hostname(),
		IniSetting(), KernelModule(), Mount(), Package(), Service(), SSHAuthorizedKey(), Sysctl(), SystemdUnit(), Timezone(),
		User(), Vcsrepo(), YumRepository())
}

// Actions returns the schema of every action by name: the types that remote tasks are made of. Nobody writes them as
// configuration: plugins and services bring them as tasks.
func Actions() map[string]resource.Schema { return byType(Puppet(), Reboot(), Shell()) }

func byType(types ...resource.Schema) map[string]resource.Schema {
	out := make(map[string]resource.Schema, len(types))
	for _, t := range types {
		if t.Object == nil && t.Target != nil {
			t.Object = func(r resource.Resource) (string, string) {
				object, _ := t.Target(r)
				return object, ""
			}
		}
		out[t.Type] = t
	}
	return out
}
