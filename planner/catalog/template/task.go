package template

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Task is a task of an entity with its templates parsed.
type Task struct {
	Definition catalog.Task
	Path       string // `tasks[2].steps[0]`
	Body       string // path of what is about its kind: `tasks[2].steps[0].config`
	List       string // name of the list that it is a step of
	Previous   int    // index of the step before, -1 when there is none
	Kind       task.Kind
	Type       string      // of the resource, action or callback
	When       []*Template // of the list that it is a step of, and its own
	ForEach    *Tree
	Title      *Template     // of a config task
	Parameters []Parameter   // sorted by name
	Requires   []Requirement // of the list that it is a step of, and its own
	Notify     []*Template
	Replaces   []*Template
	Central    bool     // a callback for the service, not for a node
	NodeReads  []string // attributes of the node that templates read, "" where one reads the node as a whole
}

// ReadsNode reports whether a template reads the node.
func (t Task) ReadsNode() bool { return len(t.NodeReads) > 0 }

// Parameter is a parameter of a task.
type Parameter struct {
	Name, Path string
	Value      *Tree
}

// Requirement is a requirement of a task. Service and Resource are nil when it is about something else.
type Requirement struct {
	Definition        catalog.Requirement
	Path              string
	Service, Resource *Template
}

// Compile parses the templates of an entity's tasks, from the given one on; the steps of a list become tasks of their
// own. It reports all that is wrong in them: bad syntax, unknown variables, attributes and functions, and what follows
// from types alone. The attribute of an error is the path of the template: `tasks[2].config.parameters.content`. The
// entity is resolved.
func Compile(e catalog.Entity, from int) ([]Task, invalid.Errors) {
	c := compiler{names: firstLevel(e.Structure),
		scopes: map[bool]Scope{false: unknownScope(e.Structure, false), true: unknownScope(e.Structure, true)}}
	var out []Task
	for i := from; i < len(e.Tasks); i++ {
		path := fmt.Sprintf("tasks[%d]", i)
		whole := c.task(path, e.Tasks[i])
		if e.Tasks[i].Steps == nil {
			out = append(out, whole)
			continue
		}
		for j, s := range e.Tasks[i].Steps {
			step := c.task(fmt.Sprintf("%s.steps[%d]", path, j), s)
			step.List = e.Tasks[i].Name
			step.When = slices.Concat(whole.When, step.When)
			step.Requires = slices.Concat(whole.Requires, step.Requires)
			step.NodeReads = slices.Concat(whole.NodeReads, step.NodeReads)
			if j > 0 {
				step.Previous = len(out) - 1
			}
			out = append(out, step)
		}
	}
	return out, c.errs
}

type compiler struct {
	names  map[string][]string // that a template can write after each variable
	scopes map[bool]Scope      // with `each`, and without
	errs   invalid.Errors

	// of the present task
	each      bool   // `each` is there
	hidden    string // a variable that is not there
	nodeReads []string
}

func (c *compiler) task(path string, t catalog.Task) Task {
	out := Task{Definition: t, Path: path, Previous: -1}
	parameters, kind := t.Parameters()
	out.Body = path + "." + kind
	c.hidden, c.each, c.nodeReads = "", t.ForEach != nil, nil
	switch {
	case t.Config != nil:
		out.Kind, out.Type = task.Config, t.Config.Type
		out.Title = c.text(out.Body+".title", t.Config.Title)
	case t.Remote != nil:
		out.Kind, out.Type = task.Remote, t.Remote.Type
	case t.Callback != nil:
		out.Kind, out.Type, out.Central = task.Callback, t.Callback.Type, !t.Callback.PerNode
		if out.Central {
			c.hidden = "node"
		}
	}
	if t.ForEach != nil {
		c.each = false
		out.ForEach = c.tree(path+".for_each", t.ForEach, 0)
		c.each = true
	}
	if when := c.parse(path+".when", t.When, cty.Bool, "true or false"); when != nil {
		out.When = []*Template{when}
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		at := out.Body + ".parameters." + name
		out.Parameters = append(out.Parameters, Parameter{name, at, c.tree(at, parameters[name], 0)})
	}
	for i, q := range t.Requires {
		at := fmt.Sprintf("%s.requires[%d]", path, i)
		out.Requires = append(out.Requires,
			Requirement{q, at, c.text(at+".service", q.Service), c.text(at+".resource", q.Resource)})
	}
	for i, s := range t.Notify {
		out.Notify = append(out.Notify, c.text(fmt.Sprintf("%s.notify[%d]", path, i), s))
	}
	for i, s := range t.Replaces {
		out.Replaces = append(out.Replaces, c.text(fmt.Sprintf("%s.replaces[%d]", path, i), s))
	}
	out.NodeReads = c.nodeReads
	return out
}

