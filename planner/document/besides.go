package document

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// allObjects reports whether all objects were read, though some perhaps only in part.
func allObjects(misread invalid.Errors) bool {
	return !slices.ContainsFunc(misread, func(p invalid.Error) bool { return !strings.Contains(p.Attribute, "[") })
}

// besides returns further errors of a site whose objects were all read, so that users can fix them together with the
// errors of reading. It skips objects that were not read completely, and references to objects whose names may be
// missing for that reason.
func (s *Site) besides(misread invalid.Errors, check func(site.Site) invalid.Errors) invalid.Errors {
	if s.Shown {
		return nil
	}
	errs := s.Site.Validate()
	if check != nil {
		errs = errs.Join(check(s.Site))
	}
	named := !slices.ContainsFunc(s.Site.Groups, func(g site.Group) bool { return g.Name == "" })
	unsure := make(map[[2]string]bool) // objects that were not read well
	var out invalid.Errors
	for _, found := range errs.Errors() {
		object := [2]string{found.Object, found.Name}
		if _, known := unsure[object]; !known {
			unsure[object] = s.misread(object, misread)
		}
		refers := found.Code == invalid.UnknownDependency || found.Code == invalid.UnknownGroup
		if !unsure[object] && (named || !refers) && len(out) < maxErrors {
			out = append(out, s.Locate(found))
		}
	}
	return out
}

// misread reports whether reading had an error with the object, given by kind and name.
func (s *Site) misread(object [2]string, errs invalid.Errors) bool {
	at := s.places[object]
	return len(at) == 0 || slices.ContainsFunc(at, func(p place) bool {
		last := lastLine(p.node)
		return slices.ContainsFunc(errs, func(m invalid.Error) bool {
			return m.File == p.file && p.node.Line <= m.Line &&
				m.Line <= last
		})
	})
}

// lastLine returns the line of the last value below a node.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, below := range n.Content {
		last = max(last, lastLine(below))
	}
	return last
}
