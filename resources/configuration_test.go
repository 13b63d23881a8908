package resources

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// A type that is mistyped is one error, however many titles are below it.
func TestUnknownTypeIsToldOnce(t *testing.T) {
	empty := types.ObjectValueMust(nil, nil)
	titles := func(names ...string) (attr.Type, attr.Value) {
		attributeTypes, values := map[string]attr.Type{}, map[string]attr.Value{}
		for _, n := range names {
			attributeTypes[n], values[n] = empty.Type(t.Context()), empty
		}
		v := types.ObjectValueMust(attributeTypes, values)
		return v.Type(t.Context()), v
	}
	manyType, many := titles("/a", "/b", "/c")
	noneType, none := titles()
	value := types.DynamicValue(types.ObjectValueMust(
		map[string]attr.Type{"fiel": manyType, "packge": noneType, "file": manyType, "exec": noneType},
		map[string]attr.Value{"fiel": many, "packge": none, "file": many, "exec": none}))
	var resp validator.DynamicResponse
	configurationRule(configurationForm{}).ValidateDynamic(t.Context(), validator.DynamicRequest{Path: path.Root("configuration"), ConfigValue: value}, &resp)
	want := []string{
		`configuration.fiel: there is no configuration resource type "fiel"; did you mean "file"?`,
		`configuration.packge: there is no configuration resource type "packge"; did you mean "package"?`,
	}
	if len(resp.Diagnostics) != len(want) {
		t.Fatalf("got %v, want %q", resp.Diagnostics, want)
	}
	for i, d := range resp.Diagnostics {
		if d.Detail() != want[i] {
			t.Errorf("got  %s\nwant %s", d.Detail(), want[i])
		}
	}
}

// An error is where its parameter is, so that Terraform quotes that and not all of the configuration.
func TestErrorsOfConfigurationAreWhereTheyBelong(t *testing.T) {
	at := path.Root("configuration")
	file := at.AtMapKey("file").AtMapKey(`/etc/"a".b[0]`)
	for attribute, want := range map[string]path.Path{
		"configuration":      at,
		"configuration.fiel": at.AtMapKey("fiel"),
		site.ConfigurationPath("file", `/etc/"a".b[0]`, ""):          file,
		site.ConfigurationPath("file", `/etc/"a".b[0]`, "mode"):      file.AtMapKey("mode"),
		site.ConfigurationPath("file", `/etc/"a".b[0]`, "source[1]"): file.AtMapKey("source"),
	} {
		if got := within(at, attribute); !got.Equal(want) {
			t.Errorf("%s: %s, want %s", attribute, got, want)
		}
	}
}
