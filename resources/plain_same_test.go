package resources_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/provider"
)

// ofType returns a plain value as one of a type. What an object does not have is null.
func ofType(typ tftypes.Type, plain any) tftypes.Value {
	switch typ := typ.(type) {
	case tftypes.Object:
		given, is := plain.(map[string]any)
		if !is {
			return tftypes.NewValue(typ, nil)
		}
		members := make(map[string]tftypes.Value, len(typ.AttributeTypes))
		for name, member := range typ.AttributeTypes {
			members[name] = ofType(member, given[name])
		}
		return tftypes.NewValue(typ, members)
	case tftypes.Map:
		given, is := plain.(map[string]any)
		if !is {
			return tftypes.NewValue(typ, nil)
		}
		members := make(map[string]tftypes.Value, len(given))
		for name, member := range given {
			members[name] = ofType(typ.ElementType, member)
		}
		return tftypes.NewValue(typ, members)
	case tftypes.List, tftypes.Set:
		element := tftypes.Type(nil)
		if l, is := typ.(tftypes.List); is {
			element = l.ElementType
		} else if s, is := typ.(tftypes.Set); is {
			element = s.ElementType
		}
		given, is := plain.([]any)
		if !is {
			return tftypes.NewValue(typ, nil)
		}
		elements := make([]tftypes.Value, len(given))
		for i, e := range given {
			elements[i] = ofType(element, e)
		}
		return tftypes.NewValue(typ, elements)
	}
	if typ.Is(tftypes.DynamicPseudoType) && plain != nil {
		return tftypes.NewValue(tftypes.Object{AttributeTypes: map[string]tftypes.Type{}}, map[string]tftypes.Value{})
	}
	return tftypes.NewValue(typ, plain)
}

// withNull returns, by the path of each list, set and map of a type, a value in which that has an element that is null.
func withNull(typ tftypes.Type, path string) map[string]any {
	out := make(map[string]any)
	switch typ := typ.(type) {
	case tftypes.Object:
		for name, member := range typ.AttributeTypes {
			for at, value := range withNull(member, path+"."+name) {
				out[at] = map[string]any{name: value}
			}
		}
	case tftypes.Map:
		out[path] = map[string]any{"x": nil}
	case tftypes.Set:
		out[path] = []any{nil}
	case tftypes.List:
		out[path] = []any{nil}
		for at, value := range withNull(typ.ElementType, path+"[0]") {
			out[at] = []any{value}
		}
	}
	return out
}

// An element that is null is an error in every list, set and map of an object, written by hand or a resource.
func TestNullElementsOfPlainObjects(t *testing.T) {
	server, err := provider.NewServer(t.Context(), "test", &engine.Runs{})
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	const said = "null; leave it out instead"
	for name, base := range map[string]map[string]any{
		"node":     {"name": "a"},
		"group":    {"name": "a", "critical": true, "selectors": []any{}},
		"service":  {"name": "a", "selectors": []any{}, "configuration": map[string]any{}},
		"override": {"name": "a", "configuration": map[string]any{}},
	} {
		typ := schemas.ResourceSchemas["slipway_"+name].ValueType()
		cases := withNull(typ, name)
		if len(cases) == 0 {
			t.Errorf("%s has no list, set or map", name)
		}
		for _, at := range slices.Sorted(maps.Keys(cases)) {
			object := maps.Clone(base)
			given, _ := cases[at].(map[string]any)
			maps.Copy(object, given)

			config, err := tfprotov6.NewDynamicValue(typ, ofType(typ, object))
			if err != nil {
				t.Fatal(at, err)
			}
			resp, err := server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{
				TypeName: "slipway_" + name, Config: &config})
			if err != nil {
				t.Fatal(at, err)
			}
			if !slices.ContainsFunc(resp.Diagnostics, func(d *tfprotov6.Diagnostic) bool { return strings.Contains(d.Detail, said) }) {
				t.Errorf("%s: the resource accepts it: %v", at, resp.Diagnostics)
			}
			_, _, errs := document.NewValues(false).Site(document.DeploymentOf(map[string]any{"site": "s", name + "s": []any{object}}))
			if !strings.Contains(errs.Error(), said) {
				t.Errorf("%s: the deployment accepts it: %v", at, errs)
			}
		}
	}
}

// A state that an earlier version accepted with a null label is read all the same.
func TestNullLabelsOfStates(t *testing.T) {
	past := document.NewValues(false)
	past.Past = true
	nodes, known, errs := past.Nodes([]any{map[string]any{"name": "a", "labels": map[string]any{"x": nil, "y": "z"}}})
	if len(errs) > 0 || !known || len(nodes) != 1 || !maps.Equal(nodes[0].Labels, map[string]string{"y": "z"}) {
		t.Errorf("%v, %v", nodes, errs)
	}
}
