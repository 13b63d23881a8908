package template

import (
	"errors"
	"fmt"
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

// below returns the errors of a template with its path.
func below(path string, err error) invalid.Errors {
	var errs invalid.Errors
	errors.As(err, &errs)
	for i := range errs {
		errs[i].Attribute = path
	}
	return errs
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
	case t.template != nil && c.left < 0: // that is reported
		return nil
	case t.template != nil:
		r, err := t.template.within(c.scope, &c.left)
		if err != nil {
			c.wrong = append(c.wrong, below(path, err)...)
			return nil
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
