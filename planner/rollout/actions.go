package rollout

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// actionsOf returns the actions that a plan runs on each node, in the order of the plan.
//
// The next plan contains the actions of a node that are not done. If a run died between the configuration of a node and
// its last action, actions of an earlier run would seem done and be lost. So the first session on a node, usually its
// preparation, starts all of them in its ledger.
func actionsOf(p *planner.Plan) map[string][]resource.ID {
	out := map[string][]resource.ID{}
	for _, ph := range p.Phases {
		for _, t := range ph.Tasks {
			if t.Kind == task.Remote && t.Action == task.Run && !slices.Contains(out[t.Node], t.Resource.ID()) {
				out[t.Node] = append(out[t.Node], t.Resource.ID())
			}
		}
	}
	return out
}
