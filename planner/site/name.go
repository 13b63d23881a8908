package site

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"unicode"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// nameLimit is the longest name, in bytes: that of a host name, which also fits a file name.
const nameLimit = 253

var fileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// CheckFileName returns the error in the name of a site, a node or a plugin, empty when it is valid. These names become
// parts of file names, on the controller and on nodes.
func CheckFileName(name string) string {
	if m := checkLength(name); m != "" || fileName.MatchString(name) {
		return m
	}
	return fmt.Sprintf("%q is not a usable name; use letters, digits, '.', '_' and '-', and begin with a letter, a digit or '_'", name)
}

func checkLength(name string) string {
	switch {
	case name == "":
		return "a name is needed"
	case len(name) > nameLimit:
		return fmt.Sprintf("the name has %d characters; use at most %d", len(name), nameLimit)
	}
	return ""
}

// checkTitle returns the error in the name of a group, a service or an override, empty when it is valid. These names
// are only shown and compared.
func checkTitle(name string) string {
	switch m := checkLength(name); {
	case m != "":
		return m
	case strings.TrimSpace(name) != name:
		return fmt.Sprintf("the name begins or ends with white space; write %q", strings.TrimSpace(name))
	case strings.ContainsFunc(name, unicode.IsControl):
		return "the name holds a control character; use printable characters only"
	}
	if r, found := resource.Invisible(name); found {
		return fmt.Sprintf("%q contains %U, which is invisible, so that the name looks like another one; leave it out",
			name, r)
	}
	return ""
}

// CheckAddress returns an error for what is no host name or IP address, with nothing around it.
func CheckAddress(s string) error {
	ip, notIP := netip.ParseAddr(s)
	switch {
	case notIP == nil && ip.Zone() == "":
		return nil
	case s == "":
		return errors.New("the address is empty; write a host name or IP address, or leave it out for a local node")
	case strings.Contains(s, "@"):
		return fmt.Errorf("%q names a user; write the host only, and the user in the connection", s)
	case strings.ContainsAny(s, ":[]"):
		return fmt.Errorf("%q is not a host name or IP address; write the host only, and the port in the connection", s)
	case strings.ContainsAny(s, " \t\r\n/"):
		return fmt.Errorf("%q is not a host name or IP address", s)
	case strings.HasPrefix(s, "-"):
		return fmt.Errorf("%q begins with a hyphen; no host name does", s)
	}
	return nil
}

// CheckLabelSide returns an error for a key or value of a node's label that no selector can name.
func CheckLabelSide(s string) error {
	if s == "" || strings.Contains(s, ":") || strings.TrimSpace(s) != s {
		return fmt.Errorf("%q cannot be the key or value of a label, because no selector could name it; write something "+
			"without colon and without white space around it", s)
	}
	return nil
}

// NamesOf returns the names of objects, in their order.
func NamesOf[T any](objects []T, name func(T) string) []string {
	names := make([]string, len(objects))
	for i, o := range objects {
		names[i] = name(o)
	}
	return names
}

// NodeNames returns the names of nodes, in their order.
func NodeNames(nodes []Node) []string { return NamesOf(nodes, func(n Node) string { return n.Name }) }

// validateNames reports invalid and duplicate names of one kind of object.
func validateNames(object string, names []string, check func(string) string) invalid.Errors {
	var errs invalid.Errors
	seen := make(map[string]int, len(names))
	for _, name := range names {
		seen[name]++
		if seen[name] == 2 {
			errs = append(errs, invalid.Error{
				Object: object, Name: name, Attribute: "name", Code: invalid.Duplicate,
				Message: fmt.Sprintf("there is more than one %s of this name; give each a name of its own", object),
			})
		}
		if m := check(name); m != "" && seen[name] == 1 {
			errs = append(errs, invalid.Error{Object: object, Name: name, Attribute: "name", Code: invalid.BadName,
				Message: m})
		}
	}
	return errs
}
