// Package schema declares what users may write: the configuration resource types and the actions of remote tasks, with
// their parameters, the checks of these, and the object on a node that a resource looks after. It is pure: planning
// needs nothing more of them, and package converge, which checks and applies them on nodes, builds on it.
package schema

import "github.com/slipway/terraform-provider-slipway/planner/resource"

// MostResources bounds the resources of one site on one node: those of a manifest, and those in the ledger.
const MostResources = 10_000

// Type is a configuration resource type or an action. A new one is one new file and one line in a table.
type Type interface {
	// Schema declares the type.
	Schema() resource.Schema
}

// Named is implemented by types in which parameters, and not the title alone, say which object on the node a resource
// looks after (the path of a file). Two resources must not look after the same one. When a resource turns to another
// object, or to another aim, the engine undoes the old one first. When one is given a new title, the new one takes over
// what the ledger has of the old.
type Named interface {
	// Object names the object, and the aim where Undo depends on it (that a user is to be absent).
	Object(r resource.Resource) (name, aim string)
}

// Types returns the schema of every configuration resource type by name. The table stands in the function, so that the
// helper, which has tables of its own, does not carry it.
func Types() map[string]resource.Schema {
	return schemas(map[string]Type{
		"cron":        Cron{},
		"exec":        Exec{},
		"file":        File{},
		"group":       Group{},
		"host":        Host{},
		"ini_setting": IniSetting{},
		"mount":       Mount{},
		"package":     Package{},
		"service":     Service{},
		"sysctl":      Sysctl{},
		"user":        User{},
	})
}

// Actions returns the schema of every action by name: the types that remote tasks are made of. Nobody writes them as
// configuration: plugins and services bring them as tasks.
func Actions() map[string]resource.Schema {
	return schemas(map[string]Type{"puppet": Puppet{}, "reboot": Reboot{}, "shell": Shell{}})
}

func schemas(types map[string]Type) map[string]resource.Schema {
	out := make(map[string]resource.Schema, len(types))
	for name, t := range types {
		schema := t.Schema()
		if n, ok := t.(Named); ok && schema.Object == nil {
			schema.Object = func(r resource.Resource) (string, string) {
				object, _ := n.Object(r)
				return object, ""
			}
		}
		out[name] = schema
	}
	return out
}
