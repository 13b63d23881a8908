package rollout

import (
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// warn adds a warning to the report and to the journal.
func (d *driver) warn(group, node, text string) {
	d.mu.Lock()
	d.report.Warnings = append(d.report.Warnings, text)
	d.mu.Unlock()
	d.log.append(journal.Event{Kind: journal.Note, Group: group, Node: node, Message: text})
}

// recordGroups records the groups that finished since the last call.
func (d *driver) recordGroups() {
	d.walk.Lock()
	defer d.walk.Unlock()
	for _, g := range d.machine.Report().Groups {
		if !g.Stage.Complete() || d.recordedGroups[g.Name] {
			continue
		}
		d.recordedGroups[g.Name] = true
		d.log.append(journal.Event{Kind: journal.GroupFinished, Group: g.Name, Status: string(g.Stage),
			Message: strings.Join(verdicts(g), "; ")})
	}
}

// recordNodes records that nodes reached their last stage of the run, except nodes with tasks in later phases outside
// of groups.
func (d *driver) recordNodes(nodes []string, stage strategy.Stage) {
	later := nodesOf(d.schedule.after...)
	for _, n := range nodes {
		if later[n] {
			continue
		}
		d.mu.Lock()
		r := d.report.Nodes[n]
		d.mu.Unlock()
		d.recordNode(r.Group, n, stage, "")
	}
}

// recordNode records that a node reached its last stage of the run, once.
func (d *driver) recordNode(group, node string, stage strategy.Stage, message string) {
	d.mu.Lock()
	ended := d.ended[node]
	d.ended[node] = true
	d.mu.Unlock()
	if !ended {
		d.log.append(journal.Event{Kind: journal.NodeFinished, Group: group, Node: node, Status: string(stage),
			Message: message})
	}
}

// recordFailure records that a node failed in a group. Outside of groups, the end of the phase records it.
func (d *driver) recordFailure(c call, node string) {
	if c.group != "" {
		d.recordNode(c.group, node, strategy.Failed, d.reason(node))
	}
}

// recordPhases records that phases started or, with failed, which is called for each, that they finished.
func (d *driver) recordPhases(kind journal.Kind, group string, numbers []int, failed func(phase int) bool) {
	for _, n := range numbers {
		e := journal.Event{Kind: kind, Group: group, Phase: n}
		if failed != nil {
			e.Status = string(StatusSucceeded)
			if failed(n) {
				e.Status = string(StatusFailed)
			}
		}
		d.log.append(e)
	}
}

// phases returns the numbers of the plan's phases that the steps belong to, in order.
func phases(steps []step) []int {
	var numbers []int
	for _, st := range steps {
		if st.phase > 0 && !slices.Contains(numbers, st.phase) {
			numbers = append(numbers, st.phase)
		}
	}
	slices.Sort(numbers)
	return numbers
}
