package temporal

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// TestProgramAsPayload checks that a program is the same after it was a payload: a snapshot of the run can be restored.
func TestProgramAsPayload(t *testing.T) {
	s := site.Site{Name: "lon1"}
	for i := range 20 {
		s.Nodes = append(s.Nodes, site.Node{Name: fmt.Sprintf("n%02d", i)})
	}
	budget := 3
	s.Groups = []site.Group{{Name: "g", Critical: true, Selectors: site.Selectors{{}}, PrepareTimeout: 60e9,
		SuccessCriteria: &site.SuccessCriteria{MaximumFailedNodes: &budget},
		Rolling: &site.Rolling{MaxParallel: 4, Lock: "drain", Unlock: "undrain", Batches: []string{"1", "50%"},
			HealthCheck: &site.HealthCheck{Command: "works"}}}}
	group := planner.Group{Name: "g"}
	prepare := planner.Phase{TaskGroup: task.Prepare, Group: "g"}
	for _, n := range s.Nodes {
		group.Members, group.Owned = append(group.Members, n.Name), append(group.Owned, n.Name)
		prepare.Tasks = append(prepare.Tasks, task.Task{Node: n.Name, Group: task.Prepare, Action: task.PrepareNode})
	}
	p := &planner.Plan{Site: "lon1", Groups: []planner.Group{group}, Phases: []planner.Phase{prepare}, MayFail: &budget}
	p.SetBatches(s.Groups)
	program, err := run.Compile(s, p, run.Settings{Parallelism: 5})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := run.New(program).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var received begun
	resend(t, begun{Program: program}, &received)
	if _, err := run.Restore(received.Program, snapshot); err != nil {
		t.Error(err)
	}
}

// TestErrorsAsPayload checks that errors in commands, reports and results keep their text, and that the run was
// interrupted.
func TestErrorsAsPayload(t *testing.T) {
	interrupted := fmt.Errorf("node a: %w", run.ErrInterrupted)
	var got, without run.Command
	resend(t, run.Command{Kind: run.Fail, Node: "a", Err: interrupted,
		Report: &run.Report{Status: run.StatusFailed, Err: errors.New("misused")}}, &got)
	if got.Node != "a" || got.Err.Error() != interrupted.Error() || !errors.Is(got.Err, run.ErrInterrupted) {
		t.Errorf("got %+v", got)
	}
	if got.Report.Status != run.StatusFailed || got.Report.Err.Error() != "misused" {
		t.Errorf("got %+v", got.Report)
	}
	resend(t, run.Command{Kind: run.Wake}, &without)
	if without.Err != nil {
		t.Errorf("got %v, want no error", without.Err)
	}
}

// resend makes a payload of one value and reads it into another.
func resend(t *testing.T, from, to any) {
	t.Helper()
	data, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatal(err)
	}
}
