package converge

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// puppetType applies a Puppet manifest with the Puppet of the node (fuel.md A4).
type puppetType struct{ action }

func (puppetType) Schema() resource.Schema {
	const where = " Either absolute, or in files, or, where it is not there, below cwd."
	return resource.Schema{
		Type:         "puppet",
		Summary:      "A Puppet manifest of a remote task, applied by the Puppet of the node.",
		NeedsMachine: true,
		Parameters: append([]resource.Parameter{
			{Name: "manifest", Kind: resource.String, Required: true, Check: checkReachable, Description: "The manifest's path." + where},
			{Name: "modules", Kind: resource.String, Check: checkModules, Description: "Folders with modules, with colons in between." + where + " Default: Puppet's own."},
		}, tryParameters(0)...),
		Check: puppetMistakes,
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

// puppetMistakes finds paths that lead nowhere.
func puppetMistakes(r resource.Resource) []resource.ParameterError {
	wrong := folderMistakes(r)
	miss := func(parameter, name, what string) {
		if !path.IsAbs(name) && !r.Parameters.Has("cwd") && !carries(r, name) {
			wrong = append(wrong, resource.ParameterError{Parameter: parameter, Message: fmt.Sprintf("there is no %s %q in files; name one that is, or give its absolute path", what, name)})
		}
	}
	miss("manifest", r.Parameters.String("manifest"), "file")
	for _, name := range moduleFolders(r) {
		miss("modules", name, "folder")
	}
	return wrong
}

func moduleFolders(r resource.Resource) []string {
	if !r.Parameters.Has("modules") {
		return nil
	}
	return strings.Split(r.Parameters.String("modules"), ":")
}

// The statuses of `puppet apply --detailed-exitcodes`. There is 1 too, for a run that did not begin.
var puppetStatuses = map[int]string{
	1: "Puppet could not apply the manifest",
	4: "resources of the manifest failed",
	6: "resources of the manifest failed, and others were changed",
}

func (puppetType) Apply(ctx context.Context, s *System, r resource.Resource) error {
	program, err := s.program("puppet")
	if err != nil {
		return err
	}
	if program == "" {
		return fmt.Errorf("puppet: no such program on the node in %s; install the package puppet-agent before", actionPath)
	}
	return s.inFolder(r, func(folder string) error {
		argv := []string{program, "apply", "--detailed-exitcodes", "--color=false"}
		if folders := moduleFolders(r); len(folders) > 0 {
			for i, name := range folders {
				folders[i] = reach(r, folder, name)
			}
			argv = append(argv, "--modulepath="+strings.Join(folders, ":"))
		}
		c := tryCommand(r, folder, append(argv, reach(r, folder, r.Parameters.String("manifest")))...)
		return tries(ctx, r, 0, func() error {
			out, err := s.Run(ctx, c)
			s.Forget()
			if err != nil || out.Status == 0 || out.Status == 2 { // 2: it changed something
				return err
			}
			why := puppetStatuses[out.Status]
			if why == "" {
				why = "Puppet ended unexpectedly"
			}
			return fmt.Errorf("%s (status %d)", why, out.Status)
		})
	})
}
