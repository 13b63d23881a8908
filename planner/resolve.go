package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// resolve is [Plan.Resolve].
func (d *desired) resolve(t task.Task, values map[string]map[string]any) (task.Task, error) {
	if t.Service == "" || len(t.Shared) > 0 || t.Resource.Type == "" || t.Action == task.Remove {
		return t, nil
	}
	returned := values[t.Service]
	if len(returned) == 0 && len(t.Pending) == 0 {
		return t, nil
	}
	service, err := d.services.Again(t.Service, returned)
	if service == nil || err != nil {
		return t, err
	}
	list := service.Central()
	if t.Node != "" {
		// Errors that only a node shows are those of its templates.
		on, errs := service.On(d.nodesByName[t.Node])
		if len(errs) > 0 {
			return t, fmt.Errorf("the service %q cannot take what its callbacks returned: see %s (%s)", t.Service,
				errs[0].Attribute, errs[0].Code)
		}
		list = on
	}
	i := slices.IndexFunc(list, func(e refine.EntityTask) bool {
		return e.Task.Kind == t.Kind && e.Task.Resource.ID() == t.Resource.ID()
	})
	if i < 0 {
		if len(t.Pending) > 0 {
			return t, fmt.Errorf(
				"with what the callbacks of the service %q returned it has no such task any more; make a new plan",
				t.Service)
		}
		return t, nil // for the next plan to see
	}
	made := list[i].Task
	if t.Kind == task.Config {
		if made, err = d.applyOverrides(made, t.Node); err != nil {
			return t, err
		}
	}
	if len(made.Pending) > 0 {
		return t, fmt.Errorf("its parameters %s wait for %s, which no callback of the service %q has returned",
			strings.Join(made.Pending, ", "),
			strings.Join(list[i].Awaits, ", "), t.Service)
	}
	t.Resource, t.Digest, t.Override, t.Pending = made.Resource, made.Digest, made.Override, nil
	return t, nil
}

// applyOverrides applies the overrides of a node to one task.
func (d *desired) applyOverrides(t task.Task, node string) (task.Task, error) {
	for _, k := range d.nodeSets {
		if _, there := slices.BinarySearch(k.nodes, node); !there {
			continue
		}
		tasks, errs := d.overrides.Apply(k.layers, []task.Task{t}) // the first one is the task; others are created
		if len(errs) > 0 {
			return t, fmt.Errorf(
				"overrides do not fit what callbacks of the service %q returned: see %s of the override %q (%s)",
				t.Service,
				errs[0].Attribute, errs[0].Name, errs[0].Code)
		}
		made, errs := d.rendered(tasks[0], d.nodesByName[node])
		if len(errs) > 0 {
			return t, errs
		}
		return made, nil
	}
	return t, nil
}
