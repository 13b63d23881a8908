package converge

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
)

// Terraform is the owner of a site in whose ledger no lineage is recorded.
const Terraform = "terraform"

// checkOwner refuses a site that another state has.
func (x *session) checkOwner() *SessionError {
	c := x.manifest
	now := x.ledger.Owners[c.Site]
	if c.Owner == "" || now == c.Owner || now == "" && !x.ledger.Has(c.Site) {
		return nil
	}
	if now == "" {
		now = Terraform
	}
	if now == c.TakeOver {
		return nil
	}
	whose := "the state file with lineage " + now
	if now == Terraform {
		whose = "Terraform"
	}
	return &SessionError{Code: CodeOwner, Message: fmt.Sprintf("the site %q on this node is managed by %s; "+
		"use that, or take it over with --take-over %s", c.Site, whose, now)}
}

// checkFence refuses a lease that a later one has overtaken.
func (x *session) checkFence() *SessionError {
	c := x.manifest
	later, sameLine := x.ledger.Later(c.Site, c.Fence)
	if later == nil {
		return nil
	}
	if sameLine && later.Number == c.Fence.Number {
		return &SessionError{Code: CodeFenced, Message: fmt.Sprintf("another worker went on with the session of %s on this node, "+
			"so this one was refused and touched nothing", c.Fence.Holder)}
	}
	text := fmt.Sprintf("another controller took over the site %q on this node (%s); this session of %s was refused and "+
		"touched nothing. Wait for the other run to end, then apply again", c.Site, later.Holder, c.Fence.Holder)
	if sameLine {
		text += fmt.Sprintf(". If no other controller is at work, the journal is an older copy: "+
			"`terraform-provider-slipway runs unlock %s --fence %d` lets the next run go on", c.Site, later.Number)
	}
	return &SessionError{Code: CodeFenced, Message: text}
}

// own records to which state the site belongs, and the lease of the run. Preparing and checking a node on which nothing
// was done yet records no lease: it would leave a ledger where nothing else is in it.
func (x *session) own() {
	nothing := (x.manifest.Mode == Prepare || x.manifest.Mode == Check) && x.ledger.Empty()
	if f := x.manifest.Fence; f.Line != "" && !nothing && !x.ledger.IsLast(x.manifest.Site, f) {
		x.ledger.Change(ledger.Record{Fence: &ledger.SiteFence{Site: x.manifest.Site, Fence: f}})
	}
	if c := x.manifest; x.ledger.Owners[c.Site] != c.Owner {
		x.ledger.Change(ledger.Record{Owner: &ledger.Owner{Site: c.Site, Lineage: c.Owner}})
	}
}
