package command

import (
	"maps"
	"slices"
	"testing"
	"testing/quick"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// oddKeys are words that HCL knows, and texts that need quotes.
var oddKeys = []string{"for", "if", "in", "null", "true", "false", "each", "endfor", "for_each", "", " ", "a b", "${x}", "$${x}",
	"$$${", "%{", "%%{ if }", "$", "%", `"`, `\`, `\"`, "\n", "\r\n", "\t", "\x00", "a=b", "a.b", "-", "0", "0x1", "ä", "日本", "\u0301",
	"\u2028", "😀", "#", "//", "/*", "<<EOT", "{", "}", "(for)", "for "}

// readHCL returns what an attribute of a configuration is when Terraform reads it.
func readHCL(t *testing.T, config string, attribute string) cty.Value {
	t.Helper()
	file, diags := hclsyntax.ParseConfig([]byte(config), "main.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, config)
	}
	body, _ := file.Body.(*hclsyntax.Body)
	for _, block := range body.Blocks {
		if a, ok := block.Body.Attributes[attribute]; ok {
			value, diags := a.Expr.Value(nil)
			if diags.HasErrors() {
				t.Fatalf("%v\n%s", diags, config)
			}
			return value
		}
	}
	t.Fatalf("there is no %s in\n%s", attribute, config)
	return cty.NilVal
}

// Any text is a key and a value in what enroll and convert write, alone and beside others.
func TestAnyKeyIsWritten(t *testing.T) {
	same := func(keys ...string) bool {
		labels := make(map[string]string, len(keys))
		for _, key := range keys {
			labels[cty.StringVal(key).AsString()] = cty.StringVal(key).AsString() // in normal form C, as HCL has texts
		}
		value, err := valueOf(map[string]any{"labels": labels})
		if err != nil {
			t.Fatal(err)
		}
		file := hclwrite.NewEmptyFile()
		if _, err := appendResource(file.Body(), "slipway_node", "n", map[string]any{"labels": labels}); err != nil {
			t.Fatal(err)
		}
		if got := readHCL(t, string(hclwrite.Format(file.Bytes())), "labels"); !got.RawEquals(value.GetAttr("labels")) {
			t.Logf("%q is written as\n%s", slices.Sorted(maps.Keys(labels)), file.Bytes())
			return false
		}
		return true
	}
	for _, key := range oddKeys {
		if !same(key) || !same(key, "zzz") || !same("  ", key) {
			t.Errorf("%q does not come through", key)
		}
	}
	if err := quick.Check(func(picks []uint16, others []string) bool {
		for _, pick := range picks {
			others = append(others, oddKeys[int(pick)%len(oddKeys)]+oddKeys[int(pick>>8)%len(oddKeys)])
		}
		return same(others...)
	}, nil); err != nil {
		t.Error(err)
	}
}

// A host may be called as a word of HCL.
func TestEnrollHostsCalledAsWords(t *testing.T) {
	for _, name := range []string{"for", "if", "null", "true", "in"} {
		text, err := written("site", []site.Node{{Name: name, Labels: map[string]string{"for": "a"}}}, asObjects)
		if err != nil {
			t.Fatal(err)
		}
		want := cty.ObjectVal(map[string]cty.Value{name: cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(name),
			"labels": cty.ObjectVal(map[string]cty.Value{"for": cty.StringVal("a")})})})
		if got := readHCL(t, text, "nodes"); !got.RawEquals(want) {
			t.Errorf("%s is written as\n%s", name, text)
		}
	}
}
