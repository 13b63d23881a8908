package types

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

func TestActionsAreNoConfiguration(t *testing.T) {
	schemas := schema.Types()
	for name, schema := range schema.Actions() {
		if _, is := schemas[name]; is || schema.Type != name || !schema.NeedsMachine {
			t.Errorf("%s: a user may write it: %v; schema of %s", name, is, schema.Type)
		}
		for _, p := range schema.Parameters {
			if p.Description == "" || resource.IsMetaparameter(p.Name) {
				t.Errorf("%s.%s: description %q", name, p.Name, p.Description)
			}
		}
	}
	if len(All) != len(configuration)+len(actions) {
		t.Errorf("%d types of items, %d types and %d actions", len(All), len(configuration), len(actions))
	}
}

// Whatever the schema lets through stays below the folder.
func FuzzFileOfAnAction(f *testing.F) {
	for _, name := range []string{"a", "a/b", "..", "../x", "/x", "a//b", "a/./b", ".a", "..a", "\x00", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if schema.CheckFiles(map[string]string{name: ""}) != nil {
			return
		}
		r := resource.Resource{Type: "shell", Title: "t", Parameters: resource.Parameters{"files": map[string]any{name: ""}}}
		if file := reach(r, system.WorkPath, name); file != system.WorkPath+"/"+name || slices.Contains(strings.Split(file, "/"), "..") {
			t.Errorf("%q is laid out as %q", name, file)
		}
	})
}
