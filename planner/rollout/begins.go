package rollout

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// The next plan holds the actions of a node that are not done. When a run dies between a node's configuration and its last action, those that an
// earlier run did would seem to be done, and be lost. So all of them are begun with the node's first session, which as a rule prepares it.

// begins returns the actions that a plan carries out on each node, in the order of the plan.
func begins(p *planner.Plan) map[string][]resource.ID {
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

// toBegin returns the actions that a session begins on a node: those of the whole run, until a session told that it did.
func (d *driver) toBegin(node string, c converge.Catalog) []resource.ID {
	if c.TearDown {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun[node] {
		return nil
	}
	return d.work.begins[node]
}

// sawBegin takes the end of a session on a node.
func (d *driver) sawBegin(node string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begun[node] = d.begun[node] || readLedger(err)
}
