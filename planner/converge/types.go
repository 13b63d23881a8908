package converge

import "github.com/slipway/terraform-provider-slipway/planner/resource"

// types is the table of all configuration resource types.
var types = map[string]Type{
	"cron":        cronType{},
	"exec":        execType{},
	"file":        fileType{},
	"group":       groupType{},
	"host":        hostType{},
	"ini_setting": iniType{},
	"mount":       mountType{},
	"package":     packageType{},
	"service":     serviceType{},
	"sysctl":      sysctlType{},
	"user":        userType{},
}

// Schemas returns the schema of every configuration resource type by name: what users may write. It is pure.
func Schemas() map[string]resource.Schema { return schemasOf(types) }

func schemasOf(types map[string]Type) map[string]resource.Schema {
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
