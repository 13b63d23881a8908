package document

import (
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// partOverride is an override of which the scope may not be known. Its own is the one that it certainly has.
type partOverride struct {
	site.Override
	anyNode, anyRole bool // it may concern any node, or any that has a role
}

// override notes an override, and returns it with the scope that it certainly has. One of which more is not known than
// scope and parameters of configuration resources keeps the site from being planned.
func (p *parting) override(m Member) (any, bool) {
	p.Overrides.Of++
	object, _ := m.Value.(map[string]any)
	certainly := m.Value
	o, stays := partOverride{}, true
	if !isKnown(m.Value) {
		p.Overrides.Lacks++
		others := parting{Lacking: site.Lacking{Brings: noBrings()}}
		_, unknown := object[configuration].(resource.Unknown)
		if _, took := others.prune(object[configuration]); took || unknown ||
			!isKnown(without(m.Value, configuration, "groups", "roles", "nodes")) {
			p.Attribute = p.Places[len(p.Places)-1]
			return nil, false
		}
		scoped := maps.Clone(object)
		for _, scope := range []string{"groups", "roles", "nodes"} {
			if isKnown(object[scope]) {
				continue
			}
			_, whole := object[scope].(resource.Unknown) // it may come to be null: the whole site
			names, _ := certainOf(object[scope]).([]any)
			o.anyNode, o.anyRole = o.anyNode || whole || scope != "roles", true
			scoped[scope], stays = names, stays && len(names) > 0
		}
		certainly = scoped
	}
	if overrides, _, errs := p.values.Overrides([]any{certainly}); len(errs) == 0 { // else the reader reports it
		o.Override = overrides[0]
		p.overrides = append(p.overrides, o)
	}
	return certainly, stays
}

// settleOverrides notes which overrides may concern which nodes of the known part.
func (p *parting) settleOverrides(part *Deployment) {
	nodes, _, _ := p.values.Nodes(part.Nodes)
	noRoles := make(map[string]bool)
	for _, n := range p.loose {
		noRoles[n.Name] = slices.Contains(n.Lacks, "roles")
	}
	for _, o := range p.overrides {
		for _, n := range nodes {
			hasRole := len(n.Roles) > 0 || noRoles[n.Name]
			may := o.anyNode || o.anyRole && hasRole || len(o.Roles) > 0 && noRoles[n.Name]
			if may && !o.Names(n) {
				p.Overriding[n.Name] = append(p.Overriding[n.Name], o.Configuration)
			}
		}
	}
}

// dropLeftOut takes the nodes that are left out from what overrides name, and an override that names no other ones.
func (p *parting) dropLeftOut(part *Deployment) {
	overrides, _ := part.Overrides.([]any)
	if len(overrides) == 0 {
		return
	}
	kept := make([]any, 0, len(overrides))
	for _, o := range overrides {
		object, _ := o.(map[string]any)
		nodes, _ := object["nodes"].([]any)
		left := slices.DeleteFunc(slices.Clone(nodes), func(v any) bool {
			node, _ := v.(string)
			return slices.Contains(p.Names, node)
		})
		switch len(left) {
		case len(nodes):
			kept = append(kept, o)
		case 0:
		default:
			object = maps.Clone(object)
			object["nodes"] = left
			kept = append(kept, object)
		}
	}
	part.Overrides = kept
}
