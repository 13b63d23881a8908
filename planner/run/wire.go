package run

import (
	"encoding/json"
	"errors"
)

// Commands, reports and results are kept, and travel, as JSON. Their errors have their text there, and whether the run
// was interrupted.

// savedError is an error as JSON.
type savedError struct {
	Text        string
	Interrupted bool `json:",omitempty"` // it is, or wraps, ErrInterrupted
}

func (f *savedError) Error() string { return f.Text }

// Unwrap returns what callers look for.
func (f *savedError) Unwrap() error {
	if f.Interrupted {
		return ErrInterrupted
	}
	return nil
}

func savedErrorOf(err error) *savedError {
	if err == nil {
		return nil
	}
	return &savedError{err.Error(), errors.Is(err, ErrInterrupted)}
}

func (f *savedError) err() error {
	if f == nil {
		return nil
	}
	return f
}

// The types without their methods.
type (
	plainCommand Command
	plainReport  Report
	plainResult  Result
)

// MarshalJSON encodes a command.
func (c Command) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainCommand
		Err *savedError `json:",omitempty"`
	}{plainCommand(c), savedErrorOf(c.Err)})
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (c *Command) UnmarshalJSON(data []byte) error {
	out := struct {
		*plainCommand
		Err *savedError
	}{plainCommand: (*plainCommand)(c)}
	err := json.Unmarshal(data, &out)
	c.Err = out.Err.err()
	return err
}

// MarshalJSON encodes a report.
func (r Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainReport
		Err *savedError `json:",omitempty"`
	}{plainReport(r), savedErrorOf(r.Err)})
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (r *Report) UnmarshalJSON(data []byte) error {
	out := struct {
		*plainReport
		Err *savedError
	}{plainReport: (*plainReport)(r)}
	err := json.Unmarshal(data, &out)
	r.Err = out.Err.err()
	return err
}

// MarshalJSON encodes a result.
func (r Result) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainResult
		Err *savedError `json:",omitempty"`
	}{plainResult(r), savedErrorOf(r.Err)})
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (r *Result) UnmarshalJSON(data []byte) error {
	out := struct {
		*plainResult
		Err *savedError
	}{plainResult: (*plainResult)(r)}
	err := json.Unmarshal(data, &out)
	r.Err = out.Err.err()
	return err
}
