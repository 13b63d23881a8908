package sequence

import (
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Layer is the position of a task among the sections of its node: it requires the tasks of lower places in its task
// group (litp.md 90 to 92). Removing tasks have layers of their own, in reverse order, and no relation to other tasks
// (litp.md 130).
type Layer struct {
	Place   int
	Removes bool
	// its type, where it requires no task of this type of a lower place, as packages do (litp.md 92); empty otherwise
	Unordered string
}

// places are the positions of the sections of a node: each section requires those with lower numbers (design.md 5.5).
var places = map[catalog.Section]int{
	catalog.System: 0, catalog.OS: 1, catalog.NetworkInterfaces: 2, catalog.Routes: 3, catalog.StorageProfile: 4,
	catalog.FileSystems: 5,
	catalog.Configs:     lastPlace, catalog.Items: lastPlace, catalog.Services: lastPlace,
}

const lastPlace = 6

// maxSectionRequires is the most requirements of one section on earlier sections on one node. With more, the order
// stays the same, but a failure in the earlier section does not stop the later one.
const maxSectionRequires = 4096

// Removes reports whether a task removes something: its parameter ensure is absent or purged.
func Removes(t task.Task) bool {
	switch t.Resource.Parameters.String("ensure") {
	case "absent", "purged":
		return t.Kind == task.Config
	}
	return false
}

// layerOf returns the layer of a task by its section. A task without a section counts as inline configuration.
func layerOf(t task.Task, b Constraints) Layer {
	place, ok := places[b.Section]
	if !ok {
		place = lastPlace
	}
	l := Layer{Place: place, Removes: Removes(t)}
	if t.Kind == task.Config && (b.Unordered || t.Resource.Type == "package") {
		l.Unordered = t.Resource.Type
	}
	if l.Removes {
		l.Place = lastPlace - place
	}
	return l
}

// gated is a graph that can have gates, see [Scope].
type gated interface {
	Gate() int
	Require(from, to int)
}

// layered is a vertex with its layer.
type layered struct {
	vertex int
	Layer
}

// barriers makes vertices of a higher place require those of lower places. Each place has one gate for each unordered
// type and one for all other tasks. at is the result of [byPlace].
func barriers(g gated, at [][]layered) {
	kinds := []string{"", "package"} // "" is all that is ordered
	below := make(map[string]int)    // the gate of all vertices of a kind in lower places
	for i, members := range at {
		own := make(map[string][]int)
		for _, v := range members {
			for _, kind := range kinds {
				if gate, ok := below[kind]; ok && (kind == "" || kind != v.Unordered) {
					g.Require(v.vertex, gate)
				}
			}
			own[v.Unordered] = append(own[v.Unordered], v.vertex)
		}
		if i == len(at)-1 {
			return
		}
		for _, v := range members {
			if !slices.Contains(kinds, v.Unordered) {
				kinds = append(kinds, v.Unordered)
			}
		}
		for _, kind := range kinds {
			gate := g.Gate()
			if lower, ok := below[kind]; ok {
				g.Require(gate, lower)
			}
			for _, v := range own[kind] {
				g.Require(gate, v)
			}
			below[kind] = gate
		}
	}
}

// byPlace returns the vertices that remove something, or those that do not, as one list for each place, the lowest
// first. Places without vertices are left out.
func byPlace(vertices []int, layerOf func(vertex int) Layer, removes bool) [][]layered {
	var lists [lastPlace + 1][]layered
	for _, v := range vertices {
		if l := layerOf(v); l.Removes == removes {
			lists[l.Place] = append(lists[l.Place], layered{v, l})
		}
	}
	return slices.DeleteFunc(lists[:], func(l []layered) bool { return len(l) == 0 })
}

// AddSections adds the requirements between the sections of one node: a task of a later section requires the earlier
// sections that it needs. layers are those of the tasks.
func (s *Scope) AddSections(layers map[int]Layer) {
	tasks := slices.Sorted(maps.Keys(layers))
	for _, removes := range []bool{false, true} {
		barriers(s, byPlace(tasks, func(v int) Layer { return layers[v] }, removes))
	}
}

// addSections adds the requirements between sections within each task group. It returns the layers of the tasks, and
// the tasks that each requires because of its section. Written requirements win: a task that requires one of a later
// section counts as one of that section. Both results are nil when no task group has two sections.
func (c *nodeTasks) addSections(constraints map[resource.ID]Constraints) (layers []Layer, bySection [][]int) {
	n := len(c.tasks)
	layers = make([]Layer, n)
	groups := make(map[task.Group][]int)
	var order []task.Group
	several := false
	for i, t := range c.tasks {
		layers[i] = layerOf(t, constraints[c.names[i]])
		members, ok := groups[t.Group]
		if !ok {
			order = append(order, t.Group)
		} else if first := layers[members[0]]; first.Place != layers[i].Place || first.Removes != layers[i].Removes {
			several = true
		}
		groups[t.Group] = append(members, i)
	}
	if !several {
		return nil, nil
	}
	bySection = make([][]int, n)
	for _, removes := range []bool{false, true} {
		c.raiseLayers(layers, removes)
		for _, group := range order {
			at := byPlace(groups[group], func(v int) Layer { return layers[v] }, removes)
			barriers(c.graph, at)
			c.requireSections(at, bySection)
		}
	}
	return layers, bySection
}

// raiseLayers gives every task at least the place of the tasks in its task group that it requires, so that sections
// close no cycle.
func (c *nodeTasks) raiseLayers(layers []Layer, removes bool) {
	n := len(c.tasks)
	const none = -1
	reached := make([]int, len(c.graph.requires)) // the highest place of a task itself and of what it requires
	for _, v := range c.graph.order() {
		reached[v] = none
		if v < n && layers[v].Removes == removes {
			reached[v] = layers[v].Place
		}
		for _, r := range c.graph.requires[v] {
			if v >= n || r >= n || c.tasks[r].Group == c.tasks[v].Group {
				reached[v] = max(reached[v], reached[r])
			}
		}
		if v < n && layers[v].Removes == removes {
			layers[v].Place = reached[v]
		}
	}
}

// requireSections finds the tasks that each task requires because of its section: the tasks of lower places that no
// other task of a lower place requires.
func (c *nodeTasks) requireSections(at [][]layered, bySection [][]int) {
	var lower []layered
	inLower := make(map[int]bool)
	for i, members := range at {
		if i > 0 {
			heads := make(map[string][]int) // by what is unordered
			most := 0
			for _, v := range members {
				if _, known := heads[v.Unordered]; !known {
					heads[v.Unordered] = c.heads(lower, inLower, bySection, v.Unordered)
					most = max(most, len(heads[v.Unordered]))
				}
			}
			if len(members)*most <= maxSectionRequires {
				for _, v := range members {
					bySection[v.vertex] = heads[v.Unordered]
				}
			}
		}
		lower = append(lower, members...)
		for _, v := range members {
			inLower[v.vertex] = true
		}
	}
}

// heads returns those of the tasks that no other of them requires. Tasks of the type unordered do not count.
func (c *nodeTasks) heads(tasks []layered, among map[int]bool, bySection [][]int, unordered string) []int {
	out := func(v layered) bool { return unordered != "" && v.Unordered == unordered }
	implied := make(map[int]bool)
	for _, v := range tasks {
		if out(v) {
			continue
		}
		for _, requires := range [][]int{c.graph.requires[v.vertex], bySection[v.vertex]} {
			for _, r := range requires {
				if among[r] {
					implied[r] = true
				}
			}
		}
	}
	var heads []int
	for _, v := range tasks {
		if !out(v) && !implied[v.vertex] {
			heads = append(heads, v.vertex)
		}
	}
	return heads
}
