package converge

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

// markActions writes into the ledger, in memory, that the actions of Manifest.Begins are begun: until each has run in
// this run, the next plan holds it again. What is not recorded is in the next plan anyway.
func (x *session) markActions() {
	for _, id := range x.manifest.Begins {
		if e := x.ledger.Entry(x.manifest.Site, id); e != nil && e.Digest != "" && e.Run != x.manifest.Run {
			e.Digest, e.Run = "", x.manifest.Run
			x.ledger.Change(ledger.Record{Entry: e})
		}
	}
}

// recordTolerated writes into the ledger that an action which may fail is done, though it failed: it would be in every
// plan from now on, and its node never at rest (fuel.md A4, fail_on_error). What was given up with the session is not
// done.
func (x *session) recordTolerated(ctx context.Context, j *operation) {
	_, acts := j.typ.(types.Acting)
	if !acts || !j.Tolerate || j.Remove || j.Title == "" || j.result.Status != Failed || !x.applying() ||
		ctx.Err() != nil || x.broken != nil {
		return
	}
	e := x.ledger.Entry(x.manifest.Site, j.id)
	if e == nil {
		e = &ledger.Entry{Site: x.manifest.Site, Type: j.Type, Title: j.Title, ID: j.id}
	}
	e.Digest, e.Before, e.Run = j.Digest, json.RawMessage("null"), x.manifest.Run
	x.ledger.Change(ledger.Record{Entry: e})
	if err := x.save(); err != nil {
		j.fail(fmt.Errorf("%s; and that is not recorded: %w", j.result.Message, err))
	}
}
