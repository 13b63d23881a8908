package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/callback"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/preview"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// overridesOn tells what the overrides of a site change on its nodes, with the warnings of the site.
func overridesOn(all []input, address string) (*laid, document.Problems, error) {
	s, err := siteOf(all, address)
	if err != nil {
		return nil, nil, err
	}
	place := func(found site.Problems) document.Problems { return locate(s, found) }
	made, warnings, err := firstRun(s, place)
	if err != nil {
		return nil, nil, err
	}
	if made == nil {
		names := make([]string, len(all))
		for i, in := range all {
			names[i] = in.argument
		}
		return nil, nil, noNodes(names)
	}
	schemas := converge.Schemas()
	brought, found := newBrought(made.Services.Site(), schemas)
	if _, err := sound(place(found)); err != nil {
		return nil, nil, err
	}
	results, found := resultsOf(made, brought)
	if _, err := sound(place(found)); err != nil {
		return nil, nil, err
	}
	told := &laid{s.Site.Name, len(s.Site.Overrides), make([]laidJSON, len(results))}
	for i, r := range results {
		told.resources[i] = laidOf(schemas, r.before, r.after, isSecret(s, r.after))
		told.resources[i].Service, told.resources[i].Nodes = r.after.Service, r.nodes
	}
	return told, warnings, nil
}

// isSecret reports whether Terraform marks something as sensitive that became part of the resource.
func isSecret(s *document.Site, t task.Task) bool {
	id := t.Resource.ID()
	return s.Secret("service", t.Service, id) || slices.ContainsFunc(t.Override, func(name string) bool { return s.Secret("override", name, id) })
}

// brought is what services bring to nodes, before any override.
type brought struct {
	services *refine.Services
	nodes    map[string]site.Node
	loads    map[string]map[resource.ID]*task.Task // of nodes that get the same
}

func newBrought(s site.Site, schemas map[string]resource.Schema) (*brought, site.Problems) {
	b := &brought{nodes: make(map[string]site.Node, len(s.Nodes)), loads: make(map[string]map[resource.ID]*task.Task)}
	for _, n := range s.Nodes {
		b.nodes[n.Name] = n
	}
	var problems site.Problems
	b.services, problems = refine.New(s, s.Nodes, refine.Schemas{Config: schemas, Remote: converge.Actions(), Callback: callback.Schemas()}, nil)
	return b, problems
}

// to returns what services bring to a node.
func (b *brought) to(node string) (map[resource.ID]*task.Task, site.Problems) {
	placed := b.services.On(node)
	key := fmt.Sprint(placed)
	if b.services.Vary(placed) {
		key = "node " + node
	}
	if load, ok := b.loads[key]; ok {
		return load, nil
	}
	load, problems := b.services.Tasks(placed, b.nodes[node])
	out := make(map[resource.ID]*task.Task, len(load.Tasks))
	for i := range load.Tasks {
		out[load.Tasks[i].Resource.ID()] = &load.Tasks[i]
	}
	b.loads[key] = out
	return out, problems
}

// result is a resource that came to the same on some nodes.
type result struct {
	before *task.Task // nil when overrides created it
	after  task.Task
	nodes  []string // sorted
}

// resultsOf gathers the configuration resources of a first run by what came of them, sorted by service and resource; those that overrides created come last.
func resultsOf(made *preview.Preview, b *brought) ([]*result, site.Problems) {
	type kind struct {
		service       string
		id            resource.ID
		before, after string // digests
		overrides     string
	}
	byKind := make(map[kind]*result)
	var out []*result
	var problems site.Problems
	for _, phase := range made.Plan.Phases {
		for _, t := range phase.Tasks {
			if t.Kind != task.Config || t.Action != task.Create {
				continue
			}
			load, mistakes := b.to(t.Node)
			problems = append(problems, mistakes...)
			before := load[t.Resource.ID()]
			k := kind{service: t.Service, id: t.Resource.ID(), after: t.Digest, overrides: strings.Join(t.Override, "\x00")}
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
		return cmp.Or(cmp.Compare(created(a), created(b)), cmp.Compare(a.after.Service, b.after.Service), cmp.Compare(a.after.Resource.ID(), b.after.Resource.ID()),
			cmp.Compare(a.nodes[0], b.nodes[0]))
	})
	return out, problems
}
