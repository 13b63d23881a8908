package refine

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/catalog/template"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// taskTemplate is a task of an entity with its templates parsed. Steps are templates of their own.
type taskTemplate struct {
	catalog.Task
	path       string // `entity.tasks[2].steps[0]`
	kind       task.Kind
	typ        string
	whens      []*template.Template // of the task, and of the list that it is a step of
	forEach    *template.Tree
	title      *template.Template // of a config task
	parameters []parameter        // sorted by name
	requires   []requirement      // its own, and those of the list that it is a step of
	notify     []*template.Template
	replaces   []*template.Template
	previous   int // the step before, -1 when there is none

	central bool // a callback for the service, not for a node
	reads   bool // a template reads the node
	varies  bool // differs from node to node: it reads the node, or refers to a task that does
}

type parameter struct {
	name string
	path string
	tree *template.Tree
}

type requirement struct {
	catalog.Requirement
	path              string
	service, resource *template.Template // nil when it is about something else
}

// compile parses the templates of tasks.
func (r *Refined) compile(tasks []catalog.Task) invalid.Errors {
	c := compiler{Refined: r}
	r.byName = make(map[string][]int)
	for i, t := range tasks {
		path := fmt.Sprintf("entity.tasks[%d]", i)
		if t.Steps == nil {
			c.add(path, t, nil, -1)
			continue
		}
		previous := -1
		for j, step := range t.Steps {
			at := c.add(fmt.Sprintf("%s.steps[%d]", path, j), step, &taskTemplate{Task: t, path: path}, previous)
			r.byName[t.Name] = append(r.byName[t.Name], at)
			previous = at
		}
	}
	for i := range r.templates {
		t := &r.templates[i]
		t.varies = t.reads
		for _, other := range r.refersTo(t) {
			t.varies = t.varies || r.templates[other].reads && !t.central
		}
	}
	return c.errs
}

// refersTo returns the templates that one names.
func (r *Refined) refersTo(t *taskTemplate) []int {
	var out []int
	for _, q := range t.requires {
		out = append(out, r.byName[q.Task]...)
	}
	for _, n := range t.Notify {
		out = append(out, r.byName[n]...)
	}
	if t.previous >= 0 {
		out = append(out, t.previous)
	}
	return out
}

type compiler struct {
	*Refined
	errs invalid.Errors
}

// add parses one task, which may be a step of a list.
func (c *compiler) add(path string, t catalog.Task, list *taskTemplate, previous int) int {
	out := taskTemplate{Task: t, path: path, previous: previous}
	if list != nil {
		out.whens = append(out.whens, c.text(list.path+".when", list.When))
		out.requires = append(out.requires, c.requirements(list.path, list.Requires)...)
	}
	out.whens = slices.DeleteFunc(append(out.whens, c.text(path+".when", t.When)),
		func(w *template.Template) bool { return w == nil })
	out.requires = append(out.requires, c.requirements(path, t.Requires)...)
	out.forEach = c.tree(path+".for_each", t.ForEach)
	parameters, kind := t.Parameters()
	switch {
	case t.Config != nil:
		out.kind, out.typ = task.Config, t.Config.Type
		out.title = c.text(path+".config.title", t.Config.Title)
	case t.Remote != nil:
		out.kind, out.typ = task.Remote, t.Remote.Type
	case t.Callback != nil:
		out.kind, out.typ, out.central = task.Callback, t.Callback.Type, !t.Callback.PerNode
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		at := fmt.Sprintf("%s.%s.parameters.%s", path, kind, name)
		out.parameters = append(out.parameters, parameter{name, at, c.tree(at, parameters[name])})
	}
	for i, s := range t.Notify {
		out.notify = append(out.notify, c.text(fmt.Sprintf("%s.notify[%d]", path, i), s))
	}
	for i, s := range t.Replaces {
		out.replaces = append(out.replaces, c.text(fmt.Sprintf("%s.replaces[%d]", path, i), s))
	}
	out.reads = readsNode(&out)
	c.templates = append(c.templates, out)
	at := len(c.templates) - 1
	c.byName[t.Name] = append(c.byName[t.Name], at)
	return at
}

func (c *compiler) requirements(path string, list []catalog.Requirement) []requirement {
	out := make([]requirement, len(list))
	for i, q := range list {
		at := fmt.Sprintf("%s.requires[%d]", path, i)
		out[i] = requirement{q, at, c.text(at+".service", q.Service), c.text(at+".resource", q.Resource)}
	}
	return out
}

// text parses a template, nil for an empty text.
func (c *compiler) text(path, text string) *template.Template {
	if text == "" {
		return nil
	}
	t, err := template.Parse(text)
	c.failed(path, err)
	return t
}

func (c *compiler) tree(path string, value any) *template.Tree {
	if value == nil {
		return nil
	}
	t, err := template.ParseTree(value)
	c.failed(path, err)
	return t
}

// failed reports the errors of a template.
func (c *compiler) failed(path string, err error) {
	var wrong invalid.Errors
	errors.As(err, &wrong)
	for _, w := range wrong {
		c.errs = append(c.errs, c.wrong(path+w.Attribute, BadTemplate, "%s", w.Text()))
	}
}

func readsNode(t *taskTemplate) bool {
	const node = "node"
	texts := slices.Concat(t.whens, t.notify, t.replaces, []*template.Template{t.title})
	for _, q := range t.requires {
		texts = append(texts, q.service, q.resource)
	}
	if slices.ContainsFunc(texts, func(x *template.Template) bool { return x != nil && x.Reads(node) }) {
		return true
	}
	return t.forEach != nil && t.forEach.Reads(node) ||
		slices.ContainsFunc(t.parameters, func(p parameter) bool { return p.tree != nil && p.tree.Reads(node) })
}
