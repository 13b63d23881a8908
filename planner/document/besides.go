package document

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// besides returns what is wrong with the site apart from the problems that reading it had, so that all of it can be mended at once. Nothing is said of
// objects that were not read well, and nothing of references to objects whose names may be among what was not read.
func (s *Site) besides(misread Problems) Problems {
	lists := true // whether all objects are there, though perhaps not all of each
	for _, p := range misread {
		lists = lists && strings.Contains(p.Path, "[")
	}
	if !lists || s.Shown {
		return nil
	}
	named := !slices.ContainsFunc(s.Site.Groups, func(g site.Group) bool { return g.Name == "" })
	unsure := make(map[[2]string]bool) // objects that were not read well
	var out Problems
	for _, found := range s.Site.Validate().Errors() {
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
		return slices.ContainsFunc(problems, func(m Problem) bool { return m.File == p.file && p.node.Line <= m.Line && m.Line <= last })
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
