package rollout_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// stamped notes when sessions start, on the clock of the bubble.
type stamped struct {
	*faulty
	began   time.Time
	started map[at]time.Duration
}

func (s *stamped) Converge(ctx context.Context, n site.Node, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	s.mu.Lock()
	if here := (at{n.Name, kindOf(c)}); s.started[here] == 0 {
		s.started[here] = time.Since(s.began)
	}
	s.mu.Unlock()
	return s.faulty.Converge(ctx, n, c, each)
}

// A node that does not answer is tried once in a run, for as long as its group prepares at most, and keeps the group
// before it waiting for a moment only: in a first run, which surveys all nodes, and in a later one, which asks new
// nodes which machines they are.
func TestSilentNodeDelaysNoOtherGroup(t *testing.T) {
	for name, first := range map[string]bool{"first run": true, "later run": false} {
		t.Run(name, func(t *testing.T) {
			s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}, {Name: "hung"}}, Groups: []site.Group{
				{Name: "near", Selectors: []site.Selector{{NodeNames: []string{"a"}}}},
				{Name: "zfar", Selectors: []site.Selector{{NodeNames: []string{"hung"}}},
					PrepareTimeout: 5 * time.Minute},
			}}
			p, err := plan(s, nil, nil, false)
			if err != nil {
				t.Fatal(err)
			}
			f := newFaulty()
			for _, kind := range []string{preparing, checking, deploying} {
				f.slow[at{"a", kind}], f.slow[at{"hung", kind}] = time.Second, time.Hour
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				e := &stamped{faulty: f, began: time.Now(), started: map[at]time.Duration{}}
				o := rollout.Options{Executor: e, Recorder: &diary{}, RunID: "r1", Machines: rollout.NewMachines(nil)}
				if first {
					survey := o
					survey.Prepared = rollout.Prepared(p)
					found := rollout.Survey(ctx, s.Nodes, nil, s.Name, survey)
					if found["a"].Error != nil || found["hung"].Error == nil {
						t.Errorf("the survey found %+v", found)
					}
				}
				report, err := rollout.Run(ctx, s, p, o)
				if err != nil {
					t.Fatal(err)
				}
				if got := e.started[at{"a", deploying}]; got > 7*time.Second {
					t.Errorf("the other group's node was worked on after %s", got)
				}
				if took := time.Since(e.began); took > 6*time.Minute {
					t.Errorf("the run took %s", took)
				}
				if a, hung := report.Nodes["a"].Stage, report.Nodes["hung"].Stage; a != strategy.Deployed ||
					hung != strategy.Failed {
					t.Errorf("node a is %s and the hung one %s", a, hung)
				}
				tried := slices.DeleteFunc(f.sessions, func(s string) bool {
					return s != "prepare hung" && s != "check hung"
				})
				if len(tried) != 1 || len(f.overlap) > 0 {
					t.Errorf("sessions on the hung node: %q, two at once: %q", tried, f.overlap)
				}
			})
		})
	}
}

// mute is an executor of which one node accepts the connection and never starts a session.
type mute struct{ *stamped }

func (m mute) Converge(ctx context.Context, n site.Node, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	summary, err := m.stamped.Converge(ctx, n, c, each)
	if n.Name == "hung" && ctx.Err() == nil {
		return converge.Summary{}, &converge.SessionError{Code: converge.CodeShell, NoAnswer: true,
			Message: "the login shell does not run commands in time"}
	}
	return summary, err
}

// A node whose login shell never answers costs the time for the start of one session, once in a run, and no longer than
// its group prepares.
func TestNodeWhoseShellNeverAnswersIsTriedOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		first   bool
		prepare time.Duration
		most    time.Duration
	}{
		"first run":                    {true, 5 * time.Minute, 35 * time.Second},
		"later run":                    {false, 5 * time.Minute, 35 * time.Second},
		"first run, short preparation": {true, 10 * time.Second, 20 * time.Second},
		"later run, short preparation": {false, 10 * time.Second, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}, {Name: "hung"}}, Groups: []site.Group{
				{Name: "near", Selectors: []site.Selector{{NodeNames: []string{"a"}}}},
				{Name: "zfar", Selectors: []site.Selector{{NodeNames: []string{"hung"}}}, PrepareTimeout: tt.prepare},
			}}
			p, err := plan(s, nil, nil, false)
			if err != nil {
				t.Fatal(err)
			}
			f := newFaulty()
			for _, kind := range []string{preparing, checking, deploying} {
				f.slow[at{"a", kind}], f.slow[at{"hung", kind}] = time.Second, 30*time.Second
			}
			synctest.Test(t, func(t *testing.T) {
				e := mute{&stamped{faulty: f, began: time.Now(), started: map[at]time.Duration{}}}
				o := rollout.Options{Executor: e, Recorder: &diary{}, RunID: "r1", Machines: rollout.NewMachines(nil)}
				if tt.first {
					survey := o
					survey.Prepared = rollout.Prepared(p)
					rollout.Survey(t.Context(), s.Nodes, nil, s.Name, survey)
				}
				report, err := rollout.Run(t.Context(), s, p, o)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(e.began); took > tt.most {
					t.Errorf("the run took %s", took)
				}
				if hung := report.Nodes["hung"].Stage; hung != strategy.Failed {
					t.Errorf("the node is %s", hung)
				}
				tried := slices.DeleteFunc(f.sessions, func(s string) bool { return !strings.HasSuffix(s, " hung") })
				if len(tried) != 1 {
					t.Errorf("sessions on the node: %q", tried)
				}
			})
		})
	}
}

