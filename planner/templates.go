package planner

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// nodeReads returns what finds the attributes of a node that templates read, under services and overrides that
// have the key.
func (b *desiredBuilder) nodeReads() func(key string, placed, layers []int) []string {
	configured := make(map[string]resource.Configuration, len(b.site.Services))
	for _, s := range b.site.Services {
		configured[s.Name] = s.Configuration
	}
	known := make(map[string][]string)
	return func(key string, placed, layers []int) []string {
		reads, ok := known[key]
		if ok {
			return reads
		}
		for _, i := range placed {
			reads = append(reads, b.templates.NodeReads(configured[b.services.Name(i)])...)
		}
		for _, o := range b.overrides.Overrides(layers) {
			reads = append(reads, b.templates.NodeReads(o.Configuration)...)
			for typ, defaults := range o.Options.Defaults {
				reads = append(reads, b.templates.NodeReads(resource.Configuration{typ: {"": defaults}})...)
			}
		}
		slices.Sort(reads)
		reads = slices.Compact(reads)
		known[key] = reads
		return reads
	}
}

// render gives the resources of a set of nodes what their templates give. Tasks with errors have no digest.
func (b *desiredBuilder) render(k *nodeSet, tasks []task.Task, found *nodeErrors) []task.Task {
	copied := false
	for i, t := range tasks {
		given := refine.Templated(t.Resource)
		if len(given) == 0 {
			continue
		}
		rendered, errs := b.rendered(t, b.nodesByName[k.nodes[0]])
		for _, e := range errs {
			found.add(e, k.nodes)
		}
		if !copied {
			tasks, copied = slices.Clone(tasks), true
		}
		if len(b.templates.FactsOf(given)) > 0 {
			if k.templates == nil {
				k.templates = make(map[resource.ID]resource.Parameters)
			}
			k.templates[t.Resource.ID()] = given
		}
		tasks[i] = rendered
	}
	return tasks
}

// rendered returns a task with what its templates give on a node; one without templates stays.
func (d *desired) rendered(t task.Task, n site.Node) (task.Task, invalid.Errors) {
	given := refine.Templated(t.Resource)
	if t.Digest == "" || len(given) == 0 {
		return t, nil
	}
	r, awaited, errs := d.templates.Render(t.Resource, d.site, n, t.Pending)
	if len(errs) > 0 {
		for i := range errs {
			e := &errs[i]
			name, _, _ := strings.Cut(e.Attribute, "[")
			e.Object, e.Name, e.Attribute = d.overrides.Giver(t, name)
			e.Message, e.Line, e.Column = e.Text(), 0, 0
		}
		t.Digest = ""
		return t, errs
	}
	t.Resource = r
	if len(awaited) > 0 {
		t.Awaited = &task.Awaited{Facts: d.templates.FactsOf(given), Parameters: awaited}
		t.Digest = resource.SHA256("facts\n" + t.Digest)
		return t, nil
	}
	if digest := resource.Digest(r); len(t.Pending) > 0 { // the digest of its task has the templates of an entity
		t.Digest = resource.SHA256(t.Digest + digest)
	} else {
		t.Digest = digest
	}
	return t, nil
}

// withFacts is [Plan.WithFacts].
func (d *desired) withFacts(t task.Task, found *resource.Facts) (task.Task, error) {
	l := d.wanted[t.Node]
	switch {
	case l == nil || len(l.guards) == 0 || t.Action == task.PrepareNode:
	case found == nil:
		return t, ErrNoFacts
	case noServices(found):
		return t, l.guards[0]
	}
	if t.Kind != task.Config || t.Action == task.Remove || t.Action == task.Refresh || l == nil {
		return t, nil
	}
	given := l.templates[t.Resource.ID()]
	if len(given) == 0 {
		return t, nil
	}
	if found == nil {
		return t, ErrNoFacts
	}
	n, s := d.nodesByName[t.Node], d.site
	if planned := s.Facts[t.Node]; planned != nil {
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if differ := d.templates.FactsDiffer(given[name], planned, found); differ != "" {
				if name == schema.Template {
					name = "content"
				}
				return t, fmt.Errorf("facts changed since the plan: node %q: %s, and the %s is made from it; plan again",
					t.Node, differ, name)
			}
		}
		return t, nil
	}
	r := t.Resource
	r.Parameters = maps.Clone(r.Parameters)
	maps.Copy(r.Parameters, given)
	s.Facts = map[string]*resource.Facts{t.Node: found}
	made, _, errs := d.templates.Render(r, s, n, t.Pending)
	if len(errs) > 0 {
		return t, fmt.Errorf("its template on node %q, with the facts of the node: %s: %s", t.Node, errs[0].Attribute,
			errs[0].Text())
	}
	t.Resource, t.Digest, t.Awaited = made, resource.Digest(made), nil
	return t, nil
}

// ErrNoFacts says that a task depends on facts of a node that has not said them in the run: a template reads them, or
// the node has guarded resources.
var ErrNoFacts = errors.New("it depends on facts of the node, which has not said them")

func noServices(f *resource.Facts) bool {
	return f != nil && f.ServiceProvider == resource.NoServiceProvider
}
