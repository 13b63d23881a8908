package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// A refresh that failed belongs to the services whose changes led to it, also through what was refreshed in between,
// and to no other.
func TestFailedRefreshBelongsToWhoNotified(t *testing.T) {
	of := func(node, service, typ, title string, notifies ...resource.ID) task.Task {
		return task.Task{Node: node, Service: service, Resource: resource.Resource{Type: typ, Title: title},
			Notifies: notifies}
	}
	var tasks []task.Task
	for _, node := range []string{"a", "b"} {
		tasks = append(tasks, of(node, "vhost", "file", "/v", "exec[check]"),
			of(node, "other", "file", "/o", "service[nginx]"),
			of(node, "shared", "exec", "check", "service[nginx]"), of(node, "nginx", "service", "nginx"))
	}
	p := &planner.Plan{Phases: []planner.Phase{{Tasks: tasks}}}
	broken := Failure{Resource: "service[nginx]", Message: "refresh: it does not restart", Refresh: true}
	r := Report{Nodes: map[string]NodeReport{
		"a": {ItemResults: ItemResults{Done: []resource.ID{"file[/v]", "file[/o]", "exec[check]"},
			Altered: []resource.ID{"file[/v]", "exec[check]"}, Failures: []Failure{broken}}},
		"b": {ItemResults: ItemResults{Done: []resource.ID{"file[/v]", "file[/o]", "exec[check]"}, Altered: []resource.ID{"file[/o]"},
			Failures: []Failure{{Resource: "service[nginx]", Message: "gone"}}}},
	}}
	got := map[string]lifecycle.Progress{}
	for service, tasks := range r.ByService(p, nil, nil, nil) {
		got[service], _ = r.Progress(tasks)
	}
	want := map[string]lifecycle.Progress{
		"vhost": {Total: 3, Deployed: 2, Failed: 1}, "other": {Total: 2, Deployed: 2}, "shared": {Total: 3, Deployed: 2,
			Failed: 1}, "nginx": {Total: 2, Failed: 2},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A refresh that is due since an earlier run belongs to the services that this run found between two states and whose
// resources lead to it, also when it fails again or is not reached: it is no success of theirs. What this run notified
// and did not reach is no success either.
func TestDueRefreshBelongsToWhoNotified(t *testing.T) {
	file := func(service, title string) task.Task {
		return task.Task{Node: "a", Service: service, Resource: resource.Resource{Type: "file", Title: title},
			Notifies: []resource.ID{"exec[check]"}}
	}
	check := task.Task{Node: "a", Service: "shared", Action: task.Update, Resource: resource.Resource{Type: "exec",
		Title: "check"}, Notifies: []resource.ID{"service[nginx]"}}
	nginx := task.Task{Node: "a", Service: "nginx", Action: task.Update,
		Resource: resource.Resource{Type: "service", Title: "nginx"}}
	desired := func() map[string][]task.Task {
		return map[string][]task.Task{"a": {file("left", "/l"), file("resting", "/r"), check, nginx}}
	}
	failed, waiting := lifecycle.Progress{Total: 1, Failed: 1}, lifecycle.Progress{Total: 1, Waiting: 1}
	for _, test := range []struct {
		name  string
		tasks []task.Task
		node  NodeReport
		want  map[string]lifecycle.Progress
	}{
		{"fails again", []task.Task{nginx}, NodeReport{ItemResults: ItemResults{Failures: []Failure{{Resource: "service[nginx]", Refresh: true}}}},
			map[string]lifecycle.Progress{"left": failed, "nginx": failed}},
		{"is not reached", []task.Task{nginx}, NodeReport{}, map[string]lifecycle.Progress{"left": waiting, "nginx": waiting}},
		{"is done", []task.Task{nginx}, NodeReport{ItemResults: ItemResults{Done: []resource.ID{"service[nginx]"}}},
			map[string]lifecycle.Progress{"nginx": {Total: 1, Deployed: 1}}},
		{"fails for another reason", []task.Task{nginx}, NodeReport{ItemResults: ItemResults{Failures: []Failure{{Resource: "service[nginx]"}}}},
			map[string]lifecycle.Progress{"nginx": failed}},
		{"is of this run, and not reached", []task.Task{file("changed", "/c"), {Node: "a", Service: "shared",
			Action: task.Refresh, Resource: check.Resource}},
			NodeReport{ItemResults: ItemResults{Done: []resource.ID{"file[/c]"}, Altered: []resource.ID{"file[/c]"}}},
			map[string]lifecycle.Progress{"changed": {Total: 2, Deployed: 1, Waiting: 1}, "shared": waiting}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &planner.Plan{Phases: []planner.Phase{{Tasks: test.tasks}}}
			r := Report{Nodes: map[string]NodeReport{"a": test.node}}
			got := map[string]lifecycle.Progress{}
			for service, tasks := range r.ByService(p, nil, map[string]bool{"left": true}, desired) {
				got[service], _ = r.Progress(tasks)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
