package planner

import (
	"fmt"
	"slices"

	entity "github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// resolveRequirements finds what orders the tasks of a set of nodes besides their own parameters. It reports
// requirements that cannot be kept, and invalid `replaces`. It returns nil without entities and ordering rules.
func (b *desiredBuilder) resolveRequirements(k *nodeSet, tasks []task.Task, sections map[resource.ID]entity.Section,
	found *nodeErrors) map[resource.ID]sequence.Constraints {
	if sections == nil {
		return nil
	}
	c := k.list
	n := newTaskIndex(tasks, sections)
	constraints := make(map[resource.ID]sequence.Constraints, len(c.details))
	c.waits = b.rules.waitsOf(tasks, sections, func(rule string, n int) {
		found.add(invalid.Error{Object: "deployment", Name: b.site.Name, Attribute: ordering + "." + rule,
			Code:    invalid.BadValue,
			Message: fmt.Sprintf("makes %d requirements; %d is the most on one node: let the rule match less, or let tasks count as another section (counts_as)", n, mostWaits)}, k.nodes)
	})
	for _, t := range tasks {
		id := t.Resource.ID()
		own := sequence.Constraints{Section: sections[id], Waits: c.waits[id], Unordered: b.rules.unordered(t.Resource.Type)}
		d, ok := c.details[id]
		if !ok {
			constraints[id] = own
			continue
		}
		if t.Group == task.Prepare {
			found.add(entityError(t, d, ".tag", invalid.BadValue,
				"no task of a service can run in the task group %s, in which nodes are made ready; use %s", t.Group,
				task.PreNode), k.nodes)
		}
		for _, need := range d.Needs {
			after, p := b.resolveNeed(k, n, t, d, need)
			own.After = append(own.After, after...)
			for _, wrong := range p {
				found.add(wrong, k.nodes)
			}
		}
		constraints[id] = own
	}
	b.resolveReplaces(c, tasks, k.nodes, found)
	return constraints
}

// sectionsOf returns the sections of the tasks of a set of nodes; nil without entities and ordering rules.
func (b *desiredBuilder) sectionsOf(k *nodeSet, tasks []task.Task) map[resource.ID]entity.Section {
	if k.list.details == nil && b.rules == nil {
		return nil
	}
	return b.rules.taskSections(tasks, k.list.details)
}

// taskIndex finds the tasks of a node by what a requirement names.
type taskIndex struct {
	there     map[resource.ID]bool
	bySection map[entity.Section][]resource.ID
	byService map[string][]resource.ID
}

func newTaskIndex(tasks []task.Task, sections map[resource.ID]entity.Section) taskIndex {
	n := taskIndex{
		there: make(map[resource.ID]bool, len(tasks)), bySection: make(map[entity.Section][]resource.ID),
		byService: make(map[string][]resource.ID),
	}
	for _, t := range tasks {
		id := t.Resource.ID()
		n.there[id] = true
		n.bySection[sections[id]] = append(n.bySection[sections[id]], id)
		for _, service := range t.Owners() {
			n.byService[service] = append(n.byService[service], id)
		}
	}
	return n
}

// resolveNeed returns the tasks of a node that a requirement of one of them names (litp.md 57).
func (b *desiredBuilder) resolveNeed(k *nodeSet, n taskIndex, t task.Task, d *refine.EntityTask,
	need refine.Need) ([]resource.ID, invalid.Errors) {
	switch {
	case need.Section != "":
		return n.bySection[need.Section], nil
	case need.Service != "":
		if p := b.unknownService(t, d, need.Service); p != nil {
			return nil, p
		}
		return n.byService[need.Service], nil
	case n.there[need.Resource]:
		return []resource.ID{need.Resource}, nil
	}
	for _, i := range b.byService[t.Service] {
		if c := b.callbacks[i]; c.Task.Resource.ID() == need.Resource {
			if turn, own := b.position(c.Task.Group, c.group), b.position(t.Group, k.first); turn > own {
				return nil, invalid.Errors{entityError(t, d, ".requires", invalid.BadStructure,
					"%s, in %s, requires the callback %s, in %s, which comes later; %s",
					t.Resource.ID(), b.describePosition(t.Group, k.first), c.Task.Name,
					b.describePosition(c.Task.Group, c.group), changeTags)}
			}
			return nil, nil
		}
	}
	typ, _, _ := resource.ParseID(string(need.Resource)) // refine made it
	if t.Kind == task.Config && b.configures(typ) {
		return nil, nil // its parameter require says the same, and is reported
	}
	p := entityError(t, d, ".requires", invalid.UnknownReference, "there is no %s", need.Resource)
	if b.missing++; b.missing > resource.MostHints {
		return nil, invalid.Errors{p}
	}
	candidates := make([]string, 0, len(n.there))
	for id := range n.there {
		if id != t.Resource.ID() {
			candidates = append(candidates, string(id))
		}
	}
	slices.Sort(candidates)
	if near := resource.Nearest(string(need.Resource), candidates); near != "" {
		p.Message += fmt.Sprintf("; did you mean %s?", near)
	}
	return nil, invalid.Errors{p}
}

// namedCallbacks returns the callbacks of its whole service that a task requires by name.
func (d *desired) namedCallbacks(t task.Task, detail *refine.EntityTask) []int {
	var out []int
	for _, need := range detail.Needs {
		for _, i := range d.byService[t.Service] {
			if need.Resource != "" && d.callbacks[i].Task.Resource.ID() == need.Resource {
				out = append(out, i)
			}
		}
	}
	return out
}

func (b *desiredBuilder) configures(typ string) bool {
	_, ok := b.types[typ]
	return ok
}

func (b *desiredBuilder) unknownService(t task.Task, d *refine.EntityTask, name string) invalid.Errors {
	if b.services.Has(name) {
		return nil
	}
	p := entityError(t, d, ".requires", invalid.UnknownReference, "there is no service %q", name)
	if b.missing++; b.missing > resource.MostHints {
		return invalid.Errors{p}
	}
	names := make([]string, b.services.Len())
	for i := range names {
		names[i] = b.services.Name(i)
	}
	p.Message += resource.DidYouMean(name, resource.Others(names, t.Service))
	return invalid.Errors{p}
}

// resolveReplaces finds the resources that tasks replace. Two tasks may not replace the same resource, and a node may
// not have both a resource and its replacement (litp.md 61).
func (b *desiredBuilder) resolveReplaces(l *taskList, tasks []task.Task, nodes []string, found *nodeErrors) {
	by := make(map[resource.ID]task.Task)
	bringer := make(map[resource.ID]task.Task, len(tasks))
	for _, t := range tasks {
		bringer[t.Resource.ID()] = t
	}
	for _, t := range tasks {
		d, ok := l.details[t.Resource.ID()]
		if !ok {
			continue
		}
		for _, id := range d.Replaces {
			if first, twice := by[id]; twice && first.Resource.ID() != t.Resource.ID() {
				found.add(entityError(t, d, ".replaces", invalid.BadStructure,
					"%s replaces %s, which %s of the service %q replaces as well; keep one of them",
					t.Resource.ID(), id, first.Resource.ID(), first.Service), nodes)
			}
			if other, there := bringer[id]; there {
				found.add(entityError(t, d, ".replaces", invalid.BadStructure,
					"%s replaces %s, which the service %q brings to the node; a node has the one or the other",
					t.Resource.ID(), id, other.Service), nodes)
			}
			by[id] = t
			if l.replaced == nil {
				l.replaced = make(map[resource.ID]bool)
			}
			l.replaced[id] = true
		}
	}
}
