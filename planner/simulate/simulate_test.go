package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

func number(n int) *int { return &n }

// example is seed 001's strategy in short: two nodes in each group but ntp.
func example() site.Site {
	group := func(name string, critical bool, criteria *site.SuccessCriteria, parents ...string) site.Group {
		return site.Group{Name: name, Critical: critical, DependsOn: parents, SuccessCriteria: criteria,
			Selectors: site.Selectors{{NodeTags: []string{name}}}}
	}
	half := &site.SuccessCriteria{PercentSuccessfulNodes: number(50)}
	s := site.Site{Name: "lon1", Groups: []site.Group{
		group("control", true, &site.SuccessCriteria{MaximumFailedNodes: number(0)}, "ntp"),
		group("compute", false, half, "control"),
		group("monitoring", false, nil),
		group("ntp", true, &site.SuccessCriteria{MinimumSuccessfulNodes: number(1)}),
	}}
	for _, n := range [][2]string{{"ntp01", "ntp"}, {"ctl1", "control"}, {"ctl2", "control"}, {"cmp1", "compute"},
		{"cmp2", "compute"}, {"mon1", "monitoring"}, {"mon2", "monitoring"}} {
		s.Nodes = append(s.Nodes, site.Node{Name: n[0], Tags: []string{n[1]}})
	}
	return s
}

func TestRuns(t *testing.T) {
	const (
		done       = "SUCCESS"
		failed     = "FAILED"
		unprepared = "FAILED, due to prepare failure"
		onNtp      = "FAILED, due to dependency on ntp"
		onControl  = "FAILED, due to dependency on control"
	)
	tests := []struct {
		name     string
		outcomes Outcomes
		status   Status
		finish   string
		results  []string // prepare and deploy of monitoring, ntp, control, compute
		failed   []string
	}{
		{"all well", nil, Succeeded, "success", []string{done, done, done, done, done, done, done, done}, nil},
		{"prepare of the first critical group", Outcomes{Prepare: {"ntp01": Failure}}, Failed,
			"failed due to critical group failed",
			[]string{done, done, failed, unprepared, onNtp, onNtp, onControl, onControl}, []string{"ntp01"}},
		{"deploy of a critical group, out of time", Outcomes{Deploy: {"ctl2": Timeout}}, Failed,
			"failed due to critical group failed",
			[]string{done, done, done, done, done, failed, onControl, onControl}, []string{"ctl2"}},
		{"half of a group that may", Outcomes{Deploy: {"cmp2": Failure, "cmp1": Success}}, Degraded,
			"success with some nodes/groups failed",
			[]string{done, done, done, done, done, done, done, done}, []string{"cmp2"}},
		{"all of a group that is not critical", Outcomes{Deploy: {"cmp2": Failure, "cmp1": Timeout}}, Degraded,
			"success with some nodes/groups failed",
			[]string{done, done, done, done, done, done, done, failed}, []string{"cmp1", "cmp2"}},
		{"all of a group without criteria", Outcomes{Prepare: {"mon1": Failure, "mon2": Failure}}, Degraded,
			"success with some nodes/groups failed",
			[]string{done, done, done, done, done, done, done, done}, []string{"mon1", "mon2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run, err := New(example(), tt.outcomes, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			var results, places []string
			for _, s := range run.Steps {
				results = append(results, s.Result())
				places = append(places, s.Group+" "+string(s.Phase))
			}
			want := []string{"monitoring prepare", "monitoring deploy", "ntp prepare", "ntp deploy", "control prepare",
				"control deploy", "compute prepare", "compute deploy"}
			if d := cmp.Diff(want, places); d != "" {
				t.Fatal(d)
			}
			if d := cmp.Diff(tt.results, results); d != "" {
				t.Error(d)
			}
			if run.Status != tt.status || run.Finish() != tt.finish ||
				!slices.Equal(run.Report.In(strategy.Failed), tt.failed) {
				t.Errorf("status %s, finish %q, failed %v", run.Status, run.Finish(), run.Report.In(strategy.Failed))
			}
		})
	}
}

