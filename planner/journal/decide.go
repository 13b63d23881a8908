package journal

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Decision is what a person decides about an active run, from another process than that of the run.
type Decision struct {
	Action string // Approve, Hold, Resume or Cancel
	Group  string // of the batch to approve; empty when only one waits
	Batch  int    // its number, to approve no other one; 0 for any
	Person string // who decides
	Reason string // may be empty
}

// UndecidableError says why a run cannot be decided on like this: it has ended, or waits for nothing of the kind.
type UndecidableError string

// Error returns the text.
func (e UndecidableError) Error() string { return string(e) }

func undecidable(format string, args ...any) error {
	return UndecidableError(fmt.Sprintf(format, args...))
}

// Record checks that the run can be decided on like this, and records it with the person and the reason. It returns
// what was recorded.
func (d Decision) Record(ctx context.Context, s *Store, run Run) (e Event, err error) {
	if run.Status != Running {
		return e, undecidable("the run %s is %s; only an active run can be decided on", run.ID, run.Status)
	}
	if e, err = d.event(ctx, s, run); err != nil {
		return e, err
	}
	e.Kind, e.Message = Decided, "by "+d.Person
	if d.Reason != "" {
		e.Message += ": " + d.Reason
	}
	return e, s.Decide(ctx, run.ID, e)
}

func (d Decision) event(ctx context.Context, s *Store, run Run) (e Event, err error) {
	if d.Action == Approve {
		return d.approval(ctx, s, run)
	}
	held := false
	events, err := s.AllEvents(ctx, run.ID, Decided)
	for _, e := range events {
		held = e.Action == Hold || held && e.Action != Resume
	}
	switch {
	case err != nil:
	case d.Action == Hold && held:
		err = undecidable("the run %s is paused already; `runs resume %s` lets it go on", run.ID, run.ID)
	case d.Action == Resume && !held:
		err = undecidable("the run %s is not paused by `runs pause`; `runs approve` approves a batch", run.ID)
	}
	return Event{Action: d.Action}, err
}

// approval approves the only batch of the group and number for which the run waits.
func (d Decision) approval(ctx context.Context, s *Store, run Run) (e Event, err error) {
	events, err := s.AllEvents(ctx, run.ID, Paused, Decided)
	if err != nil {
		return e, err
	}
	var waiting []Recorded
	var all []string
	for _, e := range events {
		waiting = Waiting(waiting, e)
	}
	for _, w := range waiting {
		all = append(all, fmt.Sprintf("batch %d of group %s", w.Phase, w.Group))
	}
	asked := slices.DeleteFunc(slices.Clone(waiting), func(w Recorded) bool {
		return d.Group != "" && w.Group != d.Group || d.Batch != 0 && w.Phase != d.Batch
	})
	switch {
	case len(waiting) == 0:
		return e, undecidable("the run %s waits for no approval", run.ID)
	case len(asked) == 0:
		return e, undecidable("no such batch waits for approval in the run %s; waiting are: %s", run.ID,
			strings.Join(all, ", "))
	case len(asked) > 1:
		return e, undecidable("several batches wait for approval in the run %s; choose one by its group: %s", run.ID,
			strings.Join(all, ", "))
	}
	w := asked[0]
	return Event{Action: Approve, Group: w.Group, Phase: w.Phase, Output: w.Output}, nil
}

// Waiting adds the next event of a run to the batches that wait for approval, one of each group at most.
func Waiting(waiting []Recorded, e Recorded) []Recorded {
	if e.Kind == Paused || e.Kind == Decided && e.Action == Approve {
		waiting = slices.DeleteFunc(waiting, func(w Recorded) bool { return w.Group == e.Group })
	}
	if e.Kind == Paused {
		waiting = append(waiting, e)
	}
	return waiting
}

// Decision says what was decided, by whom and why: the text of an event of the kind [Decided].
func (e Event) Decision() string {
	what := e.Action
	if e.Phase > 0 {
		what += fmt.Sprintf(" batch %d of group %s", e.Phase, e.Group)
	}
	return what + ", " + e.Message
}
