package planner_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// ending is a site whose runs end for approval: the batches of g are a, b, and c with d; e depends on g, f does not.
func ending(t *testing.T) site.Site {
	s := site.Site{Name: "lon1"}
	s.Approval, s.Approved = site.ApprovalEnd, map[string]int{}
	for _, n := range []string{"a", "b", "c", "d", "e", "f"} {
		s.Nodes = append(s.Nodes, site.Node{Name: n})
	}
	on := func(nodes ...string) []site.Selector { return []site.Selector{{NodeNames: nodes}} }
	s.Groups = []site.Group{
		{Name: "g", Critical: true, Selectors: on("a", "b", "c", "d"),
			Rolling: &site.Rolling{MaxParallel: 1, Batches: []string{"1", "50%"}, Approve: []string{"1", "50%"}}},
		{Name: "late", Critical: true, Selectors: on("e"), DependsOn: []string{"g"}},
		{Name: "other", Critical: true, Selectors: on("f")},
	}
	s.Services = []site.Service{{Name: "motd", Configuration: conf{"file": titles{"/etc/motd": {"content": "x"}}}},
		{Name: "app", Selectors: on("a", "b", "c", "d"), Entity: entitiesOf(t, appCatalog(`
    - {name: a, config: {type: file, title: /a, parameters: {content: a}}}
    - {name: b, tag: cluster, config: {type: file, title: /b, parameters: {content: b}}}
    - {name: c, tag: pre_node, callback: {type: http, `+call+`}}`))["app"]}}
	return s
}

// Each run goes as far as the next batch that is not approved. Cluster tasks and callbacks of whole services come with
// the last one, and when nothing waits any more, everything is planned.
func TestEndsForApproval(t *testing.T) {
	s, applied := ending(t), planner.Applied{"gone": {"file[/x]": "1"}}
	digests := map[string]bool{}
	for approved, want := range []struct{ nodes, held, late string }{
		{"a f", `1 of 3`, ""}, {"b", `2 of 3`, ""}, {"a b c d e gone", "", "file[/b] on a b c d, app/c"}, {"", "", ""},
	} {
		s.Approved["g"] = min(approved, 2)
		p, errs := planner.Make(s, applied, nil)
		if p == nil {
			t.Fatal(errs)
		}
		digests[p.Digest] = true
		var late []string
		called := false
		for _, ph := range p.Phases {
			for _, task := range ph.Tasks {
				if task.Resource.ID() == "file[/b]" {
					late = append(late, task.Node)
				}
				called = called || task.Name == "app/c"
				apply(applied, task)
			}
		}
		applied[planner.Controller] = p.Called(applied[planner.Controller], began(p))
		got := strings.Join(p.ChangedNodes(), " ")
		lateText := ""
		if len(late) > 0 {
			lateText = "file[/b] on " + strings.Join(late, " ")
		}
		if called {
			lateText += ", app/c"
		}
		if got != want.nodes || lateText != want.late || !strings.Contains(p.Awaits(nil), want.held) || (want.held == "") != (p.Held == nil) {
			t.Errorf("approved %d: nodes %q, last %q, %q; want %+v", approved, got, lateText, p.Awaits(nil), want)
		}
		if (p.Limited == nil) != (want.held == "") {
			t.Errorf("approved %d: limited to %v", approved, p.Limited)
		}
	}
	if len(digests) != 4 {
		t.Errorf("%d digests of 4 plans", len(digests))
	}
}

// began returns the callbacks of a plan, all of which run.
func began(p *planner.Plan) map[string]string {
	out := map[string]string{}
	for _, ph := range p.Phases {
		for _, t := range ph.Tasks {
			if t.Kind == task.Callback {
				out[t.Name] = t.Digest
			}
		}
	}
	return out
}

// A callback of a whole service that runs because of other changes of its service is not forgotten where it waits, nor
// is one that only later groups have.
func TestPostponedCallback(t *testing.T) {
	s := ending(t)
	applied := allApplied(t, s)
	for _, n := range []string{"a", "d"} {
		applied[n] = maps.Clone(applied[n])
		applied[n]["file[/a]"] = ""
	}
	first := mustMake(t, s, applied, nil)
	if len(first.Postponed) != 1 || len(first.Held) != 1 {
		t.Fatalf("postponed %v, held %v", first.Postponed, first.Held)
	}
	for _, ph := range first.Phases {
		for _, t := range ph.Tasks {
			apply(applied, t)
		}
	}
	applied[planner.Controller] = first.Called(applied[planner.Controller], nil)
	applied["d"]["file[/a]"] = first.Phases[1].Tasks[0].Digest // somebody else did it
	p := mustMake(t, s, applied, nil)
	if _, called := began(p)["app/c"]; !called || p.Held != nil {
		t.Errorf("the callback is forgotten: %v", p.Steps())
	}
}

// A group without work beyond its pause ends nothing, nor is a plan limited by drift of what is approved.
func TestNothingWaitsForApproval(t *testing.T) {
	s := ending(t)
	applied := allApplied(t, s)
	p := mustMake(t, s, applied, planner.Drift{"a": {"file[/etc/motd]"}, "e": {"file[/etc/motd]"}})
	if got := p.ChangedNodes(); !slices.Equal(got, []string{"a", "e"}) || p.Limited != nil {
		t.Errorf("nodes %v, limited to %v", got, p.Limited)
	}
	p = mustMake(t, s, applied, planner.Drift{"b": []resource.ID{"file[/etc/motd]"}})
	if !p.Empty() || !slices.Equal(p.Waiting, []string{"b"}) {
		t.Errorf("phases %v, waiting %v", p.Phases, p.Waiting)
	}
	for _, n := range []string{"a", "d"} { // what comes after the last batch waits for approval as well
		applied[n] = maps.Clone(applied[n])
		delete(applied[n], "file[/b]")
	}
	if p = mustMake(t, s, applied, nil); !p.Empty() || len(p.Held) != 1 || !slices.Equal(p.Waiting, []string{"d"}) {
		t.Errorf("phases %v, held %v, waiting %v", p.Phases, p.Held, p.Waiting)
	}
	s.Limit = &site.Limit{Nodes: []string{"a", "b"}}
	p = mustMake(t, s, planner.Applied{}, nil)
	if got := p.ChangedNodes(); !slices.Equal(got, []string{"a"}) || len(p.Held) != 1 {
		t.Errorf("within a limit: nodes %v, held %v", got, p.Held)
	}
}

func TestApprovedBatchesAreWrong(t *testing.T) {
	for want, change := range map[string]func(s *site.Site){
		`approved_batches["g"]: there is no batch 4; the last one of the group is 3`: func(s *site.Site) { s.Approved["g"] = 4 },
		`approved_batches["x"]: there is no such group`:                              func(s *site.Site) { s.Approved["x"] = 1 },
		`approved_batches["late"]: the group waits for no approval`:                  func(s *site.Site) { s.Approved["late"] = 1 },
		`approved_batches["g"]: counts with approval = "end" only`: func(s *site.Site) {
			s.Approved["g"], s.Approval = 1, site.ApprovalWait
		},
		`rolling.approve[2]: with approval = "end" of the deployment, no run can end after the last batch`: func(s *site.Site) {
			s.Groups[0].Rolling.Approve = append(s.Groups[0].Rolling.Approve, "100%")
		},
	} {
		s := ending(t)
		change(&s)
		if p, errs := planner.Make(s, nil, nil); p != nil || !strings.Contains(errs.Error(), want) {
			t.Errorf("no error %q: %v", want, errs)
		}
	}
}
