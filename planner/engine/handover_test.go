package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// unstoppable is an engine of runs whose server does not answer when a run is to be stopped.
type unstoppable struct{ begun chan journal.Run }

func (unstoppable) Ready(context.Context) error                    { return nil }
func (unstoppable) Workflow(site, run string) string               { return site + "/" + run }
func (u unstoppable) Begin(_ context.Context, r journal.Run) error { u.begun <- r; return nil }
func (unstoppable) Stop(context.Context, journal.Run) error        { return errors.New("no answer") }
func (unstoppable) End(context.Context, journal.Run) error         { return errors.New("no answer") }
func (unstoppable) Ended(context.Context, journal.Run) error       { return nil }

// A run that could not be stopped goes on without who asked for it, and the outcome names it: a creation is then in the
// state, as one that was detached is.
func TestARunThatCannotBeStoppedIsActive(t *testing.T) {
	t.Parallel()
	keys, err := encryption.Parse(encryption.New())
	if err != nil {
		t.Fatal(err)
	}
	durable := unstoppable{make(chan journal.Run, 1)}
	asked := make(chan struct{})
	close(asked)
	e := &Engine{Journals: journal.Location{Path: t.TempDir(), Keys: keys}, Now: time.Now,
		Handing: &Handing{Durable: durable, Asked: asked}}
	ctx, stop := context.WithCancel(t.Context())
	var run journal.Run
	go func() { run = <-durable.begun; stop() }()
	out := e.Apply(ctx, nil, site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a",
		Connection: site.Connection{Transport: "local", Root: t.TempDir()}}}}, Run{})
	if text := out.Messages[0].Error(); !strings.Contains(text, "no answer") || !strings.Contains(text, "runs cancel "+run.ID) {
		t.Errorf("the outcome says %s", text)
	}
	if out.Status != "" || out.Active != run.ID {
		t.Errorf("the run is %q with status %q, want that %s is active", out.Active, out.Status, run.ID)
	}
}
