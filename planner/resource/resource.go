// Package resource is the vocabulary of configuration resources: type, title, parameters (Puppet's words), their
// references and digests, and the schema that a type declares. It is pure, standard library only, and shared by the
// planner and by the code that runs on nodes.
package resource

import (
	"fmt"
	"strings"
)

// Configuration is type -> title -> parameters, as users write it.
type Configuration map[string]map[string]Parameters

// Parameters holds string, bool, int64, float64, []any and map[string]any values only; nil values do not occur.
// A Parameters value is never changed once it is part of a task: copy before changing.
type Parameters map[string]any

// Resource is one configuration resource on one node.
type Resource struct {
	Type       string     `json:"type"`
	Title      string     `json:"title"`
	Parameters Parameters `json:"parameters,omitempty"`
}

// ID is the identity of a resource on a node, `type[title]`.
type ID string

// ID returns `type[title]`.
func (r Resource) ID() ID { return MakeID(r.Type, r.Title) }

// MakeID returns `type[title]`.
func MakeID(typ, title string) ID { return ID(typ + "[" + title + "]") }

// ParseID splits `type[title]`. The type is made of letters, digits, underscores and colons, and matched without regard
// to case, so Puppet's `File[/etc/motd]` is the same as `file[/etc/motd]`; quotes around the title are dropped.
func ParseID(s string) (typ, title string, err error) {
	open := strings.IndexByte(s, '[')
	if open <= 0 || !strings.HasSuffix(s, "]") || open+1 == len(s)-1 || strings.ContainsFunc(s[:open], notTypeName) {
		return "", "", fmt.Errorf("%q is not a reference of the form type[title]%s", s, whatToWrite(s))
	}
	title = s[open+1 : len(s)-1]
	if n := len(title); n > 2 && (title[0] == '\'' || title[0] == '"') && title[n-1] == title[0] {
		title = title[1 : n-1]
	}
	return strings.ToLower(s[:open]), title, nil
}

// whatToWrite ends the message about a text that is no reference. `package.tree` is how Terraform names a resource.
func whatToWrite(s string) string {
	typ, title, found := strings.Cut(s, ".")
	if !found || typ == "" || title == "" || strings.ContainsFunc(typ, notTypeName) ||
		strings.ContainsAny(title, "[]") {
		return ", such as service[nginx]"
	}
	return fmt.Sprintf("; did you mean %q?", string(MakeID(typ, title)))
}

// reference returns the one form of a reference. The usual one, which is that form, costs nothing.
func reference(s string) (ID, error) {
	typ, title, err := ParseID(s)
	if err != nil {
		return "", err
	}
	if len(typ)+len(title)+len("[]") == len(s) && s[:len(typ)] == typ {
		return ID(s), nil
	}
	return MakeID(typ, title), nil
}

func notTypeName(r rune) bool {
	return r != '_' && r != ':' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}