func TestSteps(t *testing.T) {
	run, err := New(example(), Outcomes{Prepare: {"ctl1": Timeout, "cmp1": Failure}, Deploy: {"ctl1": Failure}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	want := Step{Group: "control", Phase: Prepare, Cause: ByCriteria, Nodes: []string{"ctl1", "ctl2"},
		Failed: []string{}, TimedOut: []string{"ctl1"},
		Shortfalls: []strategy.Shortfall{{Phase: strategy.Prepared, Criterion: strategy.Maximum, Needed: 0, Actual: 1,
			Nodes: 2, Succeeded: 1}}}
	if d := cmp.Diff(want, run.Steps[4]); d != "" {
		t.Error(d)
	}
	want = Step{Group: "compute", Phase: Deploy, Cause: ByDependency, FailedBy: "control", Nodes: []string{},
		Failed: []string{}, TimedOut: []string{}}
	if d := cmp.Diff(want, run.Steps[7]); d != "" {
		t.Error(d)
	}
}

// In a rolling group, who waits behind a node that does not finish in time is not started, as in a run: the group stops
// when it can no longer meet its criteria, or its time is over.
func TestRolling(t *testing.T) {
	s := example()
	s.Groups[0].Rolling = &site.Rolling{MaxParallel: 1, Lock: "drain", Unlock: "undrain"}
	for _, tt := range []struct {
		onShortfall                 string
		result                      Result
		failed, timedOut, unstarted []string
	}{
		{"", Failure, []string{"ctl1"}, []string{}, []string{"ctl2"}},
		{"", Timeout, []string{}, []string{"ctl1"}, []string{"ctl2"}},
		{"continue", Failure, []string{"ctl1"}, []string{}, nil},
		{"continue", Timeout, []string{}, []string{"ctl1", "ctl2"}, nil},
	} {
		s.Groups[0].OnShortfall = tt.onShortfall
		run, err := New(s, Outcomes{Deploy: {"ctl1": tt.result}}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		got, group := run.Steps[5], run.Report.Groups[2]
		if !slices.Equal(got.TimedOut, tt.timedOut) || !slices.Equal(got.Failed, tt.failed) ||
			!slices.Equal(group.NotStarted, tt.unstarted) || len(got.Nodes) != 2-len(tt.unstarted) {
			t.Errorf("%+v: %+v, %+v", tt, got, group)
		}
		if text := run.Report.String(); strings.Contains(text,
			"1 node not started: the group could no longer meet maximum_failed_nodes") != (tt.unstarted != nil) {
			t.Error(text)
		}
	}
}

// A canary that fails, in its work or its health check, is the only node of its group that is worked on.
func TestBatches(t *testing.T) {
	s := example()
	s.Groups[1].Rolling = &site.Rolling{MaxParallel: 1, Batches: []string{"1"}, Soak: time.Hour,
		HealthCheck: &site.HealthCheck{Command: "works"}}
	for phase, worked := range map[Phase][]string{Deploy: {"cmp1"}, HealthCheck: {"cmp1"}, Prepare: {}, "": {"cmp1", "cmp2"}} {
		run, err := New(s, Outcomes{phase: {"cmp1": Failure}}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		got, group := run.Steps[7], run.Report.Groups[3]
		failed := phase == Deploy || phase == HealthCheck
		if !slices.Equal(got.Nodes, worked) || got.Succeeded == (phase != "") || failed != slices.Equal(got.Failed, []string{"cmp1"}) {
			t.Errorf("%s: %+v", phase, got)
		}
		if text := strings.Join(group.Reasons(), "; "); strings.Contains(text, "1 node not deployed: batch 1 failed") != (phase != "") {
			t.Errorf("%s: %s", phase, text)
		}
	}
}

// That a node is not put back is scripted for one that is: with a failure of its batch.
func TestRestoreGoesWithAFailure(t *testing.T) {
	s := example()
	s.Groups[1].SuccessCriteria = nil
	s.Groups[1].Rolling = &site.Rolling{MaxParallel: 1, Batches: []string{"2"}, OnFailure: site.OnFailureRollback,
		HealthCheck: &site.HealthCheck{Command: "works"}}
	for _, tt := range []struct {
		outcomes Outcomes
		refused  string // the node of the only error; empty: there is none
	}{
		{Outcomes{Restore: {"cmp1": Failure}}, "cmp1"},
		{Outcomes{Restore: {"cmp1": Timeout}, Deploy: {"mon1": Failure}}, "cmp1"},
		{Outcomes{Restore: {"ctl1": Failure}, Deploy: {"ctl1": Failure}}, "ctl1"}, // its group puts nothing back
		{Outcomes{Restore: {"cmp1": Success}}, ""},                                // as without it
		{Outcomes{Restore: {"cmp1": Failure}, HealthCheck: {"cmp1": Failure}}, ""},
		{Outcomes{Restore: {"cmp1": Timeout}, HealthCheck: {"cmp2": Failure}}, ""},
		{Outcomes{Restore: {"cmp2": Lost}, Deploy: {"cmp2": Failure}}, ""},
	} {
		var errs invalid.Errors
		_, err := New(s, tt.outcomes, time.Time{})
		if errors.As(err, &errs); tt.refused == "" && err != nil || tt.refused != "" && (len(errs) != 1 ||
			errs[0].Name != tt.refused || errs[0].Attribute != "restore" ||
			!strings.HasPrefix(errs[0].Message, "the run does not put the node back")) {
			t.Errorf("%v: got %v, want an error for %q", tt.outcomes, err, tt.refused)
		}
	}
}

// A health check can fail only on a node of a group that has one.
func TestHealthCheckNeedsOne(t *testing.T) {
	s := example()
	s.Nodes = append(s.Nodes, site.Node{Name: "alone"})
	s.Groups[1].Rolling = &site.Rolling{MaxParallel: 1, HealthCheck: &site.HealthCheck{Command: "works"}}
	s.Groups[2].Rolling = &site.Rolling{MaxParallel: 1}
	for _, tt := range []struct {
		outcomes Outcomes
		refused  []string
	}{
		{Outcomes{HealthCheck: {"mon1": Failure, "cmp1": Failure, "ctl1": Timeout}}, []string{"ctl1", "mon1"}},
		{Outcomes{HealthCheck: {"alone": LostOnce}}, []string{"alone"}},
		{Outcomes{HealthCheck: {"mon1": Success}}, nil},                            // as without it
		{Outcomes{HealthCheck: {"cmp1": Failure}, Deploy: {"cmp1": Failure}}, nil}, // it is not played then
	} {
		var errs invalid.Errors
		_, err := New(s, tt.outcomes, time.Time{})
		if errors.As(err, &errs); len(errs) != len(tt.refused) || len(errs) == 0 && err != nil {
			t.Errorf("%v: got %v, want errors for %q", tt.outcomes, err, tt.refused)
			continue
		}
		for i, e := range errs {
			if e.Name != tt.refused[i] || e.Attribute != "health_check" ||
				!strings.Contains(e.Message, "no group of the node has rolling.health_check") {
				t.Errorf("%v: %v", tt.outcomes, e)
			}
		}
	}
}

func TestDefaultStrategy(t *testing.T) {
	run, err := New(site.Site{Name: "s", Nodes: []site.Node{{Name: "a"}, {Name: "b"}}},
		Outcomes{Deploy: {"b": Failure}}, time.Time{})
	if err != nil || run.Status != Failed || len(run.Steps) != 2 || run.Steps[0].Group != "default" {
		t.Errorf("got %+v, %v", run, err)
	}
}

func TestRefuses(t *testing.T) {
	var errs invalid.Errors
	_, err := New(example(), Outcomes{Deploy: {"ctl9": Failure, "ctl8": Success}, Prepare: {"x": Failure}}, time.Time{})
	if !errors.As(err, &errs) || len(errs) != 3 || errs[0].Name != "ctl8" ||
		errs[0].Code != invalid.UnknownNode {
		t.Errorf("got %v", err)
	}
	s := example()
	s.Groups[0].DependsOn = []string{"compute"}
	if _, err := New(s, nil, time.Time{}); !errors.As(err, &errs) || errs[0].Code != invalid.Cycle {
		t.Errorf("got %v", err)
	}
}

// Once more nodes failed than the failure budget allows, nothing new is started in any group.
func TestFailureBudget(t *testing.T) {
	s := example()
	zero := 0
	s.FailureBudget = &site.FailureBudget{Nodes: &zero}
	run, err := New(s, Outcomes{Deploy: {"mon1": Failure}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if last := run.Steps[len(run.Steps)-1]; run.Finish() != "failed due to spent failure budget" || len(last.Nodes) > 0 ||
		last.Result() != "NOT FINISHED, the failure budget is spent" {
		t.Errorf("%s: %+v", run.Finish(), last)
	}
	if text := run.Report.String(); !strings.Contains(text, "not started: the failure budget of the deployment is spent") {
		t.Error(text)
	}
	fifty := 50
	s.FailureBudget = &site.FailureBudget{Percent: &fifty}
	if run, err = New(s, Outcomes{Deploy: {"cmp1": Failure}}, time.Time{}); err != nil || run.Report.BudgetSpent {
		t.Errorf("%+v, %v", run, err)
	}
}

// BenchmarkNew runs a site of 5,000 nodes in which a hundred nodes fail.
func BenchmarkNew(b *testing.B) {
	s := example()
	outcomes := Outcomes{Deploy: {}}
	for i := range 5000 {
		name := fmt.Sprint("n", i)
		s.Nodes = append(s.Nodes, site.Node{Name: name, Tags: []string{"compute"}})
		if i%50 == 0 {
			outcomes[Deploy][name] = Failure
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(s, outcomes, time.Time{}); err != nil {
			b.Fatal(err)
		}
	}
}

// A run waits for maintenance windows, or ends as paused; the time limits of its groups do not count then.
func TestMaintenance(t *testing.T) {
	s := example()
	at := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC) // a Saturday
	s.Groups[1].Maintenance = &site.Maintenance{Days: []string{"sat"}, Start: "22:00", End: "22:20", Timezone: "Europe/London"}
	s.Groups[1].Rolling = &site.Rolling{MaxParallel: 1, Soak: time.Hour, Batches: []string{"1"}}
	run, err := New(s, nil, at)
	if err != nil || run.Status != Succeeded || len(run.Pauses) != 2 {
		t.Fatalf("%v: %+v", err, run)
	}
	if p := run.Pauses[0]; p.Group != s.Groups[1].Name || !p.At.Equal(at) ||
		p.Why != "the maintenance window is closed until 2026-03-28T22:00:00Z" {
		t.Errorf("got %+v", p)
	}
	if why := run.Pauses[1].Why; why != "the maintenance window is closed until 2026-04-04T21:00:00Z" {
		t.Errorf("got %s", why)
	}
	s.Approval = site.ApprovalEnd
	run, err = New(s, nil, at)
	if last := run.Steps[len(run.Steps)-1]; err != nil || run.Status != Paused || run.Finish() != "paused, the next run goes on" ||
		last.Result() != "NOT FINISHED, the run is paused" {
		t.Errorf("%v: %+v", err, run)
	}
}
