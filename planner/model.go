package planner

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/override"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// model is a site with everything worked out that does not depend on what is applied.
type model struct {
	site          site.Site // with the default strategy where it has no groups
	problems      site.Problems
	groups        []Group      // in processing order
	settings      []site.Group // the same groups as the user wrote them
	isNode        map[string]bool
	owner         map[string]int // node -> its group
	wanted        map[string]*catalog
	actions       []action // in the order of a run
	actionSchemas map[string]resource.Schema
	duties        map[string]*duties
}

// catalog is the tasks of all nodes that have the same services and the same overrides, in the order of execution; Node and
// Action are empty.
type catalog struct {
	tasks []task.Task
	index map[resource.ID]int
}

// newModel works a site out. applied serves to warn of what the plan takes from nodes that are in no group.
func newModel(schemas map[string]resource.Schema, s site.Site, applied Applied) *model {
	if s.Groups == nil {
		s.Groups = strategy.Default()
	}
	m := &model{
		site: s, problems: s.Validate(),
		isNode: make(map[string]bool, len(s.Nodes)), owner: make(map[string]int, len(s.Nodes)), wanted: make(map[string]*catalog, len(s.Nodes)),
		duties: make(map[string]*duties), actionSchemas: converge.Actions(),
	}
	nodes := make([]site.Node, 0, len(s.Nodes)) // each name once, sorted
	for _, n := range s.Nodes {
		if !m.isNode[n.Name] {
			m.isNode[n.Name] = true
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b site.Node) int { return strings.Compare(a.Name, b.Name) })

	memberOf := m.arrange(nodes)
	services, mistakes := refine.New(s.Services, nodes, schemas)
	m.problems = append(m.problems, mistakes...)
	overrides, mistakes := override.New(s.Overrides, schemas)
	m.problems = append(m.problems, mistakes...)
	m.furnish(nodes, memberOf, services, overrides)
	m.engage(nodes)
	m.warnOfNoGroup(nodes, applied)
	m.problems.Sort()
	return m
}

// arrange orders the groups and gives nodes to them. It returns the groups of each node in processing order.
func (m *model) arrange(nodes []site.Node) map[string][]string {
	order, err := strategy.Order(m.site.Groups)
	if err != nil {
		// Reported by Validate. The groups' own order serves to find further problems.
		order = nil
		for _, g := range m.site.Groups {
			if !slices.Contains(order, g.Name) {
				order = append(order, g.Name)
			}
		}
	}
	byName := make(map[string]site.Group, len(m.site.Groups))
	for _, g := range m.site.Groups {
		byName[g.Name] = g
	}
	memberOf, inventory := make(map[string][]string, len(nodes)), site.NewInventory(nodes)
	for i, name := range order {
		settings := byName[name]
		g := Group{Name: name, Members: inventory.Members(settings.Selectors), Critical: settings.Critical}
		if settings.Rolling != nil {
			g.MaxParallel = settings.Rolling.MaxParallel
			g.Locked = settings.Rolling.Lock != "" || settings.Rolling.Unlock != ""
		}
		for _, node := range g.Members {
			memberOf[node] = append(memberOf[node], name)
			if _, owned := m.owner[node]; !owned {
				m.owner[node] = i
				g.Owned = append(g.Owned, node)
			}
		}
		m.groups = append(m.groups, g)
		m.settings = append(m.settings, settings)
	}
	return memberOf
}

// furnish gives every node in a group its tasks. Nodes with the same services and layers of overrides share a catalog.
func (m *model) furnish(nodes []site.Node, memberOf map[string][]string, services *refine.Services, overrides *override.Set) {
	type kind struct {
		services, layers []int
		nodes            []string
	}
	kinds := make(map[string]*kind)
	var order []*kind
	for _, n := range nodes {
		if _, owned := m.owner[n.Name]; !owned {
			continue
		}
		placed, layers := services.On(n.Name), overrides.Layers(n, memberOf[n.Name])
		key := kindKey(placed, layers)
		k, ok := kinds[key]
		if !ok {
			k = &kind{services: placed, layers: layers}
			kinds[key] = k
			order = append(order, k)
		}
		k.nodes = append(k.nodes, n.Name)
	}
	found := newFindings(len(m.site.Nodes))
	effective := make(map[string]bool)
	for _, k := range order {
		tasks, clashes := services.Tasks(k.services)
		for _, c := range clashes {
			found.add(c.Problem(), k.nodes)
		}
		tasks, mistakes := overrides.Apply(k.layers, tasks)
		for _, p := range mistakes {
			found.add(p, k.nodes)
		}
		tasks, errs := sequence.Order(tasks)
		for _, err := range errs {
			found.add(relationProblem(err, overrides), k.nodes)
		}
		c := &catalog{tasks: tasks, index: make(map[resource.ID]int, len(tasks))}
		for i, t := range tasks {
			c.index[t.Resource.ID()] = i
			for _, name := range t.Override {
				effective[name] = true
			}
		}
		for _, node := range k.nodes {
			m.wanted[node] = c
		}
	}
	m.problems = append(m.problems, found.problems()...)
	m.warnOfNoEffect(overrides, effective)
}

func kindKey(services, layers []int) string {
	key := binary.AppendUvarint(nil, uint64(len(services)))
	for _, list := range [][]int{services, layers} {
		for _, i := range list {
			key = binary.AppendUvarint(key, uint64(i))
		}
	}
	return string(key)
}

// relationProblem tells of a mistake in the relations of a node's resources to the one who wrote it.
func relationProblem(err error, overrides *override.Set) site.Problem {
	var unresolved *sequence.UnresolvedError
	var cycle *sequence.CycleError
	switch {
	case errors.As(err, &unresolved):
		p := site.Problem{Code: site.UnknownReference, Message: fmt.Sprintf("there is no %s", unresolved.Reference)}
		if unresolved.Nearest != "" {
			p.Message += fmt.Sprintf("; did you mean %s?", unresolved.Nearest)
		}
		p.Object, p.Name, p.Attribute = overrides.Source(unresolved.Task, unresolved.Relation, unresolved.Reference)
		return p
	case errors.As(err, &cycle):
		p := site.Problem{Code: site.DependencyCycle, Message: fmt.Sprintf(
			"resources wait for each other: %s; remove one of these relations", cycle)}
		p.Object, p.Name, p.Attribute = overrides.Source(cycle.Writer, cycle.Relation, cycle.Reference)
		return p
	default:
		return site.Problem{Object: "deployment", Code: site.BadStructure, Message: err.Error()}
	}
}
