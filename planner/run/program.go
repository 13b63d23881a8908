package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Program is what a run does, as data: sessions, what they wait for, and limits. It has no parameters and no
// credentials: the tasks of a session stay in the plan. It is not changed once it is compiled. As JSON it has a version
// and at most 150 bytes for each session.
//
// The sessions of a node run in the block of the group that the walk assigns it to, which may differ from the group in
// the plan (airship.md D-01, D-02). A callback without a node runs in the block of its own group, or not at all.
type Program struct {
	Settings
	Groups  []Group  // in processing order
	Idle    []string // nodes without work in the groups, sorted: they count as deployed (airship.md 15)
	Before  []Phase  // management, boot, pre_cluster
	After   []Phase  // post_cluster
	Cleanup []Session
	MayFail *int            // how many nodes may fail before nothing new is started; nil: any number
	Destroy bool            // the end of the site: nothing but Cleanup
	Staying map[string]bool // nodes of Cleanup that are still in the site

	Prepare map[string]Session   // node -> its preparation
	Deploy  map[string][]Session // node -> the rest of its block, in the order of the plan
	Common  map[string][]Session // group -> the callbacks of its block that belong to no node, in the order of the plan
}

// Settings are the limits of a run as a whole.
type Settings struct {
	Parallelism    int // nodes at once; 0 is [DefaultParallelism]
	ParallelGroups int // groups at once; 0 is 1
	// Departed are the nodes that left the site and can be reached; nobody knows how to reach the others.
	Departed map[string]bool
	// Windows are the groups with a maintenance window -> when it is open, in order, as far as the run may take.
	Windows    map[string][]site.Interval
	EndAtPause bool // a run that would have to wait for a maintenance window ends
	Asks       bool // the run asks for another pass after each one: a rollback of services, for example
}

// Group is a group with what the plan knows of it.
type Group struct {
	site.Group                 // without selectors
	Members    []string        // sorted
	Owned      []string        // those that the plan assigns to it
	After      []string        // groups that must finish before it because of its tasks
	Order      map[string]int  // its nodes -> their index in the order in which they are locked; others come behind
	Spared     map[string]bool // its nodes that are worked on without lock and unlock (litp.md 81)
	Batches    [][]string      // its nodes, sorted; nil: it has none
	Pauses     []int           // the batches, from 1, that wait for approval when they are done
}

// Phase is a phase outside of groups.
type Phase struct {
	Number    int // in the plan, from 1
	TaskGroup task.Group
	Kind      Kind
	Sessions  []Session // in the order of the plan
}

// Session is what one node does in one phase: one manifest, or one callback.
type Session struct {
	Kind  Kind   `json:",omitempty"`
	Node  string `json:",omitempty"` // empty: a callback that belongs to no node
	Name  string `json:",omitempty"` // of a callback
	Group string `json:",omitempty"` // the deployment group of its phase
	Phase int    `json:",omitempty"` // its number in the plan, from 1; 0 when the plan does not have it
	From  int    `json:",omitempty"` // its tasks in the phase: from this one ...
	To    int    `json:",omitempty"` // ... to the one before this one
	// Locked: it runs between lock and unlock when its group is rolling (litp.md 81).
	Locked bool   `json:",omitempty"`
	Last   bool   `json:",omitempty"` // it runs after the last batch of its group
	Limit  int    `json:",omitempty"` // how many nodes may be in this phase at once; 0: no limit of its own
	Soaked bool   `json:",omitempty"` // of a Check: the soak of its batch is over
	Waits  string `json:",omitempty"` // the callback that it waits for and that will never come, when the walk finds one
}

// Kind is what a session does. All sessions of a phase are of one kind.
type Kind string

// The kinds of sessions.
const (
	Config   Kind = "config"
	Remote   Kind = "remote"
	Callback Kind = "callback"
	Prepare  Kind = "prepare"
	Unlock   Kind = "unlock" // of a node that an earlier run left locked
	TearDown Kind = "tear down"
	Check    Kind = "check" // the health check of a node
	Soak     Kind = "soak"  // nothing: time passes until it ends
	// Rollback restores what a node of a batch that failed had before the run.
	Rollback Kind = "rollback"
	// Separation finds out which of the nodes that are torn down are machines that the site keeps.
	Separation Kind = "separation"
)

// cleansUp reports whether a session of this kind also runs on a node that failed, and behind a brake.
func (k Kind) cleansUp() bool { return k == Unlock || k == Rollback }

