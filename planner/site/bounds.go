package site

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// Bounds limit what one run of a site does.
type Bounds struct {
	FailureBudget *FailureBudget `key:"failure_budget,some=a failure budget"`
	Freeze        string         `key:"freeze"` // why no run may do anything; empty: it may
	Limit         *Limit         `key:"limit,some=a limit"`
	Approval      string         `key:"approval"` // empty: ApprovalWait
}

// What a run does where it is to pause.
const (
	ApprovalWait = "wait" // it waits
	ApprovalEnd  = "end"  // it ends, and another run goes on
)

// Limit names the nodes that a plan covers, and groups all of whose nodes it covers. Everything else stays as it is.
type Limit struct {
	Nodes  []string `key:"nodes,set"`
	Groups []string `key:"groups,set"`
}

// FailureBudget is how many nodes may fail in one run, over all groups: once more have failed, nothing new is started.
type FailureBudget struct {
	Nodes   *int `key:"nodes"`            // >= 0
	Percent *int `key:"percent,most=100"` // 0..100, of the nodes that are in a group
}

// Of returns how many of so many nodes may fail; nil: any number. Of two limits the smaller one counts.
func (b *FailureBudget) Of(nodes int) *int {
	if b == nil {
		return nil
	}
	out := nodes
	if b.Nodes != nil {
		out = min(out, *b.Nodes)
	}
	if b.Percent != nil {
		out = min(out, nodes**b.Percent/100)
	}
	return &out
}

func (s Site) validateBounds() (errs invalid.Errors) {
	report := func(attribute, message string) {
		errs = append(errs, invalid.Error{Object: "deployment", Name: s.Name, Attribute: attribute, Code: invalid.BadValue,
			Message: message})
	}
	if f := s.FailureBudget; f != nil {
		if f.Nodes != nil && *f.Nodes < 0 {
			report("failure_budget.nodes", "is negative; give a number of nodes, 0 or more")
		}
		if f.Percent != nil && (*f.Percent < 0 || *f.Percent > 100) {
			report("failure_budget.percent", "is not a percentage; give a whole number from 0 to 100")
		}
		if f.Nodes == nil && f.Percent == nil {
			report("failure_budget", "limits nothing; give nodes or percent, or leave it out")
		}
	}
	if a := s.Approval; a != "" && a != ApprovalWait && a != ApprovalEnd {
		report("approval", fmt.Sprintf("%q is not allowed; give %q for a run that waits where it pauses, or %q for one that "+
			"ends there", a, ApprovalWait, ApprovalEnd))
	}
	for _, g := range s.Groups {
		if g.Rolling != nil && len(g.Rolling.Approve) > 0 && s.Approval == ApprovalEnd {
			errs = append(errs, invalid.Error{Object: "group", Name: g.Name, Attribute: "rolling.approve",
				Code: invalid.BadValue, Message: fmt.Sprintf("a run with approval = %q of the deployment cannot wait for "+
					"approval; leave approval out, or approve", ApprovalEnd)})
		}
	}
	if l := s.Limit; l != nil && len(l.Nodes)+len(l.Groups) == 0 {
		report("limit", "names nothing; give nodes or groups, or leave it out")
	}
	return errs
}
