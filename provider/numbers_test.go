package provider

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
)

// fraction is a value of an attribute that has one number in it, where it is in the attribute, and its path.
type fraction struct {
	path  string
	value tftypes.Value
}

// fractions returns one for each number that can be given in an attribute.
func fractions(at string, a *tfprotov6.SchemaAttribute, number tftypes.Value) (out []fraction) {
	if a.Computed && !a.Optional {
		return nil
	}
	if a.NestedType == nil {
		return fractionsOf(at, a.Type, number)
	}
	typ := a.ValueType()
	element, inside := typ, at
	switch nesting := typ.(type) {
	case tftypes.List:
		element, inside = nesting.ElementType, at+"[0]"
	case tftypes.Map:
		element, inside = nesting.ElementType, at+`["k"]`
	}
	for _, nested := range a.NestedType.Attributes {
		for _, f := range fractions(inside+"."+nested.Name, nested, number) {
			out = append(out, fraction{f.path, within(typ, withOnly(element, nested.Name, f.value))})
		}
	}
	return out
}

func fractionsOf(at string, typ tftypes.Type, number tftypes.Value) (out []fraction) {
	switch typ := typ.(type) {
	case tftypes.List:
		for _, f := range fractionsOf(at+"[0]", typ.ElementType, number) {
			out = append(out, fraction{f.path, within(typ, f.value)})
		}
	case tftypes.Map:
		for _, f := range fractionsOf(at+`["k"]`, typ.ElementType, number) {
			out = append(out, fraction{f.path, within(typ, f.value)})
		}
	default:
		if typ.Is(tftypes.Number) {
			return []fraction{{at, number}}
		}
	}
	return out
}

// within is a value of a type that has an element as its only one; the element itself where it is an object.
func within(typ tftypes.Type, element tftypes.Value) tftypes.Value {
	switch typ.(type) {
	case tftypes.List:
		return tftypes.NewValue(typ, []tftypes.Value{element})
	case tftypes.Map:
		return tftypes.NewValue(typ, map[string]tftypes.Value{"k": element})
	}
	return element
}

// withOnly is an object that has one attribute; all others are null.
func withOnly(typ tftypes.Type, name string, value tftypes.Value) tftypes.Value {
	values := map[string]tftypes.Value{}
	for other, a := range typ.(tftypes.Object).AttributeTypes {
		values[other] = tftypes.NewValue(a, nil)
	}
	values[name] = value
	return tftypes.NewValue(typ, values)
}

// TestWholeNumbers gives 1.5 and a number that is too large for each number of provider, resources and data sources.
func TestWholeNumbers(t *testing.T) {
	server, err := NewServer(t.Context(), "test", &engine.Runs{})
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	check := func(of string, s *tfprotov6.Schema, validate func(*tfprotov6.DynamicValue) ([]*tfprotov6.Diagnostic, error)) {
		for wrong, want := range map[float64]string{
			1.5:  "1.5 is not a whole number; give one, such as 1",
			0.5:  "0.5 is not a whole number; give one, such as 1",
			1e30: "1e+30 is too large; give a whole number of at most 9223372036854775807",
		} {
			for _, a := range s.Block.Attributes {
				for _, f := range fractions(a.Name, a, tftypes.NewValue(tftypes.Number, wrong)) {
					seen++
					config, err := tfprotov6.NewDynamicValue(s.ValueType(), withOnly(s.ValueType(), a.Name, f.value))
					if err != nil {
						t.Fatal(err)
					}
					found, err := validate(&config)
					if err != nil {
						t.Errorf("%s: %s: %v", of, f.path, err)
					}
					var about []string
					for _, d := range found {
						if d.Summary == "Invalid value of "+f.path && d.Attribute != nil {
							about = append(about, d.Detail)
						}
						if strings.Contains(d.Detail, "always an error in the provider") {
							t.Errorf("%s: %s: %s", of, f.path, d.Detail)
						}
					}
					if len(about) != 1 || about[0] != want+"." {
						t.Errorf("%s: %s: %q, want %q", of, f.path, about, want)
					}
				}
			}
		}
	}
	check("provider", schemas.Provider, func(config *tfprotov6.DynamicValue) ([]*tfprotov6.Diagnostic, error) {
		resp, err := server.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: config})
		return resp.Diagnostics, err
	})
	for name, s := range schemas.ResourceSchemas {
		check(name, s, func(config *tfprotov6.DynamicValue) ([]*tfprotov6.Diagnostic, error) {
			resp, err := server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: name, Config: config})
			return resp.Diagnostics, err
		})
	}
	for name, s := range schemas.DataSourceSchemas {
		check(name, s, func(config *tfprotov6.DynamicValue) ([]*tfprotov6.Diagnostic, error) {
			resp, err := server.ValidateDataResourceConfig(t.Context(), &tfprotov6.ValidateDataResourceConfigRequest{TypeName: name, Config: config})
			return resp.Diagnostics, err
		})
	}
	if seen < 3*17 {
		t.Errorf("%d numbers were given, which cannot be all", seen)
	}
}