// refusing is an executor that tries to reach a node until the session is given up, and says why the last try failed.
type refusing struct{ *stamped }

func (r refusing) Converge(ctx context.Context, n site.Node, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	if n.Name != "hung" {
		return r.stamped.Converge(ctx, n, c, each)
	}
	<-ctx.Done()
	return converge.Summary{}, errors.New("its sshd hung up on all 7 connections")
}

// A node that is still being asked when its time to prepare is over shows the error of its last try, and which attribute
// gives it more time.
func TestNodeThatIsTriedForTooLongShowsItsLastError(t *testing.T) {
	for name, first := range map[string]bool{"first run": true, "later run": false} {
		t.Run(name, func(t *testing.T) {
			s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}, {Name: "hung"}}, Groups: []site.Group{
				{Name: "near", Selectors: []site.Selector{{NodeNames: []string{"a"}}}},
				{Name: "zfar", Selectors: []site.Selector{{NodeNames: []string{"hung"}}}, PrepareTimeout: 20 * time.Second},
			}}
			p, err := plan(s, nil, nil, false)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				e := refusing{&stamped{faulty: newFaulty(), began: time.Now(), started: map[at]time.Duration{}}}
				o := rollout.Options{Executor: e, Recorder: &diary{}, RunID: "r1", Machines: rollout.NewMachines(nil)}
				if first {
					survey := o
					survey.Prepared = rollout.Prepared(p)
					rollout.Survey(t.Context(), s.Nodes, nil, s.Name, survey)
				}
				report, err := rollout.Run(t.Context(), s, p, o)
				if err != nil {
					t.Fatal(err)
				}
				for _, want := range []string{"its sshd hung up on all 7 connections", "the time limit of 20s",
					"prepare_timeout"} {
					if got := report.Nodes["hung"].Reason(); strings.Count(got, want) != 1 {
						t.Errorf("not once %q in %q", want, got)
					}
				}
			})
		})
	}
}

// The time limit of a group's preparation starts with it: what a survey or another node's question takes before that is
// not counted.
func TestPrepareLimitStartsWithThePreparation(t *testing.T) {
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}}, Groups: []site.Group{
		{Name: "all", Selectors: []site.Selector{{}}, PrepareTimeout: 15 * time.Second},
	}}
	report := firstRun(t, s, func(f *faulty) {
		f.slow[at{"a", checking}], f.slow[at{"a", preparing}] = 17*time.Second, time.Second
	})
	if a := report.Nodes["a"]; a.Stage != strategy.Deployed {
		t.Errorf("node a is %s: %v", a.Stage, a.Error)
	}
}

// A node that another session works on is waited for, and the error says so even when the last try was cut short, or
// when only the survey learned it.
func TestTimeLimitNamesTheSessionThatWasWaitedFor(t *testing.T) {
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}}, Groups: []site.Group{
		{Name: "all", Selectors: []site.Selector{{}}, PrepareTimeout: 15 * time.Second},
	}}
	for name, c := range map[string]struct {
		survey      time.Duration
		busy, hangs string
	}{
		"in the preparation": {2 * time.Second, preparing, deploying},
		"in the survey":      {10 * time.Second, checking, preparing},
	} {
		t.Run(name, func(t *testing.T) {
			report := firstRun(t, s, func(f *faulty) {
				f.slow[at{"a", checking}], f.slow[at{"a", preparing}] = c.survey, 10*time.Second
				f.slow[at{"a", c.hangs}] = time.Hour
				f.faults[at{"a", c.busy}] = "busy"
			})
			for _, want := range []string{"the time limit of 15s", "another session works on the node"} {
				if got := report.Nodes["a"].Reason(); !strings.Contains(got, want) {
					t.Errorf("no %q in %q", want, got)
				}
			}
		})
	}
}

// firstRun surveys a site and runs its plan, as a first run does.
func firstRun(t *testing.T, s site.Site, faults func(*faulty)) (report rollout.Report) {
	t.Helper()
	p, err := plan(s, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f := newFaulty()
		faults(f)
		o := rollout.Options{Executor: f, Recorder: &diary{}, RunID: "r1", Machines: rollout.NewMachines(nil)}
		survey := o
		survey.Prepared = rollout.Prepared(p)
		rollout.Survey(ctx, s.Nodes, nil, s.Name, survey)
		if report, err = rollout.Run(ctx, s, p, o); err != nil {
			t.Fatal(err)
		}
	})
	return report
}
