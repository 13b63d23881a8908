// Package graph draws the groups of a site with their dependencies, and lifecycles, as Mermaid and as DOT for Graphviz.
// It is pure: the same input gives the same picture, byte for byte.
package graph

import (
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// Graph is the groups of a site with the edges between them.
type Graph struct {
	Site   string
	Groups []Group // in processing order
}

// Group is one box of the picture.
type Group struct {
	Name     string
	Critical bool
	Members  int            // nodes that its selectors give; below 0: not known
	Stage    strategy.Stage // how a run left the group; empty: no run
	Parents  []int          // indexes in Graph.Groups of the groups that it depends on, ascending, each once
}

// New returns the graph of a site's groups. Groups that are nil are the default strategy. Members are counted only when
// they are known. Invalid dependencies are a [invalid.Errors] error.
func New(s site.Site, membersKnown bool) (Graph, error) {
	groups := s.Groups
	if groups == nil {
		groups = strategy.Default()
	}
	order, err := strategy.Order(groups)
	if err != nil {
		return Graph{}, err
	}
	byName := make(map[string]site.Group, len(groups))
	for _, g := range groups {
		byName[g.Name] = g
	}
	place := make(map[string]int, len(order))
	for i, name := range order {
		place[name] = i
	}
	out := Graph{Site: s.Name}
	for _, name := range order {
		settings := byName[name]
		g := Group{Name: name, Critical: settings.Critical, Members: -1}
		if membersKnown {
			g.Members = len(settings.Selectors.Members(s.Nodes))
		}
		for _, parent := range settings.DependsOn {
			g.Parents = append(g.Parents, place[parent])
		}
		slices.Sort(g.Parents)
		g.Parents = slices.Compact(g.Parents)
		out.Groups = append(out.Groups, g)
	}
	return out, nil
}

// WithStages returns the graph with the stages of the groups after a run.
func (g Graph) WithStages(r strategy.Report) Graph {
	groups := append([]Group{}, g.Groups...)
	for i := range groups {
		if reported, ok := r.Group(groups[i].Name); ok {
			groups[i].Stage = reported.Stage
		}
	}
	g.Groups = groups
	return g
}

// about returns the second line of a box.
func (g Group) about() string {
	s := "not critical"
	if g.Critical {
		s = "critical"
	}
	switch {
	case g.Members == 1:
		s += ", 1 node"
	case g.Members >= 0:
		s += fmt.Sprintf(", %d nodes", g.Members)
	}
	return s
}

// paint is how a box is drawn. Colour never shows anything that words do not.
type paint struct{ fill, line string }

// paint is the same for all groups of a stage; without a stage it distinguishes critical groups from others.
func (g Group) paint() paint {
	switch {
	case g.Stage == strategy.Deployed:
		return paint{"#d9f2dd", "#1b7a34"}
	case g.Stage == strategy.Failed:
		return paint{"#fbdcdc", "#b3261e"}
	case g.Stage != "":
		return paint{"#eeeeee", "#666666"}
	case g.Critical:
		return paint{"#e3ecfb", "#1f4e9c"}
	}
	return paint{"#f5f5f5", "#666666"}
}
