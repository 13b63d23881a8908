package sequence

import (
	"fmt"
	"slices"
	"strings"
)

// LockAction is what a plan is asked to do about node locks.
type LockAction string

// The lock actions (litp.md 79).
const (
	LockCreate LockAction = "create"  // lock nodes that are in use
	LockNone   LockAction = "none"    // lock nothing
	LockNew    LockAction = "initial" // lock nodes that were never applied too
)

// Policy is one lock action; without any, a plan locks as with [LockCreate].
type Policy struct {
	Action LockAction
	Except []string // ids of clusters whose nodes are not locked, for LockCreate
}

// excludes reports whether the policy leaves a cluster out.
func (p Policy) excludes(cluster string) bool {
	return p.Action == LockCreate && slices.Contains(p.Except, pathID(cluster))
}

// Locks reports whether a node of a cluster is locked while it is worked on: all policies must say so (litp.md 78). isNew is true for a node
// that was never applied.
func (c Cluster) Locks(isNew bool, policies []Policy) bool {
	if len(policies) == 0 {
		policies = []Policy{{Action: LockCreate}}
	}
	for _, p := range policies {
		if !c.HA || p.Action == LockNew && len(c.Nodes) <= 1 {
			return false
		}
		if isNew {
			if p.Action != LockNew {
				return false
			}
			continue
		}
		if c.New || p.Action == LockNone || p.excludes(c.Path) {
			return false
		}
	}
	return true
}

// Unlocks reports whether a node of the cluster that an earlier plan left locked is unlocked by the next one: there are no policies, or one
// creates locks and does not leave the cluster out (litp.md 84).
func (c Cluster) Unlocks(policies []Policy) bool {
	return len(policies) == 0 ||
		slices.ContainsFunc(policies, func(p Policy) bool { return p.Action == LockCreate && !p.excludes(c.Path) })
}

// nodeOrder is the order of the lock windows of a cluster, as paths (litp.md 82).
func (c Cluster) nodeOrder() ([]string, Problems) {
	var problems Problems
	if c.BadNodeOrder != "" {
		problems.add(View, nil, "cluster %q: node order: %s; a list of all its nodes' ids would be right", c.Path, c.BadNodeOrder)
		return nil, problems
	}
	if len(c.NodeOrder) == 0 {
		return c.Nodes, nil
	}
	paths := make(map[string]string, len(c.Nodes))
	for _, path := range c.Nodes {
		paths[pathID(path)] = path
	}
	var out []string
	named := make(map[string]int, len(c.NodeOrder))
	for _, id := range c.NodeOrder {
		named[id]++
		path, ok := paths[id]
		switch {
		case !ok:
			problems.add(View, nil, "cluster %q: node order: node %q is not in the cluster", c.Path, id)
		case named[id] == 2:
			problems.add(View, nil, "cluster %q: node order: node %q is there more than once", c.Path, id)
		case named[id] == 1:
			out = append(out, path)
		}
	}
	var missing []string
	for _, path := range c.Nodes {
		if named[pathID(path)] == 0 {
			missing = append(missing, fmt.Sprintf("%q", pathID(path)))
		}
	}
	if len(missing) > 0 {
		problems.add(View, nil, "cluster %q: node order: it lacks the nodes %s of the cluster", c.Path, strings.Join(missing, ", "))
	}
	return out, problems
}

// LockPair is the tasks by which one provider locks and unlocks a node.
type LockPair struct{ Lock, Unlock Work }
