package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// What the run of a plan will do is in its journal before anything starts: groups with their criteria, and how many
// nodes each of them works on. A node without changes is counted apart, and one that waits for another run not at all.
func TestOutline(t *testing.T) {
	half := 50
	p := run.Program{
		Settings: run.Settings{ParallelGroups: 2},
		Groups: []run.Group{
			{Group: site.Group{Name: "ntp", Critical: true}, Owned: []string{"n1", "idle"}},
			{Group: site.Group{Name: "web", DependsOn: []string{"ntp"}, SuccessCriteria: &site.SuccessCriteria{
				PercentSuccessfulNodes: &half}, Rolling: &site.Rolling{Soak: time.Minute}}, Owned: []string{"w1", "w2", "w3", "w4", "w5"}, After: []string{"db"}, Batches: [][]string{{"w1"}, {"w2", "w3"}}},
		},
		Prepare: map[string]run.Session{"n1": {}, "w1": {}},
		Deploy:  map[string][]run.Session{"w1": {{}}, "w2": {{}}, "w3": {{}}},
	}
	want := journal.Outline{Parallel: 2, Groups: []journal.OutlineGroup{
		{Name: "ntp", Critical: true, Nodes: 1, Unchanged: 1},
		{Name: "web", DependsOn: []string{"ntp"}, After: []string{"db"}, Percent: &half, Nodes: 3, Unchanged: 1, Batches: []int{1, 2}, Last: []string{"w1", "w3"}, SoakMillis: 60_000},
	}}
	if diff := cmp.Diff(want, journal.OutlineOf(journal.Event{Output: outline(p, []string{"w4"})})); diff != "" {
		t.Error(diff)
	}
	if got := journal.OutlineOf(journal.Event{}); got.Groups != nil {
		t.Errorf("the journal of an older slipway has %v", got)
	}
}
