package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// Kind classifies the refusal of a call. The codes of errors in attributes ([catalog.Code]) are kinds too.
type Kind = invalid.Code

// The kinds of refusals that do not concern attributes.
const (
	UnknownInstance     Kind = "not_found"
	InstanceExists      Kind = "instance_exists"
	UnknownEntity       Kind = "unknown_entity"
	EntityExists        Kind = "entity_exists"
	InvalidInitialState Kind = "invalid_initial_state"
	Deleted             Kind = "deleted"
	MissingVersion      Kind = "missing_version"
	// Read the service again and decide again; never repeat the call with the version in the error (lsm.md 7).
	VersionConflict    Kind = "version_conflict"
	TransferNotAllowed Kind = "transfer_not_allowed"
	Precondition       Kind = "operation_precondition"
	UnknownState       Kind = "unknown_state"
	UnknownOperation   Kind = "bad_operation"
	UnknownConfig      Kind = "unknown_config"
	BadCall            Kind = "bad_call" // the call is incomplete or contradicts itself
	BadReference       Kind = "unknown_reference"
	IdentityConflict   Kind = "identity_conflict"
	NothingToExport    Kind = "nothing_to_export"
)

// Error is the refusal of a call. The call wrote nothing except the events of an aborted transfer.
type Error struct {
	Kind    Kind
	Service string // id; empty if the call concerns no service
	Path    string // of the attribute; empty for the service as a whole
	Message string // what is wrong, then what would be right; never a sensitive value
	// Mistakes are all mistakes in the attributes; Kind, Path and Message are those of the first one. Empty for other
	// kinds.
	Mistakes []invalid.Error
}

// Error returns all mistakes, one line each.
func (e *Error) Error() string {
	object := ""
	if e.Service != "" {
		object = fmt.Sprintf("service %q", e.Service)
	}
	if len(e.Mistakes) == 0 {
		return line(object, e.Path, e.Message)
	}
	lines := make([]string, len(e.Mistakes))
	for i, m := range e.Mistakes {
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

func refuse(kind Kind, service, format string, args ...any) *Error {
	return &Error{Kind: kind, Service: service, Message: fmt.Sprintf(format, args...)}
}

// ofAllChildren are the codes of errors in what a modifier or a pool says of an attribute in all children: the path of
// the refusal has no indices (`files.mode`), those of the errors have them (`files[2].mode`).
var ofAllChildren = []invalid.Code{catalog.ReadOnly, catalog.Immutable, catalog.IdentityFixed, catalog.PoolExhausted,
	catalog.PoolConflict, catalog.OutOfPool}

// refuseAttributes returns the refusal for one or more mistakes.
func refuseAttributes(service string, mistakes []invalid.Error) *Error {
	first := mistakes[0]
	path := first.Attribute
	if slices.Contains(ofAllChildren, first.Code) {
		path = withoutNumbers(path)
	}
	return &Error{Kind: first.Code, Service: service, Path: path, Message: first.Message, Mistakes: mistakes}
}
