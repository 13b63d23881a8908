package resources

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// configurationValidator checks a configuration against the configuration resource types. What is unknown is left for
// later.
type configurationValidator struct {
	override bool // the resources are changes of others, so nothing is required
	defaults bool // type = { parameter = value }, for every title
}

func (v configurationValidator) Description(context.Context) string {
	if v.defaults {
		return "parameters of configuration resource types: type, parameters"
	}
	return "configuration resources: type, title, parameters"
}

func (v configurationValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (v configurationValidator) ValidateDynamic(ctx context.Context, req validator.DynamicRequest,
	resp *validator.DynamicResponse) {
	value, err := opened(ctx, req.ConfigValue)
	if err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid configuration", err.Error())
	}
	if document.PresenceOf(value) != document.Given {
		return
	}
	for _, p := range v.check(req.Path.String(), value) {
		resp.Diagnostics.Append(diagnostic(req.Path, p, p.Attribute+": "+p.Message))
	}
}

// check reports what is wrong with a configuration at a place.
func (v configurationValidator) check(at string, value any) (errs invalid.Errors) {
	read, schemas := document.NewValues(true), schema.Types()
	if v.defaults {
		types, _, errs := read.Defaults(value, at)
		for _, typ := range slices.Sorted(maps.Keys(types)) {
			place := namePath(at, typ)
			s, known := schemas[typ]
			if !known {
				errs = append(errs, site.UnknownTypeError("", "", place, typ, schemas))
				continue
			}
			// the parameters count for every title
			r := planresource.Resource{Type: typ, Title: "any", Parameters: types[typ]}
			errs = append(errs, v.checkResource(s, place, r)...)
		}
		return errs
	}
	types, _, errs := read.Configuration(value, at, v.override)
	for _, typ := range slices.Sorted(maps.Keys(types)) {
		s, known := schemas[typ]
		if !known {
			errs = append(errs, site.UnknownTypeError("", "", namePath(at, typ), typ, schemas))
			continue
		}
		for _, title := range slices.Sorted(maps.Keys(types[typ])) {
			place := strings.TrimPrefix(site.ConfigurationPath(typ, title, ""), "configuration.")
			errs = append(errs, v.checkResource(s, namePath(at, place),
				planresource.Resource{Type: typ, Title: title, Parameters: types[typ][title]})...)
		}
	}
	return errs
}

// checkResource reports what the type of a configuration resource does not accept.
func (v configurationValidator) checkResource(s planresource.Schema, at string,
	r planresource.Resource) (errs invalid.Errors) {
	if v.override {
		s.Check = nil // it judges the whole resource
	}
	for _, e := range s.Validate(r) {
		if e.Code == invalid.MissingParameter && v.override {
			continue
		}
		p := site.ParameterError("", "", r.Type, r.Title, e)
		if p.Attribute = at; e.Attribute != "title" {
			p.Attribute = namePath(at, e.Attribute)
		}
		errs = append(errs, p)
	}
	slices.SortStableFunc(errs, func(a, b invalid.Error) int { return strings.Compare(a.Attribute, b.Attribute) })
	return errs
}