// Defaults of [Settings] and of a group's time limits (airship.md 10).
const (
	DefaultParallelism    = 10
	DefaultPrepareTimeout = 30 * time.Minute
	DefaultDeployTimeout  = time.Hour
	DefaultUnlockTimeout  = 5 * time.Minute // of the session that unlocks a node whose lock window did not end as planned
)

// ofAction are the kinds of the tasks about a node as a whole, ofKind those of all others.
var (
	ofAction = map[task.Action]Kind{task.PrepareNode: Prepare, task.Unlock: Unlock, task.Forget: TearDown,
		task.HealthCheck: Check}
	ofKind = map[task.Kind]Kind{task.Config: Config, task.Remote: Remote, task.Callback: Callback}
)

// KindOf returns the kind of the session that a task belongs to.
func KindOf(t task.Task) Kind {
	if k, ok := ofAction[t.Action]; ok {
		return k
	}
	return ofKind[t.Kind]
}

// admitted are the kinds that a task group takes instead of ordinary.
var admitted = map[task.Group][]Kind{
	task.Prepare: {Prepare},
	task.PreNode: {Config, Remote, Callback, Unlock},
	task.Node:    {Config, Remote, Callback, Check},
	task.Cleanup: {TearDown},
}

var ordinary = []Kind{Config, Remote, Callback}

// Compile makes the program of a plan for a site. It refuses a plan with tasks that no run can execute, and one that
// was made for other groups: membership is frozen at plan time and compared now (airship.md D-18).
func Compile(s site.Site, p *planner.Plan, settings Settings) (Program, error) {
	groups := s.Groups
	if groups == nil {
		groups = strategy.Default()
	}
	out := Program{Settings: settings, MayFail: p.MayFail, Staying: map[string]bool{}, Prepare: map[string]Session{},
		Deploy: map[string][]Session{}, Common: map[string][]Session{}}
	c := compiler{Program: &out, groups: map[string]site.Group{}, nodes: make(map[string]bool, len(s.Nodes)),
		slots: map[task.Group]sequence.Slot{}}
	for _, g := range groups {
		c.groups[g.Name] = g
	}
	for _, n := range s.Nodes {
		c.nodes[n.Name] = true
	}
	for _, slot := range sequence.Slots() {
		c.slots[slot.Group] = slot
	}
	for i, ph := range p.Phases {
		if err := c.phase(i+1, ph); err != nil {
			return Program{}, fmt.Errorf("phase %d: %w", i+1, err)
		}
	}
	for node := range c.nodes {
		if _, ok := out.Prepare[node]; !ok && len(out.Deploy[node]) == 0 {
			out.Idle = append(out.Idle, node)
		}
	}
	slices.Sort(out.Idle)
	return out, c.planned(s, p, groups)
}

// lost reports whether nobody knows any more how to reach a node that is to be torn down.
func (p Program) lost(node string) bool { return !p.Destroy && !p.Staying[node] && !p.Departed[node] }

// Ending returns the program that tears down all nodes of a site that ends.
func Ending(nodes []site.Node, settings Settings) Program {
	p := Program{Settings: settings, Destroy: true}
	for _, n := range nodes {
		p.Cleanup = append(p.Cleanup, Session{Kind: TearDown, Node: n.Name})
	}
	slices.SortFunc(p.Cleanup, func(a, b Session) int { return strings.Compare(a.Node, b.Node) })
	return p
}

type compiler struct {
	*Program
	groups map[string]site.Group
	nodes  map[string]bool
	slots  map[task.Group]sequence.Slot
}

// planned adds the groups, in the order of the plan, and compares them with those of the site.
func (c compiler) planned(s site.Site, p *planner.Plan, groups []site.Group) error {
	m, err := strategy.New(groups, s.Nodes, nil)
	if err != nil {
		return err
	}
	order := m.Order()
	if len(order) != len(p.Groups) {
		return fmt.Errorf("the plan has %d groups and the site %d; make a new plan", len(p.Groups), len(order))
	}
	for i, g := range p.Groups {
		if g.Name != order[i] {
			return fmt.Errorf("group %q is number %d in the plan and group %q in the site; make a new plan", g.Name, i+1,
				order[i])
		}
		if members := m.Members(g.Name); !slices.Equal(members, g.Members) {
			return fmt.Errorf("group %q has the members %q in the plan and %q in the site; make a new plan", g.Name,
				g.Members, members)
		}
		out := Group{Group: c.groups[g.Name], Members: g.Members, Owned: g.Owned, After: g.After, Batches: g.Batches,
			Pauses: g.Pauses, Order: make(map[string]int, len(g.Order)), Spared: make(map[string]bool, len(g.Unlocked))}
		if out.Selectors = nil; p.EndAtPause {
			out.Pauses = nil // what follows the pause is not in the plan
		}
		for i, node := range g.Order {
			out.Order[node] = i - len(g.Order)
		}
		for _, node := range g.Unlocked {
			out.Spared[node] = true
		}
		c.Groups = append(c.Groups, out)
	}
	return nil
}

