package strategy

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// run drives a machine as the doc comment of Machine says, and returns the calls.
func run(m *Machine, script outcome) (prepared, deployed map[string][]string) {
	prepared, deployed = map[string][]string{}, map[string][]string{}
	succeeded := func(todo []string, fails map[string]bool) []string {
		return slices.DeleteFunc(slices.Clone(todo), func(n string) bool { return fails[n] })
	}
	for {
		g, ok := m.Next()
		if !ok {
			return prepared, deployed
		}
		todo := m.StartPrepare(g)
		if len(todo) > 0 {
			prepared[g] = todo
		}
		if shortfalls, _ := m.FinishPrepare(g, succeeded(todo, script.prepare)); len(shortfalls) > 0 {
			continue
		}
		if todo = m.StartDeploy(g); len(todo) > 0 {
			deployed[g] = todo
		}
		m.FinishDeploy(g, succeeded(todo, script.deploy))
	}
}

// random makes a strategy of up to eight groups over up to ten nodes, with overlapping, empty and unlimited groups.
func random(r *rand.Rand) (groups []site.Group, nodes []site.Node, deployed []string, script outcome) {
	script = outcome{map[string]bool{}, map[string]bool{}}
	for i := range r.IntN(11) {
		n := site.Node{Name: fmt.Sprintf("n%d", i)}
		for _, tag := range []string{"x", "y", "z"} {
			if r.IntN(3) == 0 {
				n.Tags = append(n.Tags, tag)
			}
		}
		nodes = append(nodes, n)
		script.prepare[n.Name] = r.IntN(4) == 0
		script.deploy[n.Name] = r.IntN(4) == 0
		if r.IntN(8) == 0 {
			deployed = append(deployed, n.Name)
		}
	}
	number := func(chance, limit int) *int {
		if r.IntN(chance) != 0 {
			return nil
		}
		n := r.IntN(limit)
		return &n
	}
	count := r.IntN(9)
	rank := r.Perm(count) // a group depends on groups of a lower rank, so that there is no cycle
	for i := range count {
		g := site.Group{Name: fmt.Sprintf("g%d", i), Critical: r.IntN(2) == 0}
		for j := range count {
			if rank[j] < rank[i] && r.IntN(4) == 0 {
				g.DependsOn = append(g.DependsOn, fmt.Sprintf("g%d", j))
			}
		}
		for range r.IntN(3) {
			var s site.Selector
			for range r.IntN(4) {
				s.NodeNames = append(s.NodeNames, fmt.Sprintf("n%d", r.IntN(12)))
			}
			if r.IntN(2) == 0 {
				s.NodeTags = []string{[]string{"x", "y", "z", "nowhere"}[r.IntN(4)]}
			}
			g.Selectors = append(g.Selectors, s)
		}
		if c := (site.SuccessCriteria{PercentSuccessfulNodes: number(3, 101), MinimumSuccessfulNodes: number(4, 4),
			MaximumFailedNodes: number(4, 4)}); c != (site.SuccessCriteria{}) {
			g.SuccessCriteria = &c
		}
		groups = append(groups, g)
	}
	return groups, nodes, deployed, script
}

// TestMachineAgainstModel compares the machine with a second model over random strategies, in every field.
func TestMachineAgainstModel(t *testing.T) {
	stagesSeen := map[Stage]int{}
	for seed := range uint64(6000) {
		groups, nodes, deployed, script := random(rand.New(rand.NewPCG(seed, 1)))
		want := walk(groups, nodes, deployed, script)
		m, err := New(groups, nodes, deployed)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		prepared, submitted := run(m, script)
		report := m.Report()
		compare := func(what string, got, want any) {
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: %s: got %v, want %v\n%+v\n%+v\n%s", seed, what, got, want, groups, script, report)
			}
		}
		compare("error", m.Err(), nil)
		compare("order", append([]string{}, m.Order()...), append([]string{}, want.order...))
		compare("prepare calls", prepared, want.prepared)
		compare("deploy calls", submitted, want.deployed)
		critical := false
		for _, g := range groups {
			got, _ := report.Group(g.Name)
			stagesSeen[got.Stage]++
			compare(g.Name, got.Stage, want.group[g.Name])
			compare(g.Name+" members", got.Members, append([]string{}, want.members[g.Name]...))
			var criteria []string
			for _, s := range got.Shortfalls {
				criteria = append(criteria, s.Criterion)
			}
			compare(g.Name+" criteria", criteria, want.failed[g.Name])
			critical = critical || g.Critical && want.group[g.Name] == Failed
		}
		compare("critical", report.CriticalFailed, critical)
		stages := map[string]Stage{}
		for _, s := range report.Nodes {
			for _, n := range s.Nodes {
				stages[n] = s.Stage
				stagesSeen[s.Stage]++
			}
		}
		compare("nodes", stages, want.node)
		compare("text", m.Report().String(), report.String())
	}
	for _, stage := range stages {
		if stagesSeen[stage] == 0 {
			t.Errorf("no random strategy ended with anything %s", stage)
		}
	}
}

