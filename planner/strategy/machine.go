package strategy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Misuse of the machine's methods: programming errors of its driver, never of a user.
var (
	ErrUnknownGroup = errors.New("unknown group")
	ErrUnknownNode  = errors.New("unknown node")
	ErrPhase        = errors.New("not a phase: criteria are judged for PREPARED and DEPLOYED only")
)

// Machine walks the groups of a site (airship.md 7). Its driver asks for the next group, prepares it, deploys it, and
// asks again, until there is no next group:
//
//	for {
//		group, ok := m.Next()
//		if !ok { break }
//		todo := m.StartPrepare(group)
//		... prepare todo, if there is any ...
//		if shortfalls, _ := m.FinishPrepare(group, succeeded); len(shortfalls) > 0 { continue }
//		todo = m.StartDeploy(group)
//		... deploy todo, if there is any ...
//		m.FinishDeploy(group, succeeded)
//	}
//
// Every Start needs its Finish, even when there is nothing to do, because Finish evaluates the criteria. A call out of
// order changes nothing; the first one is kept in [Machine.Err] and ends the walk. A Machine is for one goroutine. A
// driver that runs several groups at once calls [Machine.AllowParallel] first and asks [Machine.Ready] for the groups.
type Machine struct {
	groups   []*group // in processing order
	next     int      // the groups before this one are complete
	byName   map[string]*group
	nodes    map[string]Stage // the nodes that are in at least one group
	warnings invalid.Errors
	err      error
	parallel bool // groups that do not concern each other may be worked on at once
	// group -> those that it waits for, and the earlier ones that share a node with it, as indices; of AllowParallel
	after map[int][]int
}

type group struct {
	site.Group
	stage      Stage
	members    []string // sorted
	dependents []*group
	started    bool     // its preparation was started
	working    Stage    // the phase that was started and not finished, else empty
	submitted  []string // what the started phase works on, sorted
	shortfalls []Shortfall
	failedBy   string // the parent that took this group down with it
	root       int    // the place of the group whose own failure failed this one
	index      int    // in processing order
}

// New returns a machine for the groups, in the order of [Order]. The nodes in deployed need no work: they start as
// DEPLOYED and count as successful (airship.md 15). Invalid groups are a [invalid.Errors] error; a node in deployed
// that is not among nodes is [ErrUnknownNode]. Criteria that cannot be met are no error: the group fails during the
// walk.
func New(groups []site.Group, nodes []site.Node, deployed []string) (*Machine, error) {
	var errs invalid.Errors
	for _, g := range groups {
		errs = append(errs, g.Validate().Errors()...)
	}
	if errs = append(errs, site.ValidateDependencies(groups)...); len(errs) > 0 {
		return nil, errs
	}
	order, err := Order(groups)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		known[n.Name] = true
	}
	for _, name := range deployed {
		if !known[name] {
			return nil, fmt.Errorf("%w %q among the deployed nodes; it is not a node of the site", ErrUnknownNode, name)
		}
	}
	members := make(map[string][]string, len(groups))
	named := make(map[string]site.Group, len(groups))
	for _, g := range groups {
		members[g.Name], named[g.Name] = g.Selectors.Members(nodes), g
	}
	ordered := make([]site.Group, len(order))
	for i, name := range order {
		ordered[i] = named[name]
	}
	return Walk(ordered, members, deployed), nil
}

// Walk is [New] for valid groups in processing order whose members are known, sorted.
func Walk(groups []site.Group, members map[string][]string, deployed []string) *Machine {
	m := &Machine{byName: make(map[string]*group, len(groups)), nodes: map[string]Stage{}}
	for i, g := range groups {
		added := &group{Group: g, stage: NotStarted, members: members[g.Name], index: i}
		m.byName[g.Name], m.groups = added, append(m.groups, added)
		for _, node := range added.members {
			m.nodes[node] = NotStarted
		}
		for _, parent := range g.DependsOn { // it comes before
			m.byName[parent].dependents = append(m.byName[parent].dependents, added)
		}
	}
	for _, name := range deployed {
		if _, ok := m.nodes[name]; ok {
			m.nodes[name] = Deployed
		}
	}
	return m
}

