package types

import (
	"context"
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// puppetType applies a Puppet manifest with the Puppet of the node (fuel.md A4).
type puppetType struct{ action }

func (puppetType) Schema() resource.Schema { return schema.Puppet() }

// The statuses of `puppet apply --detailed-exitcodes`. There is 1 too, for a run that did not begin.
var puppetStatuses = map[int]string{
	1: "Puppet could not apply the manifest",
	4: "resources of the manifest failed",
	6: "resources of the manifest failed, and others were changed",
}

func (puppetType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	program, err := s.Program("puppet")
	if err != nil {
		return err
	}
	if program == "" {
		return fmt.Errorf("puppet: no such program on the node in %s; install the package puppet-agent before", system.ProgramPath)
	}
	return s.inFolder(r, func(folder string) error {
		argv := []string{program, "apply", "--detailed-exitcodes", "--color=false"}
		if folders := schema.ModuleFolders(r); len(folders) > 0 {
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
