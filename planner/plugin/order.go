package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Sequence is the tasks of one stage in their order: each begins when the one before it has ended on all of its nodes
// (fuel.md A5).
type Sequence struct {
	Stage string
	Tasks []Ordered
}

// Ordered is a task with its position.
type Ordered struct {
	Plugin   site.Plugin
	Index    int // in the plugin's Tasks
	Task     site.Task
	Priority float64
	Place    Place // set by [Sequence.On]
}

// ID returns the plugin and the task's index in its document, from 0, for messages.
func (o Ordered) ID() string { return fmt.Sprintf("%s[%d]", o.Plugin.FullName(), o.Index) }

// Order orders the stage tasks of plugins, stage by stage: by number, then by the name of the plugin in code point
// order, then as in its document (seed 003; fuel.md A3). Plugins of one name keep the order given. With errors, which
// are all errors, there is no order.
func Order(plugins []site.Plugin) ([]Sequence, invalid.Errors) {
	if errs := validate(plugins); len(errs) > 0 {
		return nil, errs
	}
	sorted := slices.Clone(plugins)
	slices.SortStableFunc(sorted, func(a, b site.Plugin) int { return strings.Compare(a.Name, b.Name) })
	byStage := make(map[string][]Ordered)
	for _, p := range sorted {
		for i, t := range p.Tasks {
			stage, err := ParseStage(t.Stage)
			if err != nil {
				return nil, invalid.Errors{{Object: "plugin", Name: p.Name, Attribute: fmt.Sprintf("tasks[%d].stage", i),
					Code: BadStage, Message: err.Error()}}
			}
			byStage[stage.Name] = append(byStage[stage.Name],
				Ordered{Plugin: p, Index: i, Task: t, Priority: stage.Priority})
		}
	}
	out := make([]Sequence, 0, len(Stages()))
	for _, name := range Stages() {
		tasks := byStage[name]
		slices.SortStableFunc(tasks, func(a, b Ordered) int { return cmp.Compare(a.Priority, b.Priority) })
		out = append(out, Sequence{name, tasks})
	}
	return out, nil
}

// Unsupported warns of tasks that run nowhere, whatever the nodes: those of an unsupported type, and those with an
// invalid role.
func (s Sequence) Unsupported() (errs invalid.Errors) {
	for _, o := range s.Tasks {
		errs = append(errs, o.unsupported()...)
	}
	return errs
}

func (o Ordered) unsupported() invalid.Errors {
	switch {
	case !slices.Contains(Types(), o.Task.Type):
		return o.warn("type", invalid.UnknownType, "the task is left out: %s",
			resource.NoSuch("task type", o.Task.Type, Types()))
	case len(o.Task.Role) == 0:
		return o.warn("role", invalid.NoNodes, `is neither the name of a role nor a list of names, so the task is left out; name one or more, or write "*" for all nodes that have a role`)
	}
	return nil
}

// warn returns a warning about the task.
func (o Ordered) warn(attribute string, code invalid.Code, format string, args ...any) (errs invalid.Errors) {
	errs.Warn(attribute, code, format, args...)
	return errs.Of("plugin", o.Plugin.Name, fmt.Sprintf("tasks[%d].", o.Index))
}

// OnNodes is [Sequence.On] for a run: a task for the controller is left out with a warning, because a run executes
// actions on nodes only.
func (s Sequence) OnNodes(nodes []site.Node) (Sequence, invalid.Errors) {
	placed, errs := s.On(nodes)
	out := Sequence{Stage: s.Stage}
	for _, o := range placed.Tasks {
		if o.Place.Controller {
			errs = append(errs, o.warn("role", invalid.NoNodes, onController, "task")...)
		}
		if len(o.Place.Nodes) > 0 {
			out.Tasks = append(out.Tasks, o)
		}
	}
	return out, errs
}

// On assigns nodes to the tasks. A task without a node, or of an unsupported type, is left out with a warning; the
// order of the others stays (fuel.md F-05, F-07). s is not changed.
func (s Sequence) On(nodes []site.Node) (Sequence, invalid.Errors) {
	out := Sequence{Stage: s.Stage}
	var errs invalid.Errors
	places := make(map[string]Place)
	for _, o := range s.Tasks {
		if more := o.unsupported(); more != nil {
			errs = append(errs, more...)
			continue
		}
		key := strings.Join(o.Task.Role, "\x00")
		place, ok := places[key]
		if !ok {
			roles, err := ParseRoles(o.Task.Role)
			if err != nil {
				continue // refused by Order
			}
			place = roles.On(nodes)
			places[key] = place
		}
		if place.Empty() {
			errs = append(errs, o.warn("role", invalid.NoNodes, "no node has the role %s, so the task is left out",
				anyOf(o.Task.Role))...)
			continue
		}
		o.Place = place
		out.Tasks = append(out.Tasks, o)
	}
	return out, errs
}
