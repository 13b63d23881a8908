package rollout_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// TestResultOfSession checks what the machine is given of a session: counts, what failed, the boot id, and a digest of
// what the journal has of it.
func TestResultOfSession(t *testing.T) {
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}}}
	p, err := plan(s, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	nodes, diary := newFaulty(), &diary{}
	nodes.faults[at{"a", deploying}] = "item"
	nodes.slow[at{"a", preparing}], nodes.slow[at{"a", deploying}] = time.Millisecond, time.Millisecond
	var got run.Result
	drive := func(ctx context.Context, h *rollout.Hosted) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		reports := make(chan rollout.Ends, 1)
		go func() {
			_ = h.Serve(ctx, 1, nil, func(_ context.Context, ends rollout.Ends) error {
				reports <- ends
				return nil
			})
		}()
		program, now, _ := h.Program()
		m := run.New(program)
		commands := m.Handle(run.Event{Kind: run.Begin}, now.Now)
		for n := 1; ; n++ {
			step := rollout.Step{Number: n, At: now.Now, Commands: commands}
			out, err := h.Step(step)
			last := commands[len(commands)-1]
			if err != nil || last.Kind == run.Finish {
				return err
			}
			if ends := <-reports; len(ends.Ends) != 1 || ends.Ends[0] != (rollout.End{ID: last.ID}) {
				t.Errorf("got the ends %v, want that of %v", ends, last.ID)
			}
			n++
			if out, err = h.Step(rollout.Step{Number: n, At: out.Now, Ended: []run.ID{last.ID}}); err != nil {
				return err
			}
			if got = out.Results[0]; last.Session.Kind == run.Config {
				defer func(r run.Result) { got = r }(got)
			}
			commands = m.Handle(run.Event{Kind: run.Ended, ID: last.ID, Result: out.Results[0]}, out.Now)
		}
	}
	if _, err := rollout.Run(t.Context(), s, p, rollout.Options{Executor: nodes, Recorder: diary, RunID: "r1", Drive: drive,
		Machines: rollout.NewMachines(nil)}); err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, e := range diary.events {
		if e.Kind == journal.TaskFinished && e.Resource != "" {
			fmt.Fprintf(sum, "%s %s\n", e.Resource, e.Status)
		}
	}
	if want := fmt.Sprintf("%x", sum.Sum(nil)); got.Digest != want {
		t.Errorf("the digest is %q, that of the journal %s", got.Digest, want)
	}
	if got.Counts != (run.Counts{Failed: 1, Skipped: 1}) || !slices.Equal(got.Failures, []string{"file[/etc/a]"}) ||
		got.Boot == "" || got.Outcome != run.Failed || !strings.HasPrefix(got.Err.Error(), "file[/etc/a]: permission denied") {
		t.Errorf("got %+v", got)
	}
}
