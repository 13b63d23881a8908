package resource

import (
	"slices"
)

// Normalize returns r in the one form that stands for all ways to write it, so that equal resources have equal digests: a
// single string where a list is wanted becomes a list of one, a whole float64 where an integer is wanted becomes an int64, a
// number or bool where its text is wanted becomes a string, references are written `type[title]`, sorted, without
// duplicates. A value that does not fit the schema stays as it is. r is not changed, and the result shares nothing with it.
func (s Schema) Normalize(r Resource) Resource {
	out := Resource{Type: r.Type, Title: r.Title}
	if r.Parameters == nil {
		return out
	}
	out.Parameters = make(Parameters, len(r.Parameters))
	for name, value := range r.Parameters {
		p := s.parameter(name)
		if p == nil {
			out.Parameters[name] = clone(value)
			continue
		}
		value = p.normalize(value)
		if isReferences(name) {
			value = normalizeReferences(value)
		}
		out.Parameters[name] = value
	}
	return out
}

func (p Parameter) normalize(value any) any {
	switch p.Kind {
	case String:
		return p.text(value)
	case Integer:
		if n, ok := wholeNumber(value); ok {
			return n
		}
	case StringList:
		switch v := value.(type) {
		case []any:
			out := make([]any, len(v))
			for i, e := range v {
				out[i] = p.text(e)
			}
			return out
		case string, bool, int64, float64:
			if s, ok := p.text(v).(string); ok {
				return []any{s}
			}
		}
	case StringMap:
		if v, ok := value.(map[string]any); ok {
			out := make(map[string]any, len(v))
			for k, e := range v {
				out[k] = p.text(e)
			}
			return out
		}
	case Bool:
	}
	return clone(value)
}

// text returns value as the string that it stands for, or a copy of value when it stands for none.
func (p Parameter) text(value any) any {
	if p.Scalars {
		if s, ok := scalarText(value); ok {
			return s
		}
	}
	return clone(value)
}

func normalizeReferences(value any) any {
	list, ok := value.([]any)
	if !ok {
		return value
	}
	refs := make([]string, len(list))
	for i, e := range list {
		s, ok := e.(string)
		if !ok {
			return value
		}
		if typ, title, err := ParseID(s); err == nil {
			s = string(MakeID(typ, title))
		}
		refs[i] = s
	}
	slices.Sort(refs)
	refs = slices.Compact(refs)
	out := make([]any, len(refs))
	for i, s := range refs {
		out[i] = s
	}
	return out
}

func clone(value any) any {
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
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