// text parses a template that must give a text, nil for an empty one.
func (c *compiler) text(path, source string) *Template {
	return c.parse(path, source, cty.String, "text")
}

// parse parses a template, nil for an empty one. want is the type that it must give, none if any will do.
func (c *compiler) parse(path, source string, want cty.Type, name string) *Template {
	if source == "" {
		return nil
	}
	t, err := Parse(source)
	if err == nil {
		err = c.check(t, want, name)
	}
	if err != nil {
		c.errs = append(c.errs, below(path, err)...)
		return nil
	}
	for _, r := range t.reads {
		if r.RootName() != "node" {
			continue
		}
		var attribute hcl.TraverseAttr
		if len(r) > 1 {
			attribute, _ = r[1].(hcl.TraverseAttr)
		}
		c.nodeReads = append(c.nodeReads, attribute.Name)
	}
	return t
}

// tree parses the templates of a value: string, bool, int64, float64, []any and map[string]any. Keys of maps are no
// templates.
func (c *compiler) tree(path string, value any, depth int) *Tree {
	if depth > maxDepth {
		c.errs = append(c.errs, invalid.Error{Attribute: path,
			Message: fmt.Sprintf("lists and maps are more than %d levels deep", maxDepth)})
		return nil
	}
	switch v := value.(type) {
	case string:
		if v == "" {
			return &Tree{template: &Template{}}
		}
		return &Tree{template: c.parse(path, v, cty.NilType, "")}
	case []any:
		out := &Tree{isList: true}
		for i, e := range v {
			out.children = append(out.children, c.tree(fmt.Sprintf("%s[%d]", path, i), e, depth+1))
		}
		return out
	case map[string]any:
		out := &Tree{isMap: true, keys: slices.Sorted(maps.Keys(v))}
		for _, k := range out.keys {
			out.children = append(out.children, c.tree(fmt.Sprintf("%s[%q]", path, k), v[k], depth+1))
		}
		return out
	}
	return &Tree{value: value}
}

// check reports unknown variables and attributes, and what follows from types alone.
func (c *compiler) check(t *Template, want cty.Type, name string) error {
	if wrong := c.reads(t); len(wrong) > 0 {
		return wrong
	}
	value, err := t.evaluate(c.scopes[c.each])
	if err == nil && want != cty.NilType {
		_, err = convertTo(value, want, name)
	}
	return err
}

// reads reports unknown variables and attributes, with what may be meant.
func (c *compiler) reads(t *Template) invalid.Errors {
	var out invalid.Errors
	for _, v := range t.reads {
		e := locate(t.text, v.SourceRange().Start.Byte)
		root := v.RootName()
		known, ok := c.names[root]
		switch {
		case !ok && root == secretsVariable:
			e.Message = notAlone
		case !ok:
			there := slices.DeleteFunc(Variables(), func(name string) bool { return c.names[name] == nil })
			inline := c.names[factsVariable] != nil // of [ParseForNode]
			if inline {
				there = append(there, secretsVariable)
			}
			e.Message = fmt.Sprintf("there is no variable %q", root) + resource.Choices(root, there)
			if inline && resource.DidYouMean(root, there) == "" {
				e.Message += "; values of Terraform come through templatefile()"
			}
			if slices.Contains(c.names["self"], root) {
				e.Message = fmt.Sprintf("there is no variable %q; an attribute of the service is self.%s", root, root)
			}
		case root == "each" && !c.each:
			e.Message = "each is there only in a task with for_each, and not in for_each itself"
		case root == c.hidden:
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
				e.Message += resource.Choices(attribute.Name, known)
			}
		}
		out = append(out, e)
	}
	return out
}
