package converge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// shellType runs a line of the shell (fuel.md A4).
type shellType struct{ action }

// shellRetries is Fuel's default (fuel.md A4).
const shellRetries = 3

func (shellType) Schema() resource.Schema {
	return resource.Schema{
		Type:         "shell",
		Summary:      "A command of a remote task.",
		NeedsMachine: true,
		Parameters: append([]resource.Parameter{
			{Name: "command", Kind: resource.String, Required: true, Check: checkLine, Description: "It is run by /bin/sh, and succeeds with status 0."},
		}, tryParameters(shellRetries)...),
		Check: folderMistakes,
	}
}

func checkLine(value any) error {
	if text, _ := value.(string); text == "" || strings.ContainsRune(text, 0) {
		return errors.New("must be text that is not empty")
	}
	return nil
}

func (shellType) Apply(ctx context.Context, s *System, r resource.Resource) error {
	return s.inFolder(r, func(folder string) error {
		c := tryCommand(r, folder, "/bin/sh", "-c", r.Parameters.String("command"))
		return tries(ctx, r, shellRetries, func() error {
			out, err := s.Run(ctx, c)
			s.Forget()
			if err == nil && out.Status != 0 {
				err = fmt.Errorf("it ended with status %d", out.Status)
			}
			return commandError(r, r.Parameters.String("command"), out, err)
		})
	})
}
