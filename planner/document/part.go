package document

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// KnownPart returns a deployment without what is not known: nodes, also those whose group is not known, services, and
// configuration resources of services of which neither parameter is known. A parameter of a configuration resource may
// stay unknown, so the part is for a reader with Partly. A node of which tags, labels, rack or roles are not known
// stays with what it certainly has, unless wholly asks for nodes that are wholly known. The version of the secrets may
// stay unknown, too: then the parameters that refer to one are.
func KnownPart(d Deployment, wholly bool) (part Deployment, l site.Lacking, err error) {
	p := parting{values: NewValues(true), wholly: wholly, Lacking: site.Lacking{Wanted: map[string]bool{},
		Loose: map[string]bool{}, Undecided: map[string]site.UndecidedNode{},
		Overriding: map[string][]resource.Configuration{}, Brings: noBrings()}}
	plugins, _ := MembersOf(d.Plugins, "plugin")
	p.plugins = len(plugins) > 0
	type attribute struct {
		name  string
		value any
	}
	whole := []attribute{{"site", d.Site}, {"plugins", d.Plugins}, {orderingObject, d.Ordering}, {"triggers", d.Triggers}}
	for _, name := range bounds {
		whole = append(whole, attribute{name, d.Bounds[name]})
	}
	for _, a := range whole {
		if missing := unknownIn(a.name, a.value); len(missing) > 0 {
			p.Attribute = missing[0]
			return d, p.Lacking, nil
		}
	}
	p.Places = unknownIn(secretsVersion, d.SecretsVersion)
	part = d
	for _, list := range []struct {
		object string
		value  *any
		known  func(Member) (any, bool)
	}{
		{"group", &part.Groups, p.group}, {"override", &part.Overrides, p.override}, {"node", &part.Nodes, p.node},
		{"service", &part.Services, p.service},
	} {
		if _, unknown := (*list.value).(resource.Unknown); unknown {
			p.Attribute = list.object + "s"
			return d, p.Lacking, nil
		}
		members, wrong := MembersOf(*list.value, list.object)
		if wrong != nil {
			return d, p.Lacking, fmt.Errorf("%s %s", wrong.Attribute, wrong.Message)
		}
		kept := make([]any, 0, len(members))
		for _, m := range members {
			p.note(list.object, m)
			if known, ok := list.known(m); ok {
				kept = append(kept, known)
			}
			if p.Attribute != "" {
				return d, p.Lacking, nil
			}
		}
		if *list.value != nil {
			*list.value = kept
		}
	}
	p.settleGroups(&part)
	p.settleOverrides(&part)
	p.dropLeftOut(&part)
	return part, p.Lacking, nil
}

// parting takes a deployment apart into what is known and what is not.
type parting struct {
	values          *Values
	wholly, plugins bool // the site has plugins
	site.Lacking
	groups    []partGroup
	loose     []site.UndecidedNode
	overrides []partOverride
}

func noBrings() site.Brings {
	return site.Brings{Types: map[string]bool{}, IDs: map[resource.ID]bool{}}
}

// note adds the places of a member that are not known.
func (p *parting) note(object string, m Member) {
	name := m.Name()
	if name == "" {
		p.Places = append(p.Places, unknownIn(m.Place, m.Value)...)
		return
	}
	for _, place := range unknownIn("", m.Value) {
		p.Places = append(p.Places, fmt.Sprintf("%s %q, %s", object, name, place))
	}
}

// node returns a node with what is known of it. Of one that is not reached, or cannot be, it notes what counts for the
// rest of the site.
func (p *parting) node(m Member) (any, bool) {
	p.Nodes.Of++
	if isKnown(m.Value) {
		return m.Value, true
	}
	if known := without(m.Value, "zone"); isKnown(known) { // who reaches it changes nothing of what is done there
		return known, true
	}
	p.Nodes.Lacks++
	name := m.Name()
	if name == "" {
		p.Nameless = true
		return nil, false
	}
	n, known := p.loosen(name, m.Value)
	p.loose = append(p.loose, n)
	if !n.Moves && !p.wholly && (!slices.Contains(n.Lacks, "roles") || !p.plugins) {
		p.Loose[name] = true
		return known, true
	}
	p.Names = append(p.Names, name)
	reached := without(m.Value, "address", "connect")
	nodes, is, errs := p.values.Nodes([]any{reached})
	if is && len(errs) == 0 {
		p.Absent = append(p.Absent, nodes...)
	}
	return nil, false
}

// service returns a service, without the configuration resources that are not known. One with more that is not known is
// left out.
func (p *parting) service(m Member) (any, bool) {
	p.Services.Of++
	object, _ := m.Value.(map[string]any)
	resources, given := object[configuration]
	_, unknown := resources.(resource.Unknown)
	if isKnown(without(m.Value, configuration)) && !unknown {
		if !given {
			return m.Value, true
		}
		pruned, took := p.prune(resources)
		if !took {
			return m.Value, true
		}
		p.place(object)
		rest := maps.Clone(object)
		rest[configuration] = pruned
		return rest, true
	}
	p.Services.Lacks++
	p.Brings.Any = true
	if name := m.Name(); name != "" {
		p.Wanted[name] = true
	} else {
		p.Unnamed = true
	}
	p.Entities = p.Entities || object == nil || object[entity] != nil
	p.place(object)
	return nil, false
}

// place notes on which nodes a service is of which something is left out.
func (p *parting) place(service map[string]any) {
	bare := map[string]any{"name": "any", configuration: map[string]any{}, "selectors": widest(service["selectors"])}
	services, known, errs := p.values.Services([]any{bare})
	p.Partial, p.Anywhere = append(p.Partial, services...), p.Anywhere || !known || len(errs) > 0
}

// prune takes the types and titles out of a configuration of which nothing is known, counts its resources, and reports
// whether it took any.
func (p *parting) prune(configuration any) (pruned any, took bool) {
	types, ok := configuration.(map[string]any)
	if !ok {
		return configuration, false
	}
	types = maps.Clone(types)
	for typ, v := range types {
		titles, _ := v.(map[string]any)
		if _, unknown := v.(resource.Unknown); unknown {
			p.Brings.Types[typ], took = true, true
			delete(types, typ)
			continue
		}
		for title, parameters := range titles {
			p.Resources.Of++
			if !isKnown(parameters) {
				p.Resources.Lacks++
			}
			if _, unknown := parameters.(resource.Unknown); unknown {
				p.Brings.IDs[resource.MakeID(typ, title)], took = true, true
				types[typ] = without(types[typ], title)
			}
		}
	}
	return types, took
}

// without returns an object without some of its attributes.
func without(v any, attributes ...string) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	rest := maps.Clone(object)
	for _, name := range attributes {
		delete(rest, name)
	}
	return rest
}

func isKnown(v any) bool { return len(unknownIn("", v)) == 0 }

// identifierLike is a key that is written as an attribute.
var identifierLike = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// unknownIn returns the places in a plain value that are not known, in order, as users write them.
func unknownIn(at string, v any) (places []string) {
	switch v := v.(type) {
	case resource.Unknown:
		return []string{at}
	case []any:
		for i, e := range v {
			places = append(places, unknownIn(index(at, i), e)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			place := keyed(at, key)
			if at == "" || identifierLike.MatchString(key) {
				place = join(at, key)
			}
			places = append(places, unknownIn(place, v[key])...)
		}
	}
	return places
}
