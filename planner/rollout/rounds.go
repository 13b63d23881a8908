package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// round is a part of a call: it begins when the one before it is over.
type round struct {
	kind        kind
	steps       []step   // of one phase, in its order
	lockWindows [][]step // instead: of each node all that runs inside its lock window, in order
}

// prepareRounds are the rounds of a prepare call: one.
func (w schedule) prepareRounds(nodes []string) []round {
	r := round{kind: prepareKind, steps: make([]step, len(nodes))}
	for i, n := range nodes {
		r.steps[i] = w.prepare[n]
		r.steps[i].node, r.steps[i].kind = n, prepareKind
	}
	return []round{r}
}

// rounds orders the steps of a group's deploy call on the given nodes. A round holds the steps of one phase; in a
// rolling group, neighbouring phases that run inside the lock window make one round, and its order is node by node
// (litp.md 81).
func (w schedule) rounds(group string, nodes []string, rolling bool) []round {
	var all []step
	for _, n := range nodes {
		all = append(all, w.unblocked(group, n)...)
	}
	all = append(all, w.common[group]...)
	slices.SortStableFunc(all, func(a, b step) int { return a.phase - b.phase })

	var rounds []round
	for len(all) > 0 {
		first, n := all[0], 1
		inWindow := rolling && first.locked
		for n < len(all) && (all[n].phase == first.phase || inWindow && all[n].locked) {
			n++
		}
		if inWindow {
			rounds = append(rounds, round{lockWindows: w.lockWindows(group, all[:n])})
		} else {
			r := round{kind: first.kind, steps: all[:n]}
			slices.SortStableFunc(r.steps, func(a, b step) int { return a.index - b.index })
			rounds = append(rounds, r)
		}
		all = all[n:]
	}
	return rounds
}

// unblocked returns the steps of a node. In the block of another group than the plan foresaw, they end where they wait
// for a callback of that group: it failed before the callback's turn came.
func (w schedule) unblocked(group, node string) []step {
	steps := w.deploy[node]
	for i, st := range steps {
		for _, c := range w.common[st.group] {
			if st.group != group && c.phase < st.phase {
				st.waits = fmt.Sprintf("it waits for the callback %s of group %q, which failed before", c.tasks[0].Name,
					st.group)
				return append(slices.Clone(steps[:i]), st)
			}
		}
	}
	return slices.Clone(steps)
}

// lockWindows splits steps by node, in the order of the group's nodes, others by name (litp.md 82, Q16). Those that are
// spared lock and unlock come last (litp.md 81).
func (w schedule) lockWindows(group string, steps []step) [][]step {
	var out [][]step
	at := map[string]int{}
	for _, st := range steps {
		i, ok := at[st.node]
		if !ok {
			i = len(out)
			at[st.node] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], st)
	}
	position := make(map[string]int)
	for i, node := range w.order[group] {
		position[node] = i - len(w.order[group])
	}
	slices.SortFunc(out, func(a, b []step) int {
		x, y := a[0].node, b[0].node
		return cmp.Or(order(w.spared[x])-order(w.spared[y]), position[x]-position[y], strings.Compare(x, y))
	})
	return out
}

// of returns what is left of the round for the nodes that go on. A node that failed is unlocked all the same.
func (r round) of(p *progress) round {
	r.steps = slices.DeleteFunc(r.steps, func(st step) bool { return p.out(st.node) && st.kind != unlockKind })
	if r.lockWindows = slices.DeleteFunc(r.lockWindows, func(steps []step) bool {
		return p.out(steps[0].node)
	}); len(r.lockWindows) == 0 {
		r.lockWindows = nil
	}
	return r
}

// phases returns the numbers of the phases of the round, in order.
func (r round) phases() []int { return phases(append(slices.Concat(r.lockWindows...), r.steps...)) }

// width narrows a width by the limit of the round's phase.
func (r round) width(most int) int {
	if limit := r.steps[0].limit; limit > 0 {
		return min(most, limit)
	}
	return most
}
