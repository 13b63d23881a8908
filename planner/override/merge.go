package override

import (
	"maps"
	"reflect"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// mergeTitle is the rule of a layer that replaces what weaker ones say of a title.
const mergeTitle = "title"

// lay merges the parameters of a stronger layer into those of a weaker one (fuel.md B4); with whole it replaces them.
// Maps are merged at every depth, lists are united with the weaker elements first, and of two other values the
// stronger one counts. A null, an empty list or an empty map of the stronger layer clears nothing. A value merged with
// an unknown one is unknown. The arguments are not changed; the result may share values with both.
func lay(weaker, stronger resource.Parameters, whole bool) resource.Parameters {
	if whole {
		weaker = nil
	}
	return mergeMaps(weaker, stronger)
}

func mergeMaps(weaker, stronger map[string]any) map[string]any {
	out := make(map[string]any, len(weaker)+len(stronger))
	maps.Copy(out, weaker)
	for k, v := range stronger {
		if w, ok := out[k]; ok {
			v = mergeValues(w, v)
		}
		out[k] = v
	}
	return out
}

func mergeValues(weaker, stronger any) any {
	if weaker == nil {
		return stronger
	}
	_, unknown := weaker.(resource.Unknown)
	switch s := stronger.(type) {
	case nil:
		return weaker
	case map[string]any:
		if w, ok := weaker.(map[string]any); ok {
			return mergeMaps(w, s)
		}
		if unknown || len(s) == 0 {
			return weaker
		}
	case []any:
		if w, ok := weaker.([]any); ok {
			return unite(w, s)
		}
		if unknown || len(s) == 0 {
			return weaker
		}
	}
	return stronger
}

// unite returns first and then what second has besides it, each element once.
func unite(first, second []any) []any {
	out := make([]any, 0, len(first)+len(second))
	for _, list := range [][]any{first, second} {
		for _, v := range list {
			if !slices.ContainsFunc(out, func(o any) bool { return reflect.DeepEqual(o, v) }) {
				out = append(out, v)
			}
		}
	}
	return out
}

// overlay returns defaults with the parameters that data gives in their place; here nothing is united (fuel.md B2).
func overlay(defaults, data resource.Parameters) resource.Parameters {
	out := make(resource.Parameters, len(defaults)+len(data))
	maps.Copy(out, defaults)
	maps.Copy(out, data)
	return out
}

// relate unites the references of two relations; if either is unknown, so is the result.
func relate(first, second any) any {
	for _, v := range []any{first, second} {
		if _, unknown := v.(resource.Unknown); unknown {
			return v
		}
	}
	return unite(asList(first), asList(second))
}

// asList makes a list of a relation that is written as a single reference.
func asList(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}
