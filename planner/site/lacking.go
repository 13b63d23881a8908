package site

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Lacking says what of a site is not known yet, because other resources of the same apply determine it, and what of the
// site is left out for that.
type Lacking struct {
	// Attribute names what is not known where every step may depend on it; nothing else counts then. Empty when there
	// is none.
	Attribute string
	Places    []string // all that is not known, as users write it

	Groups, Nodes, Services, Resources, Overrides Share

	// Open are groups that may have other members than in the known part.
	Open map[string]bool

	// Undecided are the nodes of which something is not known that decides which group owns them or which services they
	// have, by name: of the known part, and of Names. One of which the name is not known is under the empty name.
	Undecided map[string]UndecidedNode

	// Wavering are nodes of the known part that are certainly in a group, and may be in one before it. Which one decides
	// in which step their tasks are done, and nothing else.
	Wavering map[string]bool

	// Loose are nodes of the known part of which tags, labels, rack or roles are not known: they have what they certainly
	// have, so that more may be done on them, and nothing need be removed.
	Loose map[string]bool
	// Overriding has what overrides say that may concern a node of the known part or not, by node.
	Overriding map[string][]resource.Configuration

	// What follows is left out of the known part.
	Absent   []Node   // nodes of which the connection only is not known, without it
	Names    []string // of nodes, also of those that are left out because their group is not known
	Nameless bool     // the name of a node is not known; it may be in any group
	// Members are those of Names that are certainly in a group, and whose place is known: they are not torn down.
	Members map[string]bool
	// Services of which something is left out, with their selectors; Anywhere: one may be on any node.
	Partial  []Service
	Anywhere bool
	Entities bool            // one of them is of an entity, or may be
	Wanted   map[string]bool // names of services that are left out
	Unnamed  bool            // the name of a service that is left out is not known
	Brings   Brings
}

// Unknown returns the attributes of nodes that are not known, by node, as [Site.Unknown].
func (l Lacking) Unknown() map[string][]string {
	out := make(map[string][]string, len(l.Undecided)+len(l.Absent))
	for name, n := range l.Undecided {
		out[name] = n.Lacks
	}
	for _, n := range l.Absent {
		out[n.Name] = append(slices.Clip(out[n.Name]), "address")
	}
	return out
}

// UndecidedNode is a node of which not everything is known, with the tags, labels, rack and roles that it certainly
// has: what selects those selects it for certain.
type UndecidedNode struct {
	Node
	Lacks  []string // attributes of which more may come: name, rack, tags, labels, roles
	Moves  bool     // its address, or how to connect to it, is not known
	Owners []string // the groups that may own it, in the order of the run; an empty name: it may be in no group
}

// MaySelect reports whether selectors may select the node when it is known.
func (n UndecidedNode) MaySelect(s Selectors) bool {
	s = slices.Clone(s)
	for i := range s {
		for _, attribute := range n.Lacks {
			switch attribute {
			case "name":
				s[i].NodeNames = nil
			case "tags":
				s[i].NodeTags = nil
			case "labels":
				s[i].NodeLabels = nil
			case "rack":
				s[i].RackNames = nil
			}
		}
	}
	return n.Selected(s)
}

// Selected reports whether selectors certainly select the node.
func (n UndecidedNode) Selected(s Selectors) bool { return len(s.Members([]Node{n.Node})) > 0 }

// SureOfNodes reports whether it is known which nodes each group has.
func (l Lacking) SureOfNodes() bool {
	return l.Nodes.Lacks+l.Groups.Lacks == 0
}

// Share is how many objects of a kind are not wholly known.
type Share struct{ Lacks, Of int }

// Brings are configuration resources that services may bring, when they are known.
type Brings struct {
	Any   bool
	Types map[string]bool
	IDs   map[resource.ID]bool
}

// May reports whether a resource may be among them.
func (b Brings) May(r resource.Resource) bool { return b.Any || b.Types[r.Type] || b.IDs[r.ID()] }

// None reports whether there are none.
func (b Brings) None() bool { return !b.Any && len(b.Types)+len(b.IDs) == 0 }

// MayOverride reports whether it is not known which overrides concern a resource on a node.
func (l Lacking) MayOverride(node string, r resource.Resource) bool {
	return slices.ContainsFunc(l.Overriding[node], func(c resource.Configuration) bool {
		_, named := c[r.Type][r.Title]
		return named
	})
}
