package run

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// outsidePhase is a phase outside of groups that is under way.
type outsidePhase struct {
	Phase
	ran      bool           // something was left to run
	first    bool           // it comes before the groups: the first failure ends it
	verdicts []verdict      // by session
	failures map[int]string // by session: why it failed
	over     bool           // no session is started any more
	broken   bool           // a callback that belongs to no node did not succeed
}

// phaseBefore starts the next phase that comes before all groups; the first failure stops the run (design.md 6).
func (m *Machine) phaseBefore() {
	switch {
	case m.next == len(m.p.Before):
		m.part, m.regroup = inGroups, true
	case m.stop():
		m.halt(nil)
	default:
		m.next++
		m.startOutside(m.p.Before[m.next-1], true)
	}
}

// halt leaves the groups out: groups and nodes are as if they had not started, except nodes without changes.
func (m *Machine) halt(why error) {
	m.halted = why
	for n := range nodesOf(slices.Concat(m.p.Before, m.p.After)) {
		m.setNode(n, strategy.NotStarted)
	}
	m.remaining()
	m.startCleanup()
}

// phaseAfter starts the next phase that comes after all groups, on the nodes that are deployed by then. A callback that
// belongs to no node and does not succeed ends them, because what comes later may wait for it.
func (m *Machine) phaseAfter() {
	if m.next < len(m.p.After) && !m.stop() && !m.spent && len(m.paused) == 0 {
		m.next++
		m.startOutside(m.p.After[m.next-1], false)
		return
	}
	m.unfinished(m.p.After[m.next:])
	for _, name := range slices.Sorted(maps.Keys(m.later)) {
		if n := m.node(name); n.attempted && m.walk.NodeStage(name) == strategy.Deployed {
			m.finished(n.group, name, strategy.Deployed)
		}
	}
	m.remaining()
	m.startCleanup()
}

// startOutside starts a phase outside of groups: with first, up to its first failure and to what runs then; else on all
// nodes that are deployed. A phase of which nothing is left to run is not in the report.
func (m *Machine) startOutside(ph Phase, first bool) {
	x := &outsidePhase{Phase: ph, first: first, verdicts: make([]verdict, len(ph.Sessions)), failures: map[int]string{}}
	c := &call{name: string(ph.TaskGroup), limit: DefaultDeployTimeout, width: m.p.Parallelism, outside: x}
	m.begin(c)
}

// left reports whether a session is to run: nothing is started after what ended the phase, and behind the groups only a
// node that is deployed gets more.
func (m *Machine) left(x *outsidePhase, s Session) bool {
	switch stage := m.walk.NodeStage(s.Node); {
	case x.over || x.broken && s.Node == "":
		return false
	case x.first || s.Node == "":
		return true
	default:
		return stage == strategy.Deployed || stage == "" && !m.node(s.Node).failed
	}
}

// pointless reports whether a callback that belongs to no node is not called: behind the groups it is for a site that
// works, so not after a critical group failed.
func (m *Machine) pointless(x *outsidePhase, s Session) bool {
	if s.Node != "" || x.first || !m.walk.CriticalFailed() {
		return false
	}
	m.do(Command{Kind: Warn,
		Text: fmt.Sprintf("the callback %s is not called, because a critical group failed", s.Name)})
	x.broken = true
	return true
}

// add takes the verdict on a session.
func (x *outsidePhase) add(ch *chain, v verdict, err error) {
	x.verdicts[ch.place] = v
	x.over = x.over || v != done && x.first
	x.broken = x.broken || v != done && ch.node == ""
	if v == failure {
		x.failures[ch.place] = err.Error()
	}
}

// outsideOver takes the end of a phase outside of groups.
func (m *Machine) outsideOver(x *outsidePhase) {
	r := PhaseReport{Phase: x.Number, TaskGroup: x.TaskGroup, Status: StatusSucceeded}
	for i, s := range x.Sessions {
		switch x.verdicts[i] {
		case failure:
			r.Failures = append(r.Failures, PhaseFailure{s.Node, x.failures[i]})
			if !x.first && s.Node != "" {
				m.setNode(s.Node, strategy.Failed)
				m.finished(m.node(s.Node).group, s.Node, strategy.Failed)
			}
		case cutShort:
			r.Status = StatusInterrupted
			if !x.first {
				m.unfinished([]Phase{{Sessions: []Session{s}}})
			}
		case done, waiting, started:
		}
	}
	if len(r.Failures) > 0 {
		r.Status = StatusFailed
		m.failRun(true)
	}
	if x.ran {
		m.outside = append(m.outside, r)
		m.do(Command{Kind: PhaseFinished, Phase: x.Number, Failed: r.Status != StatusSucceeded})
	}
	switch {
	case x.first && r.Status == StatusFailed:
		m.halt(fmt.Errorf("the task group %s failed, which stops the run", x.TaskGroup))
	case x.first && r.Status != StatusSucceeded:
		m.halt(nil)
	case !x.first && (r.Status == StatusInterrupted || x.broken):
		m.unfinished(m.p.After[m.next:])
		m.next = len(m.p.After)
	}
}

// unfinished takes back that nodes are deployed: they have sessions in phases that were not run.
func (m *Machine) unfinished(phases []Phase) {
	for n := range nodesOf(phases) {
		if m.walk.NodeStage(n) == strategy.Deployed {
			m.setNode(n, strategy.Prepared)
		}
	}
}

// nodesOf returns the nodes with sessions in any of the phases.
func nodesOf(phases []Phase) map[string]bool {
	nodes := map[string]bool{}
	for _, ph := range phases {
		for _, s := range ph.Sessions {
			if s.Node != "" {
				nodes[s.Node] = true
			}
		}
	}
	return nodes
}
