package strategy

import (
	"maps"
	"slices"
)

// AllowParallel lets independent groups run at the same time. The resulting stages of groups and nodes are the same as
// with one group at a time, in whatever order the groups end (design.md 6, litp.md 5.7). after adds dependencies that
// the machine does not know: group -> earlier groups that must be complete before it starts; they are transitive.
// Unknown and later groups in it are ignored. A group that fails because a group that it depends on failed does not
// wait for them.
func (m *Machine) AllowParallel(after map[string][]string) {
	m.parallel = true
	m.after = make(map[int][]int, len(m.groups))
	for i, g := range m.groups {
		waits := make(map[int]bool)
		for _, name := range after[g.Name] {
			if before, ok := m.byName[name]; ok && before.index < i {
				waits[before.index] = true
				for _, index := range m.after[before.index] {
					waits[index] = true
				}
			}
		}
		if len(waits) > 0 {
			m.after[i] = slices.Sorted(maps.Keys(waits))
		}
	}
	groupsOf := make(map[string][]int, len(m.nodes))
	for i, g := range m.groups {
		waits := m.after[i]
		for _, node := range g.members {
			waits, groupsOf[node] = append(waits, groupsOf[node]...), append(groupsOf[node], i)
		}
		slices.Sort(waits)
		m.after[i] = slices.Compact(waits)
	}
}

// Ready returns the groups that may start now, in order; none after [Machine.Err]. Without [Machine.AllowParallel] it
// is the group that [Machine.Next] returns, unless that has started. With it, it is every group that has not started,
// whose parents are DEPLOYED, that waits for no other group, and that shares no node with an earlier incomplete group:
// the earlier group uses the node first.
func (m *Machine) Ready() []string {
	next, ok := m.Next()
	switch {
	case !ok:
		return nil
	case !m.parallel && m.byName[next].started:
		return nil
	case !m.parallel:
		return []string{next}
	}
	var names []string
	for _, g := range m.groups[m.next:] {
		if m.ready(g) {
			names = append(names, g.Name)
		}
	}
	return names
}

// ready reports whether a group may start now, with [Machine.AllowParallel].
func (m *Machine) ready(g *group) bool {
	return !g.started && !g.stage.Complete() && m.parentsDeployed(g) && m.waitsComplete(g.index)
}

func (m *Machine) parentsDeployed(g *group) bool {
	for _, parent := range g.DependsOn {
		if m.byName[parent].stage != Deployed {
			return false
		}
	}
	return true
}

// waitsComplete reports whether the groups that the i-th group waits for are complete.
func (m *Machine) waitsComplete(i int) bool {
	for _, before := range m.after[i] {
		if !m.groups[before].stage.Complete() {
			return false
		}
	}
	return true
}
