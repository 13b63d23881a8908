package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// inBatches reports whether the nodes of a phase are worked on batch by batch: from pre_node to node (design.md 6).
func (ph Phase) inBatches() bool { return inBatches(ph.TaskGroup) }

// inBatches reports whether the tasks of a task group are done batch by batch.
func inBatches(g task.Group) bool { return slotOf(g).Locked || g == task.PreNode }

// SetBatches splits the nodes that each group works on into batches, as the settings of the groups say.
func (p *Plan) SetBatches(groups []site.Group) {
	for i, g := range p.Groups {
		at := slices.IndexFunc(groups, func(s site.Group) bool { return s.Name == g.Name })
		if at < 0 || groups[at].Rolling == nil {
			continue
		}
		nodes := p.InBatches(g.Name)
		if p.EndAtPause && len(groups[at].Rolling.Approve) > 0 && len(nodes) > 0 {
			nodes = g.Owned // so that a batch is the same in each of the runs that go through them
		}
		batches, pauses := groups[at].Rolling.Split(nodes)
		if p.EndAtPause {
			pauses = nil
			if h := slices.IndexFunc(p.Held, func(h Hold) bool { return h.Group == g.Name && h.Batch > 0 }); h >= 0 {
				pauses = []int{p.Held[h].Batch}
			}
		} else if last := len(pauses) - 1; last >= 0 && pauses[last] == len(batches) && !p.followsBatches(g.Name) {
			pauses = pauses[:last]
		}
		p.Groups[i].Batches, p.Groups[i].Pauses = batches, pauses
	}
}

// followsBatches reports whether anything of a group runs once, after its last batch.
func (p *Plan) followsBatches(group string) bool {
	return slices.ContainsFunc(p.Phases, func(ph Phase) bool {
		return ph.Group == group && (ph.TaskGroup == task.Cluster ||
			slices.ContainsFunc(ph.Tasks, func(t task.Task) bool { return t.Node == "" }))
	})
}

// batchOf returns the batch of a node, from 1; 0 when it is in none.
func (g Group) batchOf(node string) int {
	return 1 + slices.IndexFunc(g.Batches, func(nodes []string) bool {
		_, found := slices.BinarySearch(nodes, node)
		return found
	})
}

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

// describeBatches describes the batches of a group, one in each line, as far as their nodes are among those given,
// which are sorted: `batch 1 of 2: 1 node (n1), then health check, soak 10m0s, health check`.
func (g Group) describeBatches(nodes []string, ends bool) (lines []string) {
	for i, batch := range g.Batches {
		batch = slices.DeleteFunc(slices.Clone(batch), func(n string) bool {
			_, found := slices.BinarySearch(nodes, n)
			return !found
		})
		if len(batch) == 0 {
			continue
		}
		line := fmt.Sprintf("%s: batch %d of %d: %s (%s)", g.title(), i+1, len(g.Batches), count(len(batch), "node"),
			list(batch))
		after := g.Then
		if slices.Contains(g.Pauses, i+1) {
			pause := "pause for approval"
			if ends {
				pause = "the run ends for approval"
			}
			after = append(slices.Clone(after), pause)
		}
		if len(after) > 0 {
			line += ", then " + strings.Join(after, ", ")
		}
		lines = append(lines, line)
	}
	return lines
}

// maintenance says when the nodes of a group are started, where the phase prepares them.
func (ph Phase) maintenance(g Group, ends bool) string {
	switch {
	case g.Maintenance == "" || ph.TaskGroup != task.Prepare:
		return ""
	case ends:
		return "; started in " + g.Maintenance + ", outside of it the run ends as paused"
	}
	return "; started in " + g.Maintenance + ", outside of it the run waits"
}

// title is the name of a group in a step.
func (g Group) title() string {
	if g.Critical {
		return cut(g.Name) + " (critical)"
	}
	return cut(g.Name)
}

// then returns what follows each batch.
func then(r *site.Rolling) (out []string) {
	if r.HealthCheck != nil {
		out = append(out, "health check `"+cut(r.HealthCheck.Command)+"`"+limits(r.HealthCheck))
	}
	if r.Soak > 0 {
		out = append(out, "soak "+r.Soak.String())
		if r.HealthCheck != nil {
			out = append(out, "health check")
		}
	}
	if r.OnFailure == site.OnFailureRollback {
		out = append(out, "puts back what it changed if it fails")
	}
	return out
}

// limits says how a health check differs from one that is run once, within the default time: ` (timeout 5s, retries 3,
// interval 10s)`.
func limits(h *site.HealthCheck) string {
	var out []string
	if h.Timeout > 0 {
		out = append(out, "timeout "+h.Timeout.String())
	}
	if h.Retries > 0 {
		out = append(out, fmt.Sprintf("retries %d, interval %s", h.Retries, cmp.Or(h.Interval, site.DefaultCheckInterval)))
	}
	if out == nil {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}
