package catalog

import "maps"

// FillNulls sets to null the attributes that are nullable, missing and without a default. Terraform does not
// distinguish null from missing, but [Structure.Check] does. Attributes with the modifier r are left out. The given
// attributes do not change.
func (s Structure) FillNulls(attributes map[string]any) map[string]any {
	out := make(map[string]any, len(attributes))
	maps.Copy(out, attributes)
	for _, a := range s.Attributes {
		if _, given := out[a.Name]; !given && a.Type.Nullable && !a.HasDefault && a.Modifier != Allocated {
			out[a.Name] = nil
		}
	}
	for _, e := range s.Embedded {
		switch v := out[e.Name].(type) {
		case map[string]any:
			out[e.Name] = e.FillNulls(v)
		case []any:
			children := make([]any, len(v))
			for i, child := range v {
				children[i] = child
				if object, ok := child.(map[string]any); ok {
					children[i] = e.FillNulls(object)
				}
			}
			out[e.Name] = children
		}
	}
	return out
}
