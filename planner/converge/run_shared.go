package converge

import "github.com/slipway/terraform-provider-slipway/planner/converge/types"

// contradicted returns an error when an operation wants something else of a thing than a resource that was applied, or
// comes in the manifest, before it and has another name of it. Otherwise each of them would change what the other one
// did for ever.
func (x *session) contradicted(j *operation) error {
	sharer, ok := j.typ.(types.Sharer)
	if !ok {
		return nil
	}
	is, err := sharer.Shares(x.sys, j.Resource)
	if err != nil || is.Thing == "" {
		return err
	}
	after := false
	for _, other := range x.operations {
		after = after || other == j
		if after || other.Type != j.Type || other.Remove || other.wrong != nil || other.Noop() {
			continue
		}
		shared, err := sharer.Shares(x.sys, other.Resource)
		if err != nil {
			continue // the other one reports it
		}
		if err := is.Contradicts(shared, string(j.id), string(other.id)); err != nil {
			return err
		}
	}
	for _, e := range x.ledger.Entries {
		if e.Type != j.Type || e.Owner() == j.id || x.sys.Named[e.Key()] {
			continue
		}
		if err := is.Contradicts(sharer.Shared(x.sys, e.Before), string(j.id), string(e.ID)); err != nil {
			return err
		}
	}
	return nil
}
