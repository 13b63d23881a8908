package edit

import "github.com/slipway/terraform-provider-slipway/planner/catalog"

// Child is one child of an embedded entity.
type Child struct {
	Path  string         // of its embedded entity, without numbers: `files.parts`
	At    string         // its exact place in the set that has it: `files[2].parts[0]`, for a single one `backup`
	Value map[string]any // as the set has it
}

// Added returns the children that current has and previous has not, at every depth, in the order of the definition and of current (lsm.md 13). All that
// is in a new child is new. A set that is nil has no children. Which sets are compared is the lifecycle's to say.
func Added(entity *catalog.Entity, previous, current map[string]any) []Child {
	var out []Child
	track(place{}, entity.Structure, previous, current, &out)
	return out
}

// Removed returns the children that previous has and current has not, with their places in previous. See [Added].
func Removed(entity *catalog.Entity, previous, current map[string]any) []Child {
	return Added(entity, current, previous)
}

// track collects the children of b that a does not have.
func track(p place, s catalog.Structure, a, b map[string]any, out *[]Child) {
	for _, e := range s.Embedded {
		at := p.to(e.Name)
		switch v := b[e.Name].(type) {
		case map[string]any:
			before, _ := a[e.Name].(map[string]any)
			if before == nil {
				*out = append(*out, Child{at.path, at.at, v})
			}
			track(at, e.Structure, before, v, out)
		case []any:
			old, _ := a[e.Name].([]any)
			same, _ := Match(e, old, v)
			for i, element := range v {
				child, ok := element.(map[string]any)
				if !ok {
					continue
				}
				place := at.element(i)
				var before map[string]any
				if same[i] >= 0 {
					before, _ = old[same[i]].(map[string]any)
				} else {
					*out = append(*out, Child{place.path, place.at, child})
				}
				track(place, e.Structure, before, child, out)
			}
		}
	}
}
