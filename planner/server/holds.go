package server

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/run"
)

// Why nothing more is started for now.
const (
	heldByPerson = "person"   // who paused the run
	heldForBatch = "approval" // of the batch of a group
	heldByWindow = "window"   // the maintenance window of a group is closed
)

// Hold is why nothing more of an active run, or of a group of it, is started for now.
type Hold struct {
	Why   string    `json:"why"`
	Group string    `json:"group,omitempty"` // empty: the whole run
	Batch int       `json:"batch,omitempty"` // the one to approve, from 1
	Since time.Time `json:"since"`
	Until time.Time `json:"until,omitzero"` // when the maintenance window opens
	Text  string    `json:"text"`           // as it was recorded, with the person
	Ends  string    `json:"ends"`           // what ends it
	seq   int64     // of the event that recorded it
}

// holds are those of a run, oldest first: one of the run, and for each group an approval and a maintenance window.
type holds []Hold

// after returns the holds of a run after its next event.
func (h holds) after(e journal.Recorded) holds {
	without := func(why, group string) holds {
		return slices.DeleteFunc(h, func(o Hold) bool { return o.Why == why && o.Group == group })
	}
	one := Hold{Group: e.Group, Since: e.Time, Text: e.Message, seq: e.Seq}
	switch {
	case e.Kind == journal.RunStarted: // another pass starts its groups again, and stays paused
		return slices.DeleteFunc(h, func(o Hold) bool { return o.Group != "" })
	case e.Kind == journal.Decided && e.Action == journal.Hold:
		one.Why, one.Group, one.Ends = heldByPerson, "", "a person resumes it"
		return append(without(heldByPerson, ""), one)
	case e.Kind == journal.Decided && e.Action == journal.Resume:
		return without(heldByPerson, "")
	case e.Kind == journal.Paused:
		one.Why, one.Batch, one.Ends = heldForBatch, e.Phase, "a person approves it"
		return append(without(heldForBatch, e.Group), one)
	case e.Kind == journal.Decided && e.Action == journal.Approve:
		return without(heldForBatch, e.Group)
	case e.Kind == journal.GroupFinished:
		return slices.DeleteFunc(h, func(o Hold) bool { return o.Group == e.Group })
	}
	i := slices.IndexFunc(h, func(o Hold) bool { return o.Why == heldByWindow && o.Group == e.Group })
	var before journal.Recorded
	if i >= 0 {
		before.Message = h[i].Text
	}
	switch next := Passing(before, e); {
	case e.Group == "" || next.Message == before.Message:
		return h
	case !strings.HasPrefix(next.Message, run.WindowClosed):
		return without(heldByWindow, e.Group)
	}
	one.Why, one.Until, one.Ends = heldByWindow, Opens(e.Message), "it opens"
	return append(without(heldByWindow, e.Group), one)
}

// at returns the holds at a time: without the maintenance windows that have opened by then.
func (h holds) at(now time.Time) holds {
	return slices.DeleteFunc(append(holds{}, h...), func(o Hold) bool { return !o.Until.IsZero() && !now.Before(o.Until) })
}

// Held is a run with what it waits for.
type Held struct {
	journal.Run
	// State is the status of the run, and of one at work what people want to know: that it is paused, or that nothing of
	// it goes on before a batch is approved or a maintenance window opens ("waiting").
	State string `json:"state"`
	Holds []Hold `json:"holds"`
}

// Holding is what a run waits for after the events that were added. The zero value is that of a run without events.
type Holding struct {
	holds
	working map[string]bool // groups that have started and not finished; "": what is in no group
}

// Add adds the next event of the run.
func (h *Holding) Add(e journal.Recorded) {
	if h.holds = h.after(e); h.working == nil || e.Kind == journal.RunStarted {
		h.working = map[string]bool{}
	}
	switch {
	case e.Kind == journal.PhaseStarted, e.Kind == journal.Decided && e.Action == journal.Approve:
		h.working[e.Group] = true
	case e.Kind == journal.GroupFinished, e.Kind == journal.PhaseFinished && e.Group == "":
		delete(h.working, e.Group)
	}
}

// Of returns the run with what it waits for at a time; nothing when it has ended.
func (h *Holding) Of(r journal.Run, now time.Time) Held {
	out := Held{r, r.Status, holds{}}
	if r.Status != journal.Running {
		return out
	}
	out.Holds = h.at(now)
	goesOn := maps.Clone(h.working)
	for _, o := range out.Holds {
		delete(goesOn, o.Group)
	}
	switch {
	case slices.ContainsFunc(out.Holds, func(o Hold) bool { return o.Why == heldByPerson }):
		out.State = "paused"
	case len(out.Holds) > 0 && len(goesOn) == 0:
		out.State = "waiting"
	}
	return out
}

// HeldOf returns a run of a journal with what it waits for now; nothing when it has ended.
func HeldOf(ctx context.Context, store *journal.Store, r journal.Run) (Held, error) {
	var h Holding
	if r.Status != journal.Running {
		return h.Of(r, time.Now()), nil
	}
	for e, err := range store.Each(ctx, r.ID, 0, journal.RunStarted, journal.Paused, journal.Decided, journal.Note,
		journal.PhaseStarted, journal.PhaseFinished, journal.GroupFinished) {
		if err != nil {
			return Held{}, err
		}
		h.Add(e)
	}
	return h.Of(r, time.Now()), nil
}

func oneRun(ctx context.Context, store *journal.Store, r journal.Run, _ query) (any, error) {
	return HeldOf(ctx, store, r)
}
