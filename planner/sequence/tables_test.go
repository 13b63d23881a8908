package sequence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMayDepend(t *testing.T) {
	mg := func(node, item string) Side { return Side{Node: node, ItemNode: item, Management: true} }
	tests := []struct {
		a, b Side
		want Reason
	}{
		{Side{Node: "a", ItemNode: "a"}, Side{Node: "a", ItemNode: "a"}, ""},
		{Side{Node: "a"}, Side{Node: "b"}, TaskNode},
		{Side{Node: "a"}, Side{}, TaskNode},
		{mg("a", ""), mg("", ""), ""},
		{mg("a", ""), Side{}, TaskNode},
		{mg("a", ""), mg("b", ""), TaskNode},
		{Side{}, Side{}, ""},
		{Side{Node: "a", ItemNode: "a"}, Side{Node: "a", ItemNode: "b"}, ItemNode},
		{Side{Node: "a", ItemNode: "a"}, Side{Node: "a"}, ""},
		{Side{Removes: true}, Side{}, Removal},
		{Side{Node: "a", Removes: true}, Side{Node: "b"}, Removal},
	}
	for _, tt := range tests {
		if got, back := MayDepend(tt.a, tt.b), MayDepend(tt.b, tt.a); got != tt.want || back != tt.want {
			t.Errorf("%+v, %+v: got %q and back %q, want %q", tt.a, tt.b, got, back, tt.want)
		}
	}
}

func TestLevels(t *testing.T) {
	levels, cycle := Levels(map[string][]string{"c": {"b", "a", "c"}, "d": {"c"}, "b": nil})
	if diff := cmp.Diff([][]string{{"a", "b"}, {"c"}, {"d"}}, levels); diff != "" || cycle != nil {
		t.Error(diff, cycle)
	}
	levels, cycle = Levels(map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": nil})
	if diff := cmp.Diff([]string{"a", "b", "c"}, cycle); diff != "" || levels != nil {
		t.Error(diff, levels)
	}
}

func TestOrderClusters(t *testing.T) {
	tests := map[string]struct{ clusters, want, problems string }{
		"alphabetical":       {"b a c", "a b c", ""},
		"dependencies first": {"a b c:d d", "d c a b", ""},
		"level by level":     {"a:b b z:b y:a", "b a z y", ""},
		"itself":             {"a:a", "", "depends on itself"},
		"unknown and twice":  {"a:x,b,b b", "", `no such cluster|more than once`},
		"cycle":              {"a:b b:c c:a d", "", "a depends on b depends on c depends on a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var clusters []Cluster
			for word := range strings.FieldsSeq(tt.clusters) {
				id, depends, _ := strings.Cut(word, ":")
				c := Cluster{Path: "/sites/s/clusters/" + id, Site: "/sites/s"}
				if depends != "" {
					c.DependsOn = strings.Split(depends, ",")
				}
				clusters = append(clusters, c)
			}
			ordered, problems := OrderClusters(clusters)
			var ids []string
			for _, c := range ordered {
				ids = append(ids, pathID(c.Path))
			}
			if got := strings.Join(ids, " "); got != tt.want {
				t.Errorf("got %q, want %q (%v)", got, tt.want, problems)
			}
			for part := range strings.SplitSeq(tt.problems, "|") {
				if !strings.Contains(problems.Error(), part) || len(problems) > 0 && problems[0].Code != View {
					t.Errorf("got %v, want %q", problems, part)
				}
			}
		})
	}
	two := []Cluster{{Path: "/sites/t/clusters/a", Site: "/sites/t"}, {Path: "/sites/s/clusters/b", Site: "/sites/s"}}
	if ordered, _ := OrderClusters(two); ordered[0].Site != "/sites/s" {
		t.Errorf("sites are not in order: %v", ordered)
	}
}

func TestLockDecision(t *testing.T) {
	initial, none := Policy{Action: LockNew}, Policy{Action: LockNone}
	create, except := Policy{Action: LockCreate}, Policy{Action: LockCreate, Except: []string{"c1"}}
	tests := []struct {
		noHA, newCluster, newNode, single bool
		policies                          []Policy
		want                              bool
	}{
		{want: true},
		{noHA: true},
		{newCluster: true},
		{newNode: true},
		{newNode: true, policies: []Policy{initial}, want: true},
		{newNode: true, newCluster: true, policies: []Policy{initial}, want: true},
		{newNode: true, single: true, policies: []Policy{initial}},
		{single: true, want: true},
		{single: true, policies: []Policy{initial}},
		{newNode: true, policies: []Policy{create}},
		{newCluster: true, policies: []Policy{create}},
		{policies: []Policy{none}},
		{policies: []Policy{create}, want: true},
		{policies: []Policy{initial}, want: true},
		{policies: []Policy{except}},
		{policies: []Policy{{LockCreate, []string{"c2"}}}, want: true},
		{newNode: true, policies: []Policy{none, initial}},
		{policies: []Policy{{LockCreate, []string{"c2"}}, initial}, want: true},
	}
	for i, tt := range tests {
		c := Cluster{Path: "/sites/s/clusters/c1", HA: !tt.noHA, New: tt.newCluster, Nodes: []string{"n1", "n2"}}
		if tt.single {
			c.Nodes = c.Nodes[:1]
		}
		if got := c.Locks(tt.newNode, tt.policies); got != tt.want {
			t.Errorf("case %d: %+v: got %t", i, tt, got)
		}
	}
}

