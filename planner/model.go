package planner

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	callbacktype "github.com/slipway/terraform-provider-slipway/planner/callback"
	"github.com/slipway/terraform-provider-slipway/planner/override"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// model is everything about a site that does not depend on what is applied.
type model struct {
	site          site.Site // with the default strategy where it has no groups
	problems      site.Problems
	missing       int // number of references of services to something that does not exist
	schemas       map[string]resource.Schema
	groups        []Group      // in processing order
	settings      []site.Group // the same groups as the user wrote them
	isNode        map[string]bool
	owner         map[string]int // node -> its group
	wanted        map[string]*taskList
	nodeSets      []*nodeSet
	services      *refine.Services
	overrides     *override.Set
	nodes         map[string]site.Node // made when there are services of entities
	callbacks     []callback           // of services as a whole, by service
	byService     map[string][]int     // service -> its callbacks
	actions       []action             // in the order of a run
	actionSchemas map[string]resource.Schema
	nodeActions   map[string]*nodeActions
	rules         *rules               // nil when the site has none
	includes      func(task.Task) bool // selects the tasks of the plan, see MakeFor; nil selects all
}

// nodeSet is the nodes that have the same services and the same overrides, and so share one task list.
type nodeSet struct {
	services, layers []int
	nodes            []string // sorted
	first, last      int      // of the groups that own them
	list             *taskList
}

// taskList is the tasks of all nodes of a set, in the order of execution. Their Node and Action are empty.
type taskList struct {
	tasks []task.Task
	ids   []resource.ID // of the tasks
	index map[resource.ID]int
	// The following are nil on nodes without services of entities.
	details  map[resource.ID]*refine.EntityTask
	layers   []sequence.Layer     // of the tasks, when sections order them
	calls    [][]int              // by task: the callbacks of services as a whole that it requires, directly or not
	replaced map[resource.ID]bool // what a task supersedes once it is there (litp.md 61)
	// The following are nil without ordering rules.
	classes []int // of the tasks
	waits   map[resource.ID][]sequence.Wait
}

// newModel validates a site and derives its model. applied is read for the warning about nodes that are in no group.
// memo may be nil.
func newModel(schemas map[string]resource.Schema, s site.Site, applied Applied, memo *refine.Memo) *model {
	if s.Groups == nil {
		s.Groups = strategy.Default()
	}
	m := &model{
		site: s, problems: s.Validate(), schemas: schemas,
		isNode: make(map[string]bool, len(s.Nodes)), owner: make(map[string]int, len(s.Nodes)),
		wanted:      make(map[string]*taskList, len(s.Nodes)),
		nodeActions: make(map[string]*nodeActions), actionSchemas: schema.Actions(),
	}
	nodes := make([]site.Node, 0, len(s.Nodes)) // each name once, sorted
	for _, n := range s.Nodes {
		if !m.isNode[n.Name] {
			m.isNode[n.Name] = true
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b site.Node) int { return strings.Compare(a.Name, b.Name) })

	m.rules = m.newRules(s)
	memberOf := m.assignGroups(nodes)
	var more site.Problems
	m.services, more = refine.New(m.site, nodes, refine.Schemas{Config: schemas, Remote: m.actionSchemas,
		Callback: callbacktype.Schemas()}, memo)
	m.problems = append(m.problems, more...)
	m.overrides, more = override.New(s.Overrides, schemas, configurations(s.Services)...)
	m.problems = append(m.problems, more...)
	m.groupNodes(nodes, memberOf)
	m.collectCallbacks()
	m.makeTaskLists()
	m.checkCallbacks()
	m.checkCycles()
	m.collectActions(nodes)
	m.warnNoGroup(nodes, applied)
	m.problems.Sort()
	return m
}

