package strategy

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// What a person reads of a criterion that was not met: how many nodes, of how many, and what the group asks for.
func TestShortfallsSayHowManyNodes(t *testing.T) {
	number := func(n int) *int { return &n }
	for _, tt := range []struct {
		criteria    site.SuccessCriteria
		members, ok int
		want        string
	}{
		{site.SuccessCriteria{PercentSuccessfulNodes: number(90)}, 6, 0,
			"0 of 6 nodes deployed, percent_successful_nodes asks for 90 %"},
		{site.SuccessCriteria{PercentSuccessfulNodes: number(67)}, 3, 2,
			"2 of 3 nodes deployed, percent_successful_nodes asks for 67 %"},
		{site.SuccessCriteria{MinimumSuccessfulNodes: number(2)}, 1, 1,
			"1 of 1 node deployed, minimum_successful_nodes asks for 2"},
		{site.SuccessCriteria{MaximumFailedNodes: number(1)}, 6, 2,
			"4 of 6 nodes not deployed, maximum_failed_nodes allows 1"},
	} {
		short := Evaluate(&tt.criteria, tt.members, tt.ok)
		if len(short) != 1 {
			t.Fatalf("%+v of %d: %v, want one", tt.criteria, tt.members, short)
		}
		short[0].Phase = Deployed
		if got := short[0].String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	batch := EvaluateBatch(nil, 2, 4, 3)
	if want := "batch 2: 3 of 4 nodes deployed, percent_successful_nodes asks for 100 %"; len(batch) != 1 ||
		batch[0].String() != want {
		t.Errorf("%v, want %q", batch, want)
	}
}