func TestTree(t *testing.T) {
	// A phase is a word: its clusters, - for tasks without one.
	tests := map[string]struct {
		phases, want string
		dependsOn    map[string][]string
	}{
		"common":                              {"- - -", "[[] [0] [1]]", nil},
		"side by side":                        {"- a b -", "[[] [0] [0] [1 2]]", nil},
		"one after another":                   {"a b", "[[] [0]]", map[string][]string{"b": {"a"}}},
		"taken up":                            {"a b c -", "[[] [0] [] [1 2]]", map[string][]string{"b": {"a"}}},
		"several":                             {"- a,c a c c b -", "[[] [0] [1] [1] [3] [2 4] [5]]", map[string][]string{"b": {"a", "c"}}},
		"a chain and a fan":                   {"- a b c d -", "[[] [0] [1] [2] [2] [3 4]]", map[string][]string{"b": {"a"}, "c": {"b"}, "d": {"b"}}},
		"over a cluster without phases (H13)": {"a c", "[[] [0]]", map[string][]string{"b": {"a"}, "c": {"b"}}},
		"not past the common phase (H14)":     {"a - c", "[[] [0] [0 1]]", map[string][]string{"c": {"a"}}},
		"nor past its own":                    {"a b a b", "[[] [0] [0] [1 2]]", map[string][]string{"b": {"a"}}},
		"again after a common phase":          {"a - a", "[[] [0] [0 1]]", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var phases []TreePhase
			for word := range strings.FieldsSeq(tt.phases) {
				p := TreePhase{Common: word == "-"}
				if !p.Common {
					p.Clusters = strings.Split(word, ",")
				}
				phases = append(phases, p)
			}
			if got := fmt.Sprint(Tree(phases, tt.dependsOn)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestReady(t *testing.T) {
	tree := [][]int{nil, {0}, {0}, {1, 2}}
	tests := []struct {
		states    string // w, r, d, f: waiting, running, done, failed
		completed int
		want      string
	}{
		{"wwww", Begin, "[0]"}, {"dwww", 0, "[1 2]"}, {"ddrw", 1, "[]"}, {"dddw", 2, "[3]"}, {"dfdw", Begin, "[1]"}, {"dfww", Begin, "[1 2]"},
		{"dddd", 3, "[]"}, {"dfww", 1, "[]"},
	}
	for _, tt := range tests {
		states := make([]PhaseState, len(tree))
		for i, s := range tt.states {
			states[i] = PhaseState(strings.IndexRune("wrdf", s))
		}
		if got := fmt.Sprint(append([]int{}, Ready(tree, states, tt.completed)...)); got != tt.want {
			t.Errorf("%s after %d: got %s, want %s", tt.states, tt.completed, got, tt.want)
		}
	}
}

func TestPlanStates(t *testing.T) {
	states := []PlanState{PlanReady, PlanRunning, PlanStopping, PlanSuccessful, PlanFailed, PlanStopped, PlanInvalid}
	final := map[PlanState]bool{PlanSuccessful: true, PlanStopped: true, PlanInvalid: true}
	for _, s := range states {
		for _, e := range []PlanEvent{RunPlan, StopPlan, EndPlan, InvalidatePlan} {
			to, ok := s.Next(e, false)
			if ok && final[s] || ok != (to != "") {
				t.Errorf("%s: %s gives %q, %t", s, e, to, ok)
			}
		}
	}
	if to, _ := PlanStopping.Next(EndPlan, true); to != PlanSuccessful {
		t.Error(to)
	}
	if to, _ := PlanStopping.Next(EndPlan, false); to != PlanStopped {
		t.Error(to)
	}
}

func TestSnapshotPhases(t *testing.T) {
	list := works(t, "a callback m", "b callback m tag:validation", "c callback m tag:final", "d remote m tag:san_lun", "e callback m tag:mgmt_reboot")
	list = append(list, cleanupOf("/snapshots/x"))
	for plan, want := range map[SnapshotPlan]string{
		CreateSnapshot:  "b|d|a c e cleanup:/snapshots/x",
		RemoveSnapshot:  "b|d|a c e|cleanup:/snapshots/x",
		RestoreSnapshot: "b|d|a c cleanup:/snapshots/x|e",
	} {
		phases, problems := plan.Phases(list)
		var out []string
		for _, phase := range phases {
			var ids []string
			for _, w := range phase {
				ids = append(ids, w.ID)
			}
			out = append(out, strings.Join(ids, " "))
		}
		if got := strings.Join(out, "|"); got != want || problems != nil {
			t.Errorf("%s: got %q, want %q (%v)", plan, got, want, problems)
		}
	}
	if _, problems := CreateSnapshot.Phases(nil); len(problems) != 1 || problems[0].Code != EmptyPlan {
		t.Error(problems)
	}
	if _, problems := CreateSnapshot.Phases(works(t, "a config n1")); len(problems) != 1 || problems[0].Code != TaskValidation {
		t.Error(problems)
	}
}

func TestPathRange(t *testing.T) {
	paths := []string{"/a", "/a/b", "/a/b/c", "/a/b-c", "/ab"}
	for i := 1; i < len(paths); i++ {
		if comparePaths(paths[i-1], paths[i]) >= 0 {
			t.Errorf("%s is not before %s", paths[i-1], paths[i])
		}
	}
	for item, want := range map[string]string{"/a": "0 4", "/a/b": "1 3", "/a/b/c": "2 3", "/b": "5 5", "/": "0 5", "/a/a": "1 1"} {
		from, to := pathRange(item, len(paths), func(i int) string { return paths[i] })
		if got := fmt.Sprint(from, to); !strings.HasPrefix(got, want) && got != want {
			t.Errorf("%s: got %s, want %s", item, got, want)
		}
	}
}
