package document

import (
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// partGroup is a group of which selectors may not be known. Its own select the nodes that it certainly selects.
type partGroup struct {
	site.Group
	widest site.Selectors // they select every node that it may select
}

// group notes a group, and returns it with the selectors of which all that counts is known. One of which more is not
// known keeps the site from being planned: every step may depend on it.
func (p *parting) group(m Member) (any, bool) {
	p.Groups.Of++
	object, _ := m.Value.(map[string]any)
	certainly, perhaps := maps.Clone(object), maps.Clone(object)
	if !isKnown(m.Value) {
		p.Groups.Lacks++
		if missing := unknownIn(m.Place, without(m.Value, "selectors")); len(missing) > 0 {
			p.Attribute = missing[0]
			return nil, false
		}
		certainly["selectors"], perhaps["selectors"] = narrowest(object["selectors"]), widest(object["selectors"])
	}
	groups, _, errs := p.values.Groups([]any{certainly})
	wider, _, more := p.values.Groups([]any{perhaps})
	if len(errs)+len(more) == 0 { // else the reader of the part reports it
		p.groups = append(p.groups, partGroup{groups[0], wider[0].Selectors})
	}
	return certainly, true
}

// widest returns selectors without the criteria that are not known: they select every node that may be selected.
func widest(selectors any) any {
	list, _ := selectors.([]any)
	out := make([]any, len(list))
	for i, selector := range list {
		criteria, _ := selector.(map[string]any)
		criteria = maps.Clone(criteria)
		maps.DeleteFunc(criteria, func(_ string, values any) bool { return !isKnown(values) || values == nil })
		if len(criteria) == 0 {
			return []any{} // every node
		}
		out[i] = criteria
	}
	return out
}

// narrowest returns selectors, of which something is not known, without what may come to select nothing: they select
// every node that is certainly selected.
func narrowest(selectors any) any {
	var out []any
	list, _ := selectors.([]any)
	for _, selector := range list {
		criteria, certain := selector.(map[string]any)
		criteria = maps.Clone(criteria)
		for name, v := range criteria {
			if isKnown(v) {
				continue
			}
			values, _ := v.([]any)
			values = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return !isKnown(v) })
			criteria[name], certain = values, certain && len(values) > 0
		}
		if certain {
			out = append(out, criteria)
		}
	}
	if out == nil {
		return []any{map[string]any{"node_names": []any{""}}} // no node
	}
	return out
}

// noRack is the rack of a node whose rack is not known. No selector can name it.
const noRack = "\x00"

// loosen returns what is known of a node for selectors, and the node with it.
func (p *parting) loosen(name string, node any) (site.UndecidedNode, map[string]any) {
	object, _ := node.(map[string]any)
	known := maps.Clone(object)
	n := site.UndecidedNode{Moves: !isKnown(object["address"]) || !isKnown(object["connect"])}
	for _, attribute := range []string{"tags", "labels", "rack", "roles"} {
		if !isKnown(object[attribute]) {
			n.Lacks, known[attribute] = append(n.Lacks, attribute), certainOf(object[attribute])
		}
	}
	if slices.Contains(n.Lacks, "rack") {
		known["rack"] = noRack
	}
	nodes, is, errs := p.values.Nodes([]any{without(known, "address", "connect")})
	if !is || len(errs) > 0 {
		return site.UndecidedNode{Node: site.Node{Name: name}, Lacks: []string{"tags", "labels", "rack", "roles"},
			Moves: true}, nil
	}
	n.Node = nodes[0]
	return n, known
}

// certainOf returns what is known of a list or map of texts; nil where nothing is.
func certainOf(v any) any {
	switch v := v.(type) {
	case resource.Unknown:
		return nil
	case []any:
		return slices.DeleteFunc(slices.Clone(v), func(e any) bool { return !isKnown(e) })
	case map[string]any:
		v = maps.Clone(v)
		maps.DeleteFunc(v, func(_ string, e any) bool { return !isKnown(e) })
		return v
	}
	return v
}

// settleGroups notes which groups may have more members than in the known part, and takes the nodes out of it whose
// tasks may be those of a group that is not known.
func (p *parting) settleGroups(part *Deployment) {
	p.Open, p.Members, p.Wavering = make(map[string]bool), make(map[string]bool), make(map[string]bool)
	if part.Groups == nil {
		for _, g := range strategy.Default() {
			p.groups = append(p.groups, partGroup{g, g.Selectors})
		}
	}
	for _, g := range p.groups {
		if p.Nameless {
			p.Open[g.Name] = true
		}
		for _, n := range p.loose {
			if !p.Loose[n.Name] && n.MaySelect(g.widest) {
				p.Open[g.Name] = true
			}
			if !p.Loose[n.Name] && !n.Moves && n.Selected(g.Selectors) {
				p.Members[n.Name] = true
			}
		}
	}
	var members map[string][]string
	if p.Groups.Lacks+len(p.loose) > 0 || p.Nameless {
		members = p.takeUnsettled(part)
	}
	list, _ := part.Groups.([]any)
	for i, g := range list {
		if p.Open[Member{Value: g}.Name()] {
			list[i] = p.relax(g, members)
		}
	}
}

