package lifecycle

import (
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// CarryAllocated returns next with the allocated values of prior (modifier r) that next lacks, at every depth:
// attributes, relations and embedded entities (lsm.md 3). Children are matched by [MatchChildren]; a new child gets
// none. Values that next has remain; see [CheckUpdate].
func CarryAllocated(entity *catalog.Entity, prior, next map[string]any) map[string]any {
	return carry(entity.Structure, prior, next)
}

// RestoreAllocated returns next with all allocated values (modifier r) as they are in prior.
func RestoreAllocated(entity *catalog.Entity, prior, next map[string]any) map[string]any {
	return CarryAllocated(entity, prior, withoutAllocated(entity.Structure, next))
}

func carry(s catalog.Structure, prior, next map[string]any) map[string]any {
	out := make(map[string]any, len(next))
	maps.Copy(out, next)
	for _, name := range allocatedNames(s) {
		if _, given := next[name]; given {
			continue
		}
		if value, ok := prior[name]; ok {
			out[name] = value
		}
	}
	for _, e := range s.Embedded {
		switch v := next[e.Name].(type) {
		case map[string]any:
			if old, ok := prior[e.Name].(map[string]any); ok {
				out[e.Name] = carry(e.Structure, old, v)
			}
		case []any:
			old, _ := prior[e.Name].([]any)
			same, _ := MatchChildren(e, old, v)
			children := slices.Clone(v)
			for i, element := range v {
				if child, ok := element.(map[string]any); ok && same[i] >= 0 {
					from, _ := old[same[i]].(map[string]any)
					children[i] = carry(e.Structure, from, child)
				}
			}
			out[e.Name] = children
		}
	}
	return out
}

// allocatedNames returns the names of what slipway allocates at the top level of a structure.
func allocatedNames(s catalog.Structure) []string {
	var names []string
	for e := range s.Elements() {
		if *e.Modifier == catalog.Allocated {
			names = append(names, e.Name)
		}
	}
	return names
}

// withoutAllocated returns attributes without allocated values, at every depth.
func withoutAllocated(s catalog.Structure, given map[string]any) map[string]any {
	return s.Edit(given, func(_ string, s catalog.Structure, object map[string]any) {
		for _, name := range allocatedNames(s) {
			delete(object, name)
		}
	})
}
