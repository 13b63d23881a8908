package schema

import (
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Puppet declares the action puppet.
func Puppet() resource.Schema {
	const where = " Either absolute, or in files, or, where it is not there, below cwd."
	return resource.Schema{
		Type:         "puppet",
		Summary:      "A Puppet manifest of a remote task, applied by the Puppet of the node.",
		NeedsMachine: true,
		Parameters: append([]resource.Parameter{
			{Name: "manifest", Kind: resource.String, Required: true, Check: checkReachable,
				Description: "The manifest's path." + where},
			{Name: "modules", Kind: resource.String, Check: checkModules,
				Description: "Folders with modules, with colons in between." + where + " Default: Puppet's own."},
		}, tryParameters(0)...),
		Check: lackingErrors,
	}
}

func checkModules(value any) error {
	text, _ := value.(string)
	for _, p := range strings.Split(text, ":") {
		if err := checkReachable(p); err != nil {
			return err
		}
	}
	return nil
}

// ModuleFolders returns the folders with modules that r names.
func ModuleFolders(r resource.Resource) []string {
	if !r.Parameters.Has("modules") {
		return nil
	}
	return strings.Split(r.Parameters.String("modules"), ":")
}
