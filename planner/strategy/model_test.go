package strategy

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// model is a second, naive account of the walk, written from the text of seed 001 and airship.md 7 to 9 and from
// nothing of this package, for [TestMachineAgainstModel]: plain maps, recursion, exact fractions, and readiness by the
// parents' state.
type model struct {
	groups   []site.Group // as given
	order    []string
	members  map[string][]string
	group    map[string]Stage
	node     map[string]Stage
	failed   map[string][]string // criteria not met
	prepared map[string][]string // calls made
	deployed map[string][]string
}

// outcome scripts a run: the nodes that fail in a phase.
type outcome struct {
	prepare, deploy map[string]bool
}

func walk(groups []site.Group, nodes []site.Node, deployed []string, script outcome) *model {
	m := &model{
		groups: groups, members: map[string][]string{}, group: map[string]Stage{}, node: map[string]Stage{},
		failed: map[string][]string{}, prepared: map[string][]string{}, deployed: map[string][]string{},
	}
	for _, g := range groups {
		m.group[g.Name] = NotStarted
		for _, n := range nodes {
			if selects(g.Selectors, n) {
				m.members[g.Name] = append(m.members[g.Name], n.Name)
				m.node[n.Name] = NotStarted
				if slices.Contains(deployed, n.Name) {
					m.node[n.Name] = Deployed
				}
			}
		}
		slices.Sort(m.members[g.Name])
	}
	m.sort()
	for _, name := range m.order {
		m.process(name, script)
	}
	return m
}

// selects applies the selectors by node names and tags, which is what the random strategies have.
func selects(selectors site.Selectors, n site.Node) bool {
	for _, s := range selectors {
		byName := len(s.NodeNames) == 0 || slices.Contains(s.NodeNames, n.Name)
		byTag := len(s.NodeTags) == 0
		for _, tag := range s.NodeTags {
			byTag = byTag || slices.Contains(n.Tags, tag)
		}
		if byName && byTag {
			return true
		}
	}
	return len(selectors) == 0
}

// sort finds the order round by round: who comes out of the queue next is the one whose last parent came out first,
// then the one that is written first.
func (m *model) sort() {
	position := map[string]int{}
	for len(m.order) < len(m.groups) {
		best, bestKey := "", [2]int{}
		for i, g := range m.groups {
			if slices.Contains(m.order, g.Name) {
				continue
			}
			key, ready := [2]int{-1, i}, true
			for _, parent := range g.DependsOn {
				at, out := position[parent]
				ready = ready && out
				key[0] = max(key[0], at)
			}
			if ready && (best == "" || slices.Compare(key[:], bestKey[:]) < 0) {
				best, bestKey = g.Name, key
			}
		}
		position[best] = len(m.order)
		m.order = append(m.order, best)
	}
}

func (m *model) find(name string) site.Group {
	for _, g := range m.groups {
		if g.Name == name {
			return g
		}
	}
	return site.Group{}
}

func (m *model) process(name string, script outcome) {
	g := m.find(name)
	for _, parent := range g.DependsOn {
		if m.group[parent] != Deployed {
			m.group[name] = Failed
			return
		}
	}
	phase := func(from, to Stage, calls map[string][]string, fails map[string]bool) bool {
		for _, n := range m.members[name] {
			if m.node[n] == from {
				calls[name] = append(calls[name], n)
			}
		}
		for _, n := range calls[name] {
			m.node[n] = to
			if fails[n] {
				m.node[n] = Failed
			}
		}
		total, good := 0, 0
		for _, n := range m.members[name] {
			total++
			if m.node[n] == to || m.node[n] == Deployed {
				good++
			}
		}
		m.failed[name] = unmet(g.SuccessCriteria, total, good)
		return len(m.failed[name]) == 0
	}
	if !phase(NotStarted, Prepared, m.prepared, script.prepare) ||
		!phase(Prepared, Deployed, m.deployed, script.deploy) {
		m.group[name] = Failed
		return
	}
	m.group[name] = Deployed
}

// unmet judges by the seed's words: 75 means 3 of 4, no nodes are 100 percent.
func unmet(c *site.SuccessCriteria, total, good int) []string {
	var out []string
	if c == nil {
		return nil
	}
	if p := c.PercentSuccessfulNodes; p != nil && total > 0 {
		needed := 0 // the fewest nodes that are p percent of total
		for needed*100 < *p*total {
			needed++
		}
		if good < needed {
			out = append(out, "percent_successful_nodes")
		}
	}
	if n := c.MinimumSuccessfulNodes; n != nil && good < *n {
		out = append(out, "minimum_successful_nodes")
	}
	if n := c.MaximumFailedNodes; n != nil && total-good > *n {
		out = append(out, "maximum_failed_nodes")
	}
	return out
}
