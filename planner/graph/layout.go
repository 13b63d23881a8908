package graph

import (
	"cmp"
	"slices"
)

// Measures of a picture, in pixels.
const (
	charWidth = 9  // of a letter in a box, rounded up
	padding   = 16 // between text and border
	between   = 32 // two boxes of a level
	rowGap    = 56 // two levels
	margin    = 16 // around the picture
	lane      = 8  // width of an edge that passes a level
	sweeps    = 8  // passes over the levels, down and up by turns

	// maxPieces bounds the pieces into which edges over several levels are cut. Where there would be more, these edges go straight:
	// nobody could follow them anyway.
	maxPieces = 50_000
)

// cell is a box, or the place where an edge passes a level on its way further down. x is its middle.
type cell struct {
	group    int // -1 for an edge that passes
	level    int
	x, width int
	above    []int // cells of the level before
	below    []int // cells of the level after
}

// layout is where everything is. It is Sugiyama's: edges over several levels are cut into pieces of one level, the cells of
// a level are put where they cross least, then moved below and above their neighbours.
type layout struct {
	cells  []cell
	levels [][]int // cells from left to right
	routes []route
	width  int
}

// route is an edge from the group of its first cell to that of its last.
type route []int

func newLayout(g Graph, width func(Group) int) *layout {
	l := &layout{}
	at := make([]int, len(g.Groups))
	add := func(level int, c cell) int {
		for len(l.levels) <= level {
			l.levels = append(l.levels, nil)
		}
		c.level = level
		l.cells = append(l.cells, c)
		l.levels[level] = append(l.levels[level], len(l.cells)-1)
		return len(l.cells) - 1
	}
	for i, group := range g.Groups {
		at[i] = add(group.Level, cell{group: i, width: width(group)})
	}
	pieces := 0
	for _, group := range g.Groups {
		for _, parent := range group.Parents {
			pieces += group.Level - g.Groups[parent].Level - 1
		}
	}
	for i, group := range g.Groups {
		for _, parent := range group.Parents {
			path := route{at[parent]}
			if pieces > maxPieces && group.Level-g.Groups[parent].Level > 1 {
				l.routes = append(l.routes, append(path, at[i]))
				continue
			}
			for level := g.Groups[parent].Level + 1; level < group.Level; level++ {
				path = append(path, add(level, cell{group: -1, width: lane}))
			}
			path = append(path, at[i])
			for j := range path[1:] {
				l.cells[path[j]].below = append(l.cells[path[j]].below, path[j+1])
				l.cells[path[j+1]].above = append(l.cells[path[j+1]].above, path[j])
			}
			l.routes = append(l.routes, path)
		}
	}
	l.order()
	l.align()
	return l
}

// order puts the cells of each level in the order of the middle of their neighbours; cells that are level with each other keep
// their order.
func (l *layout) order() {
	rank := make([]int, len(l.cells))
	number := func(level []int) {
		for i, c := range level {
			rank[c] = i
		}
	}
	for _, level := range l.levels {
		number(level)
	}
	l.sweep(func(level []int, neighbours func(*cell) []int) {
		// A fixed scale instead of fractions; a cell without neighbours stays where it is.
		const scale = 1 << 10
		middle := make(map[int]int, len(level))
		for _, c := range level {
			middle[c] = rank[c] * scale
			if near := neighbours(&l.cells[c]); len(near) > 0 {
				sum := 0
				for _, n := range near {
					sum += rank[n]
				}
				middle[c] = sum * scale / len(near)
			}
		}
		slices.SortStableFunc(level, func(a, b int) int { return cmp.Compare(middle[a], middle[b]) })
		number(level)
	})
}

// align gives every cell its place: near the middle of its neighbours, and far enough from those beside it.
func (l *layout) align() {
	for _, level := range l.levels {
		x := 0
		for _, c := range level {
			l.cells[c].x = x + l.cells[c].width/2
			x += l.cells[c].width + between
		}
	}
	l.sweep(func(level []int, neighbours func(*cell) []int) {
		wanted := make([]int, len(level))
		for i, c := range level {
			wanted[i] = l.cells[c].x
			if near := neighbours(&l.cells[c]); len(near) > 0 {
				sum := 0
				for _, n := range near {
					sum += l.cells[n].x
				}
				wanted[i] = sum / len(near)
			}
		}
		for i, x := range l.spread(level, wanted) {
			l.cells[level[i]].x = x
		}
	})
	left, right := 0, 0
	for i, c := range l.cells {
		if i == 0 || c.x-c.width/2 < left {
			left = c.x - c.width/2
		}
	}
	for i := range l.cells {
		c := &l.cells[i]
		c.x += margin - left
		right = max(right, c.x+(c.width+1)/2)
	}
	l.width = right + margin
}

// spread returns places near the wanted ones that keep the distance: between those pushed to the right and those pushed to the left,
// which both keep it.
func (l *layout) spread(level, wanted []int) []int {
	n := len(level)
	rightward, leftward := slices.Clone(wanted), slices.Clone(wanted)
	distance := func(i int) int { return (l.cells[level[i-1]].width+l.cells[level[i]].width+1)/2 + between }
	for i := 1; i < n; i++ {
		rightward[i] = max(rightward[i], rightward[i-1]+distance(i))
	}
	for i := n - 1; i > 0; i-- {
		leftward[i-1] = min(leftward[i-1], leftward[i]-distance(i))
	}
	for i := range rightward {
		rightward[i] = (rightward[i] + leftward[i]) >> 1 // rounds down everywhere, so that distances stay
	}
	return rightward
}

// sweep visits the levels down, looking at the cells above, and up, looking at those below, by turns.
func (l *layout) sweep(visit func(level []int, neighbours func(*cell) []int)) {
	for i := range sweeps {
		if i%2 == 0 {
			for _, level := range l.levels[min(1, len(l.levels)):] {
				visit(level, func(c *cell) []int { return c.above })
			}
			continue
		}
		for j := len(l.levels) - 2; j >= 0; j-- {
			visit(l.levels[j], func(c *cell) []int { return c.below })
		}
	}
}
