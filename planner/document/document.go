// Package document reads YAML documents (and JSON, which is YAML) into the planner's values. Everything that is wrong
// with a document is reported at once, each problem with file, line and column. It is pure: it gets the bytes and a
// name for them.
package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Schema is the code of a document that does not have the form it must have; a required key that is not there
// has the code [site.MissingField] instead.
const Schema site.Code = "schema"

// Problem is one thing that is wrong with a document.
type Problem struct {
	File    string
	Line    int    // from 1; 0 when unknown
	Column  int    // from 1; 0 when unknown
	Path    string // `groups[2].selectors[0].node_names[1]`; empty for the document as a whole
	Code    site.Code
	Message string // what is wrong, then what would be right
	Warning bool   // it stops nothing
}

// Error gives the problem on one line, in the form that editors can follow.
func (p Problem) Error() string {
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

// Problems are all problems of a document, in its order.
type Problems []Problem

// Error lists the problems, a line each.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// sortBy brings problems into the order of their files, and of each file.
func (ps Problems) sortBy(files map[string]int) {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(files[a.File], files[b.File]), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column))
	})
}

// sort brings problems of one file into the order of the file.
func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
