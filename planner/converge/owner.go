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

// own records whose the site is.
func (x *session) own() {
	if c := x.manifest; x.ledger.Owners[c.Site] != c.Owner {
		x.ledger.Change(ledger.Record{Owner: &ledger.Owner{Site: c.Site, Lineage: c.Owner}})
	}
}
