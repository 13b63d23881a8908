package resources

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// attributes are those of a service, as far as they are known.
type attributes struct {
	given map[string]any
	// places of what is not known yet, `servers[1].address`; it is not in given, or nil in a list. Empty for the whole
	unknown []string
	wrong   error // why they cannot be read
}

// attributesOf reads the attributes of a service.
func attributesOf(v tftypes.Value) attributes {
	var a attributes
	if v.IsKnown() && v.IsNull() {
		return a
	}
	if _, ok := entriesOf(v); !ok && v.IsKnown() {
		a.wrong = fmt.Errorf("is %s; write an object of attributes", kindOf(v))
		return a
	}
	known, err := Plain(a.known("", v))
	if err != nil {
		a.wrong = err
		return a
	}
	a.given, _ = known.(map[string]any)
	return a
}

// known returns a value with what is not known replaced by null.
func (a *attributes) known(at string, v tftypes.Value) tftypes.Value {
	switch {
	case v.IsFullyKnown():
		return v
	case !v.IsKnown():
		a.unknown = append(a.unknown, at)
		return tftypes.NewValue(tftypes.String, nil)
	}
	if elements, ok := elementsOf(v); ok {
		out, kinds := make([]tftypes.Value, len(elements)), make([]tftypes.Type, len(elements))
		for i, e := range elements {
			out[i] = a.known(elementPath(at, i), e)
			kinds[i] = out[i].Type()
		}
		return tftypes.NewValue(tftypes.Tuple{ElementTypes: kinds}, out)
	}
	entries, _ := entriesOf(v) // only collections hold other values
	out, kinds := make(map[string]tftypes.Value, len(entries)), make(map[string]tftypes.Type, len(entries))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		out[name] = a.known(namePath(at, name), entries[name])
		kinds[name] = out[name].Type()
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: kinds}, out)
}

// errors returns why the attributes cannot be read.
func (a attributes) errs() invalid.Errors {
	if a.wrong == nil {
		return nil
	}
	return invalid.Errors{{Attribute: "attributes", Code: invalid.BadStructure, Message: a.wrong.Error()}}
}

// check returns what is wrong with the attributes of a service of an entity. What depends on anything unknown is left
// for later.
func (a attributes) check(e *catalog.Entity) []invalid.Error {
	given := e.FillNulls(a.given)
	_, faults := e.Check(given)
	faults = append(faults, e.ReadOnly(given)...)
	return slices.DeleteFunc(faults, a.early)
}

// early reports whether an error may be none once everything is known.
func (a attributes) early(m invalid.Error) bool {
	for _, u := range a.unknown {
		if inside(m.Attribute, u) {
			return true
		}
		// These look at all that is inside.
		if (m.Code == catalog.DuplicateKey || m.Code == catalog.ValidationFailed) && inside(u, m.Attribute) {
			return true
		}
	}
	return false
}

// inside reports whether a place is inside of another one, or the same.
func inside(place, other string) bool {
	rest, ok := strings.CutPrefix(place, other)
	return ok && (rest == "" || other == "" || rest[0] == '.' || rest[0] == '[')
}

// attributeErrors are errors in attributes as errors of the service.
func attributeErrors(failures []invalid.Error) invalid.Errors {
	out := make(invalid.Errors, len(failures))
	for i, m := range failures {
		out[i] = invalid.Error{Object: "service", Attribute: namePath("attributes", m.Attribute), Code: m.Code,
			Message: m.Message}
	}
	return out
}
