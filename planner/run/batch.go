package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// batchOf returns the batch of a node, from 1. A node that the plan has in another group is in the batch of its name,
// behind all others in the last one.
func (g *Group) batchOf(node string) int {
	i := slices.IndexFunc(g.Batches, func(nodes []string) bool { return node <= nodes[len(nodes)-1] })
	if i < 0 {
		return len(g.Batches)
	}
	return i + 1
}

// batchRounds returns the rounds of one batch: the work of its nodes, with the health check of each node behind it, the
// soak, the health check of all again, and the rollback, which runs only when the batch did not come to its end. A node
// that an earlier run left unchecked may have no work but its check, which a group without a health check makes, too.
func (c *call) batchRounds(batch int, sessions []Session) []round {
	r := c.group.Rolling
	var nodes []string
	planned := map[string]Session{} // checks
	sessions = slices.DeleteFunc(sessions, func(s Session) bool {
		if s.Node != "" {
			nodes = append(nodes, s.Node)
		}
		if s.Kind == Check {
			planned[s.Node] = s
		}
		return s.Kind == Check && r.HealthCheck != nil
	})
	rounds := append([]round{{batch: batch}}, c.phaseRounds(sessions)...)
	slices.Sort(nodes)
	var checks []Session
	for _, n := range slices.Compact(nodes) {
		checks = append(checks, Session{Kind: Check, Node: n, Group: c.group.Name})
	}
	if r.HealthCheck != nil {
		windows := map[string]*chain{}
		if last := rounds[len(rounds)-1]; last.window {
			for _, ch := range last.chains {
				windows[ch.node] = ch
			}
		}
		var others []Session
		for _, s := range checks {
			if only, left := planned[s.Node]; left {
				s = only
			}
			if ch := windows[s.Node]; ch != nil {
				ch.sessions = append(ch.sessions, s)
			} else {
				others = append(others, s)
			}
		}
		rounds = append(rounds, c.single(Check, others))
	}
	if r.Soak > 0 && len(checks) > 0 {
		rounds = append(rounds, c.single(Soak, []Session{{Kind: Soak, Group: c.group.Name}}))
		if r.HealthCheck != nil {
			again := slices.Clone(checks)
			for i := range again {
				again[i].Soaked = true
			}
			rounds = append(rounds, c.single(Check, again))
		}
	}
	if r.OnFailure == site.OnFailureRollback {
		back := slices.Clone(checks)
		for i := range back {
			back[i].Kind = Rollback
		}
		rounds = append(rounds, c.windows(back))
		rounds[len(rounds)-1].kind = Rollback
	}
	return rounds
}

// restores reports whether a node is put back to what it had before the run: when the brake of its group came down in
// the middle of its batch, whatever the reason, and the run may have changed it, or called a callback for it. Nothing
// is put back once the run is stopped.
func (m *Machine) restores(c *call, node string) bool {
	_, changed := c.changed[node]
	return c.braked && changed && !m.stop()
}

// announceRollback records which nodes of a batch are put back, before the first one is: should the run be killed, the
// next one can say so. When the run was stopped, it warns that they are not.
func (m *Machine) announceRollback(c *call, chains []*chain) {
	var nodes []string
	for _, ch := range chains {
		_, changed := c.changed[ch.node]
		switch {
		case !c.braked || !changed:
		case m.stopped:
			m.do(Command{Kind: Warn, Group: c.group.Name, Node: ch.node, Text: fmt.Sprintf("node %q keeps what this run has "+
				"changed: its batch failed, but the run was stopped before it was put back", ch.node)})
		default:
			nodes = append(nodes, ch.node)
		}
	}
	if len(nodes) == 0 {
		return
	}
	more := ""
	if n := len(nodes) - mostNamed; n > 0 {
		nodes, more = nodes[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	m.do(Command{Kind: PutBack, Group: c.group.Name, Text: fmt.Sprintf("%s did not succeed; what this run changed is put "+
		"back on %s%s", c.batchName(), strings.Join(nodes, ", "), more)})
}

// mostNamed is how many nodes a text names.
const mostNamed = 10

// startBatch starts the time of a batch, which has failed already when too many of its nodes were not prepared, or of
// what comes after the last one.
func (m *Machine) startBatch(c *call, batch int) {
	if c.braked {
		return
	}
	c.batch, c.until = batch, m.at.Add(c.limit)
	if batch > 0 {
		c.sound = 0
		for _, n := range c.group.Batches[batch-1] {
			if m.walk.NodeStage(n) != strategy.Failed && !m.node(n).failed {
				c.sound++
			}
		}
	}
	m.brake(c)
}

// unapproved reports whether the next batch of a call, or what comes after the last one, waits for the approval of the
// batch before.
func (m *Machine) unapproved(c *call) bool {
	left := func(r round) bool {
		return slices.ContainsFunc(r.chains, func(ch *chain) bool { return m.goesOn(c, ch) })
	}
	next := slices.IndexFunc(c.rounds, func(r round) bool { return r.chains == nil || left(r) })
	if next < 0 || c.rounds[next].chains != nil || m.stopped {
		return false
	}
	g, done := c.group, c.rounds[next].batch-1
	if done < 0 {
		done = len(g.Batches)
	}
	if done == 0 || c.approved >= done || !slices.Contains(g.Pauses, done) || !slices.ContainsFunc(c.rounds, left) {
		return false
	}
	c.rounds = c.rounds[next:] // the batch is over: it stays, whatever comes
	if c.asked < done {
		c.asked = done
		m.do(Command{Kind: Pause, Group: g.Name, Batch: done, Text: c.batchName() + " is done and waits for approval"})
	}
	return true
}

// inBatch reports whether a node is in the batch under way.
func (c *call) inBatch(node string) bool {
	if c.batch == 0 {
		return false
	}
	_, found := slices.BinarySearch(c.group.Batches[c.batch-1], node)
	return found
}

// batchFailed returns what the batch under way falls short of when so many of its nodes succeed.
func (c *call) batchFailed(ok int) []strategy.Shortfall {
	if c.batch == 0 {
		return nil
	}
	return strategy.EvaluateBatch(c.group.SuccessCriteria, c.batch, len(c.group.Batches[c.batch-1]), ok)
}

// failedBatch returns what the batch that failed falls short of, at the end of the call.
func (m *Machine) failedBatch(c *call) []strategy.Shortfall {
	if len(c.batchFailed(c.sound)) == 0 {
		return nil
	}
	ok := c.sound
	for _, n := range c.left {
		if c.inBatch(n) && !m.node(n).failed {
			ok--
		}
	}
	return c.batchFailed(ok)
}

// batchName says which batch is under way; empty when none is.
func (c *call) batchName() string {
	if c.batch == 0 {
		return ""
	}
	return fmt.Sprintf("batch %d of %d", c.batch, len(c.group.Batches))
}

// takesPlace reports whether the chains of a round count as nodes that are worked on.
func (r round) takesPlace() bool { return r.kind != Callback && r.kind != Soak }
