package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

var _ rollout.Recorder = (*journal.Writer)(nil)

func TestItems(t *testing.T) {
	motd := resource.Resource{Type: "file", Title: "/etc/motd", Parameters: resource.Parameters{"content": "x"}}
	daemon := resource.Resource{Type: "service", Title: "chrony"}
	may, after := resource.Resource{Type: "shell", Title: "p/1"}, resource.Resource{Type: "shell", Title: "p/2"}
	gone := resource.Resource{Type: "package", Title: "mc"}
	got := rollout.Items([]task.Task{
		{Node: "a", Action: task.PrepareNode},
		{Node: "a", Action: task.Update, Resource: motd, Digest: "d", Requires: []resource.ID{"user[x]"},
			Notifies: []resource.ID{daemon.ID()}},
		{Node: "a", Action: task.Refresh, Resource: daemon, Digest: "e"},
		{Node: "a", Action: task.Remove, Resource: gone},
		{Node: "b", Action: task.Forget},
		{Node: "b", Action: task.Unlock},
		{Kind: task.Callback, Node: "b", Action: task.Run},
		{Kind: task.Remote, Action: task.Run, Resource: may, Tolerate: true},
		{Kind: task.Remote, Action: task.Run, Resource: after, Requires: []resource.ID{"exec[x]", may.ID()}},
	})
	want := []converge.Item{
		{Resource: motd, Digest: "d", Requires: []resource.ID{"user[x]"}, Notifies: []resource.ID{daemon.ID()}},
		{Resource: daemon, Digest: "e", RefreshOnly: true},
		{Resource: gone, Remove: true},
		{Resource: may, Tolerate: true},
		{Resource: after, Requires: []resource.ID{"exec[x]"}}, // what may fail holds nothing up
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What cannot be driven is refused before anything is touched or recorded.
func TestBadInput(t *testing.T) {
	group := func(name string) site.Group { return site.Group{Name: name} }
	node := task.Task{Node: "a", Action: task.Create, Resource: resource.Resource{Type: "file", Title: "/a"}}
	remote := task.Task{Kind: task.Remote, Node: "a", Name: "p/r", Action: task.Run,
		Resource: resource.Resource{Type: "shell", Title: "p/r"}}
	common := task.Task{Kind: task.Callback, Name: "p/c", Action: task.Run}
	stray := task.Task{Kind: task.Callback, Name: "p/c", Node: "z", Action: task.Run}
	locked := task.Task{Node: "a", Action: task.Unlock}
	called := func(_ *site.Site, o *rollout.Options) { o.Caller = &operator{} }
	ready := task.Task{Node: "a", Action: task.PrepareNode}
	phase := func(g task.Group, name string, ts ...task.Task) planner.Phase {
		return planner.Phase{TaskGroup: g, Group: name, Tasks: ts}
	}
	members := []planner.Group{{Name: "g", Members: []string{"a"}}}
	tests := map[string]struct {
		plan   planner.Plan
		change func(*site.Site, *rollout.Options)
		want   string
	}{
		"another site": {plan: planner.Plan{Site: "par1"},
			want: `the plan is for the site "par1", not for "lon1"`},
		"no executor": {change: func(_ *site.Site, o *rollout.Options) { o.Executor = nil },
			want: "Executor is missing"},
		"no recorder": {change: func(_ *site.Site, o *rollout.Options) { o.Recorder = nil },
			want: "Recorder is missing"},
		"no run": {change: func(_ *site.Site, o *rollout.Options) { o.RunID = "" },
			want: "RunID is missing"},
		"negative": {change: func(_ *site.Site, o *rollout.Options) { o.Parallelism = -1 },
			want: "Parallelism is -1; it must be at least 1"},
		"group gone": {plan: planner.Plan{Site: "lon1"},
			want: "the plan has 0 groups and the site 1; make a new plan"},
		"group renamed": {plan: planner.Plan{Site: "lon1", Groups: []planner.Group{{Name: "h"}}},
			want: `group "h" is number 1 in the plan and group "g" in the site`},
		"members changed": {plan: planner.Plan{Site: "lon1",
			Groups: []planner.Group{{Name: "g", Members: []string{"b"}}}},
			want: `group "g" has the members ["b"] in the plan and ["a"] in the site`},
		"unknown node": {plan: planner.Plan{Site: "lon1", Groups: members,
			Phases: []planner.Phase{phase(task.Node, "g", task.Task{Node: "z"})}}, want: `node "z" is not in the site`},
		"prepared twice": {plan: planner.Plan{Site: "lon1", Groups: members,
			Phases: []planner.Phase{phase(task.Prepare, "g", ready), phase(task.Prepare, "g", ready)}},
			want: `phase 2: node "a" is prepared a second time`},
		"outside of a group": {plan: planner.Plan{Site: "lon1", Groups: members,
			Phases: []planner.Phase{phase(task.Node, "", node)}},
			want: `the task group "node" cannot run outside of a deployment group`},
		"work in the cleanup": {plan: planner.Plan{Site: "lon1", Groups: members,
			Phases: []planner.Phase{phase(task.Cleanup, "", node)}},
			want: `a task "create" cannot run in the task group "cleanup"`},
		"negative groups": {change: func(_ *site.Site, o *rollout.Options) { o.ParallelGroups = -1 },
			want: "ParallelGroups is -1; it must be at least 1"},
		"no caller": {plan: planner.Plan{Site: "lon1", Groups: members,
			Phases: []planner.Phase{phase(task.Boot, "", common)}},
			want: "phase 1: the plan holds callbacks, and Options.Caller is missing"},
		"mixed": {plan: planner.Plan{Site: "lon1", Groups: members,
			Phases: []planner.Phase{phase(task.Node, "g", node, remote)}},
			want: `node "a": a task of kind "remote" stands among those of kind "config"`},
		"unknown task group": {plan: planner.Plan{Site: "lon1", Groups: members,
			Phases: []planner.Phase{phase("nodes", "g", node)}}, want: `there is no task group "nodes"`},
		"unknown group": {plan: planner.Plan{Site: "lon1", Groups: members,
			Phases: []planner.Phase{phase(task.Node, "h", node)}}, want: `the deployment group "h" is not in the site`},
		"inside of a group": {plan: planner.Plan{Site: "lon1", Groups: members,
			Phases: []planner.Phase{phase(task.Boot, "g", node)}},
			want: `the task group "boot" cannot run inside of the deployment group "g"`},
		"unlock in node": {plan: planner.Plan{Site: "lon1", Groups: members,
			Phases: []planner.Phase{phase(task.Node, "g", locked)}},
			want: `a task "unlock" cannot run in the task group "node"`},
		"callback for nowhere": {plan: planner.Plan{Site: "lon1", Groups: members,
			Phases: []planner.Phase{phase(task.Boot, "", stray)}}, change: called, want: `node "z" is not in the site`},
		"callback in a window": {plan: planner.Plan{Site: "lon1", Groups: members,
			Phases: []planner.Phase{phase(task.Node, "g", common)}},
			change: func(s *site.Site, o *rollout.Options) {
				called(s, o)
				s.Groups[0].Rolling = &site.Rolling{MaxParallel: 1}
			},
			want: `callback "p/c" belongs to no node, so it cannot run in the task group "node" of the rolling group "g"`},
		"invalid groups": {plan: planner.Plan{Site: "lon1", Groups: members},
			change: func(s *site.Site, _ *rollout.Options) {
				s.Groups = []site.Group{{Name: "g", DependsOn: []string{"nowhere"}}}
			}, want: "nowhere"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fake, diary := newFaulty(), &diary{}
			s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}}, Groups: []site.Group{group("g")}}
			o := rollout.Options{Executor: fake, Recorder: diary, RunID: "r1"}
			if tt.change != nil {
				tt.change(&s, &o)
			}
			_, err := rollout.Run(t.Context(), s, &tt.plan, o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
			if len(fake.sessions)+len(diary.events) > 0 {
				t.Errorf("something was done: %q, %v", fake.sessions, diary.events)
			}
		})
	}
}

