package plugin

import (
	"errors"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// What a task may give as its role beside roles of nodes.
const (
	AllRoles   = "*"      // every node that has a role
	Controller = "master" // the machine that slipway itself runs on, which is not a part of AllRoles
)

// onController is the warning of a task that is to run on the controller.
const onController = "the role " + Controller +
	" means the machine that slipway runs on, which is no node: the %s does nothing there"

func anyOf(roles []string) string { return strings.Join(roles, " or ") }

// Roles selects the nodes on which a task runs.
type Roles struct {
	all, controller bool
	patterns        []site.RolePattern
}

// ParseRoles parses roles, any of which may match: `*`, `master`, the name of a role, or /regex/ on the roles of nodes,
// anchored at the start only (fuel.md A4).
func ParseRoles(texts []string) (Roles, error) {
	var r Roles
	if len(texts) == 0 {
		return r, errors.New("no role is given; name one or more, or write \"*\" for all nodes that have a role")
	}
	for _, text := range texts {
		switch text {
		case "":
			return Roles{}, errors.New("a role is empty; name a role, or write \"*\" for all nodes that have one")
		case AllRoles:
			r.all = true
		case Controller:
			r.controller = true
		default:
			p, err := site.ParseRolePattern(text)
			if err != nil {
				return Roles{}, err
			}
			r.patterns = append(r.patterns, p)
		}
	}
	return r, nil
}

// Place is where a task runs.
type Place struct {
	Nodes      []string // names, sorted
	Controller bool
}

// Empty reports whether the task runs nowhere.
func (p Place) Empty() bool { return len(p.Nodes) == 0 && !p.Controller }

// with returns the union of two places.
func (p Place) with(other Place) Place {
	nodes := slices.Concat(p.Nodes, other.Nodes)
	slices.Sort(nodes)
	return Place{Nodes: slices.Compact(nodes), Controller: p.Controller || other.Controller}
}

// Names returns the nodes, and "master" for the controller before them.
func (p Place) Names() []string {
	names := []string{}
	if p.Controller {
		names = append(names, Controller)
	}
	return append(names, p.Nodes...)
}

// On returns where a task with these roles runs.
func (r Roles) On(nodes []site.Node) Place {
	place := Place{Controller: r.controller}
	for _, n := range nodes {
		matches := func(role string) bool {
			return r.all || slices.ContainsFunc(r.patterns, func(p site.RolePattern) bool { return p.Matches(role) })
		}
		if slices.ContainsFunc(n.Roles, matches) {
			place.Nodes = append(place.Nodes, n.Name)
		}
	}
	slices.SortFunc(place.Nodes, strings.Compare)
	place.Nodes = slices.Compact(place.Nodes)
	return place
}
