package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Applied is what is applied on each node: node -> resource -> digest, as the ledgers say. A node that is missing has
// nothing applied. An empty digest marks a resource that was started and not finished. [Controller] holds the callbacks
// that ran, by [CallbackID].
type Applied map[string]map[resource.ID]string

// Unfinished returns a copy in which every resource counts as started and not finished, so that the next plan includes
// all of them again. What says that a node is not checked stays.
func (a Applied) Unfinished() Applied {
	out := make(Applied, len(a))
	for node, ids := range a {
		out[node] = make(map[resource.ID]string, len(ids))
		for id, digest := range ids {
			if out[node][id] = ""; id == task.Unchecked {
				out[node][id] = digest
			}
		}
	}
	return out
}

// Drift names the resources that differ from what their ledger says: node -> resources.
type Drift map[string][]resource.ID

// Plan is the ordered phases that bring a site into its desired state.
type Plan struct {
	Site   string
	Groups []Group // in processing order
	Phases []Phase // in the order of the run
	// Departed are the nodes that left the site and have something applied, sorted. The last phase tears them down.
	Departed []string
	// Forgotten are the callbacks that ran and are no longer wanted, sorted. The run removes them from what is applied
	// on the [Controller]; nothing is executed for them.
	Forgotten []resource.ID
	Limited   map[string]bool // the nodes that it covers; nil: all
	Within    map[string]bool // the nodes within the limit of the site; nil: all
	Waiting   []string        // nodes outside of Limited with work, or to be torn down, sorted
	MayFail   *int            // how many nodes may fail before nothing new is started; nil: any number
	// EndAtPause says that a run ends where it would have to wait for a maintenance window or for approval.
	EndAtPause bool
	Held       []Hold        // groups of which nodes wait for approval, in processing order
	Later      []task.Task   // tasks that wait for approval
	Postponed  []resource.ID // callbacks among them, sorted
	Digest     string        // over everything that the run will do: hexadecimal SHA-256

	// Stays is what the services of [Cache.MakeFor] share with others, or want in unequal forms. It is not part of the
	// digest.
	Stays []Stay

	complete  completer
	withFacts func(t task.Task, found *resource.Facts) (task.Task, error)
}

// completer completes a task with the values that callbacks returned.
type completer func(t task.Task, values map[string]map[string]any) (task.Task, error)

// Resolve completes a task of a service of an entity with the values that callbacks have returned by now: service ->
// name of the value -> value (litp.md 51, 115). The result has complete parameters and the digest that the next plan
// will compute. Other tasks are returned unchanged. The arguments are not changed. It is an error when a callback has
// not returned a value that the task needs, or when a value does not fit the service. The error names attributes and
// never values.
func (p *Plan) Resolve(t task.Task, values map[string]map[string]any) (task.Task, error) {
	if p.complete == nil {
		return t, nil
	}
	return p.complete(t, values)
}

// WithFacts completes the task of a resource whose templates read facts with those that its node says in the run; found
// is nil where it has not said them yet, and the error [ErrNoFacts] then. Where the plan was made with facts that are
// not what the node says now, the error names the first of those that the templates read. Other tasks are returned
// unchanged. On a node with guarded resources that no service manager runs, each task has an [invalid.Error]. It may be
// called for many tasks at once.
func (p *Plan) WithFacts(t task.Task, found *resource.Facts) (task.Task, error) {
	if p.withFacts == nil {
		return t, nil
	}
	return p.withFacts(t, found)
}

// Group is a deployment group of the plan.
type Group struct {
	Name    string
	Members []string // all nodes that its selectors give, sorted: the base of its criteria
	Owned   []string // the members for which it is the first group in order, sorted: the ones it works on

	Critical    bool // the run fails when the group does
	Stops       bool // it starts no further node when its criteria can no longer be met
	MaxParallel int  // how many of its nodes are worked on at once; 0: no such limit
	Locked      bool // each of its nodes is worked on between lock and unlock, but for the unlocked
	// Unlocked are the owned nodes that are worked on without lock and unlock, because nothing is applied on them yet,
	// sorted (litp.md 78).
	Unlocked []string

	// Order is the members in the order in which they are worked on between lock and unlock; nil: by name.
	Order []string

	// Batches are the owned nodes with tasks from pre_node to node, sorted, in the batches in which they are worked on;
	// nil: all at once.
	Batches [][]string
	Then    []string // what follows each batch, in words
	Pauses  []int    // the batches, from 1, after which the run waits for approval, or ends until it is given

	Maintenance string // its maintenance window, in words; empty: it has none

	// After names the earlier groups that must be complete before this one starts, besides those that it depends on and
	// those that share a node with it: its tasks require theirs, or read what their callbacks return. It matters only when
	// several groups run at the same time, and is not part of the digest.
	After []string
}

// Phase is a set of tasks that may run together.
type Phase struct {
	TaskGroup task.Group
	Group     string      // the deployment group; empty outside the groups' blocks
	Tasks     []task.Task // by node, and per node in the order of execution; all of one kind
}

// Empty reports whether the plan does nothing on any node and calls no callback.
func (p *Plan) Empty() bool { return len(p.Phases) == 0 }

// Controller is the key in [Applied] of what ran on the controller: callbacks, by type and name.
const Controller = ""

// CallbackID returns the id of a callback among what is applied on the [Controller].
func CallbackID(t task.Task) resource.ID { return resource.MakeID(t.Resource.Type, t.Name) }

// split is the reverse of [resource.Resource.ID]. It takes the title as it is, unlike [resource.ParseID].
func split(id resource.ID) resource.Resource {
	typ, rest, _ := strings.Cut(string(id), "[")
	return resource.Resource{Type: typ, Title: strings.TrimSuffix(rest, "]")}
}

// watched reports whether a digest is that of a resource with noop that was never applied.
func watched(digest string) bool { return strings.HasPrefix(digest, resource.Watched) }

// isAction reports whether a type is that of an action, not of a configuration resource.
func isAction(typ string) bool { return slices.Contains(plugin.Types(), typ) }

// Hold is a group of which nodes wait until a batch is approved.
type Hold struct {
	Group string `json:"group"`
	Batch int    `json:"batch,omitempty"` // after which it waits, from 1; 0: it waits for a group that it depends on
	Of    int    `json:"of,omitempty"`    // how many batches the group has
}

// Stay is a resource that services which are deployed again share with others, so that it stays as it is, or of which
// they want unequal forms.
type Stay struct {
	Node     string
	Resource resource.ID
	Services []string // that are deployed again and want it in another form, or not any more; sorted
	Others   []string // that bring it, too; sorted; empty where the services alone want unequal forms
	Formerly bool     // without others: it has the form that it had before the run
}

func (s Stay) String() string {
	if len(s.Others) == 0 {
		how := "stays as the run left it"
		if s.Formerly {
			how = "stays as it was before the run"
		}
		return fmt.Sprintf("node %q: %s %s: %s, deployed again, want it in different forms", s.Node, s.Resource, how,
			list(s.Services))
	}
	return fmt.Sprintf("node %q: %s stays as it is for %s, deployed again without %s, which brings it, too", s.Node,
		s.Resource, list(s.Services), list(s.Others))
}

// nodeNames returns the nodes of a phase, sorted. A callback of a whole service has none.
func (ph Phase) nodeNames() []string {
	var nodes []string
	for _, t := range ph.Tasks {
		if t.Node != "" && (len(nodes) == 0 || nodes[len(nodes)-1] != t.Node) {
			nodes = append(nodes, t.Node)
		}
	}
	return nodes
}
