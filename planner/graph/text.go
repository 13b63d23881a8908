package graph

import (
	"fmt"
	"strings"
)

// Mermaid returns the graph as a Mermaid flowchart (https://mermaid.js.org/syntax/flowchart.html), which GitHub and
// GitLab draw. Arrows lead from a group to those that wait for it; critical groups have a thick border.
func (g Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i, group := range g.Groups {
		lines := []string{mermaidText(group.Name), group.about()}
		if group.Stage != "" {
			lines = append(lines, string(group.Stage))
		}
		fmt.Fprintf(&b, "  g%d[\"%s\"]\n", i, strings.Join(lines, "<br/>"))
	}
	for i, group := range g.Groups {
		for _, parent := range group.Parents {
			fmt.Fprintf(&b, "  g%d --> g%d\n", parent, i)
		}
	}
	for i, group := range g.Groups {
		p := group.paint()
		fmt.Fprintf(&b, "  style g%d fill:%s,stroke:%s,stroke-width:%dpx,color:#000000\n", i, p.fill, p.line,
			group.border())
	}
	return b.String()
}

// border is the width of a box's line.
func (g Group) border() int {
	if g.Critical {
		return 3
	}
	return 1
}

var mermaidEscapes = strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`",
	"#96;", `\`, "#92;")

// mermaidText escapes what has a meaning in a quoted text of Mermaid.
func mermaidText(s string) string { return mermaidEscapes.Replace(s) }

// DOT returns the graph in Graphviz' language (https://graphviz.org/doc/info/lang.html).
func (g Graph) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n", dotText(g.Site))
	for _, group := range g.Groups {
		label := group.Name + "\n" + group.about()
		if group.Stage != "" {
			label += "\n" + string(group.Stage)
		}
		p := group.paint()
		fmt.Fprintf(&b, "  %s [label=%s, fillcolor=\"%s\", color=\"%s\", penwidth=%d];\n", dotText(group.Name),
			dotText(label), p.fill, p.line, group.border())
	}
	for _, group := range g.Groups {
		for _, parent := range group.Parents {
			fmt.Fprintf(&b, "  %s -> %s;\n", dotText(g.Groups[parent].Name), dotText(group.Name))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// dotText quotes a text.
func dotText(s string) string { return `"` + dotEscapes.Replace(s) + `"` }
