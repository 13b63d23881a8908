package command

import "errors"

// Exit statuses of the companion.
const (
	statusFailed  = 1 // a document is not valid, a simulated run fails, or something failed
	statusInvalid = 2 // wrong arguments, files that cannot be read, documents that are not valid
)

// statusError is an error with an exit status of its own.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }

func (e *statusError) Unwrap() error { return e.err }

// inputError gives an error the status 2; nil stays nil.
func inputError(err error) error {
	if err == nil {
		return nil
	}
	return &statusError{statusInvalid, err}
}

// ExitStatus returns the exit status of the companion after a command returned err.
func ExitStatus(err error) int {
	var s *statusError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &s):
		return s.status
	}
	return statusFailed
}
