package sequence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// in is a task and its section.
type in struct {
	id      string
	section catalog.Section
	after   []resource.ID
	ensure  string
	group   task.Group
	// by rules of the site
	unordered bool
	waits     []Wait
}

func orderOf(list []in) ([]task.Task, []Layer, []*RelationError) {
	var tasks []task.Task
	constraints := make(map[resource.ID]Constraints)
	for _, l := range list {
		typ, title, _ := resource.ParseID(l.id)
		t := task.Task{Group: task.Node, Service: "s",
			Resource: resource.Resource{Type: typ, Title: title, Parameters: resource.Parameters{}}}
		if l.ensure != "" {
			t.Resource.Parameters["ensure"] = l.ensure
		}
		if l.group != "" {
			t.Group = l.group
		}
		tasks = append(tasks, t)
		constraints[t.Resource.ID()] = Constraints{Section: l.section, After: l.after, Unordered: l.unordered,
			Waits: l.waits}
	}
	return OrderNode(tasks, constraints)
}

func TestSections(t *testing.T) {
	tests := map[string]struct {
		tasks []in
		want  []string // with what they require
		error string
	}{
		"later sections wait": {[]in{{id: "exec[a]"}, {id: "exec[b]", section: catalog.OS},
			{id: "exec[c]", section: catalog.System}, {id: "exec[d]", section: catalog.Items}},
			[]string{"exec[c] []", "exec[b] [exec[c]]", "exec[a] [exec[b]]", "exec[d] [exec[b]]"}, ""},
		"one section": {[]in{{id: "exec[a]", section: catalog.Configs}, {id: "exec[b]"}},
			[]string{"exec[a] []", "exec[b] []"}, ""},
		"packages do not wait for packages": {[]in{{id: "package[a]"}, {id: "package[b]", section: catalog.OS},
			{id: "exec[c]", section: catalog.OS}, {id: "exec[d]"}},
			[]string{"exec[c] []", "package[b] []", "package[a] [exec[c]]", "exec[d] [exec[c] package[b]]"}, ""},
		"nor do those of another type that has no order, but for packages": {[]in{{id: "exec[a]", unordered: true},
			{id: "exec[b]", section: catalog.OS, unordered: true}, {id: "package[c]", section: catalog.OS},
			{id: "file[d]"}},
			[]string{"exec[b] []", "package[c] []", "exec[a] [package[c]]", "file[d] [exec[b] package[c]]"}, ""},
		"rules win over sections": {[]in{{id: "exec[a]"},
			{id: "exec[b]", section: catalog.OS, waits: []Wait{{"waits[0]",
				[]resource.ID{"exec[a]", "exec[b]", "exec[gone]"}}}}, {id: "exec[c]", section: catalog.OS}},
			[]string{"exec[c] []", "exec[a] [exec[c]]", "exec[b] [exec[a] exec[c]]"}, ""},
		"a rule against the order of groups": {[]in{{id: "exec[a]", group: task.PreNode,
			waits: []Wait{{"waits[0]", []resource.ID{"exec[b]", "exec[c]"}}}}, {id: "exec[b]"}, {id: "exec[c]"}}, nil,
			"exec[a], in the task group pre_node, requires exec[b], in the task group node, which comes later"},
		"a rule in a cycle": {[]in{{id: "exec[a]", after: []resource.ID{"exec[b]"}},
			{id: "exec[b]", waits: []Wait{{"waits[0]", []resource.ID{"exec[a]"}}}}}, nil,
			"exec[b] requires exec[a] requires exec[b]"},
		"what is written wins": {[]in{{id: "exec[a]"},
			{id: "exec[b]", section: catalog.OS, after: []resource.ID{"exec[a]"}},
			{id: "exec[c]", section: catalog.OS}},
			[]string{"exec[c] []", "exec[a] [exec[c]]", "exec[b] [exec[a] exec[c]]"}, ""},
		"what goes away goes the other way round": {[]in{{id: "exec[a]"},
			{id: "package[b]", section: catalog.OS, ensure: "absent"}, {id: "file[c]", ensure: "absent"},
			{id: "exec[d]", section: catalog.OS}},
			[]string{"exec[d] []", "file[c] []", "exec[a] [exec[d]]", "package[b] [file[c]]"}, ""},
		"task groups are apart": {[]in{{id: "exec[a]", group: task.PreNode}, {id: "exec[b]", section: catalog.OS},
			{id: "exec[c]"}},
			[]string{"exec[a] []", "exec[b] []", "exec[c] [exec[b]]"}, ""},
		"against the order of groups": {[]in{{id: "exec[a]", group: task.PreNode, after: []resource.ID{"exec[b]"}},
			{id: "exec[b]"}}, nil,
			"exec[a], in the task group pre_node, requires exec[b], in the task group node, which comes later"},
		"a cycle": {[]in{{id: "exec[a]", after: []resource.ID{"exec[b]"}},
			{id: "exec[b]", after: []resource.ID{"exec[a]"}}}, nil, "exec[a] requires exec[b] requires exec[a]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tasks, _, errs := orderOf(tt.tasks)
			if tt.error != "" {
				if len(errs) != 1 || errs[0].Error() != tt.error {
					t.Fatalf("got %v", errs)
				}
				rule := errs[0].Rule
				if (rule != "") != strings.HasPrefix(name, "a rule") {
					t.Errorf("the rule is %q", rule)
				}
				return
			}
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			var got []string
			for _, made := range tasks {
				got = append(got, fmt.Sprint(made.Resource.ID(), " ", made.Requires))
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestSectionsCloseNoCycle: whatever is written, as long as it has no cycle by itself, the sections add none, and every
// task waits for those of earlier sections, but for what itself waits for a later one.
func TestSectionsCloseNoCycle(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := 2 + r.IntN(12)
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprintf("%s[%02d]", []string{"exec", "package"}[r.IntN(2)], r.IntN(90)*100+i)
		}
		list := make([]in, n)
		place := make(map[resource.ID]int)
		absent := make(map[resource.ID]bool)
		for i := range list {
			list[i] = in{id: ids[i], section: catalog.Sections()[r.IntN(9)]}
			if r.IntN(5) == 0 {
				list[i].ensure, absent[resource.ID(ids[i])] = "absent", true
			}
			for range r.IntN(2) {
				if i > 0 {
					list[i].after = append(list[i].after, resource.ID(ids[r.IntN(i)]))
				}
			}
			place[resource.ID(ids[i])] = places[list[i].section]
		}
		tasks, layers, errs := orderOf(list)
		if len(errs) > 0 || len(tasks) != n || layers != nil && len(layers) != n {
			t.Fatalf("seed %d: %d of %d tasks, %v", seed, len(tasks), n, errs)
		}
		waits := make(map[resource.ID]map[resource.ID]bool) // all that a task waits for
		raised := make(map[resource.ID]bool)                // it waits for a later section because someone wrote so
		for i, made := range tasks {
			id := made.Resource.ID()
			waits[id] = make(map[resource.ID]bool)
			written := list[slices.IndexFunc(list, func(l in) bool { return l.id == string(id) })].after
			for _, required := range made.Requires {
				if waits[required] == nil {
					t.Fatalf("seed %d: %s comes before %s", seed, id, required)
				}
				waits[id][required] = true
				for further := range waits[required] {
					waits[id][further] = true
				}
			}
			for _, w := range written {
				raised[id] = raised[id] || raised[w] || absent[w] != absent[id] || absent[id] && place[w] < place[id] ||
					!absent[id] && place[w] > place[id]
			}
			if layers != nil {
				raised[id] = raised[id] || layers[i].Removes != absent[id]
			}
		}
		for a := range place {
			for b := range place {
				earlier := place[b] < place[a]
				if absent[a] {
					earlier = place[b] > place[a]
				}
				packages := a[:4] == "pack" && b[:4] == "pack"
				if !earlier || absent[a] != absent[b] || packages || raised[b] {
					continue
				}
				if !waits[a][b] {
					t.Errorf("seed %d: %s does not wait for %s", seed, a, b)
				}
			}
		}
	}
}

func TestLargeSectionsOnlyOrder(t *testing.T) {
	var list []in
	for i := range 200 {
		list = append(list, in{id: fmt.Sprintf("exec[%03d]", i),
			section: []catalog.Section{catalog.Services, catalog.OS}[i%2]})
	}
	tasks, layers, errs := orderOf(list)
	if len(errs) > 0 || len(tasks) != 200 {
		t.Fatal(errs)
	}
	for i, made := range tasks {
		if want := []int{1, lastPlace}[i/100]; layers[i].Place != want || len(made.Requires) > 0 {
			t.Fatalf("%s is number %d in place %d and requires %d", made.Resource.ID(), i, layers[i].Place,
				len(made.Requires))
		}
	}
	s := NewScope(append(make([]Place, 199), Place{Callback: true}))
	stack := make(map[int]Layer)
	for i, l := range layers {
		stack[199-i] = l // the last section first
	}
	s.AddSections(stack)
	phases, cycles := s.Phases()
	if len(cycles) > 0 || len(phases) != 3 || len(phases[0])+len(phases[1]) != 199 && len(phases[1])+
		len(phases[2]) != 199 {
		t.Errorf("got %d phases, cycles %v", len(phases), cycles)
	}
}
