package site

import "github.com/slipway/terraform-provider-slipway/planner/invalid"

// Validate reports everything that can be checked without the schemas of configuration resources: names, nodes, groups
// and their dependencies, placement of services, scopes of overrides. It ignores groups when they are nil; the caller
// sets the default strategy first. All errors are returned together, sorted (design.md 9).
func (s Site) Validate() invalid.Errors {
	var errs invalid.Errors
	if m := CheckFileName(s.Name); m != "" {
		errs = append(errs, invalid.Error{Object: "deployment", Name: s.Name, Attribute: "site", Code: invalid.BadName,
			Message: m})
	}
	errs = append(errs, validateNodes(s.Nodes)...)
	errs = append(errs, ValidateGroups(s.Groups, s.Nodes)...)
	errs = append(errs, validateServices(s.Services, NewNodeIndex(s.Nodes))...)
	errs = append(errs, validateOverrides(s)...)
	errs = append(errs, s.validateBounds()...)
	errs.Sort()
	return errs
}
