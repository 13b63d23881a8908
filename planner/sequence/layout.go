package sequence

import (
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// scopeKey names a scope: the group, the cluster where the group repeats, and in the groups of a lock window the node.
type scopeKey struct {
	group         task.Group
	cluster, node string
}

// layOut makes the phases of all scopes in the order of the run. Nothing is merged across scopes (litp.md 88).
func (b *builder) layOut(entries []entry, clusters []Cluster) []Batch {
	scopes := make(map[scopeKey][]entry)
	perNode := make(map[string]bool, len(clusters)) // clusters with a lock pair
	for _, c := range clusters {
		for _, node := range c.Nodes {
			if _, ok := b.lockPair(node); ok {
				perNode[c.Path] = true
			}
		}
	}
	for _, e := range entries {
		key, reason := b.scopeOf(e.Work, perNode)
		if reason == "" {
			scopes[key] = append(scopes[key], e)
		} else if !e.applied {
			b.problems.add(TaskValidation, []string{e.ID}, "task %q for item %q is in group %s, but %s; it would never run", e.ID, e.Item, e.Group, reason)
		}
	}
	var out []Batch
	for i := 0; i < len(slots); {
		if !slots[i].Repeats {
			out = b.phases(out, scopes, scopeKey{group: slots[i].Group})
			i++
			continue
		}
		end := i
		for end < len(slots) && slots[end].Repeats {
			end++
		}
		for _, c := range clusters {
			out = b.clusterPhases(out, scopes, c, slots[i:end], perNode[c.Path])
		}
		i = end
	}
	return out
}

// scopeOf finds the scope of a task. A task without one would never run: reason says why (litp.md 73, 74, Q3).
func (b *builder) scopeOf(w *Work, perNode map[string]bool) (key scopeKey, reason string) {
	place, ok := groupPlace[w.Group]
	switch {
	case !ok:
		return key, "there is no such group"
	case !slots[place].Repeats:
		return scopeKey{group: w.Group}, ""
	case !slots[place].Locked:
		key = scopeKey{group: w.Group, cluster: b.model.item(w.Item).Cluster}
		if key.cluster == "" {
			return key, "its item lies in no cluster: it must have an associated model item under one"
		}
		return key, ""
	}
	node := b.model.taskNode(w)
	if node == "" {
		return key, "its item lies on no node: it must have an associated model item under one"
	}
	key = scopeKey{group: w.Group, cluster: b.model.clusterOf[node]}
	if key.cluster == "" {
		return key, "it runs on " + quoted(node) + ", which is in no cluster: it must have an associated model item under one"
	}
	if perNode[key.cluster] {
		key.node = node
	}
	return key, ""
}

func (b *builder) phases(out []Batch, scopes map[scopeKey][]entry, key scopeKey) []Batch {
	for _, works := range b.scope(scopes[key]) {
		out = append(out, Batch{Group: key.group, Cluster: key.cluster, Works: works})
	}
	return out
}

// clusterPhases is the block of one cluster. With lock windows the lockable groups are built node by node, the locked nodes
// first, each between its lock and unlock; a node without work has no window (litp.md 81). A node that an earlier plan left locked is
// unlocked at the end of the group before (litp.md 84).
func (b *builder) clusterPhases(out []Batch, scopes map[scopeKey][]entry, c Cluster, groups []Slot, perNode bool) []Batch {
	windows := false
	for _, slot := range groups {
		if slot.Locked && !windows {
			windows = true
			out = b.unlockLeft(out, c)
			if perNode {
				out = b.windows(out, scopes, c, groups)
			}
		}
		if !slot.Locked || !perNode {
			out = b.phases(out, scopes, scopeKey{group: slot.Group, cluster: c.Path})
		}
	}
	return out
}

func (b *builder) unlockLeft(out []Batch, c Cluster) []Batch {
	for _, node := range b.LeftLocked {
		if pair, ok := b.lockPair(node); ok && b.model.clusterOf[node] == c.Path {
			out = append(out, Batch{Group: task.PreNode, Cluster: c.Path, Works: []Work{pair.Unlock}})
		}
	}
	return out
}

func (b *builder) windows(out []Batch, scopes map[scopeKey][]entry, c Cluster, groups []Slot) []Batch {
	nodes, problems := c.nodeOrder()
	if len(problems) > 0 {
		b.problems = append(b.problems, problems...)
		return out
	}
	var unlocked []Batch
	for _, node := range nodes {
		var work []Batch
		for _, slot := range groups {
			if slot.Locked {
				work = b.phases(work, scopes, scopeKey{slot.Group, c.Path, node})
			}
		}
		pair, ok := b.lockPair(node)
		if !ok || len(work) == 0 {
			unlocked = append(unlocked, work...)
			continue
		}
		out = append(out, Batch{Group: task.Node, Cluster: c.Path, Works: []Work{pair.Lock}})
		out = append(out, work...)
		out = append(out, Batch{Group: task.Node, Cluster: c.Path, Works: []Work{pair.Unlock}})
	}
	return append(out, unlocked...)
}
