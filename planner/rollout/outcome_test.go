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
		"a": {Done: []resource.ID{"file[/v]", "file[/o]", "exec[check]"},
			Altered: []resource.ID{"file[/v]", "exec[check]"}, Failures: []Failure{broken}},
		"b": {Done: []resource.ID{"file[/v]", "file[/o]", "exec[check]"}, Altered: []resource.ID{"file[/o]"},
			Failures: []Failure{{Resource: "service[nginx]", Message: "gone"}}},
	}}
	got := map[string]lifecycle.Progress{}
	for service, tasks := range r.ByService(p, nil) {
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
