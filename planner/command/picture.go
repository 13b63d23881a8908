package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// picture is a directed graph to be drawn: the groups of a site, or a lifecycle.
type picture struct {
	name   string
	prefix string // of the ids of boxes in Mermaid
	boxes  []box
	arrows []arrow
}

// box is a box of a picture, with further lines below its name.
type box struct {
	name   string
	lines  []string
	colour colour
	thick  bool // has a thick border
}

// arrow leads from one box to another. A dashed one is taken on failure.
type arrow struct {
	from, to int // indexes of boxes
	label    string
	dashed   bool
}

// colour is that of a box. It never shows anything that words do not.
type colour struct{ fill, line string }

var (
	green  = colour{"#d9f2dd", "#1b7a34"}
	red    = colour{"#fbdcdc", "#b3261e"}
	yellow = colour{"#fdf0cf", "#8a6100"}
	blue   = colour{"#e3ecfb", "#1f4e9c"}
	grey   = colour{"#eeeeee", "#666666"}
	white  = colour{"#f5f5f5", "#666666"}
)

// pictureOfGroups returns the picture of a site's groups in processing order, with their stages in the report of a run.
// Arrows lead from a group to those that wait for it; critical groups have a thick border. Groups that are nil are the
// default strategy. Members are counted only when they are known. Invalid dependencies are an [invalid.Errors] error.
func pictureOfGroups(s site.Site, membersKnown bool, run strategy.Report) (picture, error) {
	groups := s.Groups
	if groups == nil {
		groups = strategy.Default()
	}
	order, err := strategy.Order(groups)
	if err != nil {
		return picture{}, err
	}
	out := picture{name: s.Name, prefix: "g"}
	for i, name := range order {
		g := groups[slices.IndexFunc(groups, func(g site.Group) bool { return g.Name == name })]
		about := "not critical"
		if g.Critical {
			about = "critical"
		}
		if membersKnown {
			about += ", " + resource.Count(len(g.Selectors.Members(s.Nodes)), "node")
		}
		b := box{g.Name, []string{about}, white, g.Critical}
		reported, _ := run.Group(name)
		switch {
		case reported.Stage == strategy.Deployed:
			b.colour = green
		case reported.Stage == strategy.Failed:
			b.colour = red
		case reported.Stage != "":
			b.colour = grey
		case g.Critical:
			b.colour = blue
		}
		if reported.Stage != "" {
			b.lines = append(b.lines, string(reported.Stage))
		}
		out.boxes = append(out.boxes, b)
		for parent, before := range order[:i] {
			if slices.Contains(g.DependsOn, before) {
				out.arrows = append(out.arrows, arrow{from: parent, to: i})
			}
		}
	}
	return out, nil
}

// pictureOfLifecycle returns the picture of a lifecycle: states, and the transfers between them, in its order. Initial
// states have a thick border.
func pictureOfLifecycle(m *lifecycle.Machine) picture {
	l := m.Lifecycle()
	out := picture{name: l.Name, prefix: "s"}
	index := make(map[string]int, len(l.States))
	colours := map[lifecycle.Label]colour{"": white, lifecycle.Success: green, lifecycle.Danger: red,
		lifecycle.Warning: yellow, lifecycle.Info: blue}
	for i, s := range l.States {
		index[s.Name] = i
		out.boxes = append(out.boxes, box{s.Name, []string{aboutState(s)}, colours[s.Label],
			slices.Contains(m.Initial(), s.Name)})
	}
	withOperation := func(label string, op lifecycle.Operation) string {
		if op == lifecycle.NoOperation {
			return label
		}
		return label + ": " + string(op)
	}
	for _, t := range l.Transfers {
		label := string(t.Trigger)
		if t.Config != "" {
			label += ", gate " + t.Config
		}
		out.arrows = append(out.arrows,
			arrow{index[t.Source], index[t.Target], withOperation(label, t.Operation), false})
		if t.Error != "" {
			out.arrows = append(out.arrows, arrow{index[t.Source], index[t.Error],
				withOperation(string(t.Trigger)+" fails", t.ErrorOperation), true})
		}
	}
	return out
}

// aboutState says what a state means for what is deployed.
func aboutState(s lifecycle.State) string {
	about := "not deployed"
	switch {
	case s.Deleted:
		about = "deleted"
	case s.Role(true).Export && s.Purge:
		about = "is removed"
	case s.Role(true).Export:
		about = "deployed"
	}
	if s.Label != "" {
		return string(s.Label) + ", " + about
	}
	return about
}

// draw returns the picture as Mermaid or as DOT.
func (p picture) draw(f format) string {
	if f == asDOT {
		return p.dot()
	}
	return p.mermaid()
}

// border is the width of a box's line.
func (b box) border() int {
	if b.thick {
		return 3
	}
	return 1
}

// mermaidText escapes what has a meaning in a quoted text of Mermaid.
var mermaidText = strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`",
	"#96;", `\`, "#92;").Replace

// mermaid returns the picture as a Mermaid flowchart (https://mermaid.js.org/syntax/flowchart.html), which GitHub and
// GitLab draw.
func (p picture) mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i, x := range p.boxes {
		fmt.Fprintf(&b, "  %s%d[\"%s\"]\n", p.prefix, i,
			strings.Join(append([]string{mermaidText(x.name)}, x.lines...), "<br/>"))
	}
	for _, a := range p.arrows {
		line, label := "-->", ""
		if a.dashed {
			line = "-.->"
		}
		if a.label != "" {
			label = fmt.Sprintf("|\"%s\"|", mermaidText(a.label))
		}
		fmt.Fprintf(&b, "  %s%d %s%s %s%d\n", p.prefix, a.from, line, label, p.prefix, a.to)
	}
	for i, x := range p.boxes {
		fmt.Fprintf(&b, "  style %s%d fill:%s,stroke:%s,stroke-width:%dpx,color:#000000\n", p.prefix, i, x.colour.fill,
			x.colour.line, x.border())
	}
	return b.String()
}

var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// dotText quotes a text.
func dotText(s string) string { return `"` + dotEscapes.Replace(s) + `"` }

// dot returns the picture in Graphviz' language (https://graphviz.org/doc/info/lang.html).
func (p picture) dot() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n", dotText(p.name))
	if slices.ContainsFunc(p.arrows, func(a arrow) bool { return a.label != "" }) {
		b.WriteString("  edge [fontname=\"sans-serif\", fontsize=10];\n")
	}
	for _, x := range p.boxes {
		fmt.Fprintf(&b, "  %s [label=%s, fillcolor=\"%s\", color=\"%s\", penwidth=%d];\n", dotText(x.name),
			dotText(strings.Join(append([]string{x.name}, x.lines...), "\n")), x.colour.fill, x.colour.line, x.border())
	}
	for _, a := range p.arrows {
		var attributes []string
		if a.label != "" {
			attributes = append(attributes, "label="+dotText(a.label))
		}
		if a.dashed {
			attributes = append(attributes, "style=dashed")
		}
		fmt.Fprintf(&b, "  %s -> %s", dotText(p.boxes[a.from].name), dotText(p.boxes[a.to].name))
		if len(attributes) > 0 {
			fmt.Fprintf(&b, " [%s]", strings.Join(attributes, ", "))
		}
		b.WriteString(";\n")
	}
	b.WriteString("}\n")
	return b.String()
}
