package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// inBatches reports whether the nodes of a phase are worked on batch by batch: from pre_node to node (design.md 6).
func (ph Phase) inBatches() bool { return inBatches(ph.TaskGroup) }

// inBatches reports whether the tasks of a task group are done batch by batch.
func inBatches(g task.Group) bool { return sequence.SlotOf(g).Locked || g == task.PreNode }

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
		line := fmt.Sprintf("%s: batch %d of %d: %s (%s)", g.stepTitle(), i+1, len(g.Batches),
			resource.Count(len(batch), "node"), list(batch))
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

// stepTitle is the name of a group in a step.
func (g Group) stepTitle() string {
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

// InBatches returns the nodes on which a group has tasks that are done batch by batch, sorted.
func (p *Plan) InBatches(group string) []string {
	var nodes []string
	for _, phase := range p.Phases {
		if phase.Group == group && phase.inBatches() {
			nodes = append(nodes, phase.nodeNames()...)
		}
	}
	return distinct(nodes)
}
