package site

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// RolePattern is a role as an override names it: the role itself, or `/regex/`, anchored at the start only (fuel.md
// B4).
type RolePattern struct {
	name string
	expr *regexp.Regexp
}

// ParseRolePattern reads a role pattern. A text that is not enclosed in slashes is a name.
func ParseRolePattern(s string) (RolePattern, error) {
	if len(s) < 2 || s[0] != '/' || s[len(s)-1] != '/' {
		return RolePattern{name: s}, nil
	}
	written := s[1 : len(s)-1]
	if _, err := regexp.Compile(written); err != nil { // the error is about what the user wrote
		return RolePattern{}, fmt.Errorf("%q is not a regular expression: %w", s, err)
	}
	expr, err := catalog.CompilePattern(`\A(?:` + written + `)`)
	if err != nil {
		return RolePattern{}, fmt.Errorf("%q: %w", s, err)
	}
	return RolePattern{expr: expr.Regexp}, nil // roles are short
}

// Matches reports whether the pattern means the role.
func (p RolePattern) Matches(role string) bool {
	if p.expr != nil {
		return p.expr.MatchString(role)
	}
	return p.name == role
}

// Names reports whether an override names a node, or a role that it has.
func (o Override) Names(n Node) bool {
	return slices.Contains(o.Nodes, n.Name) || slices.ContainsFunc(o.Roles, func(text string) bool {
		pattern, err := ParseRolePattern(text)
		return err == nil && slices.ContainsFunc(n.Roles, pattern.Matches)
	})
}

// validateOverrides reports invalid names, scopes and options. Their configuration is validated by planner/refine.
func validateOverrides(s Site) invalid.Errors {
	errs := validateNames("override", NamesOf(s.Overrides, func(o Override) string { return o.Name }), checkTitle)
	groups := NamesOf(s.Groups, func(g Group) string { return g.Name })
	nodes := NodeNames(s.Nodes)
	roles, known := s.roles(), set(nodes)
	for _, o := range s.Overrides {
		errs = append(errs, o.validateScope(groups, nodes, known, roles, len(errs))...)
		switch o.Merge {
		case "", "parameter", "title":
		default:
			var more invalid.Errors
			more.Add("merge", invalid.BadValue, "%q is not a way to merge; use \"parameter\" or \"title\"", o.Merge)
			errs = append(errs, more.Of("override", o.Name, "")...)
		}
	}
	return errs
}

func (o Override) validateScope(groups, nodes []string, known map[string]bool, roles []string,
	before int) invalid.Errors {
	var errs invalid.Errors
	var scopes []string
	for _, scope := range []struct {
		name   string
		values []string
	}{{"groups", o.Groups}, {"roles", o.Roles}, {"nodes", o.Nodes}} {
		if len(scope.values) > 0 {
			scopes = append(scopes, scope.name)
		}
	}
	if len(scopes) > 1 {
		errs.Add(scopes[1], invalid.BadStructure,
			"%s exclude each other; make one override for each, or leave all out for the whole site",
			strings.Join(scopes, " and "))
	}
	for i, name := range o.Groups {
		if !slices.Contains(groups, name) {
			errs.Add(invalid.PathAt("groups", i), invalid.UnknownGroup, "there is no group %q%s", name,
				didYouMean(name, groups, before+len(errs)))
		}
	}
	for i, name := range o.Nodes {
		if !known[name] {
			errs.Add(invalid.PathAt("nodes", i), invalid.UnknownNode, "there is no node %q%s", name,
				didYouMean(name, nodes, before+len(errs)))
		}
	}
	for i, text := range o.Roles {
		pattern, err := ParseRolePattern(text)
		if err != nil {
			errs.Add(invalid.PathAt("roles", i), invalid.BadValue, "%s", err)
			continue
		}
		if !slices.ContainsFunc(roles, pattern.Matches) {
			errs.Warn(invalid.PathAt("roles", i), invalid.UnknownRole, "no node has the role %q%s", text,
				didYouMean(text, roles, before+len(errs)))
		}
	}
	return errs.Of("override", o.Name, "")
}

// roles returns all roles that nodes have, sorted.
func (s Site) roles() []string {
	var roles []string
	for _, n := range s.Nodes {
		roles = append(roles, n.Roles...)
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}
