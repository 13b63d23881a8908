package planner

import (
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// checkBatches reports requirements that the batches of a group contradict: of a node on a later batch, or on a
// callback of a whole service, which runs after the last one.
func (d *desired) checkBatches(p *Plan) (errs invalid.Errors) {
	for i, g := range p.Groups {
		if len(g.Batches) < 2 {
			continue
		}
		runs := map[string][]string{} // remote task of pre_node -> its nodes, sorted
		called := map[string]bool{}   // names of callbacks
		for _, ph := range p.Phases {
			if ph.Group != g.Name || ph.TaskGroup != task.PreNode {
				continue
			}
			for _, t := range ph.Tasks {
				if t.Kind == task.Remote {
					runs[t.Name] = append(runs[t.Name], t.Node)
				}
				called[t.Name] = called[t.Name] || t.Node == ""
			}
		}
		errs = append(errs, d.checkBatchedActions(g, runs)...)
		var last []int // callbacks of whole services that run after the last batch
		for k, c := range d.callbacks {
			if c.group == i && called[c.Task.Name] && c.Task.Group == task.PreNode {
				last = append(last, k)
			}
		}
		if len(last) > 0 {
			errs = append(errs, d.checkBatchedCalls(p, g, last)...)
		}
	}
	return errs
}

func (d *desired) checkBatchedActions(g Group, runs map[string][]string) (errs invalid.Errors) {
	for _, later := range d.works {
		for _, at := range later.After {
			earlier := d.works[at]
			if later.Span != plugin.BeforeDeploy || earlier.Span != plugin.BeforeDeploy {
				continue
			}
			late := ""
			for _, node := range runs[earlier.Name()] {
				if late == "" || g.batchOf(node) > g.batchOf(late) {
					late = node
				}
			}
			first := slices.IndexFunc(runs[later.Name()], func(node string) bool {
				_, both := slices.BinarySearch(runs[earlier.Name()], node)
				return !both && g.batchOf(node) < g.batchOf(late)
			})
			if late == "" || first < 0 {
				continue
			}
			node := runs[later.Name()][first]
			errs = append(errs, invalid.Error{Object: "plugin", Name: later.Plugin.Name,
				Attribute: fmt.Sprintf("graph_tasks[%d].requires", later.Index), Code: invalid.BadStructure,
				Message: fmt.Sprintf("the task %q of node %s, in batch %d of the group %q, must come after the task %q "+
					"of node %s, in batch %d; leave rolling.batches out, or let %q run after all groups: "+
					"requires: [%s]", later.Task.ID, node, g.batchOf(node), g.Name, earlier.Task.ID, late,
					g.batchOf(late), later.Task.ID, plugin.PostDeploymentStart)})
		}
	}
	return errs
}

// checkBatchedCalls reports, for each of the callbacks, the first task on a node that requires it or reads what it
// returns.
func (d *desired) checkBatchedCalls(p *Plan, g Group, last []int) (errs invalid.Errors) {
	for _, ph := range p.Phases {
		if ph.Group != g.Name || !ph.inBatches() {
			continue
		}
		for _, t := range ph.Tasks {
			l := d.wanted[t.Node]
			if t.Node == "" || l == nil {
				continue
			}
			i, wanted := l.index[t.Resource.ID()]
			last = slices.DeleteFunc(last, func(k int) bool {
				c := d.callbacks[k]
				reads := c.Task.Service == t.Service && len(c.Returns) > 0 && len(t.Pending) > 0
				if !reads && (!wanted || l.calls == nil || !slices.Contains(l.calls[i], k)) {
					return false
				}
				errs = append(errs, entityError(c.Task, &c.EntityTask, ".tag", invalid.BadStructure,
					"the callback %s belongs to no node, so it runs after the last batch of the group %q, "+
						"and %s on node %s requires it; give it the tag %s, write per_node: true, "+
						"or leave rolling.batches out", c.Task.Name, g.Name, t.Resource.ID(),
					t.Node, task.Management))
				return true
			})
		}
	}
	return errs
}
