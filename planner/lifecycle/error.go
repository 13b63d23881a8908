package lifecycle

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// The codes of refused calls, beside those of errors in attributes, which package catalog has.
const (
	UnknownInstance     invalid.Code = "not_found"
	InstanceExists      invalid.Code = "instance_exists"
	UnknownEntity       invalid.Code = "unknown_entity" // an abstract entity has no services
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

// refuse returns the refusal of a call on a service. The call wrote nothing except the events of an aborted transfer.
func refuse(code invalid.Code, service, format string, args ...any) invalid.Errors {
	e := invalid.Error{Code: code, Name: service, Message: fmt.Sprintf(format, args...)}
	if service != "" {
		e.Object = "service"
	}
	return invalid.Errors{e}
}

// refuseAttributes returns the refusal for one or more errors in attributes.
func refuseAttributes(service string, errs []invalid.Error) invalid.Errors {
	for i := range errs {
		errs[i].Object, errs[i].Name = "service", service
	}
	return errs
}
