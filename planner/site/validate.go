package site

import (
	"cmp"
	"slices"
	"strings"
)

// Validate reports everything that can be checked without the schemas of configuration resources: names, nodes, groups
// and their dependencies, placement of services, scopes of overrides. It ignores groups when they are nil; the caller
// sets the default strategy first. All problems are returned together, sorted (design.md 9).
func (s Site) Validate() Problems {
	var problems Problems
	if m := checkFileName(s.Name); m != "" {
		problems = append(problems, Problem{Object: "deployment", Name: s.Name, Attribute: "site", Code: BadName,
			Message: m})
	}
	problems = append(problems, validateNodes(s.Nodes)...)
	problems = append(problems, ValidateGroups(s.Groups, s.Nodes)...)
	problems = append(problems, validateServices(s.Services, NewNodeIndex(s.Nodes))...)
	problems = append(problems, validateOverrides(s)...)
	problems.Sort()
	return problems
}

// objects is the order of problems by object.
var objects = []string{"deployment", "node", "group", "service", "override", "plugin"}

// Sort puts errors before warnings, then goes by object (deployment, node, group, service, override, plugin), name,
// attribute, code and message, so that the order in which a site's lists are written does not show.
func (ps Problems) Sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
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