// Next returns the first group in order that is not complete, and false when all are or when [Machine.Err] is set. It
// returns the same group until that group is complete.
func (m *Machine) Next() (name string, ok bool) {
	if m.err != nil {
		return "", false
	}
	for ; m.next < len(m.groups); m.next++ {
		g := m.groups[m.next]
		if g.stage.Complete() {
			continue
		}
		// Order and eager failure see to it that the parents are DEPLOYED by now; seed 001 demands it, so assert it
		// (airship.md D-17).
		for _, parent := range g.DependsOn {
			if stage := m.byName[parent].stage; stage != Deployed {
				m.fail("group %q is next although its parent %q is %s", g.Name, parent, stage)
				return "", false
			}
		}
		return g.Name, true
	}
	return "", false
}

// StartPrepare returns the nodes to prepare: the members that are NOT_STARTED, sorted.
func (m *Machine) StartPrepare(group string) (todo []string) {
	return m.start(group, Prepared, NotStarted)
}

// FinishPrepare records the nodes that were prepared in time. All others that were submitted are FAILED, whatever the
// reason (airship.md D-14, D-16). It then evaluates the criteria over all members; PREPARED and DEPLOYED count as
// successful. On a shortfall the group and everything that depends on it fails and is not deployed. A result for a node
// that was not submitted is ignored with a warning (airship.md D-15).
func (m *Machine) FinishPrepare(group string, succeeded []string) (shortfalls []Shortfall, warnings invalid.Errors) {
	return m.finish(group, Prepared, succeeded)
}

// StartDeploy returns the nodes to deploy: the members that are PREPARED, sorted; some may have been prepared by an
// earlier group that failed (airship.md D-02).
func (m *Machine) StartDeploy(group string) (todo []string) {
	return m.start(group, Deployed, Prepared)
}

// FinishDeploy records the nodes that were deployed in time, like [Machine.FinishPrepare]; only DEPLOYED counts as
// successful. The group fails with the shortfalls of batches, too. Its warnings are in the report.
func (m *Machine) FinishDeploy(group string, succeeded []string, batches ...Shortfall) []Shortfall {
	shortfalls, _ := m.finish(group, Deployed, succeeded, batches...)
	return shortfalls
}

// Err returns the first misuse of the machine: a call for an unknown group (ErrUnknownGroup), or for a group out of
// order.
func (m *Machine) Err() error { return m.err }

// CriticalFailed reports whether a critical group has failed, for whatever reason (airship.md 9).
func (m *Machine) CriticalFailed() bool {
	return slices.ContainsFunc(m.groups, func(g *group) bool { return g.Critical && g.stage == Failed })
}

// Order returns the names of the groups in processing order.
func (m *Machine) Order() []string {
	return site.NamesOf(m.groups, func(g *group) string { return g.Name })
}

// Members returns the names of the group's nodes, sorted; nil for a group that does not exist.
func (m *Machine) Members(group string) []string {
	if g, ok := m.byName[group]; ok {
		return slices.Clone(g.members)
	}
	return nil
}

// GroupStage returns the stage of a group, empty when there is no such group.
func (m *Machine) GroupStage(group string) Stage {
	if g, ok := m.byName[group]; ok {
		return g.stage
	}
	return ""
}

// NodeStage returns the stage of a node, empty when the node is in no group.
func (m *Machine) NodeStage(node string) Stage { return m.nodes[node] }

// SetNode sets the stage of a node and does not check the transition, for a driver that knows more than the walk
// (airship.md 4). A node in no group is [ErrUnknownNode].
func (m *Machine) SetNode(node string, stage Stage) error {
	if _, ok := m.nodes[node]; !ok {
		return fmt.Errorf("%w %q: it is in no group", ErrUnknownNode, node)
	}
	if !slices.Contains(stages[:], stage) {
		return fmt.Errorf("node %q: there is no stage %q", node, stage)
	}
	m.nodes[node] = stage
	return nil
}

