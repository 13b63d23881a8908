package resources

import (
	"context"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// configurationForm is what a configuration may be.
type configurationForm struct {
	override bool // the resources are changes of others, so nothing is required
	defaults bool // type = { parameter = value }, for every title
}

// configurationRule checks a configuration against the configuration resource types. What is unknown is left for later.
func configurationRule(form configurationForm) validator.Dynamic {
	text := "configuration resources: type, title, parameters"
	if form.defaults {
		text = "parameters of configuration resource types: type, parameters"
	}
	return rule{text: text, check: func(ctx context.Context, at path.Path, v attr.Value) (diags diag.Diagnostics) {
		value, err := values.Opened(ctx, v)
		if err != nil {
			diags.AddAttributeError(at, "Invalid configuration", err.Error())
		}
		if document.PresenceOf(value) != document.Given {
			return diags
		}
		for _, p := range form.check(at.String(), value) {
			diags.Append(values.Diagnostic(within(at, p.Attribute), engine.Describe(p, p.Attribute+": "+p.Message)))
		}
		return diags
	}}
}

// within returns the path of an attribute below at, such as `configuration.file["/etc/motd"].mode`, so that Terraform
// quotes what is there and not the whole configuration.
func within(at path.Path, attribute string) path.Path {
	rest := strings.TrimPrefix(attribute, at.String())
	for {
		if name, found := strings.CutPrefix(rest, "."); found {
			end := len(name)
			if i := strings.IndexAny(name, ".["); i >= 0 {
				end = i
			}
			at, rest = at.AtMapKey(name[:end]), name[end:]
			continue
		}
		title, found := strings.CutPrefix(rest, "[")
		quoted, err := strconv.QuotedPrefix(title)
		if !found || err != nil {
			return at
		}
		name, _ := strconv.Unquote(quoted) // QuotedPrefix has checked it
		at, rest = at.AtMapKey(name), strings.TrimPrefix(title[len(quoted):], "]")
	}
}

// check reports what is wrong with a configuration at a place.
func (v configurationForm) check(at string, value any) invalid.Errors {
	read, schemas := document.NewValues(true), (&refine.Templates{}).Types()
	if v.defaults {
		types, _, errs := read.Defaults(value, at)
		return append(errs, site.ValidateDefaults(types, at, schemas)...)
	}
	types, _, errs := read.Configuration(value, at, v.override)
	return append(errs, site.ValidateConfiguration(types, at, v.override, schemas)...)
}
