package sequence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// TestRequirementsByTheRules compares what tasks require with litp.md 91 to 96 followed word by word, for random tasks of one group on two
// nodes with explicit requirements between them.
func TestRequirementsByTheRules(t *testing.T) {
	names := []string{"system", "os", "nics/a", "nics/b", "routes/r", "storage", "fs/f", "items/i"}
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 7))
		var list []Work
		for i := range 2 + r.IntN(14) {
			node := full(fmt.Sprintf("n%d", 1+r.IntN(2)))
			w := Work{
				ID: fmt.Sprint("t", i), Node: node, Item: node + "/" + names[r.IntN(len(names))], Group: task.Node,
				Resource: Resource{[]string{"res", "package"}[r.IntN(4)/3], fmt.Sprint(i)}, Removes: r.IntN(5) == 0,
			}
			if r.IntN(8) == 0 {
				w.Item = full("c1/services/s")
			}
			if r.IntN(3) > 0 && i > 0 {
				w.Requires = append(w.Requires, Requirement{Task: fmt.Sprint("t", r.IntN(i))})
			}
			if r.IntN(8) == 0 {
				w.Requires = append(w.Requires, Requirement{Item: node + "/" + []string{"nics", "system", "os"}[r.IntN(3)]})
			}
			list = append(list, w)
		}
		in := Input{Model: twoClusters(), Rules: DefaultRules(), Works: list}
		s, problems := Build(in)
		want := closureByTheRules(newPipeline(in), list)
		cyclic := false
		for i := range list {
			cyclic = cyclic || want[i][i]
		}
		if cyclic != (problems != nil) {
			t.Fatalf("seed %d: cyclic by the rules: %t, problems: %v", seed, cyclic, problems)
		}
		if cyclic {
			continue
		}
		for i, w := range list {
			var ids []string
			for j := range want[i] {
				ids = append(ids, list[j].ID)
			}
			slices.Sort(ids)
			if diff := cmp.Diff(ids, s.After(w.ID)); diff != "" {
				t.Fatalf("seed %d: after of %s (-rules +got)\n%s%+v", seed, w.ID, diff, list)
			}
		}
	}
}

func closureByTheRules(p *pipeline, list []Work) []map[int]bool {
	n := len(list)
	may := func(i, j int) bool { return i != j && MayDepend(p.side(&list[i]), p.side(&list[j])) == "" }
	named := make([]map[int]bool, n) // as written
	for i, w := range list {
		named[i] = make(map[int]bool)
		for _, r := range w.Requires {
			for j, other := range list {
				if i != j && (r.Task == other.ID || r.Item != "" && within(other.Item, r.Item)) {
					named[i][j] = true
				}
			}
		}
	}
	graph := make([]map[int]bool, n)
	for i := range list { // rule 94
		graph[i] = make(map[int]bool)
		for j := range reach(named, i) {
			if may(i, j) {
				graph[i][j] = true
			}
		}
	}
	explicit := make([]map[int]bool, n)
	for i := range graph {
		explicit[i] = make(map[int]bool)
		for j := range graph[i] {
			explicit[i][j] = true
		}
	}
	requires := func(a, b string) bool {
		return slices.ContainsFunc(p.model.required(a), func(r string) bool { return within(b, r) })
	}
	for i := range list { // rule 92
		for j := range list {
			later, earlier := i, j
			if list[i].Removes {
				later, earlier = j, i
			}
			packages := list[i].Resource.Type == "package" && list[j].Resource.Type == "package"
			if may(i, j) && !packages && !explicit[j][i] && requires(list[later].Item, list[earlier].Item) {
				graph[i][j] = true
			}
		}
	}
	out := make([]map[int]bool, n)
	for i := range list {
		out[i] = reach(graph, i)
	}
	return out
}

func reach(graph []map[int]bool, i int) map[int]bool {
	out := make(map[int]bool)
	stack := []int{i}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for j := range graph[at] {
			if !out[j] {
				out[j] = true
				stack = append(stack, j)
			}
		}
	}
	return out
}
