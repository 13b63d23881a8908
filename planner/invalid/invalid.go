// Package invalid has the errors in what users write: in configuration, documents and catalogs. Every check of the
// planner returns this one type, so that errors of different checks travel together and are shown in one way.
package invalid

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Code classifies an error. The names are those of the conformance vectors where they have one.
type Code string

// Error is one error, named as the user wrote it. A check of a part leaves out what only its caller knows: the object,
// the beginning of the attribute's path.
type Error struct {
	// Object is "deployment", "node", "group", "service", "override" or "plugin" of a site, "type", "pool", "entity" or
	// "ordering" of a catalog. It is empty when the caller knows it.
	Object    string
	Name      string // the object's name
	Later     bool   // two objects have the name, and this is about the later one
	Attribute string // path below the object: `depends_on_groups[0]`, `configuration.file["/etc/motd"].mode`
	Code      Code
	Message   string // what is wrong, then what to write instead; never a secret value
	Warning   bool   // it stops nothing
}

// Error returns the error on one line.
func (e Error) Error() string {
	s := e.Message
	if e.Attribute != "" {
		s = e.Attribute + ": " + s
	}
	if e.Object != "" {
		s = fmt.Sprintf("%s %q: %s", e.Object, e.Name, s)
	}
	return s
}

// Errors are all errors and warnings of one validation; they travel together as one error.
type Errors []Error

// Error returns the errors, a line each.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Errors returns those that are not warnings.
func (es Errors) Errors() Errors { return es.filter(false) }

// Warnings returns those that stop nothing.
func (es Errors) Warnings() Errors { return es.filter(true) }

// Join returns the errors with more of them, without those that are there already, and without further errors of an
// attribute that has one. They are sorted.
func (es Errors) Join(more Errors) Errors {
	known, wrong := make(map[Error]bool, len(es)), make(map[[3]string]bool, len(es))
	for _, p := range es {
		known[p] = true
		if !p.Warning {
			wrong[[3]string{p.Object, p.Name, p.Attribute}] = true
		}
	}
	out := es
	for _, p := range more {
		if !known[p] && (p.Warning || !wrong[[3]string{p.Object, p.Name, p.Attribute}]) {
			out = append(out, p)
		}
	}
	out.Sort()
	return out
}

func (es Errors) filter(warning bool) Errors {
	var out Errors
	for _, p := range es {
		if p.Warning == warning {
			out = append(out, p)
		}
	}
	return out
}

// objects is the order of errors by object.
var objects = []string{"deployment", "node", "group", "service", "override", "plugin"}

// Sort puts errors before warnings, then goes by object (deployment, node, group, service, override, plugin), name,
// attribute, code and message, so that the order in which a site's lists are written does not show.
func (es Errors) Sort() {
	slices.SortStableFunc(es, func(a, b Error) int {
		if a.Warning != b.Warning {
			if b.Warning {
				return -1
			}
			return 1
		}
		return cmp.Or(
			cmp.Compare(slices.Index(objects, a.Object), slices.Index(objects, b.Object)),
			strings.Compare(a.Name, b.Name),
			strings.Compare(a.Attribute, b.Attribute),
			strings.Compare(string(a.Code), string(b.Code)),
			strings.Compare(a.Message, b.Message),
		)
	})
}
