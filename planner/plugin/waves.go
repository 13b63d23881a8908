package plugin

import "slices"
import "github.com/slipway/terraform-provider-slipway/planner/site"

// Member is a node in a group.
type Member struct {
	Group string
	Node  string
}

// Members returns the nodes of every group: those of its role, or those with the role of the group's id when it has no
// role.
func (g *Graph) Members(nodes []site.Node) map[string][]string {
	out := make(map[string][]string)
	for _, t := range g.tasks {
		if t.Type == Group {
			out[t.ID] = g.placeOf(t, nodes).Names()
		}
	}
	return out
}

// placeOf returns where a task runs. A group without roles has the nodes with the role of its id.
func (g *Graph) placeOf(t site.GraphTask, nodes []site.Node) Place {
	texts := t.Role
	if len(texts) == 0 && t.Type == Group {
		texts = []string{t.ID}
	}
	return rolePlace(texts, nodes)
}

// rolePlace returns where a task with these roles runs.
func rolePlace(texts []string, nodes []site.Node) Place {
	roles, err := ParseRoles(texts)
	if err != nil { // no roles; refused by NewGraph; or an id such as "/(/" that no role equals
		return Place{}
	}
	return roles.On(nodes)
}

// Waves returns the steps in which groups run, given their nodes. A step starts when the one before it has ended. A
// group is ready when all groups before it are done; a group without nodes is done from the start. Of the groups that
// are ready at the same time, those with one_by_one come first, one node per step; then those with an amount, that many
// nodes per step; then all others in one step. A node in several of the others gets a further step for each (fuel.md
// A7).
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
		for _, at := range reach(i, g.before, nil)[1:] {
			if g.tasks[at].Type == Group {
				waits[i] = append(waits[i], at)
			}
		}
	}
	var steps [][]Member
	for len(open) > 0 {
		var ready, rest []int
		for _, i := range open {
			if !slices.ContainsFunc(waits[i], func(at int) bool { return !done[at] }) {
				ready = append(ready, i)
			} else {
				rest = append(rest, i)
			}
		}
		steps = append(steps, g.stepsOf(ready, members)...)
		for _, i := range ready {
			done[i] = true
		}
		open = rest // fewer every time: a graph has no cycles
	}
	return steps
}

// stepsOf returns the steps of groups that are ready at the same time.
func (g *Graph) stepsOf(ready []int, members map[string][]string) [][]Member {
	var oneByOne, byAmount, together [][]Member
	uses := make(map[string]int) // node -> steps of together that it is in
	for _, i := range ready {
		t := g.tasks[i]
		all := make([]Member, len(members[t.ID]))
		for j, node := range members[t.ID] {
			all[j] = Member{t.ID, node}
		}
		switch {
		case t.Strategy.OneByOne:
			oneByOne = slices.AppendSeq(oneByOne, slices.Chunk(all, 1))
		case t.Strategy.Amount > 0:
			byAmount = slices.AppendSeq(byAmount, slices.Chunk(all, t.Strategy.Amount))
		default:
			for _, m := range all {
				use := uses[m.Node]
				uses[m.Node]++
				if use == len(together) {
					together = append(together, nil)
				}
				together[use] = append(together[use], m)
			}
		}
	}
	return append(append(oneByOne, byAmount...), together...)
}
