package strategy

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// runTogether drives a machine with as many groups at once as it allows, their calls in random order, and returns the
// most that were at work at one time.
func runTogether(t *testing.T, m *Machine, script outcome, r *rand.Rand) int {
	t.Helper()
	m.AllowParallel(nil)
	next := map[string]int{} // group -> its next call
	todo := map[string][]string{}
	var begun []string
	most := 0
	for {
		for _, g := range m.Ready() {
			if slices.Contains(begun, g) {
				continue
			}
			for _, other := range begun {
				if slices.ContainsFunc(m.Members(g),
					func(n string) bool { return slices.Contains(m.Members(other), n) }) {
					t.Fatalf("%s and %s share a node and are at work at once", g, other)
				}
			}
			begun = append(begun, g)
		}
		if most = max(most, len(begun)); len(begun) == 0 {
			return most
		}
		g := begun[r.IntN(len(begun))]
		good := func(fails map[string]bool) []string {
			return slices.DeleteFunc(slices.Clone(todo[g]), func(n string) bool { return fails[n] })
		}
		over := false
		switch next[g] {
		case 0:
			todo[g] = m.StartPrepare(g)
		case 1:
			shortfalls, _ := m.FinishPrepare(g, good(script.prepare))
			over = len(shortfalls) > 0
		case 2:
			todo[g] = m.StartDeploy(g)
		case 3:
			m.FinishDeploy(g, good(script.deploy))
			over = true
		}
		if next[g]++; over {
			begun = slices.DeleteFunc(begun, func(b string) bool { return b == g })
		}
	}
}

// Whatever the order in which groups end that are worked on at once, the report is that of one after the other.
func TestTogetherEndsAsOneByOne(t *testing.T) {
	widest := 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 2))
		groups, nodes, deployed, script := random(r)
		one, err := New(groups, nodes, deployed)
		if err != nil {
			t.Fatal(err)
		}
		run(one, script)
		for range 3 {
			all, err := New(groups, nodes, deployed)
			if err != nil {
				t.Fatal(err)
			}
			widest = max(widest, runTogether(t, all, script, r))
			if all.Err() != nil || !reflect.DeepEqual(one.Report(), all.Report()) {
				t.Fatalf("seed %d: error %v\n%+v\nwant\n%+v", seed, all.Err(), all.Report(), one.Report())
			}
		}
	}
	if widest < 3 {
		t.Errorf("at most %d groups were at work at once", widest)
	}
}

// A group is not ready while a group before it that is not complete holds one of its nodes, or a parent is not
// deployed; to begin it all the same is misuse.
func TestReady(t *testing.T) {
	on := func(names ...string) site.Selectors { return site.Selectors{{NodeNames: names}} }
	groups := []site.Group{
		{Name: "a", Selectors: on("n1")}, {Name: "b", Selectors: on("n2")}, {Name: "shares", Selectors: on("n1", "n3")},
		{Name: "waits", DependsOn: []string{"b"}, Selectors: on("n4")},
	}
	nodes := []site.Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}, {Name: "n4"}}
	m, err := New(groups, nodes, nil)
	if err != nil {
		t.Fatal(err)
	}
	ready := func(want ...string) {
		t.Helper()
		if got := m.Ready(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("ready are %v, want %v", got, want)
		}
	}
	ready("a")
	m.AllowParallel(nil)
	ready("a", "b")
	m.StartPrepare("b")
	ready("a")
	m.FinishPrepare("b", []string{"n2"})
	m.StartDeploy("b")
	m.FinishDeploy("b", []string{"n2"})
	ready("a", "waits")
	m.StartPrepare("shares")
	if m.Err() == nil {
		t.Error("a group was begun although one before it holds its node")
	}
	ready()
}

// A group also waits for those that it is told to, until they are complete, whatever their stage. One after it is
// nothing to wait for.
func TestReadyAfter(t *testing.T) {
	on := func(names ...string) site.Selectors { return site.Selectors{{NodeNames: names}} }
	groups := []site.Group{{Name: "a", Selectors: on("n1"),
		SuccessCriteria: &site.SuccessCriteria{MaximumFailedNodes: new(int)}}, {Name: "b", Selectors: on("n2")},
		{Name: "c", Selectors: on("n3")}}
	m, err := New(groups, []site.Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.AllowParallel(map[string][]string{"a": {"c", "nobody"}, "c": {"a"}})
	if got := fmt.Sprint(m.Ready()); got != "[a b]" {
		t.Errorf("ready are %s, want a and b", got)
	}
	m.StartPrepare("a")
	if got := fmt.Sprint(m.Ready()); got != "[b]" {
		t.Errorf("ready are %s, want b", got)
	}
	m.FinishPrepare("a", nil)
	if got := fmt.Sprint(m.Ready()); got != "[b c]" || m.GroupStage("a") != Failed {
		t.Errorf("ready are %s, want b and c", got)
	}
}

// A group that failed with one that it depends on hands on what it waited for: whoever waits for it waits for that too.
func TestReadyAfterAGroupThatFailedBeforeItsTurn(t *testing.T) {
	on := func(names ...string) site.Selectors { return site.Selectors{{NodeNames: names}} }
	groups := []site.Group{
		{Name: "parent", Selectors: on("n1"), SuccessCriteria: &site.SuccessCriteria{MaximumFailedNodes: new(int)}},
		{Name: "other", Selectors: on("n2")},
		{Name: "slow", Selectors: on("n3")}, {Name: "between", DependsOn: []string{"parent"}, Selectors: on("n4")},
		{Name: "last", DependsOn: []string{"other"}, Selectors: on("n5")},
	}
	m, err := New(groups, []site.Node{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}, {Name: "n4"}, {Name: "n5"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.AllowParallel(map[string][]string{"between": {"slow"}, "last": {"between"}})
	work := func(group string, deployed ...string) {
		m.StartPrepare(group)
		m.FinishPrepare(group, m.Members(group))
		m.StartDeploy(group)
		m.FinishDeploy(group, deployed)
	}
	work("other", "n2")
	work("parent")
	if got := fmt.Sprint(m.Ready()); got != "[slow]" || m.GroupStage("between") != Failed {
		t.Errorf("ready are %s, want slow", got)
	}
	work("slow", "n3")
	if got := fmt.Sprint(m.Ready()); got != "[last]" || m.Err() != nil {
		t.Errorf("ready are %s, want last; %v", got, m.Err())
	}
}