// takeUnsettled takes nodes out of the known part that may be in no group, or in one that overrides name, and notes
// those that may be in a group before the one which they are certainly in, and which groups may own them. It returns
// the members of the groups that are left.
func (p *parting) takeUnsettled(part *Deployment) (members map[string][]string) {
	nodes, known, errs := p.values.Nodes(part.Nodes)
	groups, overridden := make(map[string]partGroup), make(map[string]bool)
	list := make([]site.Group, len(p.groups))
	for i, g := range p.groups {
		groups[g.Name], list[i] = g, g.Group
	}
	order, err := strategy.Order(list)
	overrides, _, _ := p.values.Overrides(part.Overrides)
	if !known || len(errs) > 0 || err != nil {
		return nil // the reader of the part reports it
	}
	for _, o := range overrides {
		for _, name := range o.Groups {
			overridden[name] = true
		}
	}
	index, settled, owners := site.NewNodeIndex(nodes), make(map[string]bool), newOwners()
	unsettled := make(map[string]bool) // true: more than the step may depend on it
	members = make(map[string][]string)
	for _, name := range order {
		members[name] = index.Members(groups[name].Selectors)
		certain := make(map[string]bool, len(members[name]))
		for _, node := range members[name] {
			certain[node] = true
		}
		perhaps := index.Members(groups[name].widest)
		for _, n := range p.loose {
			switch {
			case !n.MaySelect(groups[name].widest):
			case p.Loose[n.Name]:
				perhaps = append(perhaps, n.Name)
			default:
				owners.add(n.Name, name, n.Selected(groups[name].Selectors))
			}
		}
		for _, node := range perhaps {
			owners.add(node, name, certain[node])
			if matters := overridden[name] || part.Bounds["limit"] != nil; !certain[node] {
				p.Open[name] = true
				if matters || !settled[node] {
					unsettled[node] = unsettled[node] || matters
				}
			}
		}
		maps.Copy(settled, certain)
	}
	for node, matters := range unsettled {
		if settled[node] && !matters {
			p.Wavering[node] = true
			delete(unsettled, node)
		} else if unsettled[node] = true; settled[node] {
			p.Members[node] = true
		}
	}
	for name, certain := range members {
		left := slices.DeleteFunc(slices.Clone(certain), func(node string) bool { return unsettled[node] })
		p.Open[name] = p.Open[name] || len(left) < len(certain)
		members[name] = left
	}
	left, _ := part.Nodes.([]any)
	part.Nodes = slices.DeleteFunc(left, func(n any) bool { return unsettled[Member{Value: n}.Name()] })
	maps.DeleteFunc(p.Loose, func(node string, _ bool) bool { return unsettled[node] })
	p.Names = slices.AppendSeq(p.Names, maps.Keys(unsettled))
	slices.Sort(p.Names)
	p.noteUndecided(nodes, order, owners)
	return members
}

// owners are the groups that may own a node, by node, up to the first that certainly selects it.
type owners struct {
	of      map[string][]string
	certain map[string]bool
}

func newOwners() owners { return owners{make(map[string][]string), make(map[string]bool)} }

// add adds a group that may select a node, or certainly does. Groups come in the order of the run.
func (o owners) add(node, group string, certainly bool) {
	if !o.certain[node] && !slices.Contains(o.of[node], group) {
		o.of[node] = append(o.of[node], group)
	}
	o.certain[node] = o.certain[node] || certainly
}

// noteUndecided notes the nodes of which something is not known that decides where they belong.
func (p *parting) noteUndecided(nodes []site.Node, order []string, o owners) {
	note := func(n site.UndecidedNode) {
		if n.Owners = o.of[n.Name]; !o.certain[n.Name] {
			n.Owners = append(slices.Clip(n.Owners), "")
		}
		p.Undecided[n.Name] = n
	}
	for _, n := range nodes {
		_, leftOut := slices.BinarySearch(p.Names, n.Name)
		if groups := o.of[n.Name]; leftOut || len(groups) > 1 || len(groups) == 1 && !o.certain[n.Name] {
			note(site.UndecidedNode{Node: n})
		}
	}
	for _, n := range p.loose {
		note(n)
	}
	if p.Nameless {
		p.Undecided[""] = site.UndecidedNode{Lacks: []string{"name", "tags", "labels", "rack", "roles"},
			Owners: append(slices.Clone(order), "")}
	}
}

// relax returns a group without what is not allowed only because members are left out. members has those that are left,
// where not every group is known.
func (p *parting) relax(group any, members map[string][]string) any {
	object, _ := group.(map[string]any)
	out := maps.Clone(object)
	if criteria, _ := out["success_criteria"].(map[string]any); criteria["minimum_successful_nodes"] != nil {
		criteria = maps.Clone(criteria)
		criteria["minimum_successful_nodes"] = int64(0)
		out["success_criteria"] = criteria
	}
	rolling, _ := out["rolling"].(map[string]any)
	order, _ := rolling["node_order"].([]any)
	if len(order) == 0 {
		return out
	}
	name, _ := object["name"].(string)
	of, listed := members[name]
	order = slices.DeleteFunc(slices.Clone(order), func(v any) bool {
		node, _ := v.(string)
		return slices.Contains(p.Names, node) || listed && node != site.OtherNodes && !slices.Contains(of, node)
	})
	if !slices.Contains(order, any(site.OtherNodes)) {
		order = append(order, site.OtherNodes)
	}
	rolling = maps.Clone(rolling)
	rolling["node_order"] = order
	out["rolling"] = rolling
	return out
}
