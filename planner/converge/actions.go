package converge

import (
	"context"
	"encoding/json"
	"fmt"
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

func (action) Capture(context.Context, *System, resource.Resource) (json.RawMessage, error) {
	return nil, nil
}

func (action) Undo(context.Context, *System, string, json.RawMessage) error { return nil }

func (action) Check(_ context.Context, s *System, r resource.Resource) ([]Difference, error) {
	if s.due(r) {
		return []Difference{{Parameter: returnsParameter, Is: "notrun", Should: "0"}}, nil
	}
	return nil, nil
}

// beginActions writes into the ledger, in memory, that the actions of Catalog.Begins are begun: until each has run in
// this run, the next plan holds it again. What is not recorded is in the next plan anyway.
func (x *session) beginActions() {
	for _, id := range x.catalog.Begins {
		if e := x.ledger.entry(x.catalog.Site, id); e != nil && e.Digest != "" && e.Run != x.catalog.Run {
			e.Digest, e.Run = "", x.catalog.Run
			x.ledger.change(record{Entry: e})
		}
	}
}

// excuse writes into the ledger that an action which may fail is done, though it failed: it would be in every plan from
// now on, and its node never at rest (fuel.md A4, fail_on_error). What was given up with the session is not done.
func (x *session) excuse(ctx context.Context, j *job) {
	_, acts := j.typ.(Acting)
	if !acts || !j.Tolerate || j.Remove || j.Title == "" || j.result.Status != Failed || !x.applying() ||
		ctx.Err() != nil || x.broken != nil {
		return
	}
	e := x.ledger.entry(x.catalog.Site, j.id)
	if e == nil {
		e = &entry{Site: x.catalog.Site, Type: j.Type, Title: j.Title, id: j.id}
	}
	e.Digest, e.Before, e.Run = j.Digest, json.RawMessage("null"), x.catalog.Run
	x.ledger.change(record{Entry: e})
	if err := x.save(); err != nil {
		j.fail(fmt.Errorf("%s; and that is not recorded: %w", j.result.Message, err))
	}
}

// due reports whether an action is to be done: always in mode Apply, once for each session, and otherwise when the
// ledger does not say that it was done in this form.
func (s *System) due(r resource.Resource) bool {
	if s.work.ran[r.ID()] {
		return false
	}
	return s.work.applying || s.Applied(r.ID()) != s.digestOf(r)
}
