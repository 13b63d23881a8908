package site

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// Bounds limit what one run of a site does.
type Bounds struct {
	FailureBudget *FailureBudget `key:"failure_budget,some=a failure budget"`
	Freeze        string         `key:"freeze"` // why no run may do anything; empty: it may
	Limit         *Limit         `key:"limit,some=a limit"`
	Approval      string         `key:"approval"` // empty: ApprovalWait
	// Approved has, for groups with Rolling.Approve, the last batch, from 1, that is approved. It counts with ApprovalEnd.
	Approved map[string]int `key:"approved_batches"`
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
	errs = append(errs, s.validateApproved()...)
	if l := s.Limit; l != nil && len(l.Nodes)+len(l.Groups) == 0 {
		report("limit", "names nothing; give nodes or groups, or leave it out")
	}
	return errs
}

// EndsForApproval reports whether a run of a group ends after a batch that is not approved.
func (s Site) EndsForApproval(g Group) bool {
	return s.Approval == ApprovalEnd && g.Rolling != nil && len(g.Rolling.Approve) > 0
}

// Ends reports whether a run of any group ends after a batch that is not approved.
func (s Site) Ends() bool { return slices.ContainsFunc(s.Groups, s.EndsForApproval) }

// validateApproved reports approvals of groups that never wait for one, and pauses that no run can end at.
func (s Site) validateApproved() (errs invalid.Errors) {
	groups, waiting := map[string]bool{}, map[string]bool{}
	for _, g := range s.Groups {
		groups[g.Name] = true
		if !s.EndsForApproval(g) {
			continue
		}
		waiting[g.Name] = true
		if i := slices.Index(g.Rolling.Approve, allNodes); i >= 0 {
			errs = append(errs, g.wrong(fmt.Sprintf("rolling.approve[%d]", i), invalid.BadValue, "with approval = %q of the "+
				"deployment, no run can end after the last batch and before what runs once for all nodes; leave %q out",
				ApprovalEnd, allNodes))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Approved)) {
		message := ""
		switch {
		case s.Approval != ApprovalEnd:
			message = fmt.Sprintf("counts with approval = %q only; a run that waits is approved with `runs approve`", ApprovalEnd)
		case !groups[name]:
			message = "there is no such group; give the name of one with rolling.approve"
		case !waiting[name]:
			message = "the group waits for no approval; give it rolling.approve, or leave it out here"
		default:
			continue
		}
		errs = append(errs, s.WrongApproval(name, message))
	}
	return errs
}

// WrongApproval is the error of what is approved of a group.
func (s Site) WrongApproval(group, message string) invalid.Error {
	return invalid.Error{Object: "deployment", Name: s.Name, Attribute: fmt.Sprintf("approved_batches[%q]", group),
		Code: invalid.BadValue, Message: message}
}
