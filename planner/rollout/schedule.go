package rollout

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// schedule is a plan by node. The tasks of a node run in the block of the group that the group machine assigns it to,
// which may differ from the group in the plan (airship.md D-01, D-02). A callback without a node runs in the block of
// its own group, or not at all.
type schedule struct {
	before  []phase             // outside of groups: management, boot, pre_cluster
	prepare map[string]step     // node -> its preparation
	deploy  map[string][]step   // node -> the rest of its block, in the order of the plan
	common  map[string][]step   // group -> the callbacks of its block that belong to no node, in the order of the plan
	after   []phase             // outside of groups: post_cluster
	cleanup []step              // one for each node that left the site
	needs   map[string][]string // node -> programs that its remote tasks call
	actions map[string][]resource.ID
	locked  map[string]bool     // the nodes that the plan unlocks because an earlier run left them locked
	spared  map[string]bool     // the new nodes of rolling groups that are worked on without lock and unlock
	order   map[string][]string // rolling group -> its nodes in the order in which they are locked; else by name
}

// phase is a phase outside of groups.
type phase struct {
	number int // in the plan, from 1
	group  task.Group
	kind   kind
	steps  []step
}

// step is what one node does in one phase of the plan, one session, or one callback.
type step struct {
	phase  int // its number in the plan, from 1; 0 when the plan does not hold it
	index  int // its place in the phase
	node   string
	tasks  []task.Task
	group  string // the deployment group that the plan foresaw
	kind   kind
	locked bool   // its task group runs inside the lock window of a node (litp.md 81)
	limit  int    // how many nodes may be in this phase at once; 0: no limit of its own
	unlock string // the command that unlocks a node left locked; empty: the one that its ledger remembers
	waits  string // what it waits for and will never come: it cannot run
}

// kind is how a phase is carried out. All tasks of a phase are of one kind.
type kind string

const (
	configKind   kind = "config"
	remoteKind   kind = "remote"
	callbackKind kind = "callback"
	prepareKind  kind = "prepare"
	unlockKind   kind = "unlock"
	forgetKind   kind = "tear down"
)

// ofAction are the kinds of the tasks about a node as a whole, ofKind those of all others.
var (
	ofAction = map[task.Action]kind{task.PrepareNode: prepareKind, task.Unlock: unlockKind, task.Forget: forgetKind}
	ofKind   = map[task.Kind]kind{task.Config: configKind, task.Remote: remoteKind, task.Callback: callbackKind}
)

func kindOf(t task.Task) kind {
	if k, ok := ofAction[t.Action]; ok {
		return k
	}
	return ofKind[t.Kind]
}

// admitted are the kinds that each task group takes besides config and remote tasks and callbacks, or instead of them.
var admitted = map[task.Group][]kind{
	task.Prepare: {prepareKind},
	task.PreNode: {configKind, remoteKind, callbackKind, unlockKind},
	task.Cleanup: {forgetKind},
}

var ordinary = []kind{configKind, remoteKind, callbackKind}

// newSchedule splits a plan by node. It refuses a plan with tasks that this package cannot run.
func newSchedule(s site.Site, groups []site.Group, p *planner.Plan, caller Caller) (schedule, error) {
	w := schedule{
		prepare: map[string]step{}, deploy: map[string][]step{}, common: map[string][]step{},
		needs: needs(p), actions: actionsOf(p), locked: map[string]bool{}, spared: map[string]bool{},
		order: map[string][]string{},
	}
	for _, g := range p.Groups {
		w.order[g.Name] = g.Order
		for _, node := range g.Unlocked {
			w.spared[node] = true
		}
	}
	nodes := make(map[string]bool, len(s.Nodes))
	for _, n := range s.Nodes {
		nodes[n.Name] = true
	}
	named := byName(groups)
	slots := map[task.Group]sequence.Slot{}
	for _, slot := range sequence.Slots() {
		slots[slot.Group] = slot
	}
	for i, planned := range p.Phases {
		ph := phase{number: i + 1, group: planned.TaskGroup}
		if len(planned.Tasks) == 0 {
			continue
		}
		slot, err := slotOf(slots, named, planned)
		if err == nil {
			ph.kind, err = oneKind(planned)
		}
		if err == nil && ph.kind == callbackKind && caller == nil {
			err = errors.New("the plan holds callbacks, and Options.Caller is missing")
		}
		if err != nil {
			return schedule{}, fmt.Errorf("phase %d: %w", ph.number, err)
		}
		ph.steps = steps(ph, planned)
		for i := range ph.steps {
			ph.steps[i].locked = slot.Locked
			if err := w.check(&ph.steps[i], ph.group, nodes, named[planned.Group]); err != nil {
				return schedule{}, fmt.Errorf("phase %d: %w", ph.number, err)
			}
		}
		if err := w.add(ph, slot); err != nil {
			return schedule{}, fmt.Errorf("phase %d: %w", ph.number, err)
		}
	}
	return w, nil
}

