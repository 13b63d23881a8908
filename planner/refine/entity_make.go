package refine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog/template"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// make evaluates a template. The result lacks only what refers to other tasks.
func (r *Refined) make(i int, scope template.Scope, errs *invalid.Errors) []EntityTask {
	t := &r.tasks[i]
	e := evaluation{Refined: r, t: t, scope: scope, errs: errs}
	if t.ForEach == nil {
		e.one("")
		return e.out
	}
	elements, result, err := template.EachOf(t.ForEach, scope)
	at := t.Path + ".for_each"
	switch {
	case err != nil:
		e.failed(at, err)
	case result.Unknown:
		e.unknown(at, result)
	case result.Sensitive:
		e.report(at, BadTemplate, "is made from a sensitive attribute, but the names of tasks are shown; use another attribute")
	case len(elements) > mostTasks:
		e.report(at, invalid.BadValue, "has %d elements; %d is the most", len(elements), mostTasks)
	default:
		for _, element := range elements {
			e.scope, e.key = element.Bind(scope), element.Key
			e.one(fmt.Sprintf("[%q]", element.Key))
		}
	}
	return e.out
}

// evaluation evaluates one template to tasks.
type evaluation struct {
	*Refined
	t     *template.Task
	scope template.Scope
	key   string // of the element, where there is one
	out   []EntityTask
	errs  *invalid.Errors
}

func (e *evaluation) report(path string, code invalid.Code, format string, args ...any) {
	p := e.wrong("entity."+path, code, format, args...)
	if e.key != "" {
		p.Message += fmt.Sprintf(" (for the element %q)", e.key)
	}
	*e.errs = append(*e.errs, p)
}

func (e *evaluation) failed(path string, err error) {
	var wrong invalid.Errors
	errors.As(err, &wrong)
	for _, w := range wrong {
		e.report(path+w.Attribute, BadTemplate, "%s", w.Text())
	}
}

func (e *evaluation) unknown(path string, r template.Result) {
	e.report(path, BadTemplate, "decides which tasks there are, so it must be known when the plan is made; it waits for %s", strings.Join(r.Awaits, ", "))
}

// text evaluates a template whose result is shown and must be known.
func (e *evaluation) text(path string, t *template.Template) (string, bool) {
	result, err := t.EvaluateText(e.scope)
	switch {
	case err != nil:
		e.failed(path, err)
	case result.Unknown:
		e.unknown(path, result)
	case result.Sensitive:
		e.report(path, BadTemplate, "is made from a sensitive attribute, but is shown in plans and logs; use another attribute")
	default:
		s, ok := result.Value.(string)
		return s, ok
	}
	return "", false
}

// one makes one task.
func (e *evaluation) one(suffix string) {
	for _, when := range e.t.When {
		result, err := when.EvaluateBool(e.scope)
		switch {
		case err != nil:
			e.failed(e.t.Path+".when", err)
			return
		case result.Unknown:
			e.unknown(e.t.Path+".when", result)
			return
		case result.Value != true:
			return
		}
	}
	before := len(*e.errs)
	t := e.t
	out := EntityTask{Template: t.Definition.Name, Path: "entity." + t.Path, Section: e.section, Once: t.Definition.Once}
	name := e.service + "/" + t.Definition.Name + suffix
	out.Task = task.Task{Kind: t.Kind, Group: t.Definition.Tag, Service: e.service, Tolerate: t.Definition.Tolerate,
		Resource: resource.Resource{Type: t.Type, Title: name}}
	if out.Task.Group == "" {
		out.Task.Group = task.Node
		if t.Central {
			out.Task.Group = task.Management // litp.md 65, 66
		}
	}
	switch t.Kind {
	case task.Config:
		out.Task.Resource.Title, _ = e.text(t.Path+".config.title", t.Title)
	case task.Remote:
		out.Task.Name, out.Task.Limit = name, t.Definition.Remote.Limit
	case task.Callback:
		out.Task.Name, out.Returns = name, t.Definition.Callback.Returns
	}
	e.parameters(&out)
	for i, n := range t.Notify {
		if s, ok := e.text(fmt.Sprintf("%s.notify[%d]", t.Path, i), n); ok {
			out.notify = append(out.notify, s)
		}
	}
	for i, x := range t.Replaces {
		at := fmt.Sprintf("%s.replaces[%d]", t.Path, i)
		if id, ok := e.reference(at, x); ok {
			out.Replaces = append(out.Replaces, id)
		}
	}
	for _, q := range t.Requires {
		switch {
		case q.Service != nil:
			if s, ok := e.text(q.Path+".service", q.Service); ok {
				out.Needs = append(out.Needs, Need{Service: s})
			}
		case q.Resource != nil:
			if id, ok := e.reference(q.Path+".resource", q.Resource); ok {
				out.Needs = append(out.Needs, Need{Resource: id})
			}
		case q.Definition.Section != "":
			out.Needs = append(out.Needs, Need{Section: q.Definition.Section})
		}
	}
	if len(*e.errs) == before {
		e.out = append(e.out, out)
	}
}

func (e *evaluation) reference(path string, t *template.Template) (resource.ID, bool) {
	s, ok := e.text(path, t)
	if !ok {
		return "", false
	}
	typ, title, err := resource.ParseID(s)
	if err != nil {
		e.report(path, invalid.BadValue, "%s", err)
		return "", false
	}
	return resource.MakeID(typ, title), true
}

// parameters evaluates the parameters. A null is left out; an unknown value is pending.
func (e *evaluation) parameters(out *EntityTask) {
	values := make(resource.Parameters, len(e.t.Parameters))
	secret := false
	awaits := make(map[string]bool)
	for _, p := range e.t.Parameters {
		result, err := p.Value.Evaluate(e.scope)
		if err != nil {
			e.failed(p.Path, err)
			continue
		}
		secret = secret || result.Sensitive
		switch {
		case result.Unknown:
			out.Task.Pending = append(out.Task.Pending, p.Name)
			if out.known == nil {
				out.known = make(map[string]any)
			}
			out.known[p.Name] = p.Value.Known(e.scope)
			for _, a := range result.Awaits {
				awaits[a] = true
			}
		case result.Value == nil:
		case containsNull(result.Value):
			e.report(p.Path, invalid.NullValue, "has null in it; leave the element out")
		default:
			values[p.Name] = result.Value
		}
	}
	if secret {
		values[resource.Sensitive] = true
	}
	out.Awaits = slices.Sorted(maps.Keys(awaits))
	if len(values) > 0 {
		out.Task.Resource.Parameters = values
	}
}

func containsNull(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(v, containsNull)
	case map[string]any:
		for _, e := range v {
			if containsNull(e) {
				return true
			}
		}
	}
	return false
}
