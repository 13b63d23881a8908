package site

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