// slotOf returns the slot of a phase, or an error when its task group cannot run there.
func slotOf(slots map[task.Group]sequence.Slot, groups map[string]site.Group, p planner.Phase) (sequence.Slot, error) {
	slot, known := slots[p.TaskGroup]
	_, grouped := groups[p.Group]
	switch {
	case !known:
		return slot, fmt.Errorf("there is no task group %q", p.TaskGroup)
	case slot.Repeats && p.Group == "":
		return slot, fmt.Errorf("the task group %q cannot run outside of a deployment group", p.TaskGroup)
	case !slot.Repeats && p.Group != "":
		return slot, fmt.Errorf("the task group %q cannot run inside of the deployment group %q", p.TaskGroup, p.Group)
	case slot.Repeats && !grouped:
		return slot, fmt.Errorf("the deployment group %q is not in the site; make a new plan", p.Group)
	}
	return slot, nil
}

// oneKind returns the kind of the tasks of a phase, which has at least one (litp.md 103).
func oneKind(p planner.Phase) (kind, error) {
	first := kindOf(p.Tasks[0])
	for _, t := range p.Tasks {
		k := kindOf(t)
		kinds, special := admitted[p.TaskGroup]
		if !special {
			kinds = ordinary
		}
		switch {
		case !slices.Contains(kinds, k):
			return "", fmt.Errorf("node %q: a task %q cannot run in the task group %q: only %s can", t.Node, t.Action,
				p.TaskGroup, list(kinds))
		case k != first:
			return "", fmt.Errorf("node %q: a task of kind %q stands among those of kind %q; a phase is of one kind",
				t.Node, k, first)
		}
	}
	return first, nil
}

func list(kinds []kind) string {
	quoted := make([]string, len(kinds))
	for i, k := range kinds {
		quoted[i] = fmt.Sprintf("%q", string(k))
	}
	return strings.Join(quoted, ", ")
}

// check makes sure that a step can run, and gives it what its group says. g is zero outside of groups.
func (w schedule) check(st *step, in task.Group, nodes map[string]bool, g site.Group) error {
	switch {
	case st.kind == forgetKind:
		return nil // a node that left the site is not in it
	case st.node == "" && st.kind == callbackKind:
		if st.locked && g.Rolling != nil {
			return fmt.Errorf("callback %q belongs to no node, so it cannot run in the task group %q of the rolling group %q, "+
				"where every node is locked, worked on and unlocked by itself; put it into %q or %q, or give it a node",
				st.tasks[0].Name, in, g.Name, task.PreNode, task.Cluster)
		}
		return nil
	case !nodes[st.node]:
		return fmt.Errorf("node %q is not in the site", st.node)
	case st.kind == unlockKind:
		if g.Rolling != nil {
			st.unlock = g.Rolling.Unlock
		}
		w.locked[st.node] = true
	}
	return nil
}

// add puts a phase where the run will look for it.
func (w *schedule) add(ph phase, slot sequence.Slot) error {
	switch {
	case ph.kind == forgetKind:
		w.cleanup = append(w.cleanup, ph.steps...)
		return nil
	case ph.group == task.PostCluster:
		w.after = append(w.after, ph)
		return nil
	case !slot.Repeats:
		w.before = append(w.before, ph)
		return nil
	}
	for _, st := range ph.steps {
		switch {
		case st.kind == prepareKind:
			if _, twice := w.prepare[st.node]; twice {
				return fmt.Errorf("node %q is prepared a second time", st.node)
			}
			w.prepare[st.node] = st
		case st.node == "":
			w.common[st.group] = append(w.common[st.group], st)
		default:
			w.deploy[st.node] = append(w.deploy[st.node], st)
		}
	}
	return nil
}

// steps splits the tasks of a phase by node, in the order in which the nodes first appear; callbacks one by one.
func steps(ph phase, p planner.Phase) []step {
	limit := 0
	for _, t := range p.Tasks {
		if t.Limit > 0 && (limit == 0 || t.Limit < limit) {
			limit = t.Limit
		}
	}
	var out []step
	at := map[string]int{}
	for _, t := range p.Tasks {
		i, ok := at[t.Node]
		if !ok || ph.kind == callbackKind {
			i = len(out)
			at[t.Node] = i
			out = append(out, step{phase: ph.number, index: i, node: t.Node, group: p.Group, kind: ph.kind,
				limit: limit})
		}
		out[i].tasks = append(out[i].tasks, t)
	}
	return out
}

// idle returns the names of the nodes that have nothing to do in the blocks of the groups, sorted. They count as
// deployed and are not asked again (airship.md 15).
func (w schedule) idle(nodes []site.Node) []string {
	var names []string
	for _, n := range nodes {
		if _, ok := w.prepare[n.Name]; !ok && len(w.deploy[n.Name]) == 0 {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names
}

// nodesOf returns the nodes with work in any of the phases.
func nodesOf(phases ...phase) map[string]bool {
	nodes := map[string]bool{}
	for _, ph := range phases {
		for _, st := range ph.steps {
			if st.node != "" {
				nodes[st.node] = true
			}
		}
	}
	return nodes
}

// taskID is what the journal and error texts call a task: type[title], for a callback type[name].
func taskID(t task.Task) resource.ID {
	if t.Kind == task.Callback {
		return resource.MakeID(t.Resource.Type, t.Name)
	}
	return t.Resource.ID()
}
