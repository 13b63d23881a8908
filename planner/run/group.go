package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// startGroup starts the preparation of the next group, if one may start now.
func (m *Machine) startGroup() bool {
	if !m.regroup || len(m.calls) >= m.p.ParallelGroups {
		return false
	}
	ready := m.walk.Ready()
	if len(ready) == 0 {
		m.regroup = false
		return false
	}
	if m.stop() || m.spent {
		m.goOn = false
		return true
	}
	g := m.openGroup(ready)
	if g == nil {
		m.regroup = false
		return false
	}
	c := &call{name: "prepare", group: g, stage: strategy.Prepared,
		limit: orDuration(g.PrepareTimeout, DefaultPrepareTimeout), width: m.p.Parallelism,
		todo: m.walk.StartPrepare(g.Name)}
	m.begin(c)
	return true
}

// preparations returns the sessions that prepare nodes.
func (m *Machine) preparations(nodes []string) []Session {
	sessions := make([]Session, len(nodes))
	for i, n := range nodes {
		sessions[i] = m.p.Prepare[n]
		sessions[i].Node, sessions[i].Kind = n, Prepare
	}
	return sessions
}

// startDeploy starts the phases of a group after its preparation.
func (m *Machine) startDeploy(g *Group) {
	c := &call{name: "deploy", group: g, stage: strategy.Deployed,
		limit: orDuration(g.DeployTimeout, DefaultDeployTimeout), width: m.p.Parallelism,
		todo: m.walk.StartDeploy(g.Name)}
	if g.Rolling != nil {
		c.width = min(c.width, max(g.Rolling.MaxParallel, 1))
	}
	m.begin(c)
}

func orDuration(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// groupOver takes the end of a call of a group: the criteria are judged, and the group goes on or ends.
func (m *Machine) groupOver(c *call) {
	name := c.group.Name
	succeeded := slices.DeleteFunc(slices.Clone(c.todo), func(n string) bool { return c.gone[n] })
	if c.stage == strategy.Deployed {
		for _, n := range succeeded {
			if !m.later[n] {
				m.finished(m.node(n).group, n, strategy.Deployed)
			}
		}
	}
	if !c.whole || (c.paused || m.spent && len(c.left) > 0) && !c.short() && len(m.failedBatch(c)) == 0 {
		// nodes that finished get their result, the others stay as they were
		m.goOn = m.goOn && c.whole && !m.spent
		if m.regroup = true; c.paused {
			m.paused[name] = true
		}
		for _, n := range c.todo {
			switch {
			case m.node(n).failed, m.node(n).restored:
				m.setNode(n, strategy.Failed)
			case !c.gone[n]:
				m.setNode(n, c.stage)
			}
		}
		return
	}
	var shortfalls []strategy.Shortfall
	if c.stage == strategy.Prepared {
		shortfalls, _ = m.walk.FinishPrepare(name, succeeded)
	} else {
		shortfalls = m.walk.FinishDeploy(name, succeeded, m.failedBatch(c)...)
	}
	for _, n := range c.left { // they stay as they were
		if m.node(n).failed || m.node(n).restored {
			continue
		}
		m.unstarted[name] = append(m.unstarted[name], n)
		if c.stage == strategy.Prepared {
			m.setNode(n, strategy.NotStarted)
		} else {
			m.setNode(n, strategy.Prepared)
		}
	}
	switch {
	case len(shortfalls) > 0 || c.stage == strategy.Deployed:
		m.regroup = true
		m.finishGroups()
	case m.stop() || m.spent:
		m.goOn = false
	default:
		m.startDeploy(c.group)
	}
}

// deployRounds orders the sessions of a group's deploy call. With batches, those that unlock what an earlier run left
// locked come first, then each batch, then what runs once for all of them: callbacks of whole services, where there are
// several batches, and the task group cluster.
func (m *Machine) deployRounds(c *call) []round {
	g := c.group
	var all []Session
	for _, n := range c.todo {
		all = append(all, m.unblocked(g.Name, n)...)
	}
	all = append(all, m.p.Common[g.Name]...)
	slices.SortStableFunc(all, func(a, b Session) int { return cmp.Or(a.Phase-b.Phase, a.From-b.From) })
	if g.Batches == nil {
		return c.phaseRounds(all)
	}
	parts := make([][]Session, len(g.Batches)+2)
	for _, s := range all {
		part := g.batchOf(s.Node)
		switch {
		case s.Kind == Unlock:
			part = 0
		case s.Last, s.Node == "" && len(g.Batches) > 1:
			part = len(g.Batches) + 1
		}
		parts[part] = append(parts[part], s)
	}
	rounds := c.phaseRounds(parts[0])
	for i := range g.Batches {
		rounds = append(rounds, c.batchRounds(i+1, parts[i+1])...)
	}
	return append(append(rounds, round{}), c.phaseRounds(parts[len(g.Batches)+1])...)
}

// phaseRounds returns the rounds of sessions, which are in the order of the plan. A round has the sessions of one
// phase; in a rolling group, neighbouring phases that run between lock and unlock make one round, and its order is node
// by node (litp.md 81).
func (c *call) phaseRounds(all []Session) []round {
	var rounds []round
	for len(all) > 0 {
		first, n := all[0], 1
		window := c.group.Rolling != nil && first.Locked
		for n < len(all) && (all[n].Phase == first.Phase || window && all[n].Locked) {
			n++
		}
		if window {
			rounds = append(rounds, c.windows(all[:n]))
		} else {
			rounds = append(rounds, c.single(first.Kind, all[:n]))
		}
		all = all[n:]
	}
	return rounds
}

// unblocked returns the sessions of a node. In the block of another group than the plan foresaw, they end where they
// wait for a callback of that group: it failed before it came to the callback.
func (m *Machine) unblocked(group, node string) []Session {
	sessions := m.p.Deploy[node]
	for i, s := range sessions {
		for _, c := range m.p.Common[s.Group] {
			if s.Group != group && c.Phase < s.Phase {
				s.Waits = fmt.Sprintf("it waits for the callback %s of group %q, which failed before", c.Name, s.Group)
				return append(slices.Clone(sessions[:i]), s)
			}
		}
	}
	return sessions
}

// windows returns the round of lock windows, in the order of the group's nodes, others by name (litp.md 82, Q16). Those
// that are spared lock and unlock come last (litp.md 81).
func (c *call) windows(sessions []Session) round {
	r := round{window: true}
	byNode := map[string]*chain{}
	for _, s := range sessions {
		ch := byNode[s.Node]
		if ch == nil {
			ch = &chain{call: c, node: s.Node, window: true}
			byNode[s.Node] = ch
			r.chains = append(r.chains, ch)
		}
		ch.sessions = append(ch.sessions, s)
	}
	g := c.group
	slices.SortFunc(r.chains, func(a, b *chain) int {
		return cmp.Or(order(g.Spared[a.node])-order(g.Spared[b.node]), g.Order[a.node]-g.Order[b.node],
			strings.Compare(a.node, b.node))
	})
	return r
}