// pair is a strategy of two groups, the second of which depends on the first.
func pair(t *testing.T) *Machine {
	t.Helper()
	one := 1
	m, err := New([]site.Group{
		{Name: "second", Critical: true, DependsOn: []string{"first"},
			Selectors: site.Selectors{{NodeNames: []string{"b", "c"}}}},
		{Name: "first", Selectors: site.Selectors{{NodeNames: []string{"a", "b"}}},
			SuccessCriteria: &site.SuccessCriteria{MaximumFailedNodes: &one}},
	}, []site.Node{{Name: "c"}, {Name: "b"}, {Name: "a"}, {Name: "idle"}}, []string{"idle"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDeployedNodesHaveNothingToDo(t *testing.T) {
	two := 2
	m, err := New([]site.Group{{Name: "g", SuccessCriteria: &site.SuccessCriteria{MinimumSuccessfulNodes: &two}}},
		[]site.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}}, []string{"b", "a"})
	if err != nil {
		t.Fatal(err)
	}
	if todo := m.StartPrepare("g"); !slices.Equal(todo, []string{"c"}) {
		t.Errorf("prepare %v, want c only", todo)
	}
	if shortfalls, _ := m.FinishPrepare("g", nil); shortfalls != nil {
		t.Errorf("shortfalls %v, want none: two nodes are there already", shortfalls)
	}
	if todo := m.StartDeploy("g"); len(todo) != 0 {
		t.Errorf("deploy %v, want nothing", todo)
	}
	if shortfalls := m.FinishDeploy("g", nil); shortfalls != nil || m.GroupStage("g") != Deployed ||
		m.NodeStage("c") != Failed {
		t.Errorf("shortfalls %v, group %s, node c %s", shortfalls, m.GroupStage("g"), m.NodeStage("c"))
	}
}

// TestStrangeResults is airship.md D-15.
func TestStrangeResults(t *testing.T) {
	m := pair(t)
	m.StartPrepare("first")
	_, warnings := m.FinishPrepare("first", []string{"a", "c", "ghost", "a"})
	if len(warnings) != 2 || !strings.Contains(warnings[0].Message, `"c"`) ||
		!strings.Contains(warnings[1].Message, `"ghost"`) {
		t.Errorf("warnings %v, want one for c and one for ghost", warnings)
	}
	m.StartDeploy("first")
	m.FinishDeploy("first", []string{"a", "b"}) // b failed to prepare and was not submitted
	for node, want := range map[string]Stage{"a": Deployed, "b": Failed, "c": NotStarted, "ghost": "", "idle": ""} {
		if got := m.NodeStage(node); got != want {
			t.Errorf("node %s is %q, want %q", node, got, want)
		}
	}
	if got := m.Report().Warnings; len(got) != 3 || len(got.Warnings()) != 3 {
		t.Errorf("the report has the warnings %v, want three", got)
	}
}

func TestNewRefuses(t *testing.T) {
	nodes := []site.Node{{Name: "a"}}
	percent := 190
	tests := []struct {
		name     string
		groups   []site.Group
		deployed []string
		code     invalid.Code
		is       error
	}{
		{name: "cycle", groups: []site.Group{{Name: "a", DependsOn: []string{"a"}}}, code: invalid.Cycle},
		{name: "duplicate", groups: []site.Group{{Name: "a"}, {Name: "a"}}, code: invalid.DuplicateGroup},
		{name: "unknown dependency", groups: []site.Group{{Name: "a", DependsOn: []string{"b"}}},
			code: invalid.UnknownDependency},
		{name: "label", groups: []site.Group{{Name: "a", Selectors: site.Selectors{{NodeLabels: []string{"x"}}}}},
			code: invalid.BadLabel},
		{name: "bounds", groups: []site.Group{{Name: "a",
			SuccessCriteria: &site.SuccessCriteria{PercentSuccessfulNodes: &percent}}}, code: invalid.BadValue},
		{name: "deployed node that is not there", deployed: []string{"b"}, is: ErrUnknownNode},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.groups, nodes, tt.deployed)
			if tt.is != nil {
				if !errors.Is(err, tt.is) {
					t.Errorf("got %v, want %v", err, tt.is)
				}
				return
			}
			var errs invalid.Errors
			if !errors.As(err, &errs) || len(errs) != 1 || errs[0].Code != tt.code {
				t.Errorf("got %v, want one problem %s", err, tt.code)
			}
		})
	}
}