// A node that another session works on is waited for, as long as the group has time. Who it is and how long it was
// waited is in the journal and in the error.
func TestBusyNodesAreWaitedFor(t *testing.T) {
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}, {Name: "b"}}, Groups: strategy.Default()}
	s.Groups[0].DeployTimeout = 10 * time.Minute
	p, err := plan(s, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		fake, journaled := newFaulty(), &diary{}
		fake.faults[at{"a", deploying}] = "busy"
		fake.faults[at{"b", deploying}] = "occupied"
		r, err := rollout.Run(t.Context(), s, p, rollout.Options{Executor: fake, Recorder: journaled, RunID: "r1"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Nodes["a"].Stage != strategy.Deployed {
			t.Errorf("a, which was busy for a moment, is %s: %v", r.Nodes["a"].Stage, r.Nodes["a"].Error)
		}
		var limit *rollout.TimeLimitError
		if err := r.Nodes["b"].Error; !errors.As(err, &limit) ||
			!strings.Contains(err.Error(), "another controller works on the node; it was waited for 10m0s") {
			t.Errorf("b, which is busy for ever: %v", err)
		}
		noted := map[string]int{}
		for _, e := range journaled.events {
			if e.Kind == journal.Note && strings.HasPrefix(e.Message, "waiting: another ") {
				noted[e.Node]++
			}
		}
		if noted["a"] != 1 || noted["b"] != 1 {
			t.Errorf("notes of waiting: %v, want one for each node", noted)
		}
	})
}

