package converge

import (
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Session is what types see of a session on a node: its System, what the ledger says, and the item that is handled.
type Session struct {
	*system.System
	site     string
	ledger   *ledger
	applying bool                 // the session is in mode Apply
	ran      map[resource.ID]bool // applied or refreshed in this session

	// Of the item that is handled.
	id     resource.ID
	digest string  // as the ledger will have it
	notice *string // gets what a person should know, though nothing failed; nil keeps nothing
}

// entry returns the ledger's entry of the item that is handled, nil when it has none.
func (s *Session) entry() *entry {
	if s.ledger == nil {
		return nil
	}
	return s.ledger.entry(s.site, s.id)
}

// note sets what a person should know of the item, though nothing failed.
func (s *Session) note(notice string) {
	if s.notice != nil {
		*s.notice = notice
	}
}

// Applied returns the digest that the ledger has for a resource, empty when it has none, or the resource was started and
// not finished.
func (s *Session) Applied(id resource.ID) string {
	if s.ledger != nil {
		if e := s.ledger.entry(s.site, id); e != nil {
			return e.Digest
		}
	}
	return ""
}
