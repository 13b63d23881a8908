package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// rounds is how many chances a property is tried with.
const rounds = 100

func eachRound(t *testing.T, try func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	for seed := range uint64(rounds) {
		t.Run(fmt.Sprintf("seed%d", seed), func(t *testing.T) { try(t, rand.New(rand.NewPCG(seed, 2))) })
	}
}

// anyState is some state of nodes: what is wanted is applied, or not, or in another form, or drifted; other things are
// there too.
func anyState(t *testing.T, r *rand.Rand) (planner.Applied, planner.Drift) {
	t.Helper()
	return anyStateOf(t, r, lon1())
}

func anyStateOf(t *testing.T, r *rand.Rand, s site.Site) (planner.Applied, planner.Drift) {
	t.Helper()
	applied, drift := allApplied(t, s), planner.Drift{}
	applied["gone"] = map[resource.ID]string{"file[/a]": "x"}
	for _, node := range sortedKeys(applied) {
		for _, id := range sortedKeys(applied[node]) {
			switch r.IntN(6) {
			case 0:
				delete(applied[node], id)
			case 1:
				applied[node][id] = "another form"
			case 2:
				applied[node][id] = ""
			case 3:
				drift[node] = append(drift[node], id)
			}
		}
		for _, extra := range []resource.ID{"file[/a]", "file[/a/b]", "user[x]"} {
			if r.IntN(4) == 0 {
				applied[node][extra] = "x"
			}
		}
	}
	return applied, drift
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	var keys []K
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// shuffled is lon1 with every list in another order whose order carries no meaning.
func shuffled(r *rand.Rand) site.Site {
	s := lon1()
	mix(r, s.Nodes)
	mix(r, s.Services)
	mix(r, s.Overrides)
	for i := range s.Nodes {
		mix(r, s.Nodes[i].Tags)
		mix(r, s.Nodes[i].Roles)
	}
	for _, g := range s.Groups {
		mix(r, g.DependsOn)
		for _, selector := range g.Selectors {
			mix(r, selector.RackNames)
			mix(r, selector.NodeTags)
		}
	}
	return s
}

func mix[T any](r *rand.Rand, list []T) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

func TestOrderOfListsDoesNotShow(t *testing.T) {
	eachRound(t, func(t *testing.T, r *rand.Rand) {
		applied, drift := anyState(t, r)
		want := text(planner.Make(lon1(), applied, drift))
		for node := range drift {
			mix(r, drift[node])
		}
		if d := cmp.Diff(want, text(planner.Make(shuffled(r), applied, drift))); d != "" {
			t.Error(d)
		}
	})
}

func TestInputIsNotChanged(t *testing.T) {
	eachRound(t, func(t *testing.T, r *rand.Rand) {
		s := lon1()
		applied, drift := anyState(t, r)
		appliedBefore, driftBefore := planner.Applied{}, planner.Drift{}
		for node, resources := range applied {
			appliedBefore[node] = map[resource.ID]string{}
			for id, digest := range resources {
				appliedBefore[node][id] = digest
			}
		}
		for node, ids := range drift {
			driftBefore[node] = slices.Clone(ids)
		}
		mustMake(t, s, applied, drift)
		if d := cmp.Diff(lon1(), s) + cmp.Diff(appliedBefore, applied) + cmp.Diff(driftBefore, drift); d != "" {
			t.Error(d)
		}
	})
}

func TestWhatIsAppliedIsNotPlanned(t *testing.T) {
	eachRound(t, func(t *testing.T, r *rand.Rand) {
		applied, drift := anyState(t, r)
		for _, phase := range mustMake(t, lon1(), applied, drift).Phases {
			for _, task := range phase.Tasks {
				apply(applied, task)
			}
		}
		if p := mustMake(t, lon1(), applied, nil); !p.Empty() || len(p.Steps()) > 0 || len(p.ChangedNodes()) > 0 {
			t.Errorf("after a whole run there is work left: %v", p.Steps())
		}
	})
}

// TestAnInterruptedRunIsFinished: a plan made after any first part of a run holds exactly the rest. Only a refresh
// whose cause is done is not planned again.
func TestAnInterruptedRunIsFinished(t *testing.T) {
	do := func(p *planner.Plan, refresh bool) (out []task.Task) {
		for _, phase := range p.Phases {
			for _, t := range phase.Tasks {
				if t.Action != task.PrepareNode && (t.Action == task.Refresh) == refresh {
					t.Requires = nil // those of what is done are gone
					out = append(out, t)
				}
			}
		}
		return out
	}
	eachRound(t, func(t *testing.T, r *rand.Rand) {
		applied, drift := anyState(t, r)
		first := mustMake(t, lon1(), applied, drift)
		tasks := do(first, false)
		n := r.IntN(len(tasks) + 1)
		for _, t := range tasks[:n] {
			apply(applied, t)
			drift[t.Node] = slices.DeleteFunc(drift[t.Node], func(id resource.ID) bool { return id == t.Resource.ID() })
		}
		second := mustMake(t, lon1(), applied, drift)
		ignoreNotifies := cmp.Transformer("task", func(t task.Task) [4]string {
			return [4]string{t.Node, string(t.Action), string(t.Resource.ID()), t.Digest}
		})
		if d := cmp.Diff(slices.Clip(tasks[n:]), slices.Clip(do(second, false)), ignoreNotifies, cmp.FilterValues(
			func(a, b []task.Task) bool { return len(a)+len(b) == 0 }, cmp.Ignore())); d != "" {
			t.Errorf("after %d of %d tasks: %s", n, len(tasks), d)
		}
		for _, again := range do(second, true) {
			if !slices.ContainsFunc(do(first, true), func(t task.Task) bool {
				return t.Node == again.Node && t.Resource.ID() == again.Resource.ID()
			}) {
				t.Errorf("%s on %s is refreshed only by the second plan", again.Resource.ID(), again.Node)
			}
		}
	})
}

// TestUnrelatedNodesKeepTheirTasks: a node or a service more changes nothing for nodes that it does not concern, so
// what a plan showed before it was known is not contradicted.
func TestUnrelatedNodesKeepTheirTasks(t *testing.T) {
	byNode := func(p *planner.Plan) map[string][]task.Task {
		out := map[string][]task.Task{}
		for _, phase := range p.Phases {
			for _, t := range phase.Tasks {
				out[t.Node] = append(out[t.Node], t)
			}
		}
		return out
	}
	eachRound(t, func(t *testing.T, r *rand.Rand) {
		applied, drift := anyState(t, r)
		before := byNode(mustMake(t, lon1(), applied, drift))
		s := lon1()
		target := s.Nodes[r.IntN(len(s.Nodes)-1)] // not the last: its group goes by name, so its twin would be in none
		concerned := target.Name
		if r.IntN(2) == 0 {
			concerned = "new"
			target.Name = concerned
			s.Nodes = append(s.Nodes, target)
		} else {
			s.Services = append(s.Services, site.Service{
				Name: "more", Selectors: site.Selectors{{NodeNames: []string{target.Name}}},
				Configuration: conf{"file": titles{"/more": {"content": "x", "before": "file[/etc/motd]"}}},
			})
		}
		after := byNode(mustMake(t, s, applied, drift))
		if cmp.Equal(before[concerned], after[concerned]) {
			t.Errorf("nothing changed for %s", concerned)
		}
		delete(before, concerned)
		delete(after, concerned)
		if d := cmp.Diff(before, after); d != "" {
			t.Error(d)
		}
	})
}

// TestTasksAreInOrder: in every plan each task of a node comes after those that it requires, and what it notifies comes
// later.
func TestTasksAreInOrder(t *testing.T) {
	eachRound(t, func(t *testing.T, r *rand.Rand) {
		applied, drift := anyState(t, r)
		done := map[string]bool{}
		for _, phase := range mustMake(t, lon1(), applied, drift).Phases {
			for _, task := range phase.Tasks {
				for _, id := range task.Requires {
					if !done[task.Node+string(id)] {
						t.Errorf("%s: %s comes before %s", task.Node, task.Resource.ID(), id)
					}
				}
				for _, id := range task.Notifies {
					if done[task.Node+string(id)] {
						t.Errorf("%s: %s comes after %s, which it notifies", task.Node, task.Resource.ID(), id)
					}
				}
				done[task.Node+string(task.Resource.ID())] = true
			}
		}
	})
}
