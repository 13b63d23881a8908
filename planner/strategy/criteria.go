package strategy

import (
	"fmt"
	"strings"

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
	Nodes     int    `json:"nodes"`           // the size of the group, or of its batch
	Succeeded int    `json:"succeeded"`       // how many of them are where they should be
	Batch     int    `json:"batch,omitempty"` // the batch of the group that did not meet it, from 1; 0: the group
}

func (s Shortfall) String() string {
	batch, unit, is, asks := "", "", "", "asks for"
	if s.Batch > 0 {
		batch = fmt.Sprintf("batch %d: ", s.Batch)
	}
	nodes, count := "nodes", s.Succeeded
	if s.Nodes == 1 {
		nodes = "node"
	}
	switch s.Criterion {
	case Percent:
		unit = " %"
	case Maximum:
		count, is, asks = s.Nodes-s.Succeeded, "not ", "allows"
	}
	return fmt.Sprintf("%s%d of %d %s %s%s, %s %s %d%s", batch, count, s.Nodes, nodes, is,
		strings.ToLower(string(s.Phase)), s.Criterion, asks, s.Needed, unit)
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
	short := func(criterion string, needed, actual int) {
		out = append(out, Shortfall{Criterion: criterion, Needed: needed, Actual: actual, Nodes: members, Succeeded: ok})
	}
	if needed := criteria.PercentSuccessfulNodes; needed != nil && 100*ok < *needed*members {
		short(Percent, *needed, 100*ok/members)
	}
	if needed := criteria.MinimumSuccessfulNodes; needed != nil && ok < *needed {
		short(Minimum, *needed, ok)
	}
	if needed := criteria.MaximumFailedNodes; needed != nil && members-ok > *needed {
		short(Maximum, *needed, members-ok)
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
