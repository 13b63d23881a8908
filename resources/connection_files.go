package resources

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// FileWarnings warns of the files that the provider's connection names and that are missing. They are warnings, because
// another Terraform resource may write a file in the apply, before the deployment.
func FileWarnings(c site.Connection) (diags diag.Diagnostics) {
	at := path.Root("connection")
	look := func(at path.Path, file string) {
		if file != "" {
			diags.Append(fileWarning(at, file)...)
		}
	}
	look(at.AtName("private_key_file"), c.PrivateKeyFile)
	for i, b := range c.Bastions {
		look(at.AtName("bastions").AtListIndex(i).AtName("private_key_file"), b.PrivateKeyFile)
	}
	if c.HostKeyPolicy != "accept-new" { // which makes the file
		look(at.AtName("known_hosts_file"), c.KnownHostsFile)
	}
	return diags
}

func fileWarning(at path.Path, file string) (diags diag.Diagnostics) {
	if err := transport.CheckFile(file); err != nil {
		diags.AddAttributeWarning(at, "File of a connection cannot be read",
			fmt.Sprintf("%s: %v. No node is reached with it as it is: correct the path, or write the file. %s", at, err,
				engine.WrittenBefore))
	}
	return diags
}

// presentFile warns of a file that is missing.
func presentFile() validator.String {
	return rule{text: "the name of a file", check: func(_ context.Context, at path.Path, v attr.Value) diag.Diagnostics {
		if file := textOf(v); file != "" {
			return fileWarning(at, file)
		}
		return nil
	}}
}
