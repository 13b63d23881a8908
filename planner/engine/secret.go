package engine

import (
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// A resource that is made of a returned value which is not kept has a digest on the node that no plan can work out. So
// that it does not look changed to every plan, the state has which digest of a plan the one on the node
// stands for, as long as nothing else changes that it may be made of.

// SecretDigests are the two digests of a resource that is made of a value which is not kept.
type SecretDigests struct {
	Planned string `json:"planned"` // as a plan has it, which does not know the value
	Applied string `json:"applied"` // as the run that knew the value applied it
	Service string `json:"service"` // that brings the resource
	Inputs  string `json:"inputs"`  // digest of everything else that the resource may be made of
}

// secrets returns these pairs of digests after a run of p on s, which left m.
func secrets(before map[string]map[resource.ID]SecretDigests, s site.Site, p *planner.Plan,
	m State) map[string]map[resource.ID]SecretDigests {
	out := make(map[string]map[resource.ID]SecretDigests)
	for node, pairs := range before {
		for id, pair := range pairs {
			if digest := m.Applied[node][id]; digest == pair.Applied || digest == pair.Planned {
				add(out, node, id, pair)
			}
		}
	}
	var waited []task.Task // for what a callback returned in this run
	for _, phase := range p.Phases {
		for _, t := range phase.Tasks {
			if len(t.Pending) > 0 && t.Kind != task.Callback {
				waited = append(waited, t)
			}
		}
	}
	if len(waited) == 0 || !slices.ContainsFunc(s.Services, keepsSecret) {
		return out
	}
	s.Values = m.Values
	wanted, _ := planner.AppliedAfter(s) // without errors: it was planned a moment ago
	known := inputsOf(s)
	for _, t := range waited {
		id := t.Resource.ID()
		delete(out[t.Node], id)
		pair := SecretDigests{Planned: wanted[t.Node][id], Applied: m.Applied[t.Node][id], Service: t.Service,
			Inputs: known.digest(t.Service, t.Node)}
		if pair.Planned != "" && pair.Applied != "" && pair.Planned != pair.Applied {
			add(out, t.Node, id, pair)
		}
	}
	return out
}

// keepsSecret reports whether a callback of a service sets a sensitive attribute.
func keepsSecret(s site.Service) bool {
	return s.Entity != nil && slices.ContainsFunc(returned(s.Entity), func(r returning) bool { return r.Sensitive })
}

func add(to map[string]map[resource.ID]SecretDigests, node string, id resource.ID, pair SecretDigests) {
	if to[node] == nil {
		to[node] = make(map[resource.ID]SecretDigests)
	}
	to[node][id] = pair
}

// inputs are what templates of services can read.
type inputs struct {
	services map[string]site.Service
	nodes    map[string]site.Node
	values   map[string]map[string]any
	digests  map[*catalog.Entity]string // services share entities
}

func inputsOf(s site.Site) inputs {
	in := inputs{make(map[string]site.Service, len(s.Services)), make(map[string]site.Node, len(s.Nodes)), s.Values,
		make(map[*catalog.Entity]string)}
	for _, service := range s.Services {
		in.services[service.Name] = service
	}
	for _, n := range s.Nodes {
		n.Connection = site.Connection{}
		in.nodes[n.Name] = n
	}
	return in
}

// digest is that of what a service can read on a node; empty when there is no such service of an entity.
func (in inputs) digest(service, node string) string {
	s := in.services[service]
	if s.Entity == nil {
		return ""
	}
	entity, ok := in.digests[s.Entity]
	if !ok {
		entity, _ = s.Entity.Digest() // it has one: it was read from its definition
		in.digests[s.Entity] = entity
	}
	attributes := s.Attributes
	if !s.Complete {
		if complete, errs := s.Entity.Check(attributes); len(errs) == 0 {
			attributes = complete
		}
	}
	out, err := resource.DigestJSON([]any{entity, withoutAllocated(s.Entity.Structure, attributes), in.values[service],
		in.nodes[node]})
	if err != nil {
		return ""
	}
	return out
}

// withoutAllocated leaves out of complete attributes what slipway sets: a plan of what is wanted does not know it, and
// a service keeps it.
func withoutAllocated(s catalog.Structure, attributes map[string]any) map[string]any {
	out := maps.Clone(attributes)
	for _, a := range s.Attributes {
		if a.Modifier == catalog.Allocated {
			delete(out, a.Name)
		}
	}
	for _, e := range s.Embedded {
		switch v := out[e.Name].(type) {
		case map[string]any:
			out[e.Name] = withoutAllocated(e.Structure, v)
		case []any:
			children := slices.Clone(v)
			for i, child := range children {
				if object, ok := child.(map[string]any); ok {
					children[i] = withoutAllocated(e.Structure, object)
				}
			}
			out[e.Name] = children
		}
	}
	return out
}

// planned returns what is applied with the digests that a plan of the site has. The values of m are those of before.
func (m State) planned(s site.Site) planner.Applied {
	if len(m.Secret) == 0 {
		return m.Applied
	}
	s.Values, _ = learn(s, m.Values, nil)
	known := inputsOf(s)
	out := maps.Clone(m.Applied)
	for node, pairs := range m.Secret {
		ledger := maps.Clone(out[node])
		for id, pair := range pairs {
			if ledger[id] == pair.Applied && pair.Inputs != "" && pair.Inputs == known.digest(pair.Service, node) {
				ledger[id] = pair.Planned
			}
		}
		if ledger != nil {
			out[node] = ledger
		}
	}
	return out
}
