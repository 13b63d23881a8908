package rollout_test

import (
	"context"
	"slices"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// talkative is an executor whose nodes print something before each result, and during the lock command.
type talkative struct{ rollout.Executor }

func (x talkative) Converge(ctx context.Context, n site.Node, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	if len(c.Items) > 0 {
		each(converge.Result{Status: converge.Printing, Message: converge.LiveLock, Output: "locks\n"})
	}
	return x.Executor.Converge(ctx, n, c, func(r converge.Result) {
		each(converge.Result{ID: r.ID, Status: converge.Printing, Output: "at work\n"})
		each(r)
	})
}

// What a node prints while it is at work is in the journal between the start and the end of the task, and is no result.
func TestOutputIsRecordedWhileTasksRun(t *testing.T) {
	s := site.Site{Name: "lon1", Nodes: []site.Node{
		{Name: "a", Connection: site.Connection{Transport: "local", Root: t.TempDir()}}}}
	write(t, s.Nodes[0].Connection.Root, "/etc/b", "mine\n")
	p, err := plan(s, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	e := rollout.NewInProcess()
	defer e.Close() //nolint:errcheck // nothing was written
	d := &diary{}
	r, err := rollout.Run(t.Context(), s, p, rollout.Options{Executor: talkative{e}, Recorder: d, RunID: "r1"})
	if err != nil || r.Status != rollout.StatusSucceeded || r.Nodes["a"].Changed != 2 || len(r.Warnings) > 0 {
		t.Fatalf("error %v\n%s", err, r)
	}
	var got []string
	for _, e := range d.events {
		if e.Node == "a" && (e.Resource != "" || e.Kind == journal.Output) {
			got = append(got, string(e.Kind)+" "+e.Action+" "+e.Resource+" "+e.Output)
		}
	}
	want := []string{"task_started create file[/etc/a] ", "task_started create file[/etc/b] ", "output lock  locks\n",
		"output create file[/etc/a] at work\n", "task_finished create file[/etc/a] ",
		"output create file[/etc/b] at work\n", "task_finished create file[/etc/b] "}
	for i, g := range got { // a diff of the file may be the output of its end
		if len(want) > i && len(want[i]) < len(g) && g[:4] == "task" {
			got[i] = g[:len(want[i])]
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
