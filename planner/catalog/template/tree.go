package template

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// Tree is a value whose texts, at every depth, are templates: the parameters of a task.
type Tree struct {
	template *Template // of a text
	value    any       // of a number or true or false
	keys     []string  // of a map, sorted
	children []*Tree
	isList   bool
	isMap    bool
}

// maxDepth bounds lists and maps inside each other.
const maxDepth = 32

// ParseTree reads the templates of a value: string, bool, int64, float64, []any and map[string]any. Keys of maps are no
// templates. The error is of type [invalid.Errors], whose attributes are paths below the value: `["a"][0]`.
func ParseTree(value any) (*Tree, error) {
	var wrong invalid.Errors
	t := parseTree("", value, 0, &wrong)
	if wrong != nil {
		return nil, wrong
	}
	return t, nil
}

func parseTree(path string, value any, depth int, wrong *invalid.Errors) *Tree {
	if depth > maxDepth {
		*wrong = append(*wrong, invalid.Error{Attribute: path,
			Message: fmt.Sprintf("lists and maps are more than %d levels deep", maxDepth)})
		return nil
	}
	switch v := value.(type) {
	case string:
		t, err := Parse(v)
		if err != nil {
			*wrong = append(*wrong, below(path, err)...)
			return nil
		}
		return &Tree{template: t}
	case []any:
		out := &Tree{isList: true}
		for i, e := range v {
			out.children = append(out.children, parseTree(fmt.Sprintf("%s[%d]", path, i), e, depth+1, wrong))
		}
		return out
	case map[string]any:
		out := &Tree{isMap: true, keys: slices.Sorted(maps.Keys(v))}
		for _, k := range out.keys {
			out.children = append(out.children, parseTree(fmt.Sprintf("%s[%q]", path, k), v[k], depth+1, wrong))
		}
		return out
	}
	return &Tree{value: value}
}

// below returns the errors of a template with its path.
func below(path string, err error) invalid.Errors {
	var errs invalid.Errors
	errors.As(err, &errs)
	for i := range errs {
		errs[i].Attribute = path
	}
	return errs
}

// Reads reports whether a template in the tree reads a variable.
func (t *Tree) Reads(variable string) bool {
	if t.template != nil {
		return t.template.Reads(variable)
	}
	return slices.ContainsFunc(t.children, func(c *Tree) bool { return c.Reads(variable) })
}

// Attribute is [Template.Attribute] of a tree that is one text.
func (t *Tree) Attribute() string {
	if t.template == nil {
		return ""
	}
	return t.template.Attribute()
}

// Evaluate gives the value of the tree: what [Result] says of a template holds for it as a whole. The error is of type
// [invalid.Errors].
func (t *Tree) Evaluate(s Scope) (Result, error) {
	c := collector{scope: s, left: MaxResult}
	value := c.collect("", t)
	if c.wrong != nil {
		return Result{}, c.wrong
	}
	slices.Sort(c.result.Awaits)
	c.result.Awaits = slices.Compact(c.result.Awaits)
	if !c.result.Unknown {
		c.result.Value = value
	}
	return c.result, nil
}

type collector struct {
	scope  Scope
	left   int // what the whole may still hold
	result Result
	wrong  invalid.Errors
}

func (c *collector) collect(path string, t *Tree) any {
	switch {
	case t.template != nil:
		if c.left < 0 {
			return nil
		}
		r, err := t.template.Evaluate(c.scope)
		if err != nil {
			c.wrong = append(c.wrong, below(path, err)...)
			return nil
		}
		if c.left -= weight(r.Value); c.left < 0 {
			c.wrong = append(c.wrong, invalid.Error{Attribute: path, Message: errTooLarge.Error()})
		}
		c.result.Unknown = c.result.Unknown || r.Unknown
		c.result.Sensitive = c.result.Sensitive || r.Sensitive
		c.result.Awaits = append(c.result.Awaits, r.Awaits...)
		return r.Value
	case t.isList:
		list := make([]any, 0, len(t.children))
		for i, child := range t.children {
			list = append(list, c.collect(fmt.Sprintf("%s[%d]", path, i), child))
		}
		return list
	case t.isMap:
		m := make(map[string]any, len(t.children))
		for i, child := range t.children {
			m[t.keys[i]] = c.collect(fmt.Sprintf("%s[%q]", path, t.keys[i]), child)
		}
		return m
	}
	return t.value
}

// weight is what a result counts towards the size of a tree's.
func weight(value any) int {
	n := 1
	switch v := value.(type) {
	case string:
		n += len(v)
	case []any:
		for _, e := range v {
			n += weight(e)
		}
	case map[string]any:
		for k, e := range v {
			n += len(k) + weight(e)
		}
	}
	return n
}

// evaluate gives the value of the tree with its marks.
func (t *Tree) evaluate(s Scope) (cty.Value, error) {
	switch {
	case t.template != nil:
		return t.template.evaluate(s)
	case t.isList:
		out := make([]cty.Value, len(t.children))
		for i, c := range t.children {
			var err error
			if out[i], err = c.evaluate(s); err != nil {
				return cty.NilVal, err
			}
		}
		return cty.TupleVal(out), nil
	case t.isMap:
		out := make(map[string]cty.Value, len(t.children))
		for i, c := range t.children {
			var err error
			if out[t.keys[i]], err = c.evaluate(s); err != nil {
				return cty.NilVal, err
			}
		}
		return cty.ObjectVal(out), nil
	}
	return fromGo(t.value), nil
}
