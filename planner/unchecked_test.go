package planner_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// A node that an earlier run left unchecked is work of the next one, as long as its group has a health check.
func TestUnchecked(t *testing.T) {
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Groups: []site.Group{{Name: "g",
		Selectors: site.Selectors{}, Rolling: &site.Rolling{MaxParallel: 1, Batches: []string{"1"}, Approve: []string{"1"},
			HealthCheck: &site.HealthCheck{Command: "works"}}}},
		Services: []site.Service{{Name: "motd", Configuration: conf{"file": titles{"/etc/motd": {"content": "x"}}}}}}
	done := func(left map[string]string) planner.Applied {
		applied, errs := planner.AppliedAfter(s)
		if len(errs.Errors()) > 0 {
			t.Fatal(errs)
		}
		for node, run := range left {
			applied[node][task.Unchecked] = run
		}
		return applied
	}
	again := func(nodes, why string) string {
		return "g: each batch: node: check again, the health check of " + nodes + " " + why
	}
	const prepares = "; no further batch is started once one has failed"
	batch := func(text string) string { return "g: batch " + text + ", then health check `works`" }
	for name, tt := range map[string]struct {
		applied planner.Applied
		change  func(*site.Site)
		lines   []string
		warning string
	}{
		"all were checked": {applied: done(nil)},
		"one failed": {applied: done(map[string]string{"b": "failed r7"}), lines: []string{"g: prepare 1 node (b)" + prepares,
			batch("1 of 1: 1 node (b)"), "g: node: check again, the health check of 1 node (b) failed in run r7"},
			warning: "the health check of 1 node (b) failed in run r7; a node counts as failed until"},
		"a run was killed before it checked": {applied: done(map[string]string{"a": "r7", "c": "failed r6", "b": "r7"}), lines: []string{
			"g: prepare 3 nodes (a, b, c)" + prepares, batch("1 of 2: 1 node (a)") + ", pause for approval", batch("2 of 2: 2 nodes (b, c)"),
			again("1 node (c)", "failed in run r6, the health check of 2 nodes (a, b) was not made to its end in run r7")},
			warning: "(c) failed in run r6, the health check of 2 nodes (a, b) was not made to its end in run r7"},
		"the health check is gone": {applied: done(map[string]string{"b": "failed r7"}),
			change: func(s *site.Site) { s.Groups[0].Rolling.HealthCheck = nil }},
		"it has other work": {applied: planner.Applied{"a": {task.Unchecked: "failed r7"}, "b": {task.Unchecked: "r7"}}, lines: []string{
			"g: prepare 3 nodes (a, b, c)" + prepares, batch("1 of 2: 1 node (a)") + ", pause for approval", batch("2 of 2: 2 nodes (b, c)"),
			"g: each batch: node phase, 1 node at a time: 3 changes on 3 nodes: create file[/etc/motd] on 3"},
			warning: "the health check of 1 node (a) failed in run r7"},
		"it is outside of the limit": {applied: done(map[string]string{"b": "failed r7"}),
			change: func(s *site.Site) { s.Limit = &site.Limit{Nodes: []string{"a"}} }, warning: "1 node with work or to be torn down outside of the limit: b"},
		"everything is checked again": {applied: done(map[string]string{"b": "failed r7"}).Unfinished(), lines: []string{
			"g: prepare 3 nodes (a, b, c)" + prepares, batch("1 of 2: 1 node (a)") + ", pause for approval", batch("2 of 2: 2 nodes (b, c)"),
			"g: each batch: node phase, 1 node at a time: 3 changes on 3 nodes: update file[/etc/motd] on 3"},
			warning: "(b) failed in run r7"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s
			s.Groups = slices.Clone(s.Groups)
			rolling := *s.Groups[0].Rolling
			s.Groups[0].Rolling = &rolling
			if tt.change != nil {
				tt.change(&s)
			}
			p, errs := planner.Make(s, tt.applied, nil)
			if p == nil {
				t.Fatal(errs)
			}
			if !slices.Equal(p.Lines(), tt.lines) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(p.Lines(), "\n"), strings.Join(tt.lines, "\n"))
			}
			if text := errs.Error(); !strings.Contains(text, tt.warning) || tt.warning == "" && text != "" {
				t.Errorf("warned %q, want %q", text, tt.warning)
			}
			if losses := p.Losses(tt.applied, nil); !losses.Empty() {
				t.Errorf("the plan %s", losses)
			}
		})
	}
}

// Where a run ends for approval, a batch with a node whose health check failed is in the plan, and is not offered.
func TestUncheckedIsNotOffered(t *testing.T) {
	s := ending(t)
	s.Groups[0].Rolling.HealthCheck = &site.HealthCheck{Command: "works"}
	applied, errs := planner.AppliedAfter(s)
	if len(errs.Errors()) > 0 {
		t.Fatal(errs)
	}
	for _, n := range []string{"b", "c", "d"} {
		applied[n] = map[resource.ID]string{}
	}
	applied["a"][task.Unchecked] = task.CheckFailed + "r7"
	s.Approved["g"] = 0
	p, errs := planner.Make(s, applied, nil)
	if p == nil {
		t.Fatal(errs)
	}
	const offer = "write approved_batches"
	if got := strings.Join(p.ChangedNodes(), " "); got != "a" || strings.Contains(errs.Error(), offer) ||
		!strings.Contains(errs.Error(), "can be approved once its checks succeed") {
		t.Errorf("the plan is about %q and warns %q", got, errs)
	}
	for stage, want := range map[bool]bool{false: false, true: true} {
		if got := p.Awaits(func(string) bool { return stage }); strings.Contains(got, offer) != want {
			t.Errorf("deployed %t: %q", stage, got)
		}
	}
}

// A node for which only callbacks ran stays unchecked, though its ledger does not say it, and the plan checks it.
func TestOnlyCalledIsUnchecked(t *testing.T) {
	s := ending(t)
	s.Groups[0].Rolling.HealthCheck = &site.HealthCheck{Command: "works"}
	applied, errs := planner.AppliedAfter(s)
	if len(errs.Errors()) > 0 {
		t.Fatal(errs)
	}
	before := planner.WithUnchecked(applied["a"], task.OnlyCalled+"r7")
	applied["a"] = planner.KeepUnhealthy(before, applied["a"])
	p, errs := planner.Make(s, applied, nil)
	const want = "check again, the health check of 1 node (a) was not made to its end in run r7"
	if p == nil || !strings.Contains(strings.Join(p.Steps(), "\n"), want) || p.Empty() {
		t.Errorf("no %q: %v, %v", want, p, errs)
	}
}
