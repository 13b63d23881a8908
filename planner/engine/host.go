package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// Drive drives the machine of a run to its end, see [rollout.Hosted]. lost is closed when another process goes on with
// the run.
type Drive func(ctx context.Context, h *rollout.Hosted, lost <-chan struct{}) error

// opening is what a run starts with that another process could not find out again.
type opening struct {
	Now       time.Time           // when it was planned
	Plan      string              // digest; empty: the site is torn down
	Journaled []services.Revision // services that the journal had
	Left      planner.Applied     // what earlier runs left on nodes, where no prior state has it
	Owned     string              // why nothing may be touched: nodes are those of another state
}

// resumed is a run that another process began.
type resumed struct {
	opening opening
	saved   []rollout.Saved
	at      string // address of the last one
	begun   map[string]bool
}

// Host executes a run that was handed over, in this process, and records its outcome. Who did so before is fenced off:
// the run goes on from what that process saved up to the address saved; empty: nothing was done yet. For a run that has
// ended it does nothing.
func (e *Engine) Host(ctx context.Context, siteName, id, saved string, drive Drive) error {
	store, err := e.Journals.OpenExisting(ctx, siteName)
	if err != nil {
		return err
	}
	writer, err := store.Resume(ctx, id)
	if err != nil {
		_ = store.Close() // nothing was written
		if errors.Is(err, journal.ErrEnded) {
			return nil
		}
		return err
	}
	about, err := store.Run(ctx, id)
	if err != nil {
		return errors.Join(err, store.Close()) // the lease stays: the run goes on later
	}
	r, m := e.entered(ctx, about, store, writer)
	r.hosted = true
	out := e.host(ctx, r, about, saved, drive)
	select {
	case <-writer.Lost():
		return errors.Join(writer.Record(ctx), store.Close()) // another process has the run
	default:
	}
	if r.status == "" { // it did not come to its end
		r.finish(ctx, string(rollout.StatusFailed), r.report)
	}
	out.Messages = append(m, out.Messages...)
	out.nameRun(id)
	addresses := []string{""}
	text, err := encodeOutcome(out)
	if err == nil {
		addresses, err = writer.Put(context.WithoutCancel(ctx), journal.UseOutcome,
			journal.Blob{Zone: encryption.Control, Content: text})
	}
	if err != nil {
		r.report, addresses = r.report+fmt.Sprintf("\nThe outcome cannot be recorded: %v", err), []string{""}
	}
	return errors.Join(writer.FinishWith(context.WithoutCancel(ctx), r.status, r.report, addresses[0]), store.Close())
}

// host executes the run.
func (e *Engine) host(ctx context.Context, r *run, about journal.Run, saved string, drive Drive) (out Outcome) {
	text, err := r.store.Blob(ctx, about.ID, journal.UseRequest, encryption.Control, about.Request)
	var asked request
	if err == nil {
		asked.Version, err = decodeWire(text, &asked)
	}
	s, how, more := asked.run()
	if err == nil {
		err = more
	}
	if err != nil {
		r.report = fmt.Sprintf("nothing was touched: the request %v", err)
		out.fail("The request of the run cannot be read", "%v. No node was touched.", err)
		return out
	}
	if saved != "" {
		if r.resumed, err = r.resume(ctx, saved); err != nil {
			r.report = fmt.Sprintf("the run cannot go on: %v", err)
			out.fail("The run cannot go on", "%v. What it did is in the ledgers of the nodes; the next plan shows the rest.", err)
			return out
		}
		r.repeats = true
	}
	if about.Operation == Delete {
		return e.destroy(ctx, s.Name, *asked.Prior, how, r, drive)
	}
	return e.apply(ctx, asked.Prior, s, how, r, drive)
}

// resume reads what another process saved of the run.
func (r *run) resume(ctx context.Context, saved string) (*resumed, error) {
	out := &resumed{at: saved, begun: map[string]bool{}}
	var err error
	out.saved, err = rollout.LoadSaved(saved, func(address string) ([]byte, error) {
		return r.store.Blob(ctx, r.id, journal.UseSaved, encryption.Control, address)
	})
	if err == nil {
		err = resource.Decode(out.saved[0].Opening, &out.opening)
	}
	if err != nil {
		return nil, err
	}
	events, err := r.store.AllEvents(ctx, r.id, journal.RunStarted, journal.TaskStarted)
	for _, e := range events {
		if e.Kind == journal.RunStarted { // another pass
			clear(out.begun)
			continue
		}
		out.begun[rollout.Began(e.Event)] = true
	}
	return out, err
}

// handTo lets drive drive the machine of the run, so that another process can go on with it from what it began with;
// nil: this process does.
func (r *run) handTo(o *rollout.Options, drive Drive, began opening) (m Messages) {
	if drive == nil {
		return nil
	}
	o.Keep = func(ctx context.Context, content []byte) (string, error) {
		addresses, err := r.writer.Put(ctx, journal.UseSaved, journal.Blob{Zone: encryption.Control, Content: content})
		if err != nil {
			return "", err
		}
		return addresses[0], nil
	}
	o.Drive = func(ctx context.Context, h *rollout.Hosted) error {
		r.repeats = false
		return drive(ctx, h, r.writer.Lost())
	}
	if p := r.resumed; p != nil {
		if o.Saved, o.SavedAt, o.Begun = p.saved, p.at, p.begun; p.opening.Plan != began.Plan {
			m.fail("The run cannot go on", "Another version of slipway planned it, and this one plans something else. What it did is "+
				"in the ledgers of the nodes; the next plan shows the rest.")
		}
		return m
	}
	var err error
	if o.Opening, err = json.Marshal(began); err != nil {
		m.fail("The run cannot be handed over", "%v", err)
	}
	return m
}
