package temporal

import (
	"errors"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/run"
)

// failure is an error in a payload, as its text.
type failure struct {
	Text        string
	Interrupted bool // it is, or wraps, run.ErrInterrupted
}

func (f *failure) Error() string { return f.Text }

// Unwrap returns what callers look for.
func (f *failure) Unwrap() error {
	if f.Interrupted {
		return run.ErrInterrupted
	}
	return nil
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	return &failure{err.Error(), errors.Is(err, run.ErrInterrupted)}
}

func (f *failure) err() error {
	if f == nil {
		return nil
	}
	return f
}

// command is a command in a payload. What it has replaces what [run.Command] has under the same name.
type command struct {
	run.Command
	Err    *failure `json:",omitempty"`
	Report *report  `json:",omitempty"`
}

type report struct {
	run.Report
	Err *failure `json:",omitempty"`
}

func commandOf(c run.Command) command {
	out := command{Command: c, Err: failureOf(c.Err)}
	if out.Command.Err = nil; c.Report != nil {
		out.Report = &report{*c.Report, failureOf(c.Report.Err)}
		out.Command.Report, out.Report.Report.Err = nil, nil
	}
	return out
}

func (c command) command() run.Command {
	out := c.Command
	if out.Err = c.Err.err(); c.Report != nil {
		r := c.Report.Report
		r.Err = c.Report.Err.err()
		out.Report = &r
	}
	return out
}

// result is a result in a payload.
type result struct {
	run.Result
	Err *failure `json:",omitempty"`
}

func (r result) result() run.Result {
	out := r.Result
	out.Err = r.Err.err()
	return out
}

// step is a [rollout.Step] in a payload.
type step struct {
	Run      string // key
	Number   int
	At       time.Time
	Commands []command
	Ended    []run.ID
	Stop     bool
}

// stepped is a [rollout.Stepped] in a payload.
type stepped struct {
	Now             time.Time
	Stopped, GaveUp bool
	Results         []result
	Twice           []string
	Planned         bool
	Program         *run.Program
}

func steppedOf(s rollout.Stepped) stepped {
	out := stepped{Now: s.Now, Stopped: s.Stopped, GaveUp: s.GaveUp, Twice: s.Twice, Planned: s.Planned,
		Program: s.Program}
	for _, r := range s.Results {
		err := r.Err
		r.Err = nil
		out.Results = append(out.Results, result{r, failureOf(err)})
	}
	return out
}

// opened is the answer of Open.
type opened struct {
	Queue string // of the process that has the run; empty: that of the workflow
	Ended bool   // there is nothing left to do
}

// begun is what a run starts, or goes on, with.
type begun struct {
	Program run.Program
	State   stepped
}

// watched is the answer of Watch.
type watched struct {
	Now     time.Time
	Events  []run.Event
	Stopped bool
}
