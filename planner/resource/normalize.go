package resource

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Normalize returns r in the one form that stands for all ways to write it, so that equal resources have equal digests:
// a single string where a list is wanted becomes a list of one, a whole float64 where an integer is wanted becomes an
// int64, a number or bool where its text is wanted becomes a string, the text of a number or bool where that is wanted
// becomes one, a parameter that changes nothing is left out, references are written `type[title]`, sorted,
// without duplicates. A value that does not fit the schema stays as it is. r is not changed, and the result shares
// nothing with it.
func (s Schema) Normalize(r Resource) Resource {
	n := normalizing{given: r.Parameters, normal: r.Parameters}
	for name, value := range r.Parameters {
		p := s.parameter(name)
		if p == nil {
			continue
		}
		normal, changed := p.normalize(value)
		n.set(p, normal, changed)
	}
	if n.normal != nil {
		r.Parameters, _ = Clone(map[string]any(n.normal)).(map[string]any)
	}
	return r
}

// Meaning returns the parameters of r, which is in its normal form, so that those of two resources of one type and
// title are equal where both want the same of a node, however each is written. r is not changed.
func (s Schema) Meaning(r Resource) Parameters {
	if s.Alike == nil {
		return r.Parameters
	}
	meant := maps.Clone(r.Parameters)
	if meant == nil {
		meant = Parameters{}
	}
	maps.Copy(meant, s.Alike(r))
	return meant
}

// normalizing is parameters on the way to their normal form. They are copied when the first one changes.
type normalizing struct {
	given, normal Parameters
	copied        bool
}

// set enters a value that [Parameter.normalize] gave.
func (n *normalizing) set(p *Parameter, value any, changed bool) {
	if isReferences(p.Name) {
		if sorted, differ := normalizeReferences(value); differ {
			value, changed = sorted, true
		}
	}
	if !changed && !p.Unused {
		return
	}
	if !n.copied {
		n.normal, n.copied = maps.Clone(n.given), true
	}
	if n.normal[p.Name] = value; p.Unused {
		delete(n.normal, p.Name)
	}
}

// normalize returns the normal form of a value, order of references apart, and whether it differs from the value. What
// does not differ is shared.
func (p *Parameter) normalize(value any) (normal any, changed bool) {
	switch p.Kind {
	case String:
		return p.text(value)
	case Integer:
		switch v := value.(type) {
		case float64:
			if n, ok := Whole(v); ok {
				return n, true
			}
		case string:
			if n, err := strconv.ParseInt(v, 10, 64); err == nil && strconv.FormatInt(n, 10) == v {
				return n, true
			}
		}
	case StringList:
		switch v := value.(type) {
		case []any:
			if p.Single && len(v) == 1 {
				return v[0], true
			}
			if texts, differ := p.texts(v); differ {
				return texts, true
			}
		case string:
			if p.Single {
				return v, false
			}
			return []any{v}, true
		case bool, int64, float64:
			if s, ok := p.text(v); ok {
				return []any{s}, true
			}
		}
	case StringMap:
		if v, ok := value.(map[string]any); ok {
			return p.textMap(v)
		}
	case Bool:
		if text, ok := value.(string); ok && (text == "true" || text == "false") {
			return text == "true", true
		}
	}
	return value, false
}

// text returns the string that a value stands for, the value itself when it stands for none or is one.
func (p *Parameter) text(value any) (normal any, changed bool) {
	text, is := value.(string)
	if !is && p.Scalars {
		text, changed = scalarText(value)
	}
	if same, ok := p.Same[text]; ok && (is || changed) {
		return same, true
	}
	if !changed {
		return value, false
	}
	return text, true
}

func (p *Parameter) texts(list []any) (normal []any, changed bool) {
	normal = list
	for i, e := range list {
		if s, ok := p.text(e); ok {
			if !changed {
				normal, changed = slices.Clone(list), true
			}
			normal[i] = s
		}
	}
	return normal, changed
}

func (p *Parameter) textMap(m map[string]any) (normal map[string]any, changed bool) {
	normal = m
	for k, e := range m {
		if s, ok := p.text(e); ok {
			if !changed {
				normal, changed = maps.Clone(m), true
			}
			normal[k] = s
		}
	}
	return normal, changed
}

// normalizeReferences writes references in their one form, sorted, each once, and reports whether that makes a
// difference.
func normalizeReferences(value any) (normal any, changed bool) {
	list, ok := value.([]any)
	if !ok || inOrder(list) {
		return value, false
	}
	out := slices.Clone(list)
	for i, e := range out {
		s, ok := e.(string)
		if !ok {
			return value, false
		}
		if id, err := reference(s); err == nil && string(id) != s {
			out[i] = string(id)
		}
	}
	slices.SortFunc(out, func(a, b any) int { return strings.Compare(textOf(a), textOf(b)) })
	return slices.Compact(out), true
}

func textOf(v any) string {
	s, _ := v.(string)
	return s
}

// inOrder reports whether references are in their one form, sorted, each once.
func inOrder(list []any) bool {
	last := ""
	for i, e := range list {
		s, ok := e.(string)
		if !ok || i > 0 && s <= last {
			return false
		}
		if id, err := reference(s); err == nil && string(id) != s {
			return false
		}
		last = s
	}
	return true
}

// Clone copies lists and maps at every depth.
func Clone(value any) any {
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = Clone(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = Clone(e)
		}
		return out
	default:
		return v
	}
}

// parameter returns a parameter that the type accepts, metaparameters among them, nil when there is none of the name.
func (s Schema) parameter(name string) *Parameter {
	for _, declared := range [][]Parameter{s.Parameters, metaparameters} {
		for i := range declared {
			if declared[i].Name == name {
				return &declared[i]
			}
		}
	}
	return nil
}

// names returns the parameters that the type accepts, sorted.
func (s Schema) names() []string {
	var names []string
	for _, declared := range [][]Parameter{s.Parameters, metaparameters} {
		for _, p := range declared {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}
