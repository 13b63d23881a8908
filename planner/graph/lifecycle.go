package graph

import (
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// Lifecycle is the picture of a lifecycle: states, and the transfers between them.
type Lifecycle struct {
	Name   string
	states []box
	ways   []way
}

// box is a state.
type box struct {
	name  string
	about string // the second line
	paint paint
	first bool // a service may begin in it
}

// way is a transfer from one state to another; a dashed one is taken on failure.
type way struct {
	from, to int // indexes of states
	label    string
	failure  bool
}

// NewLifecycle returns the picture of a lifecycle. States and transfers are in its order.
func NewLifecycle(m *lifecycle.Machine) Lifecycle {
	l := m.Lifecycle()
	out := Lifecycle{Name: l.Name}
	place := make(map[string]int, len(l.States))
	for i, s := range l.States {
		place[s.Name] = i
		out.states = append(out.states, box{name: s.Name, about: aboutState(s), paint: labelPaint(s.Label)})
	}
	for _, name := range m.Initial() {
		out.states[place[name]].first = true
	}
	for _, t := range l.Transfers {
		label := string(t.Trigger)
		if t.Config != "" {
			label += ", gate " + t.Config
		}
		out.ways = append(out.ways, way{place[t.Source], place[t.Target], withOperation(label, t.Operation), false})
		if t.Error != "" {
			out.ways = append(out.ways, way{place[t.Source], place[t.Error],
				withOperation(string(t.Trigger)+" fails", t.ErrorOperation), true})
		}
	}
	return out
}

func withOperation(label string, op lifecycle.Operation) string {
	if op == lifecycle.NoOperation {
		return label
	}
	return label + ": " + string(op)
}

// aboutState says what a state means for what is deployed.
func aboutState(s lifecycle.State) string {
	parts := []string{}
	if s.Label != "" {
		parts = append(parts, string(s.Label))
	}
	switch {
	case s.Deleted:
		parts = append(parts, "deleted")
	case s.Role(true).Export && s.Purge:
		parts = append(parts, "is removed")
	case s.Role(true).Export:
		parts = append(parts, "deployed")
	default:
		parts = append(parts, "not deployed")
	}
	return strings.Join(parts, ", ")
}

// labelPaint is how a state of a label is drawn. As with groups, colour shows nothing that words do not.
func labelPaint(l lifecycle.Label) paint {
	switch l {
	case lifecycle.Success:
		return paint{"#d9f2dd", "#1b7a34"}
	case lifecycle.Danger:
		return paint{"#fbdcdc", "#b3261e"}
	case lifecycle.Warning:
		return paint{"#fdf0cf", "#8a6100"}
	case lifecycle.Info:
		return paint{"#e3ecfb", "#1f4e9c"}
	}
	return paint{"#f5f5f5", "#666666"}
}

// border is the width of a box's line: that of a state in which services begin is thick.
func (b box) border() int {
	if b.first {
		return 3
	}
	return 1
}

// Mermaid returns the lifecycle as a Mermaid flowchart. Dashed arrows are those of failures.
func (l Lifecycle) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i, s := range l.states {
		fmt.Fprintf(&b, "  s%d[\"%s<br/>%s\"]\n", i, mermaidText(s.name), s.about)
	}
	for _, w := range l.ways {
		arrow := "-->"
		if w.failure {
			arrow = "-.->"
		}
		fmt.Fprintf(&b, "  s%d %s|\"%s\"| s%d\n", w.from, arrow, mermaidText(w.label), w.to)
	}
	for i, s := range l.states {
		fmt.Fprintf(&b, "  style s%d fill:%s,stroke:%s,stroke-width:%dpx,color:#000000\n", i, s.paint.fill,
			s.paint.line, s.border())
	}
	return b.String()
}

// DOT returns the lifecycle in Graphviz' language. Dashed arrows are those of failures.
func (l Lifecycle) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n", dotText(l.Name))
	for _, s := range l.states {
		fmt.Fprintf(&b, "  %s [label=%s, fillcolor=\"%s\", color=\"%s\", penwidth=%d];\n", dotText(s.name),
			dotText(s.name+"\n"+s.about), s.paint.fill, s.paint.line, s.border())
	}
	for _, w := range l.ways {
		style := ""
		if w.failure {
			style = ", style=dashed"
		}
		fmt.Fprintf(&b, "  %s -> %s [label=%s%s];\n", dotText(l.states[w.from].name), dotText(l.states[w.to].name),
			dotText(w.label), style)
	}
	b.WriteString("}\n")
	return b.String()
}
