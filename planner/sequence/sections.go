package sequence

import (
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Layer is where a task stands among the sections of its node: it requires the tasks of lower places in its task group
// (litp.md 90 to 92). Tasks that take something away stand among themselves, the other way round, and have no relation
// to the others (litp.md 130).
type Layer struct {
	Place     int
	Removes   bool
	Unordered string // its type, where it requires no task of this type of a lower place, as packages do (litp.md 92); empty otherwise
}

// places are the sections of a node: each requires those with lower numbers (design.md 5.5).
var places = map[catalog.Section]int{
	catalog.System: 0, catalog.OS: 1, catalog.NetworkInterfaces: 2, catalog.Routes: 3, catalog.StorageProfile: 4, catalog.FileSystems: 5,
	catalog.Configs: lastPlace, catalog.Items: lastPlace, catalog.Services: lastPlace,
}

const lastPlace = 6

// mostHeld bounds the requirements that one section has on those before it on one node. Where there would be more, the
// order is the same, but a failure in the earlier section does not hold the later one up.
const mostHeld = 4096

// TakesAway reports whether a task makes something go.
func TakesAway(t task.Task) bool {
	switch t.Resource.Parameters.String("ensure") {
	case "absent", "purged":
		return t.Kind == task.Config
	}
	return false
}

// ownLayer is the layer of a task by its section; none is that of inline configuration.
func ownLayer(t task.Task, b Beyond) Layer {
	place, ok := places[b.Section]
	if !ok {
		place = lastPlace
	}
	l := Layer{Place: place, Removes: TakesAway(t)}
	if t.Kind == task.Config && (b.Unordered || t.Resource.Type == "package") {
		l.Unordered = t.Resource.Type
	}
	if l.Removes {
		l.Place = lastPlace - place
	}
	return l
}

// gated is a set of requirements that can hold gates, see [Scope].
type gated interface {
	Gate() int
	Require(from, to int)
}

// layered is a vertex with its layer.
type layered struct {
	vertex int
	Layer
}

// barriers makes vertices of a higher place require those of lower ones, with gates at each place: one for each
// unordered type, and one for the others. at is what [byPlace] returns.
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

// byPlace returns the vertices that take away or those that do not, in one list for each place that any has, the lowest
// first.
func byPlace(vertices []int, layerOf func(vertex int) Layer, removes bool) [][]layered {
	var lists [lastPlace + 1][]layered
	for _, v := range vertices {
		if l := layerOf(v); l.Removes == removes {
			lists[l.Place] = append(lists[l.Place], layered{v, l})
		}
	}
	return slices.DeleteFunc(lists[:], func(l []layered) bool { return len(l) == 0 })
}

// Stack adds the requirements that come from the sections of one node: those of a later section require those of the
// earlier ones that it needs. layers are those of the tasks.
func (s *Scope) Stack(layers map[int]Layer) {
	tasks := slices.Sorted(maps.Keys(layers))
	for _, removes := range []bool{false, true} {
		barriers(s, byPlace(tasks, func(v int) Layer { return layers[v] }, removes))
	}
}

// stack adds the requirements of the sections to those that are written, within each task group, and returns the layers
// of the tasks, and what each is held up by. What is written wins: a task that requires one of a later section counts
// as one of that section. Without two sections in one task group there is neither.
func (c *catalogOf) stack(beyond map[resource.ID]Beyond) (layers []Layer, held [][]int) {
	n := len(c.tasks)
	layers = make([]Layer, n)
	groups := make(map[task.Group][]int)
	var order []task.Group
	several := false
	for i, t := range c.tasks {
		layers[i] = ownLayer(t, beyond[c.names[i]])
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
	held = make([][]int, n)
	for _, removes := range []bool{false, true} {
		c.raise(layers, removes)
		for _, group := range order {
			at := byPlace(groups[group], func(v int) Layer { return layers[v] }, removes)
			barriers(c.graph, at)
			c.hold(at, held)
		}
	}
	return layers, held
}

// raise gives every task at least the place of those in its task group that it requires, so that sections close no
// cycle.
func (c *catalogOf) raise(layers []Layer, removes bool) {
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

// hold finds what each task waits for because of its section, without what is implied: the tasks of lower places that
// none of them requires.
func (c *catalogOf) hold(at [][]layered, held [][]int) {
	var lower []layered
	inLower := make(map[int]bool)
	for i, members := range at {
		if i > 0 {
			heads := make(map[string][]int) // by what is unordered
			most := 0
			for _, v := range members {
				if _, known := heads[v.Unordered]; !known {
					heads[v.Unordered] = c.heads(lower, inLower, held, v.Unordered)
					most = max(most, len(heads[v.Unordered]))
				}
			}
			if len(members)*most <= mostHeld {
				for _, v := range members {
					held[v.vertex] = heads[v.Unordered]
				}
			}
		}
		lower = append(lower, members...)
		for _, v := range members {
			inLower[v.vertex] = true
		}
	}
}

// heads returns those of some tasks that none of the others requires. Tasks of an unordered type count for nothing;
// empty for no type.
func (c *catalogOf) heads(tasks []layered, among map[int]bool, held [][]int, unordered string) []int {
	out := func(v layered) bool { return unordered != "" && v.Unordered == unordered }
	implied := make(map[int]bool)
	for _, v := range tasks {
		if out(v) {
			continue
		}
		for _, requires := range [][]int{c.graph.requires[v.vertex], held[v.vertex]} {
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
