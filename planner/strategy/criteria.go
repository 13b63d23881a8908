package strategy

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// The criteria, by the names that users give them.
const (
	Percent = "percent_successful_nodes"
	Minimum = "minimum_successful_nodes"
	Maximum = "maximum_failed_nodes"
)

// Shortfall is a success criterion that a group did not meet.
type Shortfall struct {
	Phase     Stage  `json:"phase"`           // PREPARED or DEPLOYED: the stage that the nodes had to reach
	Criterion string `json:"criterion"`       // Percent, Minimum or Maximum
	Needed    int    `json:"needed"`          // what the group asks for
	Actual    int    `json:"actual"`          // what came out; a percentage is rounded down
	Batch     int    `json:"batch,omitempty"` // the batch of the group that did not meet it, from 1; 0: the group
}

func (s Shortfall) String() string {
	unit := ""
	if s.Criterion == Percent {
		unit = " %"
	}
	bound := "at least"
	if s.Criterion == Maximum {
		bound = "at most"
	}
	batch := ""
	if s.Batch > 0 {
		batch = fmt.Sprintf("batch %d: ", s.Batch)
	}
	return fmt.Sprintf("%s: %s%s is %d%s, needed %s %d%s", s.Phase, batch, s.Criterion, s.Actual, unit, bound, s.Needed,
		unit)
}

// Evaluate judges each criterion alone and returns those that are not met, in the order percent, minimum, maximum; the
// Phase of the result is empty. Members is the size of the group and ok how many of them are where they should be; the
// others count as failed, also those never tried. No criteria are always met. A group without members meets any
// percentage and any maximum, but no minimum above 0. Percentages are compared exactly, in integers (airship.md 8,
// D-04, D-10).
func Evaluate(criteria *site.SuccessCriteria, members, ok int) []Shortfall {
	if criteria == nil {
		return nil
	}
	var out []Shortfall
	if needed := criteria.PercentSuccessfulNodes; needed != nil && 100*ok < *needed*members {
		out = append(out, Shortfall{Criterion: Percent, Needed: *needed, Actual: 100 * ok / members})
	}
	if needed := criteria.MinimumSuccessfulNodes; needed != nil && ok < *needed {
		out = append(out, Shortfall{Criterion: Minimum, Needed: *needed, Actual: ok})
	}
	if needed := criteria.MaximumFailedNodes; needed != nil && members-ok > *needed {
		out = append(out, Shortfall{Criterion: Maximum, Needed: *needed, Actual: members - ok})
	}
	return out
}

// EvaluateBatch judges one batch of a group by [Percent]: of each batch as many nodes must succeed as of the group, all
// without that criterion. ok is how many of its nodes are where they should be.
func EvaluateBatch(criteria *site.SuccessCriteria, batch, nodes, ok int) []Shortfall {
	needed := 100
	if criteria != nil && criteria.PercentSuccessfulNodes != nil {
		needed = *criteria.PercentSuccessfulNodes
	}
	out := Evaluate(&site.SuccessCriteria{PercentSuccessfulNodes: &needed}, nodes, ok)
	for i := range out {
		out[i].Phase, out[i].Batch = Deployed, batch
	}
	return out
}
