package catalog

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// errs collects errors.
type errs []invalid.Error

func (m *errs) add(path string, code invalid.Code, format string, args ...any) {
	*m = append(*m, invalid.Error{Attribute: path, Code: code, Message: fmt.Sprintf(format, args...)})
}

// identifier is the name of a type, attribute, embedded entity or relation: templates write it after a dot.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// title is the name of an entity or a task.
var title = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// nameLimit bounds names, in bytes.
const nameLimit = 253

func (m *errs) name(path, name string, form *regexp.Regexp) {
	switch {
	case name == "":
		m.add(path, BadName, "a name is needed")
	case len(name) > nameLimit:
		m.add(path, BadName, "the name has %d characters; use at most %d", len(name), nameLimit)
	case !form.MatchString(name):
		more := ""
		if form == title {
			more = ", '.' and '-'"
		}
		m.add(path, BadName, "%q is not a usable name; use letters, digits, '_'%s, and begin with a letter or '_'",
			name, more)
	}
}

func (m *errs) section(path string, s Section) {
	if !slices.Contains(Sections(), s) {
		m.add(path, BadValue, "%s", resource.NoSuch("section", string(s), Sections()))
	}
}

// unknown reports an unknown name and, while there are few errors, suggests a similar one.
func (m *errs) unknown(what, name string, known func() []string) string {
	if len(*m) >= resource.MostHints {
		return fmt.Sprintf("there is no %s %q", what, name)
	}
	return resource.NoSuch(what, name, known())
}
