package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
)

// secretsFlag is the flag that gives a run the contents of the secrets to which documents refer.
const secretsFlag = "--secrets"

// readSecrets reads the contents of the secrets to which a site refers from a file; without a name there are none. A
// secret without content is an error of status 2.
func readSecrets(cmd *cobra.Command, name string, s *document.Site) (engine.Secrets, error) {
	secrets := engine.Secrets{Known: true, Version: s.SecretsVersion}
	if name != "" {
		file, err := source(cmd, name)
		if err == nil {
			secrets.Content, err = document.ParseSecrets(file)
		}
		if err == nil && s.SecretsVersion == "" {
			err = errors.New(secretsFlag + ": no document has secrets_version; write secrets_version: 1 into one, and " +
				"raise it when the content of a secret changes")
		}
		if err != nil {
			return secrets, inputError(err)
		}
	}
	missing := secrets.Missing(s.Site, secretsFlag)
	if len(missing) == 0 {
		return secrets, nil
	}
	errs := make([]error, 0, len(missing)+1)
	for _, m := range missing {
		errs = append(errs, m)
	}
	if name == "" {
		errs = append(errs, fmt.Errorf(`give %s FILE, a YAML document of lines NAME: "content"`, secretsFlag))
	}
	return secrets, inputError(errors.Join(errs...))
}
