package resources

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// lifecycleAttribute is service_lifecycle. Terraform keeps the word `lifecycle` for itself.
const lifecycleAttribute = "service_lifecycle"

// lifecycleOf reads the lifecycle of a service: the name of a shipped one, or a document with one. It is nil for none.
func lifecycleOf(text string) (*lifecycle.Lifecycle, invalid.Errors) {
	l, err := document.ParseServiceLifecycle(lifecycleAttribute, text)
	if err != nil {
		return nil, invalid.Errors{{Object: "service", Attribute: lifecycleAttribute, Code: invalid.BadValue,
			Message: err.Error()}}
	}
	return l, nil
}

// ofEntities reports what is given of a service that only one of an entity can have.
func ofEntities(given map[string]presence) invalid.Errors {
	var errs invalid.Errors
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if given[name] == present {
			errs = append(errs, invalid.Error{Object: "service", Attribute: name, Code: invalid.BadStructure,
				Message: "stands beside configuration; only a service of an entity has a lifecycle: leave it out, or give entity in place of configuration"})
		}
	}
	return errs
}

// lifecycleValidator checks service_lifecycle.
type lifecycleValidator struct{}

func (lifecycleValidator) Description(context.Context) string {
	return "the name of a lifecycle that slipway brings, or a document with one"
}
func (v lifecycleValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (lifecycleValidator) ValidateString(_ context.Context, req validator.StringRequest,
	resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	_, errs := lifecycleOf(req.ConfigValue.ValueString())
	for _, p := range errs {
		resp.Diagnostics.Append(diagnostic(req.Path, p, p.Attribute+": "+p.Message))
	}
}

// gatesOf reads the gates of a service, nil for none.
func gatesOf(m types.Map) map[string]bool {
	if m.IsNull() || m.IsUnknown() {
		return nil
	}
	out := make(map[string]bool, len(m.Elements()))
	for name, v := range m.Elements() {
		if open, ok := v.(types.Bool); ok && !open.IsNull() {
			out[name] = open.ValueBool()
		}
	}
	return out
}
