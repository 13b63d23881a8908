package converge

import (
	"context"
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// shellType runs a line of the shell (fuel.md A4).
type shellType struct{ action }

func (shellType) Declared() schema.Type { return schema.Shell{} }

func (shellType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	return s.inFolder(r, func(folder string) error {
		c := tryCommand(r, folder, "/bin/sh", "-c", r.Parameters.String("command"))
		return tries(ctx, r, schema.ShellRetries, func() error {
			out, err := s.Run(ctx, c)
			s.Forget()
			if err == nil && out.Status != 0 {
				err = fmt.Errorf("it ended with status %d", out.Status)
			}
			return commandError(r, r.Parameters.String("command"), out, err)
		})
	})
}
