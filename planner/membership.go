package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// membership is a site with the order of its groups and the group of each node.
type membership struct {
	site     site.Site   // with the default strategy where it has no groups
	nodes    []site.Node // each name once, sorted
	isNode   map[string]bool
	groups   []Group             // in processing order
	settings []site.Group        // the same groups as the user wrote them
	owner    map[string]int      // node -> the first group that selects it
	groupsOn map[string][]string // node -> all its groups, in processing order
}

// newMembership orders the groups of a site and assigns each node to the first one that selects it. It accepts an
// invalid site, so that further errors in it are found; [site.Site.Validate] reports what is wrong with the groups.
func newMembership(s site.Site) *membership {
	if s.Groups == nil {
		s.Groups = strategy.Default()
	}
	m := &membership{
		site: s, nodes: make([]site.Node, 0, len(s.Nodes)), isNode: make(map[string]bool, len(s.Nodes)),
		owner: make(map[string]int, len(s.Nodes)), groupsOn: make(map[string][]string, len(s.Nodes)),
	}
	for _, n := range s.Nodes {
		if !m.isNode[n.Name] {
			m.isNode[n.Name] = true
			m.nodes = append(m.nodes, n)
		}
	}
	slices.SortFunc(m.nodes, func(a, b site.Node) int { return strings.Compare(a.Name, b.Name) })

	byName := make(map[string]site.Group, len(s.Groups))
	for _, g := range s.Groups {
		byName[g.Name] = g
	}
	index := site.NewNodeIndex(m.nodes)
	for i, name := range orderOf(s.Groups) {
		settings := byName[name]
		g := Group{Name: name, Members: index.Members(settings.Selectors), Critical: settings.Critical,
			Stops: settings.Stops() && settings.SuccessCriteria != nil}
		if settings.Maintenance != nil {
			g.Maintenance = settings.Maintenance.String()
		}
		if r := settings.Rolling; r != nil {
			g.MaxParallel = r.MaxParallel
			g.Locked = r.Lock != "" || r.Unlock != ""
			g.Order, g.Then = r.Order(g.Members), then(r)
		}
		for _, node := range g.Members {
			m.groupsOn[node] = append(m.groupsOn[node], name)
			if _, owned := m.owner[node]; !owned {
				m.owner[node] = i
				g.Owned = append(g.Owned, node)
			}
		}
		m.groups = append(m.groups, g)
		m.settings = append(m.settings, settings)
	}
	return m
}

// orderOf returns the processing order of groups. Groups without one, which depend on each other, keep their own order.
func orderOf(groups []site.Group) []string {
	order, err := strategy.Order(groups)
	if err == nil {
		return order
	}
	order = nil
	for _, g := range groups {
		if !slices.Contains(order, g.Name) {
			order = append(order, g.Name)
		}
	}
	return order
}

// warnNoGroup warns of nodes in no group: in one warning those that the run does not touch, in another those that it
// tears down.
func (m *membership) warnNoGroup(applied Applied) (errs invalid.Errors) {
	var idle, leaving []string
	for _, n := range m.nodes {
		if _, owned := m.owner[n.Name]; owned {
			continue
		}
		if len(applied[n.Name]) > 0 {
			leaving = append(leaving, n.Name)
		} else {
			idle = append(idle, n.Name)
		}
	}
	for _, w := range []struct {
		nodes       []string
		consequence string
	}{
		{idle, "not touched"},
		{leaving, "torn down: all that was applied there is undone"},
	} {
		if len(w.nodes) == 0 {
			continue
		}
		subject, so, them := fmt.Sprintf("node %s is", w.nodes[0]), "it is", "it"
		if len(w.nodes) > 1 {
			subject, so, them = fmt.Sprintf("nodes %s are", list(w.nodes)), "they are", "them"
		}
		errs = append(errs, invalid.Error{
			Object: "deployment", Name: m.site.Name, Attribute: "groups", Code: invalid.NoGroup, Warning: true,
			Message: fmt.Sprintf("%s in no group, so %s %s; select %s in a group to roll services out there",
				subject, so, w.consequence, them),
		})
	}
	return errs
}

// warnNoCriteria warns, once for a site, of critical groups that succeed whatever their nodes do.
func (m *membership) warnNoCriteria() invalid.Errors {
	var names []string
	for _, g := range m.settings {
		if g.Critical && !g.Judged() {
			names = append(names, g.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	subject, each, them := fmt.Sprintf("group %s is critical and has", names[0]), "it", "it"
	if len(names) > 1 {
		subject, each, them = fmt.Sprintf("groups %s are critical and have", list(names)), "each", "them"
	}
	return invalid.Errors{{
		Object: "deployment", Name: m.site.Name, Code: invalid.NoCriteria, Warning: true,
		Message: fmt.Sprintf("%s no success_criteria, so %s succeeds even when all of its nodes fail, and the apply does not "+
			"fail; give %s success_criteria, such as percent_successful_nodes = 100", subject, each, them),
	}}
}

// position numbers the task groups of a run: tasks of a lower position end before those of a higher one start. group
// counts only for task groups that repeat.
func (m *membership) position(g task.Group, group int) int {
	slots := sequence.Slots()
	place := slices.IndexFunc(slots, func(s sequence.Slot) bool { return s.Group == g })
	switch {
	case place < 0:
		return 0
	case slots[place].Repeats:
		return len(slots)*(1+group) + place
	case place > slices.IndexFunc(slots, func(s sequence.Slot) bool { return s.Repeats }):
		return len(slots)*(1+len(m.groups)) + place
	default:
		return place
	}
}

// describePosition names a task group, and the deployment group when the task group repeats.
func (m *membership) describePosition(g task.Group, group int) string {
	if !sequence.SlotOf(g).Repeats || len(m.groups) == 1 {
		return fmt.Sprintf("the task group %s", g)
	}
	return fmt.Sprintf("the task group %s of the group %q", g, m.groups[group].Name)
}

// checks reports whether the group that works on a node has a health check.
func (m *membership) checks(node string) bool {
	r := m.settings[m.owner[node]].Rolling
	return r != nil && r.HealthCheck != nil
}
