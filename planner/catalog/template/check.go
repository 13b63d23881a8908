package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Check reports what is wrong in the templates of an entity's tasks, from the given one on: bad syntax, variables,
// attributes and functions that there are not, and what follows from types alone. The attribute of an error is the path
// of the template: `tasks[2].config.parameters.content`. The entity is resolved.
func Check(e catalog.Entity, from int) invalid.Errors {
	c := check{
		structure: e.Structure, names: firstLevel(e.Structure),
		scopes: map[bool]Scope{false: unknownScope(e.Structure, false), true: unknownScope(e.Structure, true)},
	}
	for i := from; i < len(e.Tasks); i++ {
		c.task(fmt.Sprintf("tasks[%d]", i), e.Tasks[i])
	}
	return c.errs
}

// want says what a template must give.
type want int

const (
	anything want = iota
	text
	boolean
)

type check struct {
	structure catalog.Structure
	names     map[string][]string // that may stand behind each variable
	scopes    map[bool]Scope      // with `each`, and without
	errs      invalid.Errors
}

func (c *check) task(path string, t catalog.Task) {
	// A callback for the whole service has no node.
	hidden := ""
	if t.Callback != nil && !t.Callback.PerNode {
		hidden = "node"
	}
	each := t.ForEach != nil
	if each {
		c.tree(path+".for_each", t.ForEach, false, hidden, anything)
	}
	c.text(path+".when", t.When, each, hidden, boolean)
	if t.Config != nil {
		c.text(path+".config.title", t.Config.Title, each, hidden, text)
	}
	parameters, kind := t.Parameters()
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		c.tree(path+"."+kind+".parameters."+name, parameters[name], each, hidden, anything)
	}
	for i, q := range t.Requires {
		at := fmt.Sprintf("%s.requires[%d]", path, i)
		c.text(at+".service", q.Service, each, hidden, text)
		c.text(at+".resource", q.Resource, each, hidden, text)
	}
	for i, s := range t.Notify {
		c.text(fmt.Sprintf("%s.notify[%d]", path, i), s, each, hidden, text)
	}
	for i, s := range t.Replaces {
		c.text(fmt.Sprintf("%s.replaces[%d]", path, i), s, each, hidden, text)
	}
	for i, s := range t.Steps {
		c.task(fmt.Sprintf("%s.steps[%d]", path, i), s)
	}
}

func (c *check) tree(path string, value any, each bool, hidden string, w want) {
	switch v := value.(type) {
	case string:
		c.text(path, v, each, hidden, w)
	case []any:
		for i, e := range v {
			c.tree(fmt.Sprintf("%s[%d]", path, i), e, each, hidden, w)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			c.tree(fmt.Sprintf("%s[%q]", path, k), v[k], each, hidden, w)
		}
	}
}

func (c *check) text(path, source string, each bool, hidden string, w want) {
	if source == "" {
		return
	}
	report := func(err error) bool {
		c.errs = append(c.errs, below(path, err)...)
		return err != nil
	}
	t, err := Parse(source)
	if report(err) {
		return
	}
	if wrong := c.reads(t, each, hidden); len(wrong) > 0 {
		report(wrong)
		return
	}
	value, err := t.evaluate(c.scopes[each])
	if report(err) {
		return
	}
	switch w {
	case text:
		_, err = convertTo(value, cty.String, "text")
	case boolean:
		_, err = convertTo(value, cty.Bool, "true or false")
	}
	report(err)
}

// reads reports unknown variables and attributes, with what may be meant.
func (c *check) reads(t *Template, each bool, hidden string) invalid.Errors {
	var out invalid.Errors
	for _, v := range t.reads {
		e := locate(t.text, v.SourceRange().Start.Byte)
		root := v.RootName()
		known, ok := c.names[root]
		switch {
		case !ok:
			e.Message = fmt.Sprintf("there is no variable %q; %s", root, suggestion(root, Variables()))
			if slices.Contains(c.names["self"], root) {
				e.Message = fmt.Sprintf("there is no variable %q; an attribute of the service is self.%s", root, root)
			}
		case root == "each" && !each:
			e.Message = "each is there only in a task with for_each, and not in for_each itself"
		case root == hidden:
			e.Message = "the callback is one for the whole service and belongs to no node; write per_node: true for one on each node"
		default:
			if len(v) < 2 {
				continue
			}
			attribute, ok := v[1].(hcl.TraverseAttr)
			if !ok || slices.Contains(known, attribute.Name) {
				continue
			}
			e = locate(t.text, attribute.SrcRange.Start.Byte+1) // behind the dot
			e.Message = fmt.Sprintf("%s has no %q", root, attribute.Name)
			if len(c.errs)+len(out) < resource.MostHints {
				e.Message += "; " + suggestion(attribute.Name, known)
			}
		}
		out = append(out, e)
	}
	return out
}

func suggestion(name string, known []string) string {
	if near := resource.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) == 0 {
		return "there is none at all"
	}
	return "there are " + strings.Join(known, ", ")
}
