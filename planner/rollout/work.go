package rollout

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// work is a plan by node: what is left of the phases once the groups decide who runs and when. A node's tasks run in the
// block of the group that the group machine hands it to, which need not be the group that the plan foresaw
// (airship.md D-01, D-02).
type work struct {
	prepare map[string]step   // node -> its preparation
	deploy  map[string][]step // node -> the rest of its block, in the order of the plan
	cleanup []step            // one for each node that left the site
}

// step is what one node does in one phase of the plan: one session.
type step struct {
	phase int // its number in the plan, from 1; 0 when the plan does not hold it
	node  string
	tasks []task.Task
}

// newWork sorts the tasks of a plan by node. It refuses a plan with tasks that this package cannot run, before anything is touched.
func newWork(s site.Site, p *planner.Plan) (work, error) {
	w := work{prepare: map[string]step{}, deploy: map[string][]step{}}
	known := make(map[string]bool, len(s.Nodes))
	for _, n := range s.Nodes {
		known[n.Name] = true
	}
	for i, phase := range p.Phases {
		for _, st := range steps(i+1, phase.Tasks) {
			switch {
			case phase.TaskGroup == task.Cleanup && phase.Group == "":
				for _, t := range st.tasks {
					if t.Action != task.Forget {
						return work{}, fmt.Errorf("phase %d: node %q: a task %q cannot run in the task group %q: only %q can", st.phase, st.node, t.Action, phase.TaskGroup, task.Forget)
					}
				}
				w.cleanup = append(w.cleanup, st)
			case phase.Group == "":
				return work{}, fmt.Errorf("phase %d: the task group %q cannot run outside of a deployment group", st.phase, phase.TaskGroup)
			case !known[st.node]:
				return work{}, fmt.Errorf("phase %d: node %q is not in the site", st.phase, st.node)
			case phase.TaskGroup == task.Prepare:
				if _, twice := w.prepare[st.node]; twice {
					return work{}, fmt.Errorf("phase %d: node %q is prepared a second time", st.phase, st.node)
				}
				w.prepare[st.node] = st
			default:
				w.deploy[st.node] = append(w.deploy[st.node], st)
			}
		}
	}
	return w, nil
}

// idle returns the names of the nodes that have nothing to do, sorted. They count as deployed and are not asked again
// (airship.md 15).
func (w work) idle(nodes []site.Node) []string {
	var names []string
	for _, n := range nodes {
		if _, ok := w.prepare[n.Name]; !ok && len(w.deploy[n.Name]) == 0 {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names
}

// rounds orders the steps of the deploy call of the given nodes: each round holds the steps of one phase, and a round
// begins when the one before it is over.
func (w work) rounds(nodes []string) [][]step {
	byPhase := map[int][]step{}
	for _, n := range nodes {
		for _, st := range w.deploy[n] {
			byPhase[st.phase] = append(byPhase[st.phase], st)
		}
	}
	var rounds [][]step
	for _, phase := range slices.Sorted(maps.Keys(byPhase)) {
		rounds = append(rounds, byPhase[phase])
	}
	return rounds
}

// steps splits the tasks of a phase by node, in the order in which the nodes first appear.
func steps(phase int, tasks []task.Task) []step {
	var out []step
	at := map[string]int{}
	for _, t := range tasks {
		i, ok := at[t.Node]
		if !ok {
			i = len(out)
			at[t.Node] = i
			out = append(out, step{phase: phase, node: t.Node})
		}
		out[i].tasks = append(out[i].tasks, t)
	}
	return out
}
