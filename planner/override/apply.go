package override

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// merged is what all layers together say about one resource.
type merged struct {
	entry
	layers []layer // that still count, the weakest first
}

type layer struct {
	index int
	entry entry
}

// Apply applies layers to the tasks of a node. It returns the tasks, changed where a layer says so, and the created
// ones after them. Several tasks may be about the same resource. The given tasks are not changed. With errors the
// result must not be planned: it only serves to find further errors, and invalid tasks have no digest.
func (s *Set) Apply(layers []int, tasks []task.Task) ([]task.Task, invalid.Errors) {
	if len(layers) == 0 {
		return tasks, nil
	}
	resources := s.merge(layers)
	if len(resources) == 0 {
		return tasks, nil
	}
	var errs invalid.Errors
	out := slices.Clone(tasks)
	last, before := make(map[resource.ID]int, len(tasks)), make(map[int]int)
	for i, t := range tasks {
		id := t.Resource.ID()
		if other, again := last[id]; again {
			before[i] = other
		}
		last[id] = i
	}
	for _, m := range resources {
		i, exists := last[m.id]
		if !exists && m.create {
			made := task.Task{Group: task.Node, Resource: resource.Resource{Type: m.typ, Title: m.title}}
			made, more := s.change(made, m, false)
			out, errs = append(out, made), append(errs, more...)
		}
		for again := exists; again; i, again = before[i] {
			var more invalid.Errors
			out[i], more = s.change(out[i], m, true)
			errs = append(errs, more...)
		}
	}
	return out, errs
}

// merge merges what the layers say, sorted by type and title.
func (s *Set) merge(layers []int) []*merged {
	byID := make(map[resource.ID]*merged)
	var out []*merged
	for _, l := range layers {
		o := s.overrides[l]
		for _, e := range o.entries {
			m, ok := byID[e.id]
			if !ok {
				m = &merged{entry: entry{id: e.id, typ: e.typ, title: e.title}}
				byID[e.id] = m
				out = append(out, m)
			}
			whole := o.Merge == mergeTitle
			if whole {
				m.create, m.broken, m.layers = false, false, nil
			}
			m.data, m.defaults = lay(m.data, e.data, whole), lay(m.defaults, e.defaults, whole)
			m.create, m.broken = m.create || e.create, m.broken || e.broken
			m.layers = append(m.layers, layer{l, e})
		}
	}
	slices.SortFunc(out, func(a, b *merged) int {
		return cmp.Or(cmp.Compare(a.typ, b.typ), cmp.Compare(a.title, b.title))
	})
	return out
}

// change returns a task with the changes that the layers make to its resource.
func (s *Set) change(t task.Task, m *merged, exists bool) (task.Task, invalid.Errors) {
	before := t.Resource.Parameters
	digestible := !m.broken && (!exists || t.Digest != "")
	after := make(resource.Parameters, len(before)+len(m.data)+len(m.defaults))
	maps.Copy(after, before)
	var errs invalid.Errors
	for name, v := range overlay(m.defaults, m.data) {
		switch {
		case v == nil:
			errs = append(errs, nullError(s.overrides[m.author(name)].Name, m.typ, m.title, name))
			delete(after, name)
		case isRelation(name):
			after[name] = relate(after[name], v)
		default:
			after[name] = v
		}
	}
	errs.Sort() // they come from a map
	t.Resource.Parameters = after
	if !digestible || len(errs) > 0 {
		t.Digest = ""
		t.Override = s.effective(t.Resource, before, m, exists)
		return t, errs
	}
	schema, templates := s.schemas[m.typ], t.Digest
	if len(t.Pending) > 0 {
		t.Pending = slices.DeleteFunc(slices.Clone(t.Pending), after.Has)
		schema.Check = nil
	}
	normal, wrong := schema.Conform(t.Resource)
	for _, e := range wrong {
		if e.Code == invalid.MissingParameter && slices.Contains(t.Pending, e.Attribute) {
			continue
		}
		errs = append(errs, site.ParameterError("override", s.overrides[m.author(parameterOf(e))].Name, m.typ,
			m.title, e))
	}
	t.Resource = normal
	t.Override = s.effective(t.Resource, before, m, exists)
	t.Digest = ""
	if len(errs) == 0 {
		t.Digest = digest(t, templates)
	}
	return t, errs
}

// digest returns the digest of a task's resource. Pending parameters count by the digest of their templates.
func digest(t task.Task, templates string) string {
	r := t.Resource
	if len(t.Pending) > 0 {
		r.Parameters = maps.Clone(r.Parameters)
		for _, name := range t.Pending {
			// A map with this key is no value that a parameter of any type has.
			r.Parameters[name] = map[string]any{"pending template": templates}
		}
	}
	return resource.Digest(r)
}

// effective returns the names of the overrides that created the resource, or that changed one of its parameters to
// something that is there in the end.
func (s *Set) effective(r resource.Resource, before resource.Parameters, m *merged, exists bool) []string {
	var names []string
	for _, l := range m.layers {
		if !exists || l.entry.shows(r.Parameters, before) {
			names = append(names, s.overrides[l.index].Name)
		}
	}
	return names
}

// shows reports whether the entry causes a difference between two forms of its resource.
func (e entry) shows(after, before resource.Parameters) bool {
	for name, v := range overlay(e.defaults, e.data) {
		if v == nil || reflect.DeepEqual(after[name], before[name]) {
			continue
		}
		switch v.(type) {
		case []any, map[string]any:
			return true // merged: a part of what is there now
		}
		if reflect.DeepEqual(after[name], v) {
			return true
		}
	}
	return false
}

// author returns the strongest layer that gives a parameter, or the strongest of all when none does.
func (m *merged) author(parameter string) int {
	for _, l := range slices.Backward(m.layers) {
		if l.entry.gives(parameter) {
			return l.index
		}
	}
	return m.layers[len(m.layers)-1].index
}

func (e entry) gives(parameter string) bool {
	return e.data.Has(parameter) || e.defaults.Has(parameter)
}
