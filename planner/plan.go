package planner

import (
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Applied is what is applied on each node: node -> resource -> digest, as the nodes' ledgers tell. A node that is absent
// has nothing applied. A resource with an empty digest was begun and not finished. The [Controller] has the callbacks that ran, by their [CallbackID].
type Applied map[string]map[resource.ID]string

// Unfinished returns a copy in which every resource counts as begun and not finished, so that a plan works on all of them again.
func (a Applied) Unfinished() Applied {
	out := make(Applied, len(a))
	for node, ids := range a {
		out[node] = make(map[resource.ID]string, len(ids))
		for id := range ids {
			out[node][id] = ""
		}
	}
	return out
}

// Drift names the resources that no longer are as their ledger says: node -> resources.
type Drift map[string][]resource.ID

// Plan is the ordered work that brings a site into its desired state.
type Plan struct {
	Site   string
	Groups []Group // in processing order
	Phases []Phase // in the order of the run
	// Departed are the nodes that have something applied and are in the site no more, sorted; the last phase tears them down.
	Departed []string
	// Forgotten are the callbacks that ran and are no longer wanted, sorted: they go from what is applied on the [Controller] without work.
	Forgotten []resource.ID
	Digest    string // over everything that the run will do: hexadecimal SHA-256

	model *model // for Resolve
}

// Group is a group's place in the plan.
type Group struct {
	Name    string
	Members []string // all nodes that its selectors give, sorted: the base of its criteria
	Owned   []string // the members for which it is the first group in order, sorted: the ones it works on

	Critical    bool // the run fails when the group does
	MaxParallel int  // how many of its nodes are worked on at once; 0: no such limit
	Locked      bool // each of its nodes is worked on between lock and unlock, but for the unlocked
	// Unlocked are the owned nodes that are worked on without lock and unlock, because nothing is applied on them yet, sorted (litp.md 78).
	Unlocked []string

	// After are groups before it in order that must be complete before it is begun, beside those that it depends on and those that share a node with it: its
	// tasks require theirs, or read what their callbacks return. It matters only where several groups are worked on at once, and is in no digest.
	After []string
}

// Phase is a set of tasks that may run together.
type Phase struct {
	TaskGroup task.Group
	Group     string      // the deployment group; empty outside the groups' blocks
	Tasks     []task.Task // by node, and per node in the order of execution; all of one kind
}

// Empty reports whether there is nothing to do on any node and no callback to call.
func (p *Plan) Empty() bool { return len(p.Phases) == 0 }