// Callers decide on the errors of nodes, so they can be told apart.
func TestErrorsAreTyped(t *testing.T) {
	// no groups: the default strategy
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	p, err := plan(s, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	var r rollout.Report
	synctest.Test(t, func(t *testing.T) {
		fake := newFaulty()
		fake.slow[at{"a", deploying}] = 2 * time.Hour
		fake.faults[at{"b", deploying}] = "refused"
		if r, err = rollout.Run(t.Context(), s, p,
			rollout.Options{Executor: fake, Recorder: &diary{}, RunID: "r1"}); err != nil {
			t.Fatal(err)
		}
		if fake.closed {
			t.Error("the executor was closed, which is its owner's to do")
		}
	})
	var limit *rollout.TimeLimitError
	if !errors.As(r.Nodes["a"].Error, &limit) || limit.Limit != run.DefaultDeployTimeout ||
		limit.Group != "default" {
		t.Errorf("a: %v is no time limit of an hour of the group default", r.Nodes["a"].Error)
	}
	var session *converge.SessionError
	if !errors.As(r.Nodes["b"].Error, &session) || session.Code != converge.CodeRoot {
		t.Errorf("b: %v is no session error", r.Nodes["b"].Error)
	}
	if r.Nodes["c"].Stage != strategy.Deployed || r.Status != rollout.StatusFailed {
		t.Errorf("c is %s and the run %s, want DEPLOYED and failed: the default group wants every node",
			r.Nodes["c"].Stage, r.Status)
	}

	synctest.Test(t, func(t *testing.T) {
		fake := newFaulty()
		fake.faults[at{"a", deploying}] = "hang"
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour) // the group's own limit is longer
		defer cancel()
		s.Groups = strategy.Default()
		s.Groups[0].DeployTimeout = 5 * time.Hour
		if r, err = rollout.Run(ctx, s, p, rollout.Options{Executor: fake, Recorder: &diary{},
			RunID: "r2"}); err != nil {
			t.Fatal(err)
		}
	})
	if !errors.Is(r.Nodes["a"].Error, run.ErrInterrupted) || r.Status != rollout.StatusInterrupted {
		t.Errorf("a: %v, run %s, want an interruption", r.Nodes["a"].Error, r.Status)
	}
}

// A caller that cannot wait gets what is known at once, after an interruption as well as without one.
func TestGivenUp(t *testing.T) {
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}, {Name: "b"}}}
	p, err := plan(s, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, interrupted := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			fake, notes, giveUp := newFaulty(), &diary{}, make(chan struct{})
			fake.faults[at{"a", deploying}] = "hang"
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			start := time.Now()
			if interrupted {
				time.AfterFunc(90*time.Second, cancel)
			}
			time.AfterFunc(91*time.Second, func() { close(giveUp) })
			r, err := rollout.Run(ctx, s, p, rollout.Options{Executor: fake, Recorder: notes, RunID: "r1",
				GiveUp: giveUp})
			if err != nil {
				t.Fatal(err)
			}
			if spent := time.Since(start); spent > 92*time.Second {
				t.Errorf("it took %s", spent)
			}
			if !errors.Is(r.Nodes["a"].Error, run.ErrInterrupted) || r.Status != rollout.StatusInterrupted {
				t.Errorf("a: %v, run %s, want an interruption", r.Nodes["a"].Error, r.Status)
			}
			if last := notes.events[len(notes.events)-1]; last.Kind != journal.RunFinished {
				t.Errorf("the last event is %+v", last)
			}
		})
	}
}

