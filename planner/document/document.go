// Package document reads YAML documents (and JSON, which is YAML) into the planner's values. It reports all errors of
// a document together, each with file, line and column. It is pure: it gets the bytes and a name for them.
package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// Schema is the code of a document with an invalid structure. A missing key has the code [site.MissingField].
const Schema invalid.Code = "schema"

// Error is an error of a document.
type Error struct {
	File    string
	Line    int    // from 1; 0 when unknown
	Column  int    // from 1; 0 when unknown
	Path    string // `groups[2].selectors[0].node_names[1]`; empty for the document as a whole
	Code    invalid.Code
	Message string // what is wrong, then what would be right
	Warning bool   // it stops nothing
}

// Error returns the error on one line, in the form that editors can follow.
func (p Error) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	for _, position := range []int{p.Line, p.Column} {
		if position > 0 {
			fmt.Fprintf(&b, ":%d", position)
		}
	}
	b.WriteString(": ")
	if p.Warning {
		b.WriteString("warning: ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Errors are all errors of a document, in its order.
type Errors []Error

// Error returns the errors, one line each.
func (ps Errors) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// sortBy sorts errors by the order of the files, then by position.
func (ps Errors) sortBy(files map[string]int) {
	slices.SortStableFunc(ps, func(a, b Error) int {
		return cmp.Or(cmp.Compare(files[a.File], files[b.File]), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column))
	})
}

// sort sorts the errors of one file by position.
func (ps Errors) sort() {
	slices.SortStableFunc(ps, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
