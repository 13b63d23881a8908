package lifecycle

import (
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// keyText returns a text that is equal for two children with the same key. A missing attribute has its default.
func keyText(e catalog.Embedded, child map[string]any) string {
	key := make([]any, len(e.Key))
	for i, name := range e.Key {
		value, given := child[name]
		if a, ok := e.Attribute(name); ok && !given && a.HasDefault {
			value = a.Default
		}
		key[i] = value
	}
	return resource.Canonical(key)
}

// MatchChildren returns for each child of next the index of the same child of prior, or -1 for a new one, and the
// indices of the children of prior that are gone.
//
// Children with equal key attributes are the same. In a list without a key, two children are the same if they are equal
// apart from allocated values; of the rest, those with equal fixed values (rw) are, in the order of the lists.
func MatchChildren(e catalog.Embedded, prior, next []any) (same []int, gone []int) {
	same = make([]int, len(next))
	for i := range same {
		same[i] = -1
	}
	taken := make([]bool, len(prior))
	pass := func(text func(map[string]any) string) {
		waiting := make(map[string][]int)
		for i, element := range prior {
			if child, ok := element.(map[string]any); ok && !taken[i] {
				t := text(child)
				waiting[t] = append(waiting[t], i)
			}
		}
		for i, element := range next {
			child, ok := element.(map[string]any)
			if !ok || same[i] >= 0 {
				continue
			}
			t := text(child)
			if list := waiting[t]; len(list) > 0 {
				same[i], waiting[t] = list[0], list[1:]
				taken[list[0]] = true
			}
		}
	}
	if len(e.Key) > 0 {
		pass(func(child map[string]any) string { return keyText(e, child) })
	} else {
		pass(func(child map[string]any) string { return userText(e.Structure, child) })
		pass(func(child map[string]any) string { return fixedText(e.Structure, child) })
	}
	for i, t := range taken {
		if !t {
			gone = append(gone, i)
		}
	}
	return same, gone
}

// userText returns a text that is equal for two children if everything that users set is equal.
func userText(s catalog.Structure, child map[string]any) string {
	complete, _ := s.Check(child) // adds the defaults
	return resource.Canonical(unordered(s, withoutAllocated(s, complete)))
}

// fixedText returns a text that is equal for two children if their attributes with the modifier rw are equal.
func fixedText(s catalog.Structure, child map[string]any) string {
	var values []any
	for _, a := range s.Attributes {
		if a.Modifier != catalog.Fixed {
			continue
		}
		value, given := child[a.Name]
		if !given && a.HasDefault {
			value = a.Default
		}
		values = append(values, value)
	}
	return resource.Canonical(values)
}

// unordered returns attributes in which children and related services are sorted.
func unordered(s catalog.Structure, given map[string]any) map[string]any {
	return s.Edit(given, func(_ string, s catalog.Structure, object map[string]any) {
		for e := range s.Elements() {
			if list, ok := object[e.Name].([]any); ok && !strings.HasPrefix(e.Path, "attributes.") {
				object[e.Name] = sortedTexts(list)
			}
		}
	})
}

// sortedTexts returns the canonical texts of elements, sorted.
func sortedTexts(list []any) []any {
	texts := make([]string, len(list))
	for i, element := range list {
		texts[i] = resource.Canonical(element)
	}
	slices.Sort(texts)
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}
