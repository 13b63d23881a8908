package run

import (
	"slices"
	"sort"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// While the maintenance window of a group is closed, nothing of it is started but what ends the work on a node, and
// the time limits of its calls do not count. The run waits until it opens (Wake, Woken), or ends as paused, when the
// rest is done, with EndAtPause.

// WindowClosed is the beginning of the text of a [Pause] for a maintenance window; behind it stands when it opens.
const WindowClosed = "the maintenance window is closed until "

// startsNode reports whether a session of this kind starts a node of a group, or a callback: not outside of the
// maintenance window of the group. What a node is left with is finished: it is checked, restored, and unlocked.
func (k Kind) startsNode() bool { return k != Unlock && k != Check && k != Soak && k != Rollback }

// opens returns when the maintenance window of a group opens next, now if it is open; never: no more while the program
// knows it.
func (m *Machine) opens(group string) (at time.Time, never bool) {
	open, limited := m.p.Windows[group]
	if !limited {
		return m.at, false
	}
	i := sort.Search(len(open), func(i int) bool { return open[i].To.After(m.at) })
	switch {
	case i == len(open):
		return m.at, true
	case open[i].From.After(m.at):
		return open[i].From, false
	}
	return m.at, false
}

// closedFor returns for how long the maintenance window of a group was closed since a time. Behind its last opening, it
// is not waited for.
func (m *Machine) closedFor(group string, since time.Time) (closed time.Duration) {
	open := m.p.Windows[group]
	for i := sort.Search(len(open), func(i int) bool { return open[i].From.After(since) }); i < len(open); i++ {
		from, to := since, m.at
		if i > 0 && open[i-1].To.After(from) {
			from = open[i-1].To
		}
		if !from.Before(m.at) {
			break
		}
		if open[i].From.Before(to) {
			to = open[i].From
		}
		closed += to.Sub(from)
	}
	return closed
}

// waits reports whether nothing of a group may start now, but later in this run. It sets the timer.
func (m *Machine) waits(group string) bool {
	if m.held {
		return true
	}
	at, _ := m.opens(group)
	if !at.After(m.at) || m.p.EndAtPause {
		return false
	}
	if !m.opensAt[group].Equal(at) {
		m.opensAt[group] = at
		m.do(Command{Kind: Pause, Group: group, Text: WindowClosed + at.UTC().Format(time.RFC3339)})
	}
	m.wakeAt(at)
	return true
}

// wakeAt sets the timer, unless it ends before.
func (m *Machine) wakeAt(at time.Time) {
	if !m.wake.After(m.at) || at.Before(m.wake) {
		m.wake = at
		m.do(Command{Kind: Wake, Until: at})
	}
}

// leaves reports whether nothing of a group may start in this run any more.
func (m *Machine) leaves(group string) bool {
	at, never := m.opens(group)
	return never || m.p.EndAtPause && at.After(m.at)
}

// openGroup returns the first of the groups that may start now; nil: none may, and some wait for their maintenance
// windows.
func (m *Machine) openGroup(ready []string) *Group {
	m.waiting = false
	for _, name := range ready {
		g := &m.p.Groups[slices.IndexFunc(m.p.Groups, func(g Group) bool { return g.Name == name })]
		switch work := m.hasWork(g); {
		case work && m.leaves(name):
			m.paused[name] = true
		case work && m.waits(name):
			m.waiting = true
		default:
			delete(m.paused, name)
			return g
		}
	}
	return nil
}

// hasWork reports whether something is to be done in the block of a group.
func (m *Machine) hasWork(g *Group) bool {
	return len(m.p.Common[g.Name]) > 0 || slices.ContainsFunc(g.Members, func(n string) bool {
		stage := m.walk.NodeStage(n)
		return stage == strategy.NotStarted || stage == strategy.Prepared
	})
}

// waitsIn reports whether a chain may not start now because its group waits, or the run is held.
func (m *Machine) waitsIn(c *call, ch *chain) bool {
	return !m.stopped && !ch.begun && ch.sessions[0].Kind.startsNode() &&
		(m.held || c.group != nil && m.waits(c.group.Name))
}

// waitsForRound reports whether the next round of a call may not begin now because its group waits.
func (m *Machine) waitsForRound(c *call) bool {
	for _, r := range c.rounds {
		if r.chains == nil { // a batch
			return false
		}
		for _, ch := range r.chains {
			if m.goesOn(c, ch) {
				return m.waitsIn(c, ch)
			}
		}
	}
	return false
}