// Judge evaluates the criteria of a group for a phase, PREPARED or DEPLOYED, on the current stages of its nodes, and
// changes nothing. An unknown group is [ErrUnknownGroup]; any other phase is [ErrPhase] (airship.md 8).
func (m *Machine) Judge(group string, phase Stage) ([]Shortfall, error) {
	g, ok := m.byName[group]
	if !ok {
		return nil, fmt.Errorf("%w %q", ErrUnknownGroup, group)
	}
	if phase != Prepared && phase != Deployed {
		return nil, fmt.Errorf("group %q: %q is %w", group, phase, ErrPhase)
	}
	successful := 0
	for _, node := range g.members {
		if stage := m.nodes[node]; stage == Deployed || stage == phase {
			successful++
		}
	}
	shortfalls := Evaluate(g.SuccessCriteria, len(g.members), successful)
	for i := range shortfalls {
		shortfalls[i].Phase = phase
	}
	return shortfalls, nil
}

func (m *Machine) start(name string, phase, eligible Stage) []string {
	g := m.current(name)
	if g == nil {
		return nil
	}
	if g.working != "" || Transition(g.stage, phase) != nil || g.stage == phase {
		m.fail("group %q: %s started while the group is %s", name, phase, g.describeStage())
		return nil
	}
	g.working, g.started = phase, true
	g.submitted = []string{}
	for _, node := range g.members {
		if m.nodes[node] == eligible {
			g.submitted = append(g.submitted, node)
		}
	}
	return slices.Clone(g.submitted)
}

func (m *Machine) finish(name string, phase Stage, succeeded []string, batches ...Shortfall) ([]Shortfall,
	invalid.Errors) {
	g := m.current(name)
	if g == nil {
		return nil, nil
	}
	if g.working != phase {
		m.fail("group %q: %s finished while the group is %s", name, phase, g.describeStage())
		return nil, nil
	}
	for _, node := range g.submitted {
		m.nodes[node] = Failed
	}
	var warnings invalid.Errors
	for _, node := range distinct(succeeded) {
		if _, ok := slices.BinarySearch(g.submitted, node); ok {
			m.nodes[node] = phase
			continue
		}
		warnings = append(warnings, invalid.Error{
			Object: "group", Name: name, Code: invalid.UnknownNode, Warning: true,
			Message: fmt.Sprintf("a result came for node %q, which was not to become %s with this group; it is ignored",
				node, phase),
		})
	}
	m.warnings = append(m.warnings, warnings...)
	g.working, g.submitted = "", nil
	shortfalls, err := m.Judge(name, phase)
	if err != nil {
		m.fail("group %q: %w", name, err)
		return nil, warnings
	}
	if shortfalls = append(shortfalls, batches...); len(shortfalls) == 0 {
		g.stage = phase
		return nil, warnings
	}
	g.shortfalls = shortfalls
	failWithDependents(g)
	return slices.Clone(shortfalls), warnings
}

// distinct drops repeated names and keeps the order.
func distinct(names []string) []string {
	seen := make(map[string]bool, len(names))
	out := make([]string, 0, len(names))
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// current returns the group if it may be worked on now; otherwise it records the misuse.
func (m *Machine) current(name string) *group {
	if m.err != nil {
		return nil
	}
	if _, ok := m.byName[name]; !ok {
		m.fail("%w %q", ErrUnknownGroup, name)
		return nil
	}
	if g := m.byName[name]; m.parallel && (g.started && !g.stage.Complete() || m.ready(g)) {
		return g
	}
	if next, ok := m.Next(); !ok || next != name {
		m.fail("group %q (%s) was given, but the next one is %q", name, m.byName[name].stage, next)
		return nil
	}
	return m.byName[name]
}

// failWithDependents fails a group and all groups that depend on it, without evaluating their criteria (airship.md 9).
// A group that depends on several failed groups is attributed to the first one in processing order, whichever failed
// first.
func failWithDependents(g *group) {
	g.stage, g.root = Failed, g.index
	queue := []*group{g}
	for len(queue) > 0 {
		parent := queue[0]
		queue = queue[1:]
		for _, dependent := range parent.dependents {
			if dependent.stage != Failed || dependent.root > g.index { // a diamond comes here twice
				dependent.stage, dependent.failedBy, dependent.root = Failed, parent.Name, g.index
				queue = append(queue, dependent)
			}
		}
	}
}

func (m *Machine) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("strategy: "+format, args...)
	}
}

func (g *group) describeStage() string {
	if g.working != "" {
		return "about to become " + string(g.working)
	}
	return string(g.stage)
}
