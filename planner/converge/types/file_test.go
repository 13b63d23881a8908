package types

import (
	"maps"
	"slices"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// TestTypesTable: what users may write and what nodes can apply are the same types, and each is described.
func TestTypesTable(t *testing.T) {
	declared, applied := slices.Sorted(maps.Keys(schema.Types())), slices.Sorted(maps.Keys(configuration))
	if !slices.Equal(declared, applied) {
		t.Errorf("planner/schema declares %q, the table of this package has %q", declared, applied)
	}
	for name, typ := range configuration {
		schema := typ.Schema()
		if schema.Type != name || schema.Summary == "" {
			t.Errorf("the table says %q, the schema %q: %q", name, schema.Type, schema.Summary)
		}
		for _, p := range schema.Parameters {
			if resource.IsMetaparameter(p.Name) || p.Description == "" {
				t.Errorf("%s: parameter %q is a metaparameter or not described", name, p.Name)
			}
		}
	}
}
