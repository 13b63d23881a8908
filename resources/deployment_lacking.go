package resources

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
	"github.com/slipway/terraform-provider-slipway/resources/passthrough"
)

// lacking says what of a deployment is not known yet.
type lacking struct {
	// attribute names what is not known where every step may depend on it; nothing else counts then. Empty when there
	// is none.
	attribute string
	places    []string // all that is not known, as users write it

	nodes, services, resources, overrides share

	// What follows is left out of the known part.
	absent   []site.Node // nodes whose groups are known, without their connections
	names    []string    // of nodes
	nameless bool        // the name of a node is not known
	anyGroup bool        // a node may be in any group
	// Services of which something is left out, with their selectors; anywhere: one may be on any node.
	partial  []site.Service
	anywhere bool
	entities bool            // one of them is of an entity, or may be
	wanted   map[string]bool // names of services that are left out
	unnamed  bool            // the name of a service that is left out is not known
	brings   brings
}

// share is how many objects of a kind are not wholly known.
type share struct{ lacks, of int }

// brings are configuration resources that services may bring, when they are known.
type brings struct {
	any   bool
	types map[string]bool
	ids   map[planresource.ID]bool
}

func (b brings) may(r planresource.Resource) bool { return b.any || b.types[r.Type] || b.ids[r.ID()] }

func (b brings) none() bool { return !b.any && len(b.types)+len(b.ids) == 0 }

// knownPart returns the deployment without what is not known: nodes, services, and configuration resources of services
// of which neither parameter is known. A parameter of a configuration resource may stay unknown.
func (m deploymentModelV1) knownPart(ctx context.Context) (part deploymentModelV1, l lacking, err error) {
	part, l = m, lacking{wanted: map[string]bool{}, brings: brings{types: map[string]bool{},
		ids: map[planresource.ID]bool{}}}
	part.partly = true
	for _, a := range []struct {
		name  string
		value attr.Value
	}{{"site", m.Site}, {"groups", m.Groups}, {"plugins", m.Plugins}, {"ordering", m.Ordering}, {"triggers", m.Triggers}} {
		raw, err := opened(ctx, a.value)
		if err != nil {
			return m, l, err
		}
		if missing := unknownIn(a.name, raw); len(missing) > 0 {
			l.attribute = missing[0]
			return m, l, nil
		}
	}
	for _, list := range []struct {
		object string
		value  *passthrough.Value
		known  func(ctx context.Context, member entry) (tftypes.Value, bool)
	}{{"override", &part.Overrides, l.override}, {"node", &part.Nodes, l.node}, {"service", &part.Services, l.service}} {
		raw, err := list.value.Decode()
		if err != nil {
			return m, l, err
		}
		name := list.object + "s"
		if !raw.IsKnown() {
			l.attribute = name
			return m, l, nil
		}
		if raw.IsNull() {
			continue
		}
		members, wrong := membersOf(name, list.object, raw)
		if wrong != nil {
			return m, l, fmt.Errorf("%s %s", wrong.Attribute, wrong.Message)
		}
		var kept []tftypes.Value
		var keptTypes []tftypes.Type
		for _, member := range members {
			l.note(list.object, member)
			if known, ok := list.known(ctx, member); ok {
				kept, keptTypes = append(kept, known), append(keptTypes, known.Type())
			}
			if l.attribute != "" {
				return m, l, nil
			}
		}
		if *list.value, err = passthrough.Encode(tftypes.NewValue(tftypes.Tuple{ElementTypes: keptTypes}, kept)); err != nil {
			return m, l, err
		}
	}
	return part, l, nil
}

// note adds the places of a member that are not known.
func (l *lacking) note(object string, member entry) {
	name := nameOf(member.value)
	if !member.value.IsKnown() || name == "" {
		l.places = append(l.places, unknownIn(member.key, member.value)...)
		return
	}
	for _, place := range unknownIn("", member.value) {
		l.places = append(l.places, where(invalid.Error{Object: object, Name: name, Attribute: place}))
	}
}

// node returns a node that is wholly known. Of another one it notes what counts for the rest of the site.
func (l *lacking) node(ctx context.Context, member entry) (tftypes.Value, bool) {
	l.nodes.of++
	if member.value.IsFullyKnown() {
		return member.value, true
	}
	l.nodes.lacks++
	name := nameOf(member.value)
	if name == "" {
		l.nameless, l.anyGroup = true, true
		return member.value, false
	}
	l.names = append(l.names, name)
	nodes, ok := readOne(ctx, without(member.value, "address", nodeConnection), NodesFrom)
	l.absent, l.anyGroup = append(l.absent, nodes...), l.anyGroup || !ok
	return member.value, false
}

