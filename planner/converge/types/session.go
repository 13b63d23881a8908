package types

import (
	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Session is what types see of a session on a node: its System, what the ledger says, and the item that is handled.
type Session struct {
	*system.System
	Site     string
	Ledger   *ledger.Ledger
	Applying bool                 // the session is in mode Apply
	Ran      map[resource.ID]bool // applied or refreshed in this session
	Wanted   []resource.Resource  // what the manifest wants, without what is only looked at
	Named    map[ledger.Key]bool  // all that the manifest names, whatever it does with it

	Contents Contents     // nil: the controller sends none
	macKey   []byte       // see MAC
	archive  *openArchive // that was fetched for the resource that is applied

	// Image names the image that is taken, so that it has kept copies of its own; empty when none is.
	Image string

	// Of the item that is handled.
	ID     resource.ID
	Digest string  // as the ledger will have it
	Notice *string // gets what a person should know, though nothing failed; nil keeps nothing
}

// note sets what a person should know of the item, though nothing failed.
func (s *Session) note(notice string) {
	if s.Notice != nil {
		*s.Notice = notice
	}
}

// Applied returns the digest that the ledger has for a resource, empty when it has none, or the resource was started
// and not finished.
func (s *Session) Applied(id resource.ID) string {
	if s.Ledger != nil {
		if e := s.Ledger.Entry(s.Site, id); e != nil {
			return e.Digest
		}
	}
	return ""
}