// assignGroups orders the groups and assigns each node to the first group that selects it. It returns all groups of
// each node, in processing order.
func (m *model) assignGroups(nodes []site.Node) map[string][]string {
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
	memberOf, inventory := make(map[string][]string, len(nodes)), site.NewNodeIndex(nodes)
	for i, name := range order {
		settings := byName[name]
		g := Group{Name: name, Members: inventory.Members(settings.Selectors), Critical: settings.Critical}
		if settings.Rolling != nil {
			g.MaxParallel = settings.Rolling.MaxParallel
			g.Locked = settings.Rolling.Lock != "" || settings.Rolling.Unlock != ""
			g.Order = settings.Rolling.Order(g.Members)
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

// groupNodes sorts the nodes into sets. A node whose services read properties of the node is in a set of its own.
func (m *model) groupNodes(nodes []site.Node, memberOf map[string][]string) {
	byKey := make(map[string]*nodeSet)
	entities := slices.ContainsFunc(m.site.Services, func(s site.Service) bool { return s.Entity != nil })
	if entities {
		m.nodes = make(map[string]site.Node, len(nodes))
	}
	for _, n := range nodes {
		owner, owned := m.owner[n.Name]
		if !owned {
			continue
		}
		placed, layers := m.services.On(n.Name), m.overrides.Layers(n, memberOf[n.Name])
		key := nodeSetKey(placed, layers)
		if entities {
			m.nodes[n.Name] = n
			if m.services.DependOnNode(placed) {
				key += "\x00" + n.Name
			}
		}
		k, ok := byKey[key]
		if !ok {
			k = &nodeSet{services: placed, layers: layers, first: owner}
			byKey[key] = k
			m.nodeSets = append(m.nodeSets, k)
		}
		k.nodes = append(k.nodes, n.Name)
		k.first, k.last = min(k.first, owner), max(k.last, owner)
	}
}

// makeTaskLists gives every set of nodes its task list: tasks of services, overridden, then ordered.
func (m *model) makeTaskLists() {
	found := newNodeProblems(len(m.site.Nodes))
	effective := make(map[string]bool)
	var later []unresolved
	for _, k := range m.nodeSets {
		load, more := m.services.Tasks(k.services, m.nodes[k.nodes[0]])
		m.problems = append(m.problems, more...) // they name the node
		for _, c := range load.Clashes {
			found.add(c.Problem(), k.nodes)
		}
		tasks, more := m.overrides.Apply(k.layers, load.Tasks)
		for _, p := range more {
			found.add(p, k.nodes)
		}
		for _, p := range sameObject(m.schemas, tasks) {
			found.add(p, k.nodes)
		}
		for _, p := range m.similar(tasks[:len(load.Tasks)], tasks[len(load.Tasks):]) {
			found.add(p, k.nodes)
		}
		k.list = &taskList{details: load.Details}
		sections := m.sectionsOf(k, tasks)
		constraints := m.resolveRequirements(k, tasks, sections, found)
		tasks, layers, errs := sequence.OrderNode(tasks, constraints)
		for _, err := range errs {
			if p, ok := m.ruleProblem(err); ok {
				found.add(p, k.nodes)
				continue
			}
			p := relationProblem(err, m.overrides, load.Details)
			if e, ok := errors.AsType[*sequence.UnresolvedError](err); ok {
				later = append(later, unresolved{e, p, k}) // other nodes may have it
				continue
			}
			found.add(p, k.nodes)
		}
		k.list.fill(tasks, layers)
		k.list.classes = m.rules.classes(tasks, sections)
		m.resolveCalls(k.list)
		for i := range tasks {
			for _, name := range tasks[i].Override {
				effective[name] = true
			}
		}
		for _, node := range k.nodes {
			m.wanted[node] = k.list
		}
	}
	for i, u := range later {
		if i < resource.MostHints {
			u.problem.Message += m.elsewhere(u)
		}
		found.add(u.problem, u.kind.nodes)
	}
	m.problems = append(m.problems, found.problems()...)
	m.warnNoEffect(m.overrides, effective)
}

// unresolved is a reference to a resource that the nodes of a kind do not have.
type unresolved struct {
	*sequence.UnresolvedError
	problem site.Problem
	kind    *nodeSet
}

// elsewhere returns the end of a message about a reference to a resource that only other nodes have, or one with a
// similar name. It is empty when no node has such a resource, or when a resource of the same node was probably meant.
func (m *model) elsewhere(u unresolved) string {
	on := make(map[string][]string) // resource -> nodes
	for _, k := range m.nodeSets {
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
		string(u.Task.Resource.ID())))
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s, which is not %s?", near, only(near))
}

// fill sets the tasks of a list, in order.
func (l *taskList) fill(tasks []task.Task, layers []sequence.Layer) {
	l.tasks, l.layers, l.ids, l.index = tasks, layers, make([]resource.ID, len(tasks)),
		make(map[resource.ID]int, len(tasks))
	for i := range tasks {
		l.ids[i] = tasks[i].Resource.ID()
		l.index[l.ids[i]] = i
	}
}

// resolveCalls finds the callbacks of whole services that each task of a list requires, directly or not.
func (m *model) resolveCalls(l *taskList) {
	if l.details == nil || len(m.callbacks) == 0 {
		return
	}
	l.calls = make([][]int, len(l.tasks))
	for i, t := range l.tasks {
		var calls []int
		if d, ok := l.details[t.Resource.ID()]; ok {
			calls = m.namedCallbacks(t, d)
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

// relationProblem returns the problem for an error in the relations of a node's resources. It names the object that
// wrote the relation.
func relationProblem(err error, overrides *override.Set, details map[resource.ID]*refine.EntityTask) site.Problem {
	// source adds the object and attribute in which a relation is written.
	source := func(p site.Problem, writer task.Task, relation string, to resource.ID) site.Problem {
		p.Object, p.Name, p.Attribute = overrides.Source(writer, relation, to)
		if d, ok := details[writer.Resource.ID()]; ok && p.Object == "service" {
			p.Attribute = d.Path + relationPath(relation)
		}
		return p
	}
	var unresolved *sequence.UnresolvedError
	var cycle *sequence.CycleError
	var order *sequence.GroupOrderError
	switch {
	case errors.As(err, &unresolved):
		p := site.Problem{Code: site.UnknownReference, Message: fmt.Sprintf("there is no %s", unresolved.Reference)}
		if unresolved.Nearest != "" {
			p.Message += fmt.Sprintf("; did you mean %s?", unresolved.Nearest)
		} else if len(unresolved.Others) > 0 {
			p.Message += fmt.Sprintf("; of the type %s there are %s", split(unresolved.Reference).Type,
				list(unresolved.Others))
		}
		return source(p, unresolved.Task, unresolved.Relation, unresolved.Reference)
	case errors.As(err, &cycle):
		p := site.Problem{Code: site.DependencyCycle, Message: fmt.Sprintf(
			"resources wait for each other: %s; remove one of these relations", cycle)}
		return source(p, cycle.Writer, cycle.Relation, cycle.Reference)
	case errors.As(err, &order):
		p := site.Problem{Code: site.BadStructure, Message: fmt.Sprintf("%s; %s", order, changeTags)}
		return source(p, order.Writer, order.Relation, order.Reference)
	default:
		return site.Problem{Object: "deployment", Code: site.BadStructure, Message: err.Error()}
	}
}

// relationPath returns the attribute, below a task of an entity, in which a relation is written.
func relationPath(relation string) string {
	switch relation {
	case resource.Require, sequence.Requires:
		return ".requires"
	case resource.Notify:
		return ".notify"
	default:
		return ".config.parameters." + relation
	}
}

// configurations returns the inline configuration of services.
func configurations(services []site.Service) []resource.Configuration {
	out := make([]resource.Configuration, len(services))
	for i, s := range services {
		out[i] = s.Configuration
	}
	return out
}