// Of many failures a reason names the first ones.
func TestReasonIsBounded(t *testing.T) {
	r := rollout.NodeReport{Error: errors.New("lost"), ItemResults: rollout.ItemResults{Failures: []rollout.Failure{
		{Resource: "file[/a]", Message: "m1"}, {Resource: "file[/b]", Message: "m2"}, {Resource: "file[/c]",
			Message: "m3"},
		{Resource: "file[/d]", Message: "m4"}, {Resource: "file[/e]", Skipped: true},
	}}}
	want := "lost; file[/a]: m1; file[/b]: m2; 2 more failed (`report` shows them); 1 skipped"
	if got := r.Reason(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A thousand nodes that fail, each with a long output, still make a text that a person can read.
func TestReportIsBounded(t *testing.T) {
	r := rollout.Report{Site: "big", Nodes: map[string]rollout.NodeReport{},
		Departed: map[string]rollout.TearDownNode{}}
	down := rollout.TearDownReport{Site: "big", Nodes: map[string]rollout.TearDownNode{}}
	long := strings.Repeat("line of output\n", 5000)
	for i := range 1000 {
		name := fmt.Sprintf("node%04d", i)
		r.Nodes[name] = rollout.NodeReport{Group: "g", Stage: strategy.Failed, Error: errors.New(long),
			ItemResults: rollout.ItemResults{Failures: []rollout.Failure{{Resource: "exec[x]", Message: long}}}}
		r.Departed[name] = rollout.TearDownNode{Status: rollout.NotTornDown, Message: long}
		r.Warnings = append(r.Warnings, long)
		down.Nodes[name] = rollout.TearDownNode{Status: rollout.NotTornDown, Message: long}
	}
	for _, text := range []string{r.String(), down.String()} {
		if len(text) > 64<<10 || !strings.Contains(text, "and 980 more") || strings.Contains(text, "node0020") {
			t.Errorf("%d bytes:\n%.2000s", len(text), text)
		}
	}
}

// Whoever keeps what was applied on a node before a run, because the run does not tell, keeps what the run knows of its
// lock (litp.md 84).
func TestAppliedAfterTheRun(t *testing.T) {
	type ledger = map[resource.ID]string
	told, known := ledger{"file[/b]": "2"}, ledger{"file[/a]": "1"}
	stuck := ledger{"file[/a]": "1", task.LeftLocked: ""}
	for name, tt := range map[string]struct {
		report rollout.NodeReport
		before ledger
		want   ledger
	}{
		"told":                      {rollout.NodeReport{Attempted: true, Ledger: told}, known, told},
		"told that nothing is left": {rollout.NodeReport{Attempted: true, Ledger: ledger{}}, known, ledger{}},
		"not told":                  {rollout.NodeReport{Attempted: true}, known, known},
		"not asked":                 {rollout.NodeReport{}, stuck, stuck},
		"not told, locked":          {rollout.NodeReport{Attempted: true, Locked: true}, known, stuck},
		"not asked, locked":         {rollout.NodeReport{Locked: true}, stuck, stuck},
		"not told, unlocked before": {rollout.NodeReport{Attempted: true}, stuck, known},
		"not asked, locked since":   {rollout.NodeReport{Locked: true}, known, stuck},
		"new and locked": {rollout.NodeReport{Attempted: true, Locked: true}, nil,
			ledger{task.LeftLocked: ""}},
		"new": {rollout.NodeReport{Attempted: true}, nil, nil},
	} {
		if diff := cmp.Diff(tt.want, tt.report.Applied(tt.before)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if len(known) != 1 || len(stuck) != 2 {
		t.Errorf("changed what was known: %v, %v", known, stuck)
	}
}

// A caller that cannot wait gets a node that is still locked, and knows it.
func TestGivenUpInAWindow(t *testing.T) {
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}}, Groups: []site.Group{
		{Name: "g", Rolling: &site.Rolling{MaxParallel: 1, Lock: "drain", Unlock: "undrain"}},
	}}
	p, err := plan(s, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		fake, giveUp := newFaulty(), make(chan struct{})
		fake.faults[at{"a", deploying}] = "hang"
		start := time.Now()
		time.AfterFunc(150*time.Second, func() { close(giveUp) })
		r, err := rollout.Run(t.Context(), s, p,
			rollout.Options{Executor: fake, Recorder: &diary{}, RunID: "r1", GiveUp: giveUp})
		if err != nil || r.Status != rollout.StatusInterrupted || !r.Nodes["a"].Locked {
			t.Errorf("error %v, locked %t\n%s", err, r.Nodes["a"].Locked, r)
		}
		if spent := time.Since(start); spent != 150*time.Second {
			t.Errorf("it took %s", spent)
		}
	})
}

// Values show in no text, however they are printed.
func TestValuesAreNotShown(t *testing.T) {
	r := rollout.Report{Values: rollout.Values{"dns": {"password": "secret", "address": "10.0.0.1"}}}
	for _, text := range []string{r.String(), fmt.Sprint(r.Values), fmt.Sprintf("%+v %#v", r.Values, r.Values)} {
		if strings.Contains(text, "secret") || strings.Contains(text, "password") {
			t.Error(text)
		}
	}
}
