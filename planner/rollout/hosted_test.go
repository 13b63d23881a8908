package rollout

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// refusing are nodes whose sessions are lost before they start anything.
type refusing struct{}

func (refusing) Converge(_ context.Context, n site.Node, _ converge.Manifest, _ func(converge.Result)) (converge.Summary, error) {
	return converge.Summary{}, &transport.Error{Kind: transport.Lost, Node: n.Name, Early: true, Err: errors.New("reset")}
}

func (refusing) Close() error { return nil }

type noRecorder struct{}

func (noRecorder) Record(context.Context, ...journal.Event) error { return nil }

// TestASessionIsLostWhileItsRunIsAborted: a session that is lost just when nobody drives the machine any more does not keep the run from its end.
func TestASessionIsLostWhileItsRunIsAborted(t *testing.T) {
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a", Address: "192.0.2.1"}},
		Services: []site.Service{{Name: "motd", Configuration: resource.Configuration{"file": {"/etc/motd": {"content": "hello"}}}}}}
	p, errs := planner.Make(s, nil, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	undriven := errors.New("nobody drives the machine")
	drive := func(ctx context.Context, h *Hosted) error {
		losing := make(chan struct{})
		h.driver.lose = func(l loss) {
			close(losing)
			<-h.over
			for until := time.Now().Add(time.Second); time.Now().Before(until) && h.mu.TryLock(); runtime.Gosched() {
				h.mu.Unlock()
			}
			h.lose(l)
		}
		go func() {
			_ = h.Serve(ctx, 1, nil, func(context.Context, Ends) error { return nil })
		}()
		program, now, _ := h.Program()
		if _, err := h.Step(Step{Number: 1, At: now.Now, Commands: run.New(program).Handle(run.Event{Kind: run.Begin}, now.Now)}); err != nil {
			return err
		}
		<-losing
		return undriven
	}
	over := make(chan error)
	go func() {
		_, err := Run(t.Context(), s, p, Options{Executor: refusing{}, Recorder: noRecorder{}, RunID: "r1", Drive: drive, Machines: NewMachines(nil)})
		over <- err
	}()
	select {
	case err := <-over:
		if !errors.Is(err, undriven) {
			t.Errorf("the run ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the run does not end")
	}
}

// TestAStepThatIsNotKeptHasNoAnswer: when the journal is away as a step is kept, the step has no answer, also when it
// comes a second time: who goes on with the run is given it again.
func TestAStepThatIsNotKeptHasNoAnswer(t *testing.T) {
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a", Address: "192.0.2.1"}},
		Services: []site.Service{{Name: "motd", Configuration: resource.Configuration{"file": {"/etc/motd": {"content": "hello"}}}}}}
	p, errs := planner.Make(s, nil, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	kept := 0
	keep := func(context.Context, []byte) (string, error) {
		if kept++; kept > 1 { // after the beginning of the run
			return "", io.ErrUnexpectedEOF
		}
		return "first", nil
	}
	drive := func(_ context.Context, h *Hosted) error {
		program, now, _ := h.Program()
		step := Step{Number: 1, At: now.Now, Commands: run.New(program).Handle(run.Event{Kind: run.Begin}, now.Now)}
		for range 2 {
			if out, err := h.Step(step); !errors.Is(err, ErrGone) {
				t.Errorf("the step is answered with %+v, %v", out, err)
			}
		}
		return ErrGone
	}
	_, err := Run(t.Context(), s, p, Options{Executor: refusing{}, Recorder: noRecorder{}, RunID: "r1", Drive: drive, Keep: keep,
		Machines: NewMachines(nil)})
	if !errors.Is(err, ErrGone) {
		t.Errorf("the run ended with %v", err)
	}
}
