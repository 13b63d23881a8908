package rollout_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Every event of a task names the service that brings it, however the task ends: the history of a service tells what
// failed in it.
func TestEventsNameTheService(t *testing.T) {
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}}}
	p, err := plan(s, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	file := func(service, title string) task.Task {
		r := resource.Resource{Type: "file", Title: title, Parameters: resource.Parameters{"content": "x\n"}}
		return task.Task{Node: "a", Group: task.Node, Service: service, Action: task.Create, Resource: r,
			Digest: resource.Digest(r)}
	}
	call := task.Task{Group: task.Management, Service: "ntp", Kind: task.Callback, Name: "announce", Action: task.Run,
		Resource: resource.Resource{Type: "command", Title: "announce"}}
	p.Phases = []planner.Phase{
		{TaskGroup: task.Management, Tasks: []task.Task{call}},
		{TaskGroup: task.Prepare, Group: p.Groups[0].Name,
			Tasks: []task.Task{{Node: "a", Group: task.Prepare, Action: task.PrepareNode}}},
		{TaskGroup: task.Node, Group: p.Groups[0].Name, Tasks: []task.Task{file("ntp", "/a"), file("web", "/b")}},
	}
	synctest.Test(t, func(t *testing.T) {
		fake, notes := newFaulty(), &diary{}
		fake.faults[at{"a", deploying}] = "lost" // after the first item: the outcome of the second is not known
		if _, err := rollout.Run(t.Context(), s, p,
			rollout.Options{Executor: fake, Recorder: notes, RunID: "r1", Caller: &operator{}}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range notes.events {
			if e.Kind == journal.TaskStarted || e.Kind == journal.TaskFinished {
				got = append(got, string(e.Kind)+" "+e.Resource+" "+e.Status+" of "+strings.Join(e.Services, " and "))
			}
		}
		want := []string{
			"task_started command[announce]  of ntp", "task_finished command[announce] changed of ntp",
			"task_started   of ", "task_finished  unchanged of ",
			"task_started file[/a]  of ntp", "task_started file[/b]  of web", "task_finished file[/a] changed of ntp", "task_finished file[/b] unknown of web",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}
