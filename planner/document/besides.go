package document

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// allObjects reports whether all objects are there, though perhaps not all of each.
func allObjects(misread Problems) bool {
	return !slices.ContainsFunc(misread, func(p Problem) bool { return !strings.Contains(p.Path, "[") })
}

// besides returns what is wrong with the site, whose objects are all there, apart from the problems that reading it
// had, so that all of it can be mended at once. Nothing is said of objects that were not read well, and nothing of
// references to objects whose names may be among what was not read.
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

// misread reports whether an object, given by kind and name, has one of the problems that reading had.
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

// lastLine returns the line on which the last value below a node begins.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, below := range n.Content {
		last = max(last, lastLine(below))
	}
	return last
}
