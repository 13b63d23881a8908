package document

import (
	"math"
	"regexp"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// maxNesting bounds the nesting of a parameter's values. An alias can even refer to a list that contains it.
const maxNesting = 32

// intoConfiguration reads type -> title -> parameters. Types and parameters are checked later, with the site.
func (r *reader) intoConfiguration(target *resource.Configuration) readFunc {
	return func(n *yaml.Node, path string) {
		types, ok := r.mapping(n, path)
		if !ok {
			return
		}
		out := make(resource.Configuration, len(types.list))
		for _, t := range types.list {
			titles, ok := r.mapping(t.value, join(path, t.name))
			if !ok {
				continue
			}
			out[t.name] = make(map[string]resource.Parameters, len(titles.list))
			for _, title := range titles.list {
				out[t.name][title.name] = r.parameters(title.value, keyed(join(path, t.name), title.name))
			}
		}
		*target = out
	}
}

// parameters reads name -> value.
func (r *reader) parameters(n *yaml.Node, path string) resource.Parameters {
	fs, ok := r.mapping(n, path)
	if !ok {
		return nil
	}
	out := make(resource.Parameters, len(fs.list))
	for _, f := range fs.list {
		if value, ok := r.value(f.value, join(path, f.name), 0); ok {
			out[f.name] = value
		}
	}
	return out
}

// nullable returns a value that may itself be null.
func (r *reader) nullable(n *yaml.Node, path string) (any, bool) {
	if at := r.resolve(n); at == nil || isScalar(at, "!!null") {
		return nil, at != nil
	}
	return r.value(n, path, 0)
}

// nullables is parameters whose values may themselves be null.
func (r *reader) nullables(n *yaml.Node, path string) resource.Parameters {
	out := make(resource.Parameters)
	if fs, ok := r.mapping(n, path); ok {
		for _, f := range fs.list {
			if value, ok := r.nullable(f.value, join(path, f.name)); ok {
				out[f.name] = value
			}
		}
	}
	return out
}

// value returns the value of a parameter: string, bool, int64 for whole numbers, float64 for others, []any and
// map[string]any. Its errors never repeat the value, which may be secret.
func (r *reader) value(n *yaml.Node, path string, depth int) (any, bool) {
	if depth > maxNesting {
		r.report(n, path, Schema, "lists and mappings are more than %d levels deep, or one holds itself", maxNesting)
		return nil, false
	}
	at := r.resolve(n)
	if at == nil {
		return nil, false
	}
	switch at.Kind {
	case yaml.SequenceNode:
		out := make([]any, 0, len(at.Content))
		for i, item := range at.Content {
			value, ok := r.value(item, index(path, i), depth+1)
			if !ok {
				return nil, false
			}
			out = append(out, value)
		}
		return out, true
	case yaml.MappingNode:
		fs, ok := r.mapping(n, path)
		if !ok {
			return nil, false
		}
		out := make(map[string]any, len(fs.list))
		for _, f := range fs.list {
			value, ok := r.value(f.value, keyed(path, f.name), depth+1)
			if !ok {
				return nil, false
			}
			out[f.name] = value
		}
		return out, true
	}
	return r.scalar(n, at, path)
}

// plainInteger is a whole number that YAML and people read alike. To YAML 0644 is 420.
var plainInteger = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

func (r *reader) scalar(n, at *yaml.Node, path string) (any, bool) {
	switch at.ShortTag() {
	case "!!str":
		return at.Value, true
	case "!!bool":
		var b bool
		if at.Decode(&b) == nil {
			return b, true
		}
	case "!!int":
		if !plainInteger.MatchString(at.Value) {
			r.report(n, path, Schema,
				"is a number that YAML does not read as it is written (0644 is 420); write it in quotes")
			return nil, false
		}
		if i, err := strconv.ParseInt(at.Value, 10, 64); err == nil {
			return i, true
		}
		r.tooLarge(n, path)
		return nil, false
	case "!!float":
		if plainInteger.MatchString(at.Value) {
			r.tooLarge(n, path)
			return nil, false
		}
		var f float64
		if at.Decode(&f) == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			if whole, ok := resource.Whole(f); ok {
				return whole, true
			}
			return f, true
		}
		r.report(n, path, Schema, "is not a finite number")
		return nil, false
	case "!!null":
		if r.nulls {
			return nil, true
		}
		r.report(n, path, invalid.NullValue, "is nothing (null); give a value, or leave it out")
		return nil, false
	}
	r.wrongKind(n, at, path, "a value that a parameter takes; write it in quotes if text is meant")
	return nil, false
}

func (r *reader) tooLarge(n *yaml.Node, path string) {
	r.report(n, path, Schema, "is a whole number of more than 64 bits; write it in quotes if text is meant")
}