// service returns a service, without the configuration resources that are not known. One with more that is not known is
// left out.
func (l *lacking) service(ctx context.Context, member entry) (tftypes.Value, bool) {
	l.services.of++
	entries, _ := entriesOf(member.value)
	configuration, given := entries["configuration"]
	if without(member.value, "configuration").IsFullyKnown() && (!given || configuration.IsKnown()) {
		if !given {
			return member.value, true
		}
		pruned, took := l.prune(configuration)
		if !took {
			return member.value, true
		}
		entries["configuration"] = pruned
		l.place(ctx, member.value)
		return objectOf(entries), true
	}
	l.services.lacks++
	l.brings.any = true
	if name := nameOf(member.value); name != "" {
		l.wanted[name] = true
	} else {
		l.unnamed = true
	}
	entity, given := entries[entityAttribute]
	l.entities = l.entities || !member.value.IsKnown() || given && !entity.IsNull()
	l.place(ctx, member.value)
	return member.value, false
}

// place notes on which nodes a service is of which something is left out.
func (l *lacking) place(ctx context.Context, service tftypes.Value) {
	entries, _ := entriesOf(service)
	bare := map[string]tftypes.Value{"name": tftypes.NewValue(tftypes.String, "any"), "configuration": objectOf(nil)}
	if selectors, given := entries["selectors"]; given {
		bare["selectors"] = selectors
	}
	services, ok := readOne(ctx, objectOf(bare), ServicesFrom)
	l.partial, l.anywhere = append(l.partial, services...), l.anywhere || !ok
}

// prune takes the types and titles out of a configuration of which nothing is known, counts its resources, and reports
// whether it took any.
func (l *lacking) prune(configuration tftypes.Value) (pruned tftypes.Value, took bool) {
	types, _ := entriesOf(configuration)
	types = maps.Clone(types)
	for typ, v := range types {
		if !v.IsKnown() {
			l.brings.types[typ], took = true, true
			delete(types, typ)
			continue
		}
		titles, _ := entriesOf(v)
		titles = maps.Clone(titles)
		tookTitle := false
		for title, parameters := range titles {
			l.resources.of++
			if !parameters.IsFullyKnown() {
				l.resources.lacks++
			}
			if !parameters.IsKnown() {
				l.brings.ids[planresource.MakeID(typ, title)], tookTitle = true, true
				delete(titles, title)
			}
		}
		if tookTitle {
			types[typ], took = objectOf(titles), true
		}
	}
	return objectOf(types), took
}

// override returns an override of which no more than parameters of configuration resources are not known.
func (l *lacking) override(_ context.Context, member entry) (tftypes.Value, bool) {
	l.overrides.of++
	if member.value.IsFullyKnown() {
		return member.value, true
	}
	l.overrides.lacks++
	entries, _ := entriesOf(member.value)
	var others lacking
	others.brings = brings{types: map[string]bool{}, ids: map[planresource.ID]bool{}}
	if !without(member.value, "configuration").IsFullyKnown() || !entries["configuration"].IsKnown() {
		l.attribute = l.places[len(l.places)-1]
	} else if _, took := others.prune(entries["configuration"]); took {
		l.attribute = l.places[len(l.places)-1]
	}
	return member.value, true
}

// without returns an object without some of its attributes.
func without(v tftypes.Value, attributes ...string) tftypes.Value {
	entries, ok := entriesOf(v)
	if !ok {
		return v
	}
	rest := maps.Clone(entries)
	for _, name := range attributes {
		delete(rest, name)
	}
	return objectOf(rest)
}

// readOne reads one object of a deployment; ok is false when it is not wholly known, or invalid.
func readOne[T any](ctx context.Context, object tftypes.Value,
	read func(context.Context, path.Path, attr.Value) ([]T, bool, diag.Diagnostics),
) (objects []T, ok bool) {
	list, err := passthrough.Encode(tftypes.NewValue(tftypes.Tuple{ElementTypes: []tftypes.Type{object.Type()}},
		[]tftypes.Value{object}))
	if err != nil {
		return nil, false
	}
	objects, known, diags := read(ctx, path.Empty(), list)
	return objects, known && !diags.HasError()
}

// unknownIn returns the places in a value that are not known, in order.
func unknownIn(at string, v tftypes.Value) (places []string) {
	switch {
	case !v.IsKnown():
		return []string{at}
	case v.IsFullyKnown():
		return nil
	}
	if elements, ok := elementsOf(v); ok {
		for i, e := range elements {
			places = append(places, unknownIn(elementPath(at, i), e)...)
		}
		return places
	}
	entries, _ := entriesOf(v)
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		places = append(places, unknownIn(placeOf(at, key), entries[key])...)
	}
	return places
}

// placeOf is a member as users write it: an attribute, or in brackets what is no name.
func placeOf(at, key string) string {
	if at == "" {
		return key
	}
	return keyedPath(at, key)
}

// hides reports whether a task is not shown, because it may not be wanted when everything is known.
func (l lacking) hides(t task.Task) bool {
	return t.Action == task.Remove && l.brings.may(t.Resource) || t.Action == task.Forget && slices.Contains(l.names,
		t.Node)
}

// stays reports whether a task stays when everything is known. A machine that is torn down may come under another name,
// and what an override makes may be a service's.
func (l lacking) stays(t task.Task) bool {
	made := t.Service == "" && len(t.Override) > 0
	comes := t.Action == task.Forget && l.nodes.lacks > 0
	return !l.hides(t) && !comes && (!made || !l.brings.may(t.Resource))
}
