package rollout_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/simulate"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// same plays the site with simulate and with a run, in which the given nodes fail, or have another result, and checks
// that both report and record the same, times and reasons of nodes aside. The run is that of the in-process executor on
// sandbox nodes ([sandboxes]), by a clock that waits for nobody. What asks for approval gets it at once. A guard is a
// matter of one session: to the machine, a change that was put back is one that failed.
//
//	same [PHASE:NODE[=RESULT] ...]
func same(ts *testscript.TestScript, _ bool, args []string) {
	s := on(ts)
	outcomes := simulate.Outcomes{}
	for _, arg := range args {
		phase, node, _ := strings.Cut(arg, ":")
		node, result, _ := strings.Cut(node, "=")
		outcomes.Add(simulate.Phase(phase), node, cmp.Or(simulate.Result(result), simulate.Failure))
	}
	simulated, err := simulate.New(s.site, outcomes, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) // when bubbles begin
	ts.Check(err)

	var report rollout.Report
	nodes, err := newSandboxes(ts.MkAbs("nodes"), s.site.Nodes, outcomes)
	ts.Check(err)
	for here, fault := range s.fake.faults {
		if fault != "guarded" || here.kind != deploying {
			ts.Fatalf("same: fail %s %s %s: only guarded and deploy", here.node, fault, here.kind)
		}
		nodes.guarded = append(nodes.guarded, here.node)
	}
	s.bubble(nil, func(ctx context.Context, o rollout.Options) {
		o.Executor, o.Machines, o.Decisions = nodes, nil, &approver{diary: s.diary}
		report, err = rollout.Run(ctx, s.site, s.plan, o)
		ts.Check(nodes.Close())
	})
	ts.Check(err)

	reported := strategy.Report{Groups: report.Groups, BudgetSpent: report.BudgetSpent, Warnings: simulated.Report.Warnings,
		CriticalFailed: slices.ContainsFunc(report.Groups, func(g strategy.GroupReport) bool {
			return g.Critical && g.Stage == strategy.Failed
		})}
	for _, stage := range simulated.Report.Nodes {
		in := strategy.StageReport{Stage: stage.Stage, Nodes: []string{}}
		for name, n := range report.Nodes {
			if n.Stage == stage.Stage {
				in.Nodes = append(in.Nodes, name)
			}
		}
		slices.Sort(in.Nodes)
		reported.Nodes = append(reported.Nodes, in)
	}
	status := simulated.Status
	if status == simulate.Limited { // of the engine, which knows the limit
		status = simulate.Succeeded
	}
	if string(report.Status) != string(status) || reported.String() != simulated.Report.String() {
		ts.Fatalf("simulated: %s\n%s\nrun: %s\n%s\n%s", simulated.Status, simulated.Report, report.Status, reported, report)
	}
	var foreseen, recorded []string
	for _, c := range simulated.Events {
		status := string(c.Stage)
		if c.Kind == run.PhaseFinished {
			status = map[bool]string{true: "failed", false: "succeeded"}[c.Failed]
		}
		foreseen = append(foreseen, line(string(c.Kind), c.Phase, c.Group, c.Node, status, c.Text))
	}
	for _, p := range simulated.Pauses {
		foreseen = append(foreseen, line("pause", 0, p.Group, "", "", p.Why))
	}
	for _, e := range s.diary.events {
		if e.Kind == journal.Paused || strings.HasPrefix(e.Message, "the maintenance window is closed") {
			why, _, _ := strings.Cut(e.Message, ": terraform-provider-slipway")
			recorded = append(recorded, line("pause", 0, e.Group, "", "", why))
		}
		if strings.HasPrefix(e.Message, "the session was lost before it started anything, and is tried again") {
			recorded = append(recorded, line(string(run.Retry), e.Phase, e.Group, e.Node, "", ""))
		}
		switch run.CommandKind(e.Kind) {
		case run.PhaseStarted, run.PhaseFinished, run.GroupFinished:
			recorded = append(recorded, line(string(e.Kind), e.Phase, e.Group, e.Node, e.Status, e.Message))
		case run.NodeFinished:
			recorded = append(recorded, line(string(e.Kind), e.Phase, e.Group, e.Node, e.Status, ""))
		}
	}
	show(ts, append([]string{string(simulated.Status)}, foreseen...))
	slices.Sort(foreseen) // nodes that are worked on at once end in any order
	slices.Sort(recorded)
	if !slices.Equal(foreseen, recorded) {
		ts.Fatalf("simulated:\n%s\nrecorded:\n%s", strings.Join(foreseen, "\n"), strings.Join(recorded, "\n"))
	}
}

// approver approves each batch that waits, for the plan that waits.
type approver struct {
	diary *diary
	seen  int // events
}

// Decisions implements [rollout.Decisions].
func (a *approver) Decisions(context.Context) (out []journal.Recorded, err error) {
	a.diary.mu.Lock()
	defer a.diary.mu.Unlock()
	for ; a.seen < len(a.diary.events); a.seen++ {
		if e := a.diary.events[a.seen]; e.Kind == journal.Paused {
			out = append(out, journal.Recorded{Event: journal.Event{Kind: journal.Decided, Action: journal.Approve,
				Group: e.Group, Phase: e.Phase, Output: e.Output}})
		}
	}
	return out, nil
}

func line(kind string, phase int, group, node, status, text string) string {
	return strings.Join(strings.Fields(fmt.Sprint(kind, " ", phase, " ", group, " ", node, " ",
		status, " ", text)), " ")
}
