package strategy

import (
	"maps"
	"slices"
)

// Together lets groups that do not concern each other be worked on at the same time. What becomes of groups and nodes is the same as
// when they are walked one by one, whatever the order in which they end (design.md 6, litp.md 5.7). after are groups that concern each other
// beyond what the machine knows: group -> groups before it in order that must be complete before it is begun, with those that they wait for; others in it
// are passed over. A group may be complete before its turn, when one that it depends on fails, while those that it waits for are not.
func (m *Machine) Together(after map[string][]string) {
	m.together = true
	m.after = make(map[int][]int, len(after))
	for i, g := range m.groups {
		waits := make(map[int]bool)
		for _, name := range after[g.Name] {
			if before, ok := m.byName[name]; ok && before.place < i {
				waits[before.place] = true
				for _, place := range m.after[before.place] {
					waits[place] = true
				}
			}
		}
		if len(waits) > 0 {
			m.after[i] = slices.Sorted(maps.Keys(waits))
		}
	}
	m.holders = make(map[string][]int, len(m.nodes))
	for i, g := range m.groups {
		for _, node := range g.members {
			m.holders[node] = append(m.holders[node], i)
		}
	}
}

// Ready returns the groups that may be begun now, in order; after [Machine.Err] none. Without [Machine.Together] it is the group that
// [Machine.Next] returns, unless it is begun. With it, it is every group that is not begun, whose parents are DEPLOYED, which waits for no other group,
// and that shares no node with a group before it that is not complete: that group is to have its turn on the node first.
func (m *Machine) Ready() []string {
	next, ok := m.Next()
	switch {
	case !ok:
		return nil
	case !m.together && m.byName[next].begun:
		return nil
	case !m.together:
		return []string{next}
	}
	var names []string
	for i := m.next; i < len(m.groups); i++ {
		if g := m.groups[i]; !g.begun && !g.stage.Complete() && m.parentsDeployed(g) && m.waitedFor(i) && m.firstOnItsNodes(i) {
			names = append(names, g.Name)
		}
	}
	return names
}

func (m *Machine) parentsDeployed(g *group) bool {
	for _, parent := range g.DependsOn {
		if m.byName[parent].stage != Deployed {
			return false
		}
	}
	return true
}

// waitedFor reports whether the groups are complete that the i-th waits for.
func (m *Machine) waitedFor(i int) bool {
	for _, before := range m.after[i] {
		if !m.groups[before].stage.Complete() {
			return false
		}
	}
	return true
}

// firstOnItsNodes reports whether no group before the i-th that is not complete holds one of its nodes.
func (m *Machine) firstOnItsNodes(i int) bool {
	for _, node := range m.groups[i].members {
		for _, holder := range m.holders[node] {
			if holder >= i {
				break
			}
			if !m.groups[holder].stage.Complete() {
				return false
			}
		}
	}
	return true
}