// phase adds the sessions of a phase.
func (c compiler) phase(number int, ph planner.Phase) error {
	if len(ph.Tasks) == 0 {
		return nil
	}
	slot, err := c.slot(ph)
	if err != nil {
		return err
	}
	kind, err := oneKind(ph)
	if err != nil {
		return err
	}
	sessions := split(number, kind, slot, ph)
	seen := map[string]bool{}
	for _, s := range sessions {
		if seen[s.Node] && kind != Callback {
			return fmt.Errorf("the tasks of node %q are not next to each other; a phase is by node", s.Node)
		}
		seen[s.Node] = true
		switch {
		case kind == TearDown: // a node that left the site is not in it
		case s.Node == "" && kind == Callback:
			if g := c.groups[s.Group]; slot.Locked && g.Rolling != nil {
				return fmt.Errorf("callback %q belongs to no node, so it cannot run in the task group %q of the rolling group %q, "+
					"where every node is locked, worked on and unlocked by itself; put it into %q or %q, or give it a node",
					s.Name, ph.TaskGroup, g.Name, task.PreNode, task.Cluster)
			}
		case !c.nodes[s.Node]:
			return fmt.Errorf("node %q is not in the site", s.Node)
		case kind == Check && (c.groups[s.Group].Rolling == nil || c.groups[s.Group].Rolling.HealthCheck == nil):
			return fmt.Errorf("node %q is to be checked, and its group %q has no health check; make a new plan", s.Node, s.Group)
		}
		if err := c.add(slot, s); err != nil {
			return err
		}
	}
	if outside := (Phase{number, ph.TaskGroup, kind, sessions}); ph.TaskGroup == task.PostCluster {
		c.After = append(c.After, outside)
	} else if !slot.Repeats && kind != TearDown {
		c.Before = append(c.Before, outside)
	}
	return nil
}

// add adds a session of a group's block, or a tear-down.
func (c compiler) add(slot sequence.Slot, s Session) error {
	switch _, twice := c.Prepare[s.Node]; {
	case s.Kind == TearDown:
		c.Cleanup, c.Staying[s.Node] = append(c.Cleanup, s), c.nodes[s.Node]
	case !slot.Repeats:
	case s.Kind == Prepare && twice:
		return fmt.Errorf("node %q is prepared a second time", s.Node)
	case s.Kind == Prepare:
		c.Prepare[s.Node] = s
	case s.Node == "":
		c.Common[s.Group] = append(c.Common[s.Group], s)
	default:
		c.Deploy[s.Node] = append(c.Deploy[s.Node], s)
	}
	return nil
}

// slot returns the slot of a phase, or an error when its task group cannot run there.
func (c compiler) slot(p planner.Phase) (sequence.Slot, error) {
	slot, known := c.slots[p.TaskGroup]
	_, grouped := c.groups[p.Group]
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
func oneKind(p planner.Phase) (Kind, error) {
	first := KindOf(p.Tasks[0])
	kinds, special := admitted[p.TaskGroup]
	if !special {
		kinds = ordinary
	}
	for _, t := range p.Tasks {
		switch k := KindOf(t); {
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

func list(kinds []Kind) string {
	quoted := make([]string, len(kinds))
	for i, k := range kinds {
		quoted[i] = fmt.Sprintf("%q", string(k))
	}
	return strings.Join(quoted, ", ")
}

// split splits the tasks of a phase by node, callbacks one by one.
func split(number int, kind Kind, slot sequence.Slot, p planner.Phase) []Session {
	limit := 0
	for _, t := range p.Tasks {
		if t.Limit > 0 && (limit == 0 || t.Limit < limit) {
			limit = t.Limit
		}
	}
	var out []Session
	for i, t := range p.Tasks {
		if last := len(out) - 1; last >= 0 && out[last].Node == t.Node && kind != Callback {
			out[last].To = i + 1
			continue
		}
		s := Session{Kind: kind, Node: t.Node, Group: p.Group, Phase: number, From: i, To: i + 1,
			Locked: slot.Locked && kind != Check, Last: slot.Group == task.Cluster, Limit: limit}
		if kind == Callback {
			s.Name = t.Name
		}
		out = append(out, s)
	}
	return out
}