// TestMisuse makes calls at the wrong time; each stays in Err, ends the walk and changes nothing.
func TestMisuse(t *testing.T) {
	tests := []struct {
		name string
		call func(m *Machine)
		want string
	}{
		{"unknown group", func(m *Machine) { m.StartPrepare("ghost") }, `unknown group "ghost"`},
		{"not its turn", func(m *Machine) { m.StartPrepare("second") },
			`group "second" (NOT_STARTED) was given, but the next one is "first"`},
		{"deploy before prepare", func(m *Machine) { m.StartDeploy("first") },
			`DEPLOYED started while the group is NOT_STARTED`},
		{"finish before start", func(m *Machine) { m.FinishPrepare("first", []string{"a"}) },
			`PREPARED finished while the group is NOT_STARTED`},
		{"started twice", func(m *Machine) { m.StartPrepare("first"); m.StartPrepare("first") },
			`PREPARED started while the group is about to become PREPARED`},
		{"the other phase finished", func(m *Machine) {
			m.StartPrepare("first")
			m.FinishDeploy("first",
				[]string{"a"})
		}, `DEPLOYED finished while the group is about to become PREPARED`},
		{"the first misuse stays", func(m *Machine) { m.StartPrepare("ghost"); m.StartDeploy("first") },
			`unknown group "ghost"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := pair(t)
			tt.call(m)
			if err := m.Err(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if g, ok := m.Next(); ok {
				t.Errorf("the walk goes on with %q", g)
			}
			if got := m.Report().In(NotStarted); !slices.Equal(got, []string{"a", "b", "c"}) {
				t.Errorf("not started: %v, want all", got)
			}
		})
	}
	t.Run("a failed group is over", func(t *testing.T) {
		m := pair(t)
		m.StartPrepare("first")
		m.FinishPrepare("first", nil)
		if g, ok := m.Next(); ok || m.Err() != nil {
			t.Fatalf("next is %q, %v", g, m.Err())
		}
		if todo := m.StartDeploy("first"); todo != nil || m.Err() == nil {
			t.Errorf("deploy %v of a failed group, error %v", todo, m.Err())
		}
	})
}

// TestParentsAreAsserted breaks the machine from inside: D-17 must notice.
func TestParentsAreAsserted(t *testing.T) {
	m := pair(t)
	m.next = 1
	if g, ok := m.Next(); ok || m.Err() == nil || !strings.Contains(m.Err().Error(),
		`its parent "first" is NOT_STARTED`) {
		t.Errorf("next is %q, error %v", g, m.Err())
	}
}

func TestSetNodeAndJudge(t *testing.T) {
	m := pair(t)
	if err := m.SetNode("idle", Deployed); !errors.Is(err, ErrUnknownNode) {
		t.Errorf("a node in no group: %v", err)
	}
	if err := m.SetNode("a", "READY"); err == nil {
		t.Error("a stage that there is not was taken")
	}
	if _, err := m.Judge("ghost", Prepared); !errors.Is(err, ErrUnknownGroup) {
		t.Errorf("an unknown group: %v", err)
	}
	for _, stage := range []Stage{NotStarted, Failed, ""} {
		if _, err := m.Judge("first", stage); !errors.Is(err, ErrPhase) {
			t.Errorf("phase %q: %v", stage, err)
		}
	}
	if got, err := m.Judge("first", Deployed); err != nil ||
		!slices.Equal(got, []Shortfall{{Phase: Deployed, Criterion: Maximum, Needed: 1, Actual: 2, Nodes: 2}}) {
		t.Errorf("nothing done: %v, %v", got, err)
	}
	if err := m.SetNode("a", Deployed); err != nil {
		t.Error(err)
	}
	if got, err := m.Judge("first", Deployed); err != nil || len(got) != 0 {
		t.Errorf("one of two done, one may fail: %v, %v", got, err)
	}
}
