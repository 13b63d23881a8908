package resources

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/passthrough"
)

// The functions below read an attribute of the deployment that takes whole objects: resources as they are, or objects
// written by hand that have the same attributes, of which all but the required ones may be left out. A list keeps its
// order, a map is taken in the order of its keys.
//
// known is false when anything inside is unknown; there is then no value, but errors of what is known are reported.
// Errors stand at the given path and name object and attribute.

// NodesFrom reads the nodes of a deployment. Those in a state of slipway 0.1.0 have the secrets of their connection
// beside everything else.
func NodesFrom(ctx context.Context, at path.Path, v attr.Value) (nodes []site.Node, known bool,
	diags diag.Diagnostics) {
	return objectsFrom(ctx, at, v, "node", nodeSchema(), false, nodeModelV1.Value)
}

// GroupsFrom reads the groups of a deployment. They are nil, and not just empty, when the attribute is null.
func GroupsFrom(ctx context.Context, at path.Path, v attr.Value) (groups []site.Group, known bool,
	diags diag.Diagnostics) {
	return objectsFrom(ctx, at, v, "group", groupSchema(), false, groupModelV0.Value)
}

// ServicesFrom reads the services of a deployment. Those of one entity share it.
func ServicesFrom(ctx context.Context, at path.Path, v attr.Value) (services []site.Service, known bool,
	diags diag.Diagnostics) {
	return servicesFrom(ctx, at, v, false)
}

// servicesFrom is ServicesFrom; with partly, unknown parameters of configuration resources come as
// [planresource.Unknown].
func servicesFrom(ctx context.Context, at path.Path, v attr.Value, partly bool) (services []site.Service, known bool,
	diags diag.Diagnostics) {
	parsed := entities{}
	return objectsFrom(ctx, at, v, "service", serviceSchema(), partly,
		func(m serviceModelV0, ctx context.Context) (site.Service, invalid.Errors) {
			return m.value(ctx, parsed)
		})
}

// OverridesFrom reads the overrides of a deployment.
func OverridesFrom(ctx context.Context, at path.Path, v attr.Value) (overrides []site.Override, known bool,
	diags diag.Diagnostics) {
	return overridesFrom(ctx, at, v, false)
}

// overridesFrom is OverridesFrom; partly is that of servicesFrom.
func overridesFrom(ctx context.Context, at path.Path, v attr.Value, partly bool) (overrides []site.Override, known bool,
	diags diag.Diagnostics) {
	return objectsFrom(ctx, at, v, "override", overrideSchema(), partly, overrideModelV0.Value)
}

// asGiven decodes objects into models whose fields hold null and unknown themselves.
var asGiven = basetypes.ObjectAsOptions{}

// After many errors it stops: nobody reads more, and each diagnostic is compared with all before it.
func objectsFrom[M, T any](ctx context.Context, at path.Path, v attr.Value, object string, s schema.Schema, partly bool,
	value func(M, context.Context) (T, invalid.Errors),
) (out []T, known bool, diags diag.Diagnostics) {
	raw, err := opened(ctx, v)
	if err != nil {
		diags.AddAttributeError(at, "Invalid "+at.String(), err.Error())
		return nil, false, diags
	}
	if !raw.IsKnown() {
		return nil, false, nil
	}
	if raw.IsNull() {
		return nil, true, nil
	}
	members, wrong := membersOf(at.String(), object, raw)
	if wrong != nil {
		diags.Append(diagnostic(at, *wrong, where(*wrong)+": "+wrong.Message))
		return nil, true, diags
	}
	known, out = true, make([]T, 0, len(members))
	typ := s.Type()
	objectType := typ.TerraformType(ctx)
	for _, m := range members {
		if len(diags) >= mostErrors {
			diags.AddAttributeError(at, "There are more errors",
				fmt.Sprintf("These are %d; those of further objects are shown when these are fixed.", len(diags)))
			break
		}
		r := reading{partly: partly}
		conformed := tftypes.NewValue(objectType, nil)
		if _, ok := entriesOf(m.value); ok || !m.value.IsKnown() || m.value.IsNull() {
			conformed = r.conform("", m.value, objectType)
		} else {
			r.report("", invalid.BadStructure, "is %s; write a whole object, such as slipway_%s.example", kindOf(m.value),
				object)
		}
		name := nameOf(conformed)
		if !r.unknown {
			r.required(conformed, s)
		}
		if !r.unknown && len(r.errs) == 0 {
			var model M
			diags.Append(decode(ctx, typ, conformed, &model)...)
			t, errs := value(model, ctx)
			r.errs = append(r.errs, errs...)
			out = append(out, t)
		}
		known = known && !r.unknown
		for _, p := range r.errs {
			p.Object, p.Name = object, name
			if name == "" {
				p.Object, p.Attribute = "deployment", under(m.key, p.Attribute)
			}
			diags.Append(diagnostic(at, p, where(p)+": "+p.Message))
		}
	}
	if !known || diags.HasError() {
		return nil, known, diags
	}
	return out, true, diags
}

