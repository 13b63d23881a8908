package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/callback"
	"github.com/slipway/terraform-provider-slipway/planner/document"
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
	resources, found := before.overridden(s, made.Plan, schemas)
	if _, err := onlyWarnings(inSite(found)); err != nil {
		return nil, nil, err
	}
	return &overrideResult{s.Site.Name, len(s.Site.Overrides), resources}, warnings, nil
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

// overridden describes the configuration resources of a first run, once for all nodes on which overrides change one in
// the same way, sorted by service and resource. Resources that overrides created come last.
func (b *serviceTasks) overridden(s *document.Site, p *planner.Plan,
	schemas map[string]resource.Schema) ([]overriddenJSON, invalid.Errors) {
	type kind struct {
		service       string
		id            resource.ID
		before, after string // digests
		overrides     string
	}
	byKind := make(map[kind]int)
	out := []overriddenJSON{}
	var errs invalid.Errors
	for _, phase := range p.Phases {
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
			i, ok := byKind[k]
			if !ok {
				i = len(out)
				byKind[k], out = i, append(out, describeOverridden(schemas, before, t, isSecret(s, t)))
				out[i].Service = t.Service
			}
			out[i].Nodes = append(out[i].Nodes, t.Node)
		}
	}
	for _, r := range out {
		slices.Sort(r.Nodes)
	}
	slices.SortFunc(out, func(a, b overriddenJSON) int {
		created := func(r overriddenJSON) int {
			if r.Service == "" {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(created(a), created(b)), cmp.Compare(a.Service, b.Service),
			cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Nodes[0], b.Nodes[0]))
	})
	return out, errs
}
