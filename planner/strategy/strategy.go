// Package strategy walks the groups of a site: their order, what is to be done on which node, when a group counts as
// successful, and what its failure means for the others. It is pure: [Machine] says what to do next and takes how it
// went; whoever drives it (a run, or a simulation) does the work. The rules are those of seed 001 and airship.md.
//
// A group and a node are each in one of four stages (airship.md 4):
//
//	                 prepare done,             deploy done,
//	                 criteria met              criteria met
//	┌─────────────┐              ┌──────────┐              ┌──────────┐
//	│ NOT_STARTED │ ───────────► │ PREPARED │ ───────────► │ DEPLOYED │
//	└─────────────┘              └──────────┘              └──────────┘
//	       │                          │
//	       │ criteria not met, or     │ criteria not met
//	       │ a parent FAILED          │
//	       ▼                          ▼
//	┌─────────────────────────────────────────┐
//	│                 FAILED                  │
//	└─────────────────────────────────────────┘
//
// DEPLOYED and FAILED are final. A group fails with everything that depends on it, and their nodes stay as they are.
// Groups are handled prepare then deploy, in the order that [Order] gives: one at a time, or those at once that do not
// concern each other, with the same outcome ([Machine.AllowParallel]). A node belongs to no group for good: a group
// prepares those of its members that are NOT_STARTED when its dependencies are finished, and deploys those that are
// PREPARED; its criteria look at all its members (airship.md 5, D-01, D-02).
package strategy

import (
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Default is the strategy of a site that has none: one critical group with every node, all of which must succeed
// (airship.md 12, D-12).
func Default() []site.Group {
	return []site.Group{allOrNothing("default", nil)}
}

// Targets returns the strategy for a run that names its nodes: one critical group of these nodes, all of which must
// succeed. An empty list is an error, because it would select every node (airship.md 12).
func Targets(nodes []string) ([]site.Group, error) {
	if len(nodes) == 0 {
		return nil, invalid.Errors{{
			Object: "deployment", Attribute: "target_nodes", Code: invalid.MissingField,
			Message: "the list of target nodes is empty; name at least one node",
		}}
	}
	return []site.Group{allOrNothing("target-group", append([]string{}, nodes...))}, nil
}

func allOrNothing(name string, nodes []string) site.Group {
	percent := 100
	return site.Group{
		Name:            name,
		Critical:        true,
		Selectors:       site.Selectors{{NodeNames: nodes}},
		SuccessCriteria: &site.SuccessCriteria{PercentSuccessfulNodes: &percent},
	}
}
