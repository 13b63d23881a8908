package refine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog/template"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// finish adds what refers to other tasks, validates the parameters and digests them. raw is the results of all
// templates.
func (r *Refined) finish(i int, raw [][]EntityTask, errs *invalid.Errors) []EntityTask {
	t := &r.tasks[i]
	out := make([]EntityTask, 0, len(raw[i]))
	for _, m := range raw[i] {
		m.Needs = append(slices.Clone(m.Needs), r.needs(t, raw)...)
		if t.Kind == task.Config {
			// nodes share what they do not have a part in
			m.Task.Resource.Parameters = maps.Clone(m.Task.Resource.Parameters)
			r.references(&m, raw)
		}
		*errs = append(*errs, r.check(t, &m)...)
		out = append(out, m)
	}
	return out
}

// needs returns the requirements on tasks of the entity. A callback of a whole service requires them on all nodes, so
// it names no resource of one node.
func (r *Refined) needs(t *template.Task, raw [][]EntityTask) []Need {
	var out []Need
	on := func(i int) {
		other := &r.tasks[i]
		if t.Central && !other.Central {
			out = append(out, Need{Task: other.Definition.Name})
			return
		}
		for _, m := range raw[i] {
			out = append(out, Need{Task: other.Definition.Name, Resource: m.Task.Resource.ID()})
		}
	}
	for _, q := range t.Requires {
		for _, i := range r.byName[q.Definition.Task] {
			on(i)
		}
	}
	if t.Previous >= 0 {
		on(t.Previous)
	}
	return out
}

// references writes the requirements of a config task on config tasks, and its notifications, into its parameters.
func (r *Refined) references(m *EntityTask, raw [][]EntityTask) {
	add := func(parameter string, id resource.ID) {
		p := m.Task.Resource.Parameters
		if p == nil {
			p = make(resource.Parameters)
			m.Task.Resource.Parameters = p
		}
		// A single text counts as a list of one; what is neither is for the schema to refuse.
		switch written := p[parameter].(type) {
		case nil:
			p[parameter] = []any{string(id)}
		case string:
			p[parameter] = []any{written, string(id)}
		case []any:
			if !slices.Contains(written, any(string(id))) {
				p[parameter] = append(slices.Clone(written), string(id))
			}
		}
	}
	for _, n := range m.Needs {
		if typ, _, err := resource.ParseID(string(n.Resource)); err == nil && r.configures(typ) {
			add(resource.Require, n.Resource)
		}
	}
	for _, text := range m.notify {
		named, ok := r.byName[text]
		if !ok {
			add(resource.Notify, resource.ID(text))
			continue
		}
		for _, i := range named {
			for _, other := range raw[i] {
				if other.Task.Kind == task.Config {
					add(resource.Notify, other.Task.Resource.ID())
				}
			}
		}
	}
}

func (r *Refined) configures(typ string) bool {
	_, ok := r.schemas.Config[typ]
	return ok
}

// of returns the schemas of a kind of task.
func (s Schemas) of(k task.Kind) map[string]resource.Schema {
	switch k {
	case task.Remote:
		return s.Remote
	case task.Callback:
		return s.Callback
	}
	return s.Config
}

// check validates the parameters of a task, normalizes them and digests them. Unknown parameters are accepted.
func (r *Refined) check(t *template.Task, m *EntityTask) invalid.Errors {
	at := "entity." + t.Body
	schemas := r.schemas.of(t.Kind)
	typ, ok := schemas[t.Type]
	if !ok {
		return invalid.Errors{site.UnknownTypeError("service", r.service, at+".type", t.Type, schemas)}
	}
	if len(m.Task.Pending) > 0 {
		typ.Check = nil
	}
	var errs invalid.Errors
	for _, e := range typ.Validate(m.Task.Resource) {
		name := e.Attribute
		if end := strings.IndexAny(name, ".["); end >= 0 {
			name = name[:end]
		}
		if e.Code == invalid.MissingParameter && slices.Contains(m.Task.Pending, name) {
			continue
		}
		p := site.ParameterError("service", r.service, t.Type, m.Task.Resource.Title, e)
		p.Message = fmt.Sprintf("%s: %s", m.Task.Resource.ID(), p.Message)
		p.Attribute = at + ".parameters." + e.Attribute
		if e.Attribute == "title" {
			p.Attribute = at + ".title"
		}
		if attribute := copied(t, name); attribute != "" {
			p.Attribute = "attributes." + attribute
			p.Message = fmt.Sprintf("%s (it is the parameter %s)", p.Message, name)
		}
		errs = append(errs, p)
	}
	if t.Kind == task.Config {
		for _, name := range slices.Sorted(maps.Keys(Templated(m.Task.Resource))) {
			message := "is for inline configuration; in an entity each parameter is a template: write the text as content"
			if name != schema.Template {
				message = "is a template for inline configuration; in an entity each parameter is one: write its text itself"
			}
			errs = append(errs, r.wrong(at+".parameters."+name, invalid.BadValue, "%s", message))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	m.Task.Resource = typ.Normalize(m.Task.Resource)
	m.Task.Digest = resource.Digest(m.withTemplates(t))
	return nil
}

// copied returns the attribute that a parameter, or the title, only copies.
func copied(t *template.Task, parameter string) string {
	if parameter == "title" && t.Title != nil {
		return t.Title.Attribute()
	}
	for _, p := range t.Parameters {
		if p.Name == parameter {
			return p.Value.Attribute()
		}
	}
	return ""
}

// withTemplates returns the resource with its templates, and the known values that they read, in place of unknown
// parameters. It includes the values that a callback returns, because they are what the callback is for.
func (m *EntityTask) withTemplates(t *template.Task) resource.Resource {
	if len(m.Task.Pending)+len(m.Returns) == 0 {
		return m.Task.Resource
	}
	parameters, _ := t.Definition.Parameters()
	out := m.Task.Resource
	out.Parameters = make(resource.Parameters, len(m.Task.Resource.Parameters)+len(m.Task.Pending)+1)
	maps.Copy(out.Parameters, m.Task.Resource.Parameters)
	if len(m.Returns) > 0 {
		returns := make(map[string]any, len(m.Returns))
		for attribute, value := range m.Returns {
			returns[attribute] = value
		}
		out.Parameters["returns"] = returns
	}
	for _, name := range m.Task.Pending {
		// A map with this key is no value that a parameter of any type has.
		out.Parameters[name] = map[string]any{"pending template": parameters[name], "known": m.known[name]}
	}
	return out
}
