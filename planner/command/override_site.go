package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/callback"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// overridesOn returns what the overrides of a site change on its nodes, with the warnings of the site.
func overridesOn(all []input, address string) (*overrideResult, invalid.Errors, error) {
	s, err := parseInputs(all, address)
	if err != nil {
		return nil, nil, err
	}
	inSite := func(found invalid.Errors) invalid.Errors { return locate(s, found) }
	made, warnings, err := firstRun(s, inSite)
	if err != nil {
		return nil, nil, err
	}
	if made == nil {
		return nil, nil, noNodes(site.NamesOf(all, func(in input) string { return in.argument }))
	}
	schemas := schema.Types()
	before, found := newServiceTasks(made.Services.Site(), schemas)
	if _, err := onlyWarnings(inSite(found)); err != nil {
		return nil, nil, err
	}
	results, found := resultsOf(made, before)
	if _, err := onlyWarnings(inSite(found)); err != nil {
		return nil, nil, err
	}
	out := &overrideResult{s.Site.Name, len(s.Site.Overrides), make([]overriddenJSON, len(results))}
	for i, r := range results {
		out.resources[i] = describeOverridden(schemas, r.before, r.after, isSecret(s, r.after))
		out.resources[i].Service, out.resources[i].Nodes = r.after.Service, r.nodes
	}
	return out, warnings, nil
}

// isSecret reports whether the resource has a value that Terraform marks as sensitive.
func isSecret(s *document.Site, t task.Task) bool {
	id := t.Resource.ID()
	return s.Secret("service", t.Service, id) || slices.ContainsFunc(t.Override, func(name string) bool {
		return s.Secret("override", name, id)
	})
}

// serviceTasks computes the tasks of services on nodes, before any override.
type serviceTasks struct {
	site      site.Site
	templates refine.Templates
	services  *refine.Services
	nodes     map[string]site.Node
	lists     map[string]map[resource.ID]*task.Task // by services, or by node where their tasks depend on it
}

func newServiceTasks(s site.Site, schemas map[string]resource.Schema) (*serviceTasks, invalid.Errors) {
	b := &serviceTasks{site: s, nodes: make(map[string]site.Node, len(s.Nodes)),
		lists: make(map[string]map[resource.ID]*task.Task)}
	for _, n := range s.Nodes {
		b.nodes[n.Name] = n
	}
	var errs invalid.Errors
	b.services, errs = refine.New(s, s.Nodes,
		refine.Schemas{Config: schemas, Remote: schema.Actions(), Callback: callback.Schemas()}, nil)
	return b, errs
}

// to returns the tasks of services on a node, by resource.
func (b *serviceTasks) to(node string) (map[resource.ID]*task.Task, invalid.Errors) {
	placed := b.services.On(node)
	key := fmt.Sprint(placed)
	if b.services.DependOnNode(placed) {
		key = "node " + node
	}
	if list, ok := b.lists[key]; ok {
		return list, nil
	}
	list, errs := b.services.Tasks(placed, b.nodes[node])
	out := make(map[resource.ID]*task.Task, len(list.Tasks))
	for i := range list.Tasks {
		if id := list.Tasks[i].Resource.ID(); out[id] == nil { // the first service that brings it
			out[id] = &list.Tasks[i]
		}
	}
	b.lists[key] = out
	return out, errs
}

// rendered returns a task with what its template gives on a node. One that overrides replace may have an error.
func (b *serviceTasks) rendered(t *task.Task, node string) *task.Task {
	if t == nil || len(refine.Templated(t.Resource)) == 0 {
		return t
	}
	out := *t
	var awaited []string
	out.Resource, awaited, _ = b.templates.Render(t.Resource, b.site, b.nodes[node], t.Pending)
	if len(awaited) > 0 {
		out.Awaited = &task.Awaited{Parameters: awaited}
	}
	out.Digest = resource.Digest(out.Resource)
	return &out
}

// result is a resource that overrides changed in the same way on some nodes.
type result struct {
	before *task.Task // nil when overrides created it
	after  task.Task
	nodes  []string // sorted
}

// resultsOf groups the configuration resources of a first run by their result, sorted by service and resource.
// Resources that overrides created come last.
func resultsOf(made *engine.Planned, b *serviceTasks) ([]*result, invalid.Errors) {
	type kind struct {
		service       string
		id            resource.ID
		before, after string // digests
		overrides     string
	}
	byKind := make(map[kind]*result)
	var out []*result
	var errs invalid.Errors
	for _, phase := range made.Plan.Phases {
		for _, t := range phase.Tasks {
			if t.Kind != task.Config || t.Action != task.Create {
				continue
			}
			list, failures := b.to(t.Node)
			errs = append(errs, failures...)
			before := b.rendered(list[t.Resource.ID()], t.Node)
			k := kind{service: t.Service, id: t.Resource.ID(), after: t.Digest,
				overrides: strings.Join(t.Override, "\x00")}
			if before != nil {
				k.before = before.Digest
			}
			r, ok := byKind[k]
			if !ok {
				r = &result{before: before, after: t}
				byKind[k] = r
				out = append(out, r)
			}
			r.nodes = append(r.nodes, t.Node)
		}
	}
	for _, r := range out {
		slices.Sort(r.nodes)
	}
	slices.SortFunc(out, func(a, b *result) int {
		created := func(r *result) int {
			if r.after.Service == "" {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(created(a), created(b)), cmp.Compare(a.after.Service, b.after.Service),
			cmp.Compare(a.after.Resource.ID(), b.after.Resource.ID()),
			cmp.Compare(a.nodes[0], b.nodes[0]))
	})
	return out, errs
}
