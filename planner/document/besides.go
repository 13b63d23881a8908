package document

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// allObjects reports whether all objects were read, though some perhaps only in part.
func allObjects(misread Problems) bool {
	return !slices.ContainsFunc(misread, func(p Problem) bool { return !strings.Contains(p.Path, "[") })
}

// besides returns further problems of a site whose objects were all read, so that users can fix them together with the
// problems of reading. It skips objects that were not read completely, and references to objects whose names may be
// missing for that reason.
func (s *Site) besides(misread Problems, check func(site.Site) site.Problems) Problems {
	if s.Shown {
		return nil
	}
	problems := s.Site.Validate()
	if check != nil {
		problems = problems.Join(check(s.Site))
	}
	named := !slices.ContainsFunc(s.Site.Groups, func(g site.Group) bool { return g.Name == "" })
	unsure := make(map[[2]string]bool) // objects that were not read well
	var out Problems
	for _, found := range problems.Errors() {
		object := [2]string{found.Object, found.Name}
		if _, known := unsure[object]; !known {
			unsure[object] = s.misread(object, misread)
		}
		refers := found.Code == site.UnknownDependency || found.Code == site.UnknownGroup
		if !unsure[object] && (named || !refers) && len(out) < maxProblems {
			out = append(out, s.Locate(found))
		}
	}
	return out
}

// misread reports whether reading had a problem with the object, given by kind and name.
func (s *Site) misread(object [2]string, problems Problems) bool {
	at := s.places[object]
	return len(at) == 0 || slices.ContainsFunc(at, func(p place) bool {
		last := lastLine(p.node)
		return slices.ContainsFunc(problems, func(m Problem) bool {
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
