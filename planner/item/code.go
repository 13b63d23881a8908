package item

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Codes of the problems that this package finds, in the words of the conformance vectors (litp.md 24).
const (
	Cardinality         site.Code = "CardinalityError"
	ChildNotAllowed     site.Code = "ChildNotAllowedError"
	ItemExists          site.Code = "ItemExistsError"
	InvalidChildType    site.Code = "InvalidChildTypeError"
	InvalidLocation     site.Code = "InvalidLocationError"
	InvalidReference    site.Code = "InvalidReferenceError"
	InvalidRequest      site.Code = "InvalidRequestError"
	InvalidType         site.Code = "InvalidTypeError"
	MethodNotAllowed    site.Code = "MethodNotAllowedError"
	MissingRequiredItem site.Code = "MissingRequiredItemError"
	MissingRequiredProp site.Code = "MissingRequiredPropertyError"
	PropertyNotAllowed  site.Code = "PropertyNotAllowedError"
	ValidationFailed    site.Code = "ValidationError"
)

// Codes of warnings.
const (
	RemovalKept site.Code = "removal_kept" // a source changed, an item that inherits from it stays marked for removal
	Deprecated  site.Code = "deprecated"
)

// problem is one mistake in an item, or in what is asked for it. Property may be empty.
func problem(path Path, property string, code site.Code, format string, args ...any) site.Problem {
	return site.Problem{Object: "item", Name: string(path), Attribute: property, Code: code, Message: fmt.Sprintf(format, args...)}
}

// one is a single problem as an answer.
func one(path Path, property string, code site.Code, format string, args ...any) site.Problems {
	return site.Problems{problem(path, property, code, format, args...)}
}

// meant ends a message with the word that was probably meant.
func meant(nearest string) string {
	if nearest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", nearest)
}
