package rollout_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// The failure budget bounds a whole run: what failed in one pass counts in the next one.
func TestFailureBudgetOfAllPasses(t *testing.T) {
	percent := 1
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		Groups: []site.Group{{Name: "g", SuccessCriteria: &site.SuccessCriteria{PercentSuccessfulNodes: &percent}}}}
	p, err := plan(s, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	p.MayFail = new(int)
	*p.MayFail = 1
	fake, diary := newFaulty(), &diary{}
	fake.faults[at{"a", deploying}] = "item"
	var statuses []rollout.Status
	o := rollout.Options{Executor: fake, Recorder: diary, RunID: "r1", Parallelism: 1, Caller: &operator{}}
	o.Next = func(last, whole rollout.Report, _ time.Time) *rollout.Pass {
		statuses = append(statuses, last.Status)
		if len(statuses) == 2 {
			return nil
		}
		again := *p
		again.MayFail = nil
		fake.faults[at{"a", deploying}], fake.faults[at{"b", deploying}] = "", "item"
		return &rollout.Pass{Site: s, Plan: &again, Purpose: "once more"}
	}
	synctest.Test(t, func(t *testing.T) {
		r, err := rollout.Run(t.Context(), s, p, o)
		if err != nil || r.Status != rollout.StatusFailed || !r.BudgetSpent {
			t.Errorf("error %v\n%s", err, r)
		}
	})
	if len(statuses) != 2 || statuses[0] != rollout.StatusDegraded || statuses[1] != rollout.StatusFailed {
		t.Errorf("the passes ended with %v", statuses)
	}
	sessions := strings.Join(fake.sessions, "\n")
	if strings.Count(sessions, "deploy c") != 1 || strings.Count(sessions, "deploy b") != 2 {
		t.Errorf("the second pass went on after the budget was spent:\n%s", sessions)
	}
	if got := strings.Join(diary.lines("run_started", "run_finished"), "\n"); !strings.Contains(got, "once more: plan d1") {
		t.Errorf("the journal has\n%s", got)
	}
}
