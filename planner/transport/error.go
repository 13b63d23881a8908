package transport

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Kind classifies an error of a connection by what the user has to do about it.
type Kind string

// The kinds of failure.
const (
	Unreachable Kind = "unreachable" // the node, or a bastion before it, did not answer in time
	HostKey     Kind = "host_key"    // the host key is unknown, changed or revoked
	Auth        Kind = "auth"        // the node does not accept the user's keys
	Key         Kind = "key"         // the private key, certificate or agent cannot be used
	Config      Kind = "config"      // an attribute of the connection is not valid
	Busy        Kind = "busy"        // the node keeps refusing sessions or commands
	Lost        Kind = "lost"        // the connection or session broke: what the command did is unknown
)

// Error is a connection that could not be opened, or that broke. Message names the attribute, what is wrong and what
// would be right; it contains no key material and no passwords.
type Error struct {
	Kind    Kind
	Node    string
	Message resource.Text
	Err     error // the cause, may be nil
	// Early says that the connection was refused or closed before anything was started, long before any time limit: the
	// same may be tried again.
	Early bool
	// Unasked says that nobody is known to have tried to reach the node, so that it is not known whether it answers.
	Unasked bool
}

func (e *Error) Error() string { return fmt.Sprintf("node %q: %s", e.Node, e.Message) }

func (e *Error) Unwrap() error { return e.Err }

// ExitError is a command that ended with a status other than 0.
type ExitError struct {
	Status int           // exit status; 128 + n for a signal n
	Signal resource.Text // name without SIG ("KILL"), empty when no signal ended the command
}

func (e *ExitError) Error() string {
	if e.Signal != "" {
		return "command was ended by signal SIG" + e.Signal.String()
	}
	return fmt.Sprintf("command ended with status %d", e.Status)
}
