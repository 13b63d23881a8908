package planner

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// inBatches reports whether the nodes of a phase are worked on batch by batch: from pre_node to node (design.md 6).
func (ph Phase) inBatches() bool {
	slot := slotOf(ph.TaskGroup)
	return slot.Locked || slot.Group == task.PreNode
}

// SetBatches splits the nodes that each group works on into batches, as the settings of the groups say.
func (p *Plan) SetBatches(groups []site.Group) {
	for i, g := range p.Groups {
		at := slices.IndexFunc(groups, func(s site.Group) bool { return s.Name == g.Name })
		if at < 0 || groups[at].Rolling == nil {
			continue
		}
		var nodes []string
		for _, ph := range p.Phases {
			if ph.Group == g.Name && ph.inBatches() {
				nodes = append(nodes, ph.nodeNames()...)
			}
		}
		p.Groups[i].Batches = groups[at].Rolling.Split(distinct(nodes))
	}
}
