package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
)

// Drive drives the machine of a run to its end, see [rollout.Hosted]. lost is closed when another process goes on with
// the run.
type Drive func(ctx context.Context, h *rollout.Hosted, lost <-chan struct{}) error

// Host executes a run that was handed over, in this process, and records its outcome. Who did so before is fenced off.
// With again, another process had the run before: what it did is read from the journal and the nodes' ledgers, and the
// rest is planned anew. It does nothing for a run that has ended.
func (e *Engine) Host(ctx context.Context, siteName, id string, again bool, drive Drive) error {
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
	out := e.host(ctx, r, about, again, func(ctx context.Context, h *rollout.Hosted) error {
		return drive(ctx, h, writer.Lost())
	})
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
		addresses, err = writer.Put(context.WithoutCancel(ctx), journal.Blob{Content: text})
	}
	if err != nil {
		r.report, addresses = r.report+fmt.Sprintf("\nThe outcome cannot be recorded: %v", err), []string{""}
	}
	return errors.Join(writer.FinishWith(context.WithoutCancel(ctx), r.status, r.report, addresses[0]), store.Close())
}

// host executes the run.
func (e *Engine) host(ctx context.Context, r *run, about journal.Run, again bool,
	drive func(context.Context, *rollout.Hosted) error) (out Outcome) {
	text, err := r.store.Blob(ctx, about.ID, about.Request)
	var asked request
	if err == nil {
		err = json.Unmarshal(text, &struct{ Version *int }{&asked.Version})
	}
	if err == nil && asked.Version == wireVersion {
		err = resource.Decode(text, &asked)
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
	prior := asked.Prior
	if again {
		how.Digest = "" // what is left is planned
		if prior != nil {
			prior = e.left(ctx, *prior, s.Name, asked)
		}
	}
	return e.apply(ctx, prior, s, how, r, drive)
}

// left returns what a run goes on from that another process began.
func (e *Engine) left(ctx context.Context, prior Prior, siteName string, asked request) *Prior {
	known, _, _ := e.Adopt(ctx, siteName, prior.State)
	prior.State = known
	s, how, err := asked.run()
	if err != nil {
		return &prior // reported before
	}
	found := e.Check(ctx, known, s, Inspection{Settings: how.Settings, Parallelism: how.Parallelism})
	if found.Done {
		prior.State, prior.Unreachable = found.State, found.Unreachable
		drift := DriftOf(found.Drift)
		for node, items := range prior.Drift {
			if drift[node] == nil && drift != nil {
				drift[node] = items
			}
		}
		if drift != nil {
			prior.Drift = drift
		}
	}
	return &prior
}
