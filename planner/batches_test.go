package planner_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// batched is a site of two groups, of which the first has its two nodes in two batches.
func batched() site.Site {
	s := one()
	s.Services = []site.Service{{Name: "motd", Configuration: conf{"file": titles{"/etc/motd": {"content": "x"}}}}}
	i := slices.IndexFunc(s.Groups, func(g site.Group) bool { return g.Name == "first" })
	s.Groups[i].Rolling = &site.Rolling{MaxParallel: 1, Batches: []string{"1", "100%"}}
	return s
}

func TestBatchesInSteps(t *testing.T) {
	s := batched()
	i := slices.IndexFunc(s.Groups, func(g site.Group) bool { return g.Name == "first" })
	r := s.Groups[i].Rolling
	r.HealthCheck, r.Soak = &site.HealthCheck{Command: "works"}, time.Minute
	s.Services = append(s.Services, site.Service{Name: "app", Entity: entitiesOf(t, appCatalog(
		"    - {name: b, tag: pre_node, callback: {type: http, "+call+"}}"))["app"]})
	steps := mustMake(t, s, nil, nil).Steps()
	want := []string{"1. first: prepare 2 nodes (a1, b1); no further batch is started once one has failed",
		"2. first: batch 1 of 2: 1 node (a1), then health check `works`, soak 1m0s, health check",
		"3. first: batch 2 of 2: 1 node (b1), then health check `works`, soak 1m0s, health check",
		"4. first: after the last batch: pre_node: call http app/b",
		"5. first: each batch: node phase, 1 node at a time: 2 changes on 2 nodes: create file[/etc/motd] on 2"}
	if !slices.Equal(steps[:min(len(steps), len(want))], want) {
		t.Errorf("got\n%s", strings.Join(steps, "\n"))
	}
	digests := map[string]bool{}
	for _, change := range []func(){func() {}, func() { r.Soak++ }, func() { r.HealthCheck.Retries++ }, func() { r.HealthCheck.Command = "w" },
		func() { r.Batches = []string{"100%"} }} {
		change()
		digests[mustMake(t, s, nil, nil).Digest] = true
	}
	if len(digests) != 5 {
		t.Errorf("%d digests of 5 settings", len(digests))
	}
}

func TestBatchesContradict(t *testing.T) {
	graph := func(id, role string, requires ...string) site.GraphTask {
		return site.GraphTask{ID: id, Type: plugin.Shell, Role: []string{role}, Requires: requires,
			RequiredFor: []string{"deploy_start"}, Parameters: shell(id), FailOnError: true}
	}
	for name, tt := range map[string]struct {
		change func(s *site.Site)
		want   string
	}{
		"a node waits for one of a later batch": {func(s *site.Site) {
			s.Plugins = []site.Plugin{{Name: "p", GraphTasks: []site.GraphTask{graph("x", "a", "y"), graph("y", "b")}}}
		}, `plugin "p": graph_tasks[0].requires: the task "x" of node a1, in batch 1 of the group "first", must come after the task "y" of node b1, in batch 2; leave rolling.batches out, or let "x" run after all groups: requires: [post_deployment_start]`},
		"a node waits for one of an earlier batch": {func(s *site.Site) {
			s.Groups = slices.DeleteFunc(s.Groups, func(g site.Group) bool { return g.Name != "first" })
			s.Plugins = []site.Plugin{{Name: "p", GraphTasks: []site.GraphTask{graph("x", "b", "y"), graph("y", "a")}}}
		}, ""},
		"a node waits for a callback of the whole service": {func(s *site.Site) {
			s.Services = append(s.Services, site.Service{Name: "app", Entity: entitiesOf(t, appCatalog(`
    - {name: a, requires: [{task: b}], config: {type: file, title: /a, parameters: {content: a}}}
    - {name: b, tag: pre_node, callback: {type: http, `+call+`}}`))["app"]})
		}, `service "app": entity.tasks[1].tag: the callback app/b belongs to no node, so it runs after the last batch of the group "first", and file[/a] on node a1 requires it; give it the tag management, write per_node: true, or leave rolling.batches out`},
		"in one batch": {func(s *site.Site) {
			s.Services = append(s.Services, site.Service{Name: "app", Entity: entitiesOf(t, appCatalog(`
    - {name: a, requires: [{task: b}], config: {type: file, title: /a, parameters: {content: a}}}
    - {name: b, tag: pre_node, callback: {type: http, `+call+`}}`))["app"]})
			for i := range s.Groups {
				if s.Groups[i].Rolling != nil {
					s.Groups[i].Rolling.Batches = []string{"100%"}
				}
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := batched()
			tt.change(&s)
			p, errs := planner.Make(s, nil, nil)
			got := strings.TrimSpace(errs.Errors().Error())
			if tt.want == "" && p == nil || tt.want != "" && (p != nil || got != tt.want) {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
