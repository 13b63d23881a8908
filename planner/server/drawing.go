package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// drawing is a directed graph as the page shows it, layer by layer from top to bottom: arrows lead down, but for those
// that close a cycle.
type drawing struct {
	Name          string
	Boxes         []*box
	Arrows        []*arrow
	Left, Right   int // its edges, in pixels
	Width, Height int // pixels
}

// box is a node of a drawing.
type box struct {
	Name, About  string
	Class        string // its state: done, failed, running, waiting, or of a mark
	Current      bool   // it is marked as where things are
	X, Y, Width  int    // of its upper left corner
	layer, place int
}

// arrow leads from a box to another, by their indexes.
type arrow struct {
	from, to int
	Label    string
	Dashed   bool
	Next     bool   // it leads on from where things are
	Path     string // in the language of SVG
	back     bool
}

// Sizes of drawings, in pixels.
const (
	boxHeight   = 46
	layerHeight = 96
	boxGap      = 28
	letterWidth = 8
	drawingEdge = 12
)

// Short returns a text that fits into a box.
func (b *box) Short(text string) string {
	if utf8.RuneCountInString(text) > nameLimit {
		return string([]rune(text)[:nameLimit-1]) + "…"
	}
	return text
}

const nameLimit = 28

// Middle is the middle of a box, across.
func (b *box) Middle() int { return b.X + b.Width/2 }

// lay places the boxes: as far down as the longest way to them, and within a layer near those that they follow.
func (d *drawing) lay() {
	d.findBack()
	layers := d.layers()
	for range 4 {
		for _, l := range layers {
			d.sort(l)
		}
	}
	widest := 0
	widths := make([]int, len(layers))
	for i, l := range layers {
		for _, b := range l {
			b.Width = letterWidth*max(utf8.RuneCountInString(b.Short(b.Name)), utf8.RuneCountInString(b.Short(b.About)), 6) + 20
			widths[i] += b.Width + boxGap
		}
		widest = max(widest, widths[i]-boxGap)
	}
	for i, l := range layers {
		x := drawingEdge + (widest-widths[i]+boxGap)/2
		for _, b := range l {
			b.X, b.Y = x, drawingEdge+i*layerHeight
			x += b.Width + boxGap
		}
	}
	d.Right, d.Height = widest+2*drawingEdge, len(layers)*layerHeight-(layerHeight-boxHeight)+2*drawingEdge
	for _, a := range d.Arrows {
		a.Path = d.path(a)
	}
	d.Left, d.Right = d.Left-drawingEdge, d.Right+drawingEdge
	d.Width = d.Right - d.Left
}

// findBack marks the arrows that close a cycle.
func (d *drawing) findBack() {
	const open, done = 1, 2
	seen := make([]int, len(d.Boxes))
	var walk func(int)
	walk = func(i int) {
		seen[i] = open
		for _, a := range d.Arrows {
			if a.from != i {
				continue
			}
			if a.back = seen[a.to] == open; seen[a.to] == 0 {
				walk(a.to)
			}
		}
		seen[i] = done
	}
	for i := range d.Boxes {
		if seen[i] == 0 {
			walk(i)
		}
	}
}

func (d *drawing) layers() [][]*box {
	for range d.Boxes { // a way has at most so many arrows
		moved := false
		for _, a := range d.Arrows {
			if from, to := d.Boxes[a.from], d.Boxes[a.to]; !a.back && to.layer <= from.layer {
				to.layer, moved = from.layer+1, true
			}
		}
		if !moved {
			break
		}
	}
	var layers [][]*box
	for _, b := range d.Boxes {
		for len(layers) <= b.layer {
			layers = append(layers, nil)
		}
		b.place = len(layers[b.layer])
		layers[b.layer] = append(layers[b.layer], b)
	}
	return layers
}

// sort orders a layer by the middle of what each box is connected with.
func (d *drawing) sort(layer []*box) {
	middle := map[*box]float64{}
	for _, b := range layer {
		sum, n := 0, 0
		for _, a := range d.Arrows {
			other := d.Boxes[a.from]
			if other == b {
				other = d.Boxes[a.to]
			} else if d.Boxes[a.to] != b {
				continue
			}
			sum += other.place
			n++
		}
		if middle[b] = float64(b.place); n > 0 {
			middle[b] = float64(sum) / float64(n)
		}
	}
	slices.SortStableFunc(layer, func(a, b *box) int { return cmp.Compare(middle[a], middle[b]) })
	for i, b := range layer {
		b.place = i
	}
}

// path returns the line of an arrow: straight down to the next layer, on the left around what is between to a later
// one, and on the right back to an earlier one.
func (d *drawing) path(a *arrow) string {
	from, to := d.Boxes[a.from], d.Boxes[a.to]
	if to.layer == from.layer+1 {
		x1, y1, x2, y2 := from.Middle(), from.Y+boxHeight, to.Middle(), to.Y-6
		bend := (y2 - y1) / 2
		return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1, y1+bend, x2, y2-bend, x2, y2)
	}
	left, right := from.X, from.X+from.Width
	for _, b := range d.Boxes {
		if b.layer >= min(from.layer, to.layer) && b.layer <= max(from.layer, to.layer) {
			left, right = min(left, b.X), max(right, b.X+b.Width)
		}
	}
	y1, y2 := from.Y+boxHeight/2+8, to.Y+boxHeight/2-8
	apart := 10 * (max(from.layer, to.layer) - min(from.layer, to.layer)) // longer ways are further out
	if to.layer > from.layer {
		x1, x2, out := from.X, to.X-6, left-boxGap-apart
		d.Left = min(d.Left, out)
		return fmt.Sprintf("M%d %dC%d %d %d %d %d %dL%d %dC%d %d %d %d %d %d", x1, y1, out, y1, out, y1, out, y1+boxGap,
			out, y2-boxGap, out, y2, out, y2, x2, y2)
	}
	x1, x2, out := from.X+from.Width, to.X+to.Width+6, right+boxGap/2+apart
	d.Right = max(d.Right, out)
	if from == to {
		return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, out, y1, out, y2, x2, y2)
	}
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %dL%d %dC%d %d %d %d %d %d", x1, y1, out, y1, out, y1, out, y1-boxGap/2,
		out, y2+boxGap/2, out, y2, out, y2, x2, y2)
}

// connect adds an arrow, or a further label to one that is there.
func (d *drawing) connect(from, to int, label string, dashed bool) {
	for _, a := range d.Arrows {
		if a.from == from && a.to == to && a.Dashed == dashed {
			a.Label += ", " + label
			return
		}
	}
	d.Arrows = append(d.Arrows, &arrow{from: from, to: to, Label: label, Dashed: dashed,
		Next: d.Boxes[from].Current})
}

// Text describes the drawing to those who do not see it.
func (d *drawing) Text() string {
	var parts []string
	for i, b := range d.Boxes {
		text := b.Name
		if b.About != "" {
			text += " (" + b.About + ")"
		}
		var to []string
		for _, a := range d.Arrows {
			if a.from == i {
				to = append(to, d.Boxes[a.to].Name)
			}
		}
		if len(to) > 0 {
			text += " leads to " + strings.Join(slices.Compact(slices.Sorted(slices.Values(to))), ", ")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
