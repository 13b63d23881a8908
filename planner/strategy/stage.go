package strategy

import "fmt"

// Stage is what a group or a node has reached.
type Stage string

// The stages. DEPLOYED and FAILED are final.
const (
	NotStarted Stage = "NOT_STARTED"
	Prepared   Stage = "PREPARED"
	Deployed   Stage = "DEPLOYED"
	Failed     Stage = "FAILED"
)

// stages are all of them in the order of a report (airship.md 11).
var stages = [...]Stage{NotStarted, Prepared, Deployed, Failed}

// Complete reports whether the stage is final.
func (s Stage) Complete() bool { return s == Deployed || s == Failed }

// transitions are the stages that a group may enter from each stage; staying where it is, is always allowed (airship.md
// 4).
var transitions = map[Stage][]Stage{
	NotStarted: {Prepared, Failed},
	Prepared:   {Deployed, Failed},
	Deployed:   {},
	Failed:     {},
}

// TransitionError is a group stage that cannot follow another.
type TransitionError struct {
	From, To Stage
}

func (e *TransitionError) Error() string {
	if len(transitions[e.From]) == 0 {
		return fmt.Sprintf("stage %s cannot become %s: %s is final", e.From, e.To, e.From)
	}
	return fmt.Sprintf("stage %s cannot become %s; it can become %s or %s", e.From, e.To, transitions[e.From][0],
		transitions[e.From][1])
}

// Transition returns nil when a group in stage from may enter stage to, else a *[TransitionError].
func Transition(from, to Stage) error {
	next, known := transitions[from]
	if known && from == to {
		return nil
	}
	for _, s := range next {
		if s == to {
			return nil
		}
	}
	return &TransitionError{from, to}
}
