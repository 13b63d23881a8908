package run

import (
	"encoding/json"
	"errors"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Commands, reports and results are kept, and travel, as JSON. Their errors have their text there, and whether the run
// was interrupted.

// SavedError is an error as JSON.
type SavedError struct {
	Text        string
	Interrupted bool `json:",omitempty"` // it is, or wraps, ErrInterrupted
}

// SaveError returns an error as JSON; nil for none.
func SaveError(err error) *SavedError {
	if err == nil {
		return nil
	}
	return &SavedError{err.Error(), errors.Is(err, ErrInterrupted)}
}

// Error returns the text as people may see it: it may come from another process.
func (e *SavedError) Error() string { return resource.Visible(e.Text) }

// Unwrap returns what callers look for.
func (e *SavedError) Unwrap() error {
	if e.Interrupted {
		return ErrInterrupted
	}
	return nil
}

// Err returns the error.
func (e *SavedError) Err() error {
	if e == nil {
		return nil
	}
	return e
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
		Err *SavedError `json:",omitempty"`
	}{plainCommand(c), SaveError(c.Err)})
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (c *Command) UnmarshalJSON(data []byte) error {
	out := struct {
		*plainCommand
		Err *SavedError
	}{plainCommand: (*plainCommand)(c)}
	err := json.Unmarshal(data, &out)
	c.Err = out.Err.Err()
	return err
}

// MarshalJSON encodes a report.
func (r Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainReport
		Err *SavedError `json:",omitempty"`
	}{plainReport(r), SaveError(r.Err)})
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (r *Report) UnmarshalJSON(data []byte) error {
	out := struct {
		*plainReport
		Err *SavedError
	}{plainReport: (*plainReport)(r)}
	err := json.Unmarshal(data, &out)
	r.Err = out.Err.Err()
	return err
}

// MarshalJSON encodes a result.
func (r Result) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainResult
		Err *SavedError `json:",omitempty"`
	}{plainResult(r), SaveError(r.Err)})
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (r *Result) UnmarshalJSON(data []byte) error {
	out := struct {
		*plainResult
		Err *SavedError
	}{plainResult: (*plainResult)(r)}
	err := json.Unmarshal(data, &out)
	r.Err = out.Err.Err()
	return err
}
