package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// Saved is what a hosted run keeps of its beginning, and then of each step, before anybody knows of the step: with all
// of them, another process has the same report, plan and values, and goes on with the run.
type Saved struct {
	Previous string // where the one before is; empty: this is the beginning
	Opening  []byte `json:",omitempty"` // of the caller, at the beginning: see [Options]
	Step     Step
	Time     time.Time                    // when it began
	Ends     []*sessionEnd                `json:",omitempty"` // of Step.Ended
	Program  *run.Program                 `json:",omitempty"` // of the pass that it began
	Machines map[string]converge.Identity `json:",omitempty"` // that it saw
}

// LoadSaved returns what a run has kept up to an address, oldest first.
func LoadSaved(address string, read func(address string) ([]byte, error)) (kept []Saved, err error) {
	for address != "" {
		text, err := read(address)
		var k Saved
		if err == nil {
			err = resource.Decode(text, &k)
		}
		if err != nil {
			return nil, fmt.Errorf("what the run has kept cannot be read: %w", err)
		}
		kept, address = append(kept, k), k.Previous
	}
	slices.Reverse(kept)
	return kept, nil
}

// keep makes the beginning of the run, or a step, durable.
func (h *Hosted) keep(k Saved) error {
	if h.Keep == nil {
		return nil
	}
	k.Previous = h.saved
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	address, err := h.Keep(context.WithoutCancel(h.cancellation.stopping), text)
	if err == nil {
		h.saved = address
	}
	return err
}

// open keeps the beginning of the run, or does again what another process kept of it.
func (h *Hosted) open() error {
	if len(h.Saved) == 0 {
		return h.keep(Saved{Opening: h.Opening, Time: h.Now(), Program: &h.program, Machines: h.Machines.drain()})
	}
	for i, k := range h.Saved {
		for node, id := range k.Machines {
			h.Machines.restore(node, id)
		}
		if i == 0 {
			continue
		}
		h.perform(&k)
		if _, err := h.results(k); err != nil {
			return fmt.Errorf("step %d of the run cannot be done again: %w", k.Step.Number, err)
		}
		h.number = k.Step.Number
	}
	h.saved, h.first = h.SavedAt, h.number+1
	h.Machines.drain()
	now := h.Now()
	for _, s := range h.sessions {
		s.restored, s.limit = true, max(s.Until.Sub(now), restoredLimit)
	}
	h.repeats = false
	h.log.mute(false)
	h.log.append(journal.Event{Kind: journal.Note,
		Message: "the process that executed the run is gone, or was not heard of; another one goes on"})
	return nil
}

// restoredLimit is for how long the end of a session is waited for at least that an earlier process started.
const restoredLimit = time.Minute

// begun reports whether an earlier process began a session: the journal says so.
func (d *driver) begun(s session) bool {
	return s.restored && len(s.tasks) > 0 && d.Begun[Began(journal.Event{Phase: s.Phase, Node: s.Node,
		Resource: string(taskID(s.tasks[0]))})]
}

// Began identifies what an event of the kind [journal.TaskStarted] is about, in its pass: see [Options].
func Began(e journal.Event) string { return fmt.Sprintf("%d %s %s", e.Phase, e.Node, e.Resource) }

// drain returns which machines have answered since it was called last.
func (m *Machines) drain() map[string]converge.Identity {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.news
	m.news = nil
	return out
}

// restore takes down that a node answered another process.
func (m *Machines) restore(node string, id converge.Identity) {
	m.record(node, id, nil)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reached[node] = true
}

// SavedError is an error of a session as JSON, of which callers still know the kind.
type SavedError struct {
	run.SavedError
	Session   *converge.SessionError `json:",omitempty"`
	Transport *savedTransport        `json:",omitempty"`
}

// savedTransport is a [transport.Error].
type savedTransport struct {
	Kind    transport.Kind
	Node    string
	Message string
	Early   bool `json:",omitempty"`
	Unasked bool `json:",omitempty"`
}

// SaveError returns an error as JSON; nil for none.
func SaveError(err error) *SavedError {
	if err == nil {
		return nil
	}
	out := &SavedError{SavedError: *run.SaveError(err)}
	var t *transport.Error
	if !errors.As(err, &out.Session) && errors.As(err, &t) {
		out.Transport = &savedTransport{t.Kind, t.Node, t.Message.String(), t.Early, t.Unasked}
	}
	return out
}

// Err returns the error.
func (e *SavedError) Err() error {
	if e == nil {
		return nil
	}
	return e
}

// Unwrap returns what callers look for.
func (e *SavedError) Unwrap() (errs []error) {
	if err := e.SavedError.Unwrap(); err != nil {
		errs = append(errs, err)
	}
	if e.Session != nil {
		errs = append(errs, e.Session)
	}
	if t := e.Transport; t != nil {
		errs = append(errs, &transport.Error{Kind: t.Kind, Node: t.Node, Message: resource.Text(t.Message), Early: t.Early,
			Unasked: t.Unasked})
	}
	return errs
}

// plainEnd is a sessionEnd without its methods.
type plainEnd sessionEnd

// savedEnd is the end of a session as JSON.
type savedEnd struct {
	*plainEnd
	Outcome strategy.Fields
	Failed  *SavedError `json:",omitempty"` // of Outcome
	Err     *SavedError `json:",omitempty"`
}

// MarshalJSON encodes the end of a session.
func (e *sessionEnd) MarshalJSON() ([]byte, error) {
	return json.Marshal(savedEnd{(*plainEnd)(e), e.Outcome.fields(), SaveError(e.Outcome.err), SaveError(e.Err)})
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (e *sessionEnd) UnmarshalJSON(data []byte) error {
	saved := savedEnd{plainEnd: (*plainEnd)(e)}
	if err := resource.Decode(data, &saved); err != nil {
		return err
	}
	resource.PlainNumbersIn(&e.Values)
	e.Err, e.Outcome.err = saved.Err.Err(), saved.Failed.Err()
	return saved.Outcome.To(e.Outcome.fields())
}

// fields are what a run keeps of an outcome, besides its error.
func (o *outcome) fields() strategy.Fields {
	return strategy.Fields{"failures": &o.Failures, "done": &o.Done, "altered": &o.Altered, "changed": &o.Changed,
		"unchanged": &o.Unchanged, "skipped": &o.Skipped, "unknown": &o.Unknown, "warnings": &o.warnings, "ledger": &o.ledger,
		"sent": &o.sent, "nothing": &o.nothing, "lock": &o.lock, "begun": &o.begun, "boot": &o.boot}
}
