package schema

import (
	"errors"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// ShellRetries is Fuel's default (fuel.md A4).
const ShellRetries = 3

// Shell declares the action shell.
func Shell() resource.Schema {
	return resource.Schema{
		Type:         "shell",
		Summary:      "A command of a remote task.",
		NeedsMachine: true,
		Parameters: append([]resource.Parameter{
			{Name: "command", Kind: resource.String, Required: true, Check: checkLine,
				Description: "It is run by /bin/sh, and succeeds with status 0."},
		}, tryParameters(ShellRetries)...),
		Check: lackingErrors,
	}
}

func checkLine(value any) error {
	if text, _ := value.(string); text == "" || strings.ContainsRune(text, 0) {
		return errors.New("must be text that is not empty")
	}
	return nil
}
