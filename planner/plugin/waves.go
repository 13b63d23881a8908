package plugin

import "github.com/slipway/terraform-provider-slipway/planner/site"

// Member is a node in a group.
type Member struct {
	Group string
	Node  string
}

// Members returns the nodes of every group: those that its role means, or those with the role of its id when it gives none.
func (g *Graph) Members(nodes []site.Node) map[string][]string {
	out := make(map[string][]string)
	for _, t := range g.tasks {
		if t.Type == Group {
			out[t.ID] = g.placeOf(t, nodes).Names()
		}
	}
	return out
}

// placeOf returns the place that the roles of a task mean; a group without roles has the nodes with the role of its id.
func (g *Graph) placeOf(t site.GraphTask, nodes []site.Node) Place {
	texts := t.Role
	if len(texts) == 0 && t.Type == Group {
		texts = []string{t.ID}
	}
	roles, err := ParseRoles(texts)
	if err != nil { // no roles; refused by NewGraph; or an id such as "/(/" that no role equals
		return Place{}
	}
	return roles.On(nodes)
}

// Waves returns the steps in which groups are worked on, given their nodes; a step begins when the one before it has ended. A group is ready
// when all groups before it are done; one without nodes is done from the start. Of the groups that are ready together, those that go one
// by one come first, a node per step; then those with an amount, so many nodes per step; then all others in one step, and a second one
// for nodes that are in several of them, and so on (fuel.md A7).
func (g *Graph) Waves(members map[string][]string) [][]Member {
	done := make(map[int]bool)
	waits := make(map[int][]int) // group -> the groups before it
	var open []int
	for i, t := range g.tasks {
		if t.Type != Group {
			continue
		}
		if len(members[t.ID]) == 0 {
			done[i] = true
			continue
		}
		open = append(open, i)
		for _, at := range reach(i, g.before)[1:] {
			if g.tasks[at].Type == Group {
				waits[i] = append(waits[i], at)
			}
		}
	}
	var steps [][]Member
	for len(open) > 0 {
		var ready, rest []int
		for _, i := range open {
			if allDone(waits[i], done) {
				ready = append(ready, i)
			} else {
				rest = append(rest, i)
			}
		}
		steps = append(steps, g.wave(ready, members)...)
		for _, i := range ready {
			done[i] = true
		}
		open = rest // fewer every time: a graph has no cycles
	}
	return steps
}

func allDone(tasks []int, done map[int]bool) bool {
	for _, i := range tasks {
		if !done[i] {
			return false
		}
	}
	return true
}

// wave returns the steps of groups that are ready together.
func (g *Graph) wave(ready []int, members map[string][]string) [][]Member {
	var oneByOne, byAmount, together [][]Member
	turns := make(map[string]int) // node -> steps of together that it is in
	for _, i := range ready {
		t := g.tasks[i]
		all := make([]Member, len(members[t.ID]))
		for j, node := range members[t.ID] {
			all[j] = Member{t.ID, node}
		}
		switch {
		case t.Strategy.OneByOne:
			oneByOne = append(oneByOne, chunks(all, 1)...)
		case t.Strategy.Amount > 0:
			byAmount = append(byAmount, chunks(all, t.Strategy.Amount)...)
		default:
			for _, m := range all {
				turn := turns[m.Node]
				turns[m.Node]++
				if turn == len(together) {
					together = append(together, nil)
				}
				together[turn] = append(together[turn], m)
			}
		}
	}
	return append(append(oneByOne, byAmount...), together...)
}

func chunks(all []Member, size int) [][]Member {
	var out [][]Member
	for start := 0; start < len(all); start += size {
		out = append(out, all[start:min(start+size, len(all))])
	}
	return out
}
