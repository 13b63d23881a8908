package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// Kind classifies the refusal of a call. The codes of errors in attributes ([catalog.Code]) are kinds too.

// The kinds of refusals that do not concern attributes.
const (
	UnknownInstance     invalid.Code = "not_found"
	InstanceExists      invalid.Code = "instance_exists"
	UnknownEntity       invalid.Code = "unknown_entity"
	EntityExists        invalid.Code = "entity_exists"
	InvalidInitialState invalid.Code = "invalid_initial_state"
	Deleted             invalid.Code = "deleted"
	MissingVersion      invalid.Code = "missing_version"
	// Read the service again and decide again; never repeat the call with the version in the error (lsm.md 7).
	VersionConflict    invalid.Code = "version_conflict"
	TransferNotAllowed invalid.Code = "transfer_not_allowed"
	Precondition       invalid.Code = "operation_precondition"
	UnknownState       invalid.Code = "unknown_state"
	UnknownOperation   invalid.Code = "bad_operation"
	UnknownConfig      invalid.Code = "unknown_config"
	BadCall            invalid.Code = "bad_call" // the call is incomplete or contradicts itself
	BadReference       invalid.Code = "unknown_reference"
	IdentityConflict   invalid.Code = "identity_conflict"
	NothingToExport    invalid.Code = "nothing_to_export"
)

// Error is the refusal of a call. The call wrote nothing except the events of an aborted transfer.
type Error struct {
	Kind    invalid.Code
	Service string // id; empty if the call concerns no service
	Path    string // of the attribute; empty for the service as a whole
	Message string // what is wrong, then what would be right; never a sensitive value
	// Errors are all errors in the attributes; Kind, Path and Message are those of the first one. Empty for other
	// kinds.
	Errors []invalid.Error
}

// Error returns all errors, one line each.
func (e *Error) Error() string {
	object := ""
	if e.Service != "" {
		object = fmt.Sprintf("service %q", e.Service)
	}
	if len(e.Errors) == 0 {
		return line(object, e.Path, e.Message)
	}
	lines := make([]string, len(e.Errors))
	for i, m := range e.Errors {
		lines[i] = line(object, m.Attribute, m.Message)
	}
	return strings.Join(lines, "\n")
}

func line(object, path, message string) string {
	for _, part := range []string{path, object} {
		if part != "" {
			message = part + ": " + message
		}
	}
	return message
}

func refuse(kind invalid.Code, service, format string, args ...any) *Error {
	return &Error{Kind: kind, Service: service, Message: fmt.Sprintf(format, args...)}
}

// ofAllChildren are the codes of errors in what a modifier or a pool says of an attribute in all children: the path of
// the refusal has no indices (`files.mode`), those of the errors have them (`files[2].mode`).
var ofAllChildren = []invalid.Code{catalog.ReadOnly, catalog.Immutable, catalog.IdentityFixed, catalog.PoolExhausted,
	catalog.PoolConflict, catalog.OutOfPool}

// refuseAttributes returns the refusal for one or more errors.
func refuseAttributes(service string, errs []invalid.Error) *Error {
	first := errs[0]
	path := first.Attribute
	if slices.Contains(ofAllChildren, first.Code) {
		path = withoutNumbers(path)
	}
	return &Error{Kind: first.Code, Service: service, Path: path, Message: first.Message, Errors: errs}
}
