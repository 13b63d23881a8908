package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// mute are nodes that do not answer before they are given up.
type mute struct{}

func (mute) Close() error { return nil }

func (mute) Converge(ctx context.Context, _ site.Node, _ converge.Manifest, _ func(converge.Result)) (converge.Summary,
	error) {
	<-ctx.Done()
	return converge.Summary{}, context.Cause(ctx)
}

// A check whose nodes take all of its time is in the journal, and nothing says that it is not.
func TestACheckThatEndsWithItsLimitIsRecorded(t *testing.T) {
	at := journal.Location{Path: t.TempDir()}
	store, err := at.Open(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // nothing follows
	e := &engine.Engine{Journals: at, Executor: func() rollout.Executor { return mute{} }, Now: time.Now}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond,
		&engine.TimeLimitError{Setting: "timeouts.read", Limit: 50 * time.Millisecond})
	defer cancel()
	s := site.Site{Name: "s", Nodes: []site.Node{{Name: "a", Address: "192.0.2.1"}}}
	out := e.Check(ctx, engine.State{}, s, engine.Inspection{})
	if len(out.Unreachable) != 1 || len(out.Messages) != 1 {
		t.Errorf("%v could not be checked, and the check says %v", out.Unreachable, out.Messages)
	}
	if found, err := store.Checks(t.Context(), 10); err != nil || len(found) != 1 || len(found[0].Unreachable) != 1 {
		t.Errorf("the journal has the checks %+v, %v", found, err)
	}
}
