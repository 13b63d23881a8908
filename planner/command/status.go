package command

import (
	"errors"

	"github.com/spf13/cobra"
)

// Exit statuses of the companion.
const (
	statusNo  = 1 // the answer is no: a document is wrong, a simulated run fails; or something went wrong
	statusBad = 2 // the question cannot be answered: wrong arguments, files that cannot be read, documents that are wrong
)

// statusError is an error with an exit status of its own.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }

func (e *statusError) Unwrap() error { return e.err }

// bad makes an error one of input; nil stays nil.
func bad(err error) error {
	if err == nil {
		return nil
	}
	return &statusError{statusBad, err}
}

// ExitStatus returns the status with which the companion ends after a command returned err.
func ExitStatus(err error) int {
	var s *statusError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &s):
		return s.status
	}
	return statusNo
}

// files is the check of a command that takes one or more files.
func files(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return bad(errors.New(cmd.CommandPath() + ": name at least one file, or - for standard input"))
	}
	return nil
}
