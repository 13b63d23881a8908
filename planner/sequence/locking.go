package sequence

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// decideLocks finds the nodes that are locked while they are worked on (litp.md 78, 84).
func (p *pipeline) decideLocks() {
	clusters := make(map[string]Cluster, len(p.model.clusters))
	for _, c := range p.model.clusters {
		clusters[c.Path] = c
	}
	asked := make(map[string]bool)
	ask := func(node string) {
		cluster, ok := clusters[p.model.clusterOf[node]]
		if !ok || asked[node] {
			return
		}
		asked[node] = true
		if cluster.Locks(p.model.item(node).New, p.Policies) {
			p.locked[node] = true
		}
	}
	for i := range p.works {
		if w := &p.works[i]; w.Kind == task.Remote {
			for _, node := range w.Nodes {
				ask(node)
			}
		} else {
			ask(p.model.taskNode(w))
		}
	}
	for _, node := range p.LeftLocked {
		if cluster, ok := clusters[p.model.clusterOf[node]]; ok && cluster.Unlocks(p.Policies) {
			p.locked[node] = true
		}
	}
}

// splitRemote makes of each remote task on several nodes one task for the management server, one for each node to be locked, and one
// for the rest (litp.md 85). The parts keep everything but their nodes (litp.md Q8).
func (p *pipeline) splitRemote() {
	alone := func(node string) bool { return p.locked[node] || p.model.item(node).Management }
	whole := func(w Work) bool {
		return w.Kind != task.Remote || len(w.Nodes) < 2 || !slices.ContainsFunc(w.Nodes, alone)
	}
	if !slices.ContainsFunc(p.works, func(w Work) bool { return !whole(w) }) {
		return
	}
	out := make([]Work, 0, len(p.works))
	for i := range p.works {
		w := p.works[i]
		if whole(w) {
			out = append(out, w)
			continue
		}
		var rest, seen []string
		for _, node := range w.Nodes {
			switch {
			case slices.Contains(seen, node):
			case alone(node):
				out = append(out, partOf(w, node))
				p.parts[w.ID] = append(p.parts[w.ID], out[len(out)-1].ID)
			default:
				rest = append(rest, node)
			}
			seen = append(seen, node)
		}
		if len(rest) > 0 {
			out = append(out, partOf(w, rest...))
			p.parts[w.ID] = append(p.parts[w.ID], out[len(out)-1].ID)
		}
	}
	p.works = out
}

// checkLocks: a node is locked by exactly one provider (litp.md 80). A node that nobody can lock is not locked.
func (p *pipeline) checkLocks() {
	for _, c := range p.model.clusters {
		for _, node := range c.Nodes {
			if pairs := p.Locks[node]; p.locked[node] && len(pairs) > 1 {
				p.problems.add(NodeLock, []string{pairs[0].Lock.ID, pairs[1].Lock.ID},
					"node %q: %d providers want to lock it; exactly one must", node, len(pairs))
			}
		}
	}
}

// lockPair returns the tasks that lock and unlock a node, if it is to be locked and can be.
func (p *pipeline) lockPair(node string) (LockPair, bool) {
	if pairs := p.Locks[node]; p.locked[node] && len(pairs) == 1 {
		pair := pairs[0]
		pair.Lock.ID, pair.Unlock.ID = lockID(node), unlockID(node)
		return pair, true
	}
	return LockPair{}, false
}
