// Package document reads YAML documents (and JSON, which is YAML) into the planner's values. It reports all errors of
// a document together, each with file, line and column. It is pure: it gets the bytes and a name for them.
package document

import "github.com/slipway/terraform-provider-slipway/planner/invalid"

// Schema is the code of a document with an invalid structure. A missing key has the code [invalid.MissingField].
const Schema invalid.Code = "schema"
