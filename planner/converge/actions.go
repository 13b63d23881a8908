package converge

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// actions is the table of the resource types that remote tasks are made of. Nobody writes them as configuration:
// plugins and services bring them as tasks. What may be written of them is in package schema.
var actions = map[string]Type{
	"puppet": puppetType{},
	"reboot": rebootType{},
	"shell":  shellType{},
}

// every holds all that a catalog may name.
var every = func() map[string]Type {
	all := maps.Clone(types)
	maps.Copy(all, actions)
	return all
}()

// Acting is implemented by types that do something whenever a session in mode Apply asks for it, instead of bringing
// something into a state. What they did is nobody's, so a second site may do it too, and there is nothing to undo.
type Acting interface{ acts() }

// action is what all actions have in common. That one is done is in the ledger and nowhere else: it never drifts, and
// its removal only forgets it.
type action struct{}

func (action) acts() {}

func (action) Capture(context.Context, *Session, resource.Resource) (json.RawMessage, error) {
	return nil, nil
}

func (action) Undo(context.Context, *Session, string, json.RawMessage) error { return nil }

func (action) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	if s.due(r) {
		return []Difference{{Parameter: returnsParameter, Is: "notrun", Should: "0"}}, nil
	}
	return nil, nil
}

// due reports whether an action is to be done: always in mode Apply, once for each session, and otherwise when the
// ledger does not say that it was done in this form.
func (s *Session) due(r resource.Resource) bool {
	if s.ran[r.ID()] {
		return false
	}
	return s.applying || s.Applied(r.ID()) != s.digestOf(r)
}
