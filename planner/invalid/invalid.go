// Package invalid has the errors in what users write: in configuration, documents and catalogs. Every check of the
// planner returns this one type, so that errors of different checks travel together and are shown in one way.
package invalid

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
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
	// File, Line and Column are the position in a document, from 1; 0 when it is not known. Without a file they are the
	// position in the template that the attribute has.
	File         string
	Line, Column int
	Code         Code
	Message      string // what is wrong, then what to write instead; never a secret value
	Warning      bool   // it stops nothing
}

// Path returns the object and the attribute: `group "web": depends_on_groups[0]`. It is empty for a document as a whole.
func (e Error) Path() string {
	object := e.Object
	if e.Name != "" || object != "" && object != objects[0] {
		object = fmt.Sprintf("%s %q", object, e.Name)
	}
	if object != "" && e.Attribute != "" {
		return object + ": " + e.Attribute
	}
	return object + e.Attribute
}

// PathTo returns the path of an attribute in the object at a path.
func PathTo(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// PathAt returns the path of an element of the list at a path.
func PathAt(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Text returns the message, with the position in a template.
func (e Error) Text() string {
	if e.File == "" && e.Line > 0 {
		return fmt.Sprintf("%s (line %d, column %d of the template)", e.Message, e.Line, e.Column)
	}
	return e.Message
}

// Error returns the error on one line; that of a document has the form that editors can follow.
func (e Error) Error() string {
	s := e.Text()
	if path := e.Path(); path != "" {
		s = path + ": " + s
	}
	if e.File == "" {
		return s
	}
	if e.Warning {
		s = "warning: " + s
	}
	position := e.File
	for _, n := range []int{e.Line, e.Column} {
		if n > 0 {
			position += ":" + strconv.Itoa(n)
		}
	}
	return position + ": " + s
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

// Add adds an error of an attribute.
func (es *Errors) Add(attribute string, code Code, format string, args ...any) {
	*es = append(*es, Error{Attribute: attribute, Code: code, Message: fmt.Sprintf(format, args...)})
}

// Warn is [Errors.Add] for a warning.
func (es *Errors) Warn(attribute string, code Code, format string, args ...any) {
	es.Add(attribute, code, format, args...)
	(*es)[len(*es)-1].Warning = true
}

// Of returns the errors of a part as those of an object: prefix comes before each attribute.
func (es Errors) Of(object, name, prefix string) Errors {
	for i := range es {
		es[i].Object, es[i].Name, es[i].Attribute = object, name, prefix+es[i].Attribute
	}
	return es
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

// SortByPosition sorts by file, in the given order, then by line and column.
func (es Errors) SortByPosition(files map[string]int) {
	slices.SortStableFunc(es, func(a, b Error) int {
		return cmp.Or(cmp.Compare(files[a.File], files[b.File]), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column))
	})
}
