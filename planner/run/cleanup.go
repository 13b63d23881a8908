package run

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrInterrupted is the cause of a session that was not started, or was given up, because the run was stopped.
var ErrInterrupted = errors.New("the run was interrupted")

// ErrSpent is the cause of a tear-down that was not started because of the failure budget.
var ErrSpent = errors.New("the failure budget of the deployment is spent")

// CallbackError is a failed callback, as an error of the nodes that waited for it.
type CallbackError struct {
	Name string
	Err  error
}

func (e *CallbackError) Error() string {
	return fmt.Sprintf("the callback %s failed: %v", e.Name, e.Err)
}
func (e *CallbackError) Unwrap() error { return e.Err }

// startCleanup starts the tear-down of the nodes that left the site, and of those that are in no group any more.
func (m *Machine) startCleanup() {
	m.part = cleanup
	for _, s := range m.p.Cleanup {
		if m.p.lost(s.Node) {
			m.removed[s.Node] = Forgotten
			m.do(Command{Kind: Depart, Node: s.Node, Removal: Forgotten})
		}
	}
	if len(m.p.Cleanup) == 0 {
		return
	}
	m.recordCleanup(PhaseStarted, false)
	c := &call{name: string(TearDown), limit: DefaultDeployTimeout, width: m.p.Parallelism, decided: map[string]Removal{}}
	m.begin(c)
}

// cleanupRounds returns the rounds of the tear-down.
func (m *Machine) cleanupRounds(c *call) []round {
	reached := slices.DeleteFunc(slices.Clone(m.p.Cleanup), func(s Session) bool { return m.p.lost(s.Node) })
	return []round{c.single(Separation, []Session{{Kind: Separation, Phase: m.p.Cleanup[0].Phase}}),
		c.single(TearDown, reached)}
}

// recordCleanup records that the phase of the tear-down started or finished. The end of a site has no such phase.
func (m *Machine) recordCleanup(kind CommandKind, failed bool) {
	if !m.p.Destroy {
		m.do(Command{Kind: kind, Phase: m.p.Cleanup[0].Phase, Failed: failed})
	}
}

// spared decides the tear-down of a node that is not started, and reports whether it was one.
func (m *Machine) spared(c *call, s Session, late bool) bool {
	removal, decided := c.decided[s.Node]
	switch {
	case decided:
		m.remove(s, removal, nil)
	case m.stop():
		m.remove(s, NotTornDown, ErrInterrupted)
	case m.halted != nil:
		m.remove(s, NotTornDown, m.halted)
	case m.spent:
		m.remove(s, NotTornDown, ErrSpent)
	case late:
		m.remove(s, NotTornDown, c.limitError())
	default:
		return false
	}
	return true
}

// remove takes how the tear-down of a node ended; err says why it was not started.
func (m *Machine) remove(s Session, removal Removal, err error) {
	m.removed[s.Node] = removal
	m.do(Command{Kind: Removed, Node: s.Node, Phase: s.Phase, Removal: removal, Err: err})
}

// cleanupOver takes the end of the tear-down. A node that left and does not answer is forgotten, one that is still in
// the site waits for the next plan.
func (m *Machine) cleanupOver() {
	failed := false
	for _, name := range slices.Sorted(maps.Keys(m.removed)) {
		if m.p.Destroy || m.p.lost(name) {
			continue
		}
		if m.removed[name] == Unreachable {
			m.removed[name] = Forgotten
			if m.p.Staying[name] {
				m.removed[name] = NotTornDown
			}
		}
		failed = failed || m.removed[name] == NotTornDown
		m.do(Command{Kind: Depart, Node: name, Removal: m.removed[name]})
	}
	m.recordCleanup(PhaseFinished, failed)
}
