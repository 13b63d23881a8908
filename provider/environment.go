package provider

import (
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources"
)

const (
	journalVariable = resources.EnvironmentPrefix + "JOURNAL_DIRECTORY"
	defaultJournal  = ".slipway"
)

// connectionFromEnvironment reads the connection from the variables of [resources.ConnectionFields]. A variable that is
// empty counts as not set. All errors are reported together; none shows a secret.
func connectionFromEnvironment(getenv func(string) string) (site.Connection, diag.Diagnostics) {
	var c site.Connection
	var diags diag.Diagnostics
	for _, f := range resources.ConnectionFields() {
		text := getenv(f.Environment())
		if text == "" {
			continue
		}
		if err := f.Parse(&c, text); err != nil {
			diags.AddError("Invalid environment variable "+f.Environment(),
				fmt.Sprintf("%s gives the provider's connection.%s: %v. Set it right, or unset it.", f.Environment(), f.Name, err))
		}
	}
	if c.PrivateKey != "" && c.PrivateKeyFile != "" {
		diags.AddError("Both SLIPWAY_PRIVATE_KEY and SLIPWAY_PRIVATE_KEY_FILE are set",
			"Give the private key as text or as a file, not both: unset one of the two variables.")
	}
	return c, diags
}

// ConnectionFromEnvironment reads the provider's connection from the environment, for those who run without Terraform.
func ConnectionFromEnvironment(getenv func(string) string) (site.Connection, error) {
	c, diags := connectionFromEnvironment(getenv)
	var errs []error
	for _, d := range diags.Errors() {
		errs = append(errs, errors.New(d.Detail()))
	}
	return c, errors.Join(errs...)
}

// journalDirectory is the configured folder, else that of the environment, else the default.
func (p *slipway) journalDirectory(configured types.String) string {
	if s := configured.ValueString(); s != "" {
		return s
	}
	if s := p.getenv(journalVariable); s != "" {
		return s
	}
	return defaultJournal
}
