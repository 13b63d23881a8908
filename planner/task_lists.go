package planner

import (
	"encoding/binary"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	callbacktype "github.com/slipway/terraform-provider-slipway/planner/callback"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/override"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// newDesired refines the services of a site, applies the overrides and orders the tasks of each node. errors are
// those that the site has already; they are returned with those that are found. With any error what it returns serves
// only to find further errors. memo may be nil; yields is for [share].
func newDesired(m *membership, errs invalid.Errors, memo *refine.Memo, yields yields) (*desired, invalid.Errors) {
	b := &desiredBuilder{
		desired: &desired{
			membership: m, wanted: make(map[string]*taskList, len(m.nodes)), byService: make(map[string][]int),
			nodeActions: make(map[string][]int), after: make([][]string, len(m.groups)),
		},
		errs: errs, yields: yields, actionSchemas: schema.Actions(),
	}
	b.templates = &refine.Templates{}
	b.types = b.templates.Types()
	var more invalid.Errors
	b.rules, more = newRules(m.site, b.types, b.actionSchemas)
	b.errs = append(b.errs, more...)
	b.services, more = refine.New(m.site, m.nodes,
		refine.Schemas{Config: b.types, Remote: b.actionSchemas, Callback: callbacktype.Schemas()}, memo)
	b.errs = append(b.errs, more...)
	b.overrides, more = override.New(m.site.Overrides, b.types, configurations(m.site.Services)...)
	b.errs = append(b.errs, more...)
	b.groupNodes()
	b.collectCallbacks()
	b.makeTaskLists()
	b.checkCallbacks()
	b.checkCycles()
	b.collectActions()
	return b.desired, b.errs
}

// groupNodes sorts the nodes into sets. A node whose services of entities read properties of the node is in a set of
// its own; nodes whose templates of files read the same share one.
func (b *desiredBuilder) groupNodes() {
	type member struct {
		at               int    // in nodes
		key              string // its services and overrides
		services, layers []int
	}
	members := make([]member, 0, len(b.nodes))
	sharing := make(map[string]int, len(b.nodes)) // key -> how many nodes have it
	b.nodesByName = make(map[string]site.Node, len(b.nodes))
	for at, n := range b.nodes {
		b.nodesByName[n.Name] = n
		if _, owned := b.owner[n.Name]; !owned {
			continue
		}
		m := member{at, "", b.services.On(n.Name), b.overrides.Layers(n, b.groupsOn[n.Name])}
		m.key = nodeSetKey(m.services, m.layers)
		if b.services.DependOnNode(m.services) {
			m.key += "\x00" + n.Name
		}
		members = append(members, m)
		sharing[m.key]++
	}
	byKey := make(map[string]*nodeSet, len(sharing))
	reads := b.nodeReads()
	for _, m := range members {
		n, key := b.nodes[m.at], m.key
		owner := b.owner[n.Name]
		if sharing[key] > 1 { // what templates read sets nodes apart that have the rest in common
			if read := reads(key, m.services, m.layers); len(read) > 0 {
				key += "\x00" + refine.NodeKey(b.site, n, read)
			}
		}
		k, ok := byKey[key]
		if !ok {
			k = &nodeSet{services: m.services, layers: m.layers, first: owner}
			byKey[key] = k
			b.nodeSets = append(b.nodeSets, k)
		}
		k.nodes = append(k.nodes, n.Name)
		if n.Connection.Transport == "local" {
			k.local = append(k.local, n.Name)
		}
		if n.IsFolder() {
			k.folders = append(k.folders, n.Name)
		}
		k.first, k.last = min(k.first, owner), max(k.last, owner)
	}
}

// makeTaskLists gives every set of nodes its task list: tasks of services, overridden, then ordered.
func (b *desiredBuilder) makeTaskLists() {
	found := newNodeErrors(len(b.site.Nodes))
	effective := make(map[string]bool)
	var later []unresolvedReference
	for _, k := range b.nodeSets {
		load, more := b.services.Tasks(k.services, b.nodesByName[k.nodes[0]])
		b.errs = append(b.errs, more...) // they name the node
		tasks, more := b.overrides.Apply(k.layers, load.Tasks)
		made := len(tasks) - len(load.Tasks)
		tasks, disputed, wrong := share(b.types, load, tasks, b.yields)
		for _, p := range append(more, wrong...) {
			found.add(p, k.nodes)
		}
		brought := len(tasks) - made
		tasks = b.render(k, tasks, found)
		for _, p := range slices.Concat(sameObject(b.types, tasks), contradicted(tasks), unhashed(tasks)) {
			found.add(p, k.nodes)
		}
		for _, p := range unguarded(tasks, onLocal) {
			if len(k.local) > 0 {
				found.add(p, k.local)
			}
		}
		if len(k.folders) > 0 {
			for _, p := range b.needMachine(tasks) {
				found.add(p, k.folders)
			}
		}
		if unserved := b.unserved(k); len(unserved) > 0 {
			for _, p := range unguarded(tasks, onUnserved) {
				found.add(p, unserved)
			}
		}
		for _, p := range b.similar(tasks[:brought], tasks[brought:]) {
			found.add(p, k.nodes)
		}
		k.list = &taskList{details: load.Details, disputed: disputed, templates: k.templates,
			guards: unguarded(tasks, onUnserved)}
		for _, a := range load.Again {
			if id := load.Tasks[a.At].Resource.ID(); a.Detail != nil {
				if k.list.again == nil {
					k.list.again = make(map[resource.ID][]*refine.EntityTask)
				}
				k.list.again[id] = append(k.list.again[id], a.Detail)
			}
		}
		sections := b.sectionsOf(k, tasks)
		constraints := b.resolveRequirements(k, tasks, sections, found)
		tasks, layers, failures := sequence.OrderNode(tasks, constraints)
		for _, err := range failures {
			p := relationError(b.site.Name, err, b.overrides, load.Details)
			if err.Code == invalid.UnknownReference {
				later = append(later, unresolvedReference{err, p, k}) // other nodes may have it
				continue
			}
			found.add(p, k.nodes)
		}
		k.list.fill(tasks, layers)
		k.list.classes = b.rules.classesOf(tasks, sections)
		b.resolveCalls(k.list)
		for i := range tasks {
			for _, name := range tasks[i].Override {
				effective[name] = true
			}
		}
		for _, node := range k.nodes {
			b.wanted[node] = k.list
		}
	}
	for i, u := range later {
		if i < resource.MostHints {
			u.wrong.Message += b.elsewhere(u)
		}
		found.add(u.wrong, u.kind.nodes)
	}
	b.errs = append(b.errs, found.all()...)
	b.warnNoEffect(effective)
}

// Why nothing can be guarded on a node.
const (
	onLocal    = "with the transport local, which has no connection that could be lost"
	onUnserved = "that neither systemd nor OpenRC runs, so nothing could put the change back"
)

// unserved returns those nodes of a set, but for local ones, of which the facts say that no service manager runs them.
func (b *desiredBuilder) unserved(k *nodeSet) (nodes []string) {
	for _, n := range k.nodes {
		if noServices(b.site.Facts[n]) && !slices.Contains(k.local, n) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// unguarded returns an error for each task with guard: what it says of a node where nothing can be guarded.
func unguarded(tasks []task.Task, why string) (errs invalid.Errors) {
	for i := range tasks {
		if r := tasks[i].Resource; r.Guard() {
			errs = append(errs, invalid.Error{Object: "service", Name: tasks[i].Service,
				Attribute: site.ConfigurationPath(r.Type, r.Title, resource.Guard), Code: invalid.BadValue,
				Message: fmt.Sprintf("%s cannot be guarded on a node %s; leave guard out there, by an override for example",
					r.ID(), why)})
		}
	}
	return errs
}

// unresolvedReference is a reference to a resource that the nodes of a kind do not have.
type unresolvedReference struct {
	*sequence.RelationError
	wrong invalid.Error
	kind  *nodeSet
}

// elsewhere returns the end of a message about a reference to a resource that only other nodes have, or one with a
// similar name, or of one whose type is almost an existing one. It is empty when there is none, or when a resource of
// the same node was probably meant.
func (b *desiredBuilder) elsewhere(u unresolvedReference) string {
	on := make(map[string][]string) // resource -> nodes
	for _, k := range b.nodeSets {
		for _, id := range k.list.ids {
			on[string(id)] = append(on[string(id)], k.nodes...)
		}
	}
	only := func(id string) string {
		slices.Sort(on[id])
		return "on the same node, only on others: " + list(on[id])
	}
	if _, there := on[string(u.Reference)]; there {
		return " " + only(string(u.Reference))
	}
	if u.Nearest != "" {
		return ""
	}
	near := resource.Nearest(string(u.Reference), resource.Others(slices.Sorted(maps.Keys(on)),
		string(u.Writer.Resource.ID())))
	if near == "" {
		return b.almostType(u.Reference)
	}
	return fmt.Sprintf("; did you mean %s, which is not %s?", near, only(near))
}

// almostType returns the end of a message about a reference with a type that does not exist and is almost another one.
func (b *desiredBuilder) almostType(id resource.ID) string {
	r := split(id)
	if _, is := b.types[r.Type]; is {
		return ""
	}
	near := resource.Nearest(r.Type, slices.Sorted(maps.Keys(b.types)))
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", resource.MakeID(near, r.Title))
}

// resolveCalls finds the callbacks of whole services that each task of a list requires, directly or not.
func (b *desiredBuilder) resolveCalls(l *taskList) {
	if l.details == nil || len(b.callbacks) == 0 {
		return
	}
	l.calls = make([][]int, len(l.tasks))
	for i, t := range l.tasks {
		var calls []int
		if d, ok := l.details[t.Resource.ID()]; ok {
			calls = b.namedCallbacks(t, d)
		}
		for _, id := range t.Requires {
			calls = append(calls, l.calls[l.index[id]]...)
		}
		slices.Sort(calls)
		l.calls[i] = slices.Compact(calls)
	}
}

func nodeSetKey(services, layers []int) string {
	key := binary.AppendUvarint(nil, uint64(len(services)))
	for _, list := range [][]int{services, layers} {
		for _, i := range list {
			key = binary.AppendUvarint(key, uint64(i))
		}
	}
	return string(key)
}

// similar warns of a resource that an override creates and that a service brings under almost the same title: a typo
// would make a second one. There is no warning when the titles differ in digits or in one letter only, which are names
// of several things, or when the override sets create.
func (b *desiredBuilder) similar(brought, made []task.Task) (errs invalid.Errors) {
	titles := make(map[string][]string)
	for i := range brought {
		r := brought[i].Resource
		titles[r.Type] = append(titles[r.Type], r.Title)
	}
	for _, t := range made[:min(len(made), resource.MostHints)] {
		r := t.Resource
		near := resource.Nearest(r.Title, titles[r.Type])
		author := slices.IndexFunc(b.site.Overrides,
			func(o site.Override) bool { return slices.Contains(t.Override, o.Name) })
		if near == "" || author < 0 || path.Dir(near) == path.Dir(r.Title) &&
			resource.Nearest(path.Base(r.Title), []string{path.Base(near)}) == "" ||
			withoutDigits(near) == withoutDigits(r.Title) || b.site.Overrides[author].Options.Create != nil {
			continue
		}
		errs = append(errs, invalid.Error{
			Object: "override", Name: b.site.Overrides[author].Name,
			Attribute: site.ConfigurationPath(r.Type, r.Title, ""), Code: invalid.SimilarResource, Warning: true,
			Message: fmt.Sprintf(
				"makes %s, which no service brings; did you mean %q? Where it is meant, write options = { create = true }", r.ID(),
				near),
		})
	}
	return errs
}

func withoutDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, s)
}

// warnNoEffect warns of overrides that change nothing on any node. With errors it does not know and says nothing.
func (b *desiredBuilder) warnNoEffect(effective map[string]bool) {
	if len(b.errs.Errors()) > 0 {
		return
	}
	for i := range b.overrides.Len() {
		name := b.overrides.Name(i)
		text := slices.ContainsFunc(b.errs, func(p invalid.Error) bool {
			return p.Object == "override" &&
				p.Name == name
		})
		if effective[name] || text {
			continue
		}
		b.errs = append(b.errs, invalid.Error{
			Object: "override", Name: name, Code: invalid.NoEffect, Warning: true, Attribute: "configuration",
			Message: "changes nothing on any node: the nodes that it concerns have no such resource and it may create none, " +
				"or the values are there already; check its scope, titles and options",
		})
	}
}