// mostErrors bounds the errors reported of one list of objects.
const mostErrors = 200

// opened returns what an attribute of the deployment, which is opaque, or an argument of a function holds.
func opened(ctx context.Context, v attr.Value) (tftypes.Value, error) {
	if s, ok := v.(passthrough.Value); ok {
		return s.Decode()
	}
	return v.ToTerraformValue(ctx)
}

// membersOf returns the objects of a list or map; keys are their places: `nodes[0]`, `nodes["web1"]`.
func membersOf(at, object string, v tftypes.Value) ([]entry, *invalid.Error) {
	var members []entry
	if elements, ok := elementsOf(v); ok {
		for i, e := range elements {
			members = append(members, entry{elementPath(at, i), e})
		}
		return members, nil
	}
	entries, ok := entriesOf(v)
	if !ok {
		return nil, &invalid.Error{Object: "deployment", Attribute: at, Code: invalid.BadStructure,
			Message: fmt.Sprintf("is %s; write a list or map of slipway_%s objects", kindOf(v), object)}
	}
	if name, ok := entries["name"]; ok && name.Type().Is(tftypes.String) {
		return nil, &invalid.Error{Object: "deployment", Attribute: at, Code: invalid.BadStructure,
			Message: fmt.Sprintf("is one %s; put it into a list: %s = [slipway_%s.example]", object, at, object)}
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		members = append(members, entry{keyPath(at, key), entries[key]})
	}
	return members, nil
}

// required reports attributes that must be given and are null, and an object that is null itself.
func (r *reading) required(object tftypes.Value, s schema.Schema) {
	entries, ok := entriesOf(object)
	if !ok || object.IsNull() {
		if len(r.errs) == 0 {
			r.report("", invalid.BadStructure, "is null; leave it out instead")
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
		if s.Attributes[name].IsRequired() && entries[name].IsNull() && !r.reported(name) {
			r.report(name, invalid.MissingField, "is required")
		}
	}
}

func (r *reading) reported(attribute string) bool {
	return slices.ContainsFunc(r.errs, func(p invalid.Error) bool { return p.Attribute == attribute })
}

// nameOf returns the name of an object, empty when it has none that is known.
func nameOf(v tftypes.Value) string {
	entries, ok := entriesOf(v)
	if !ok || v.IsNull() {
		return ""
	}
	name, ok := entries["name"]
	if !ok || !name.IsKnown() || name.IsNull() {
		return ""
	}
	s, _ := textOf(name)
	return s
}

// under joins the place of an object and an attribute of it.
func under(place, attribute string) string {
	if attribute == "" {
		return place
	}
	return place + "." + attribute
}

// stringsOf returns the known elements of a list or set: nil for null, and not nil for an empty one. allKnown is false
// when anything is unknown.
func stringsOf(collection interface {
	attr.Value
	Elements() []attr.Value
}) (out []string, allKnown bool) {
	if collection.IsUnknown() {
		return nil, false
	}
	if collection.IsNull() {
		return nil, true
	}
	out, allKnown = []string{}, true
	for _, e := range collection.Elements() {
		s, ok := e.(types.String)
		if !ok || s.IsUnknown() {
			allKnown = false
			continue
		}
		out = append(out, s.ValueString())
	}
	return out, allKnown
}
