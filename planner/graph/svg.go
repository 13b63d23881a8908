package graph

import (
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	lineHeight  = 18
	longestName = 32 // letters of a name in a box; the whole name is in its title
)

// SVG returns the graph as a picture: groups from top to bottom by level, arrows from a group to those that wait for it.
func (g Graph) SVG() string {
	lines := 2
	for _, group := range g.Groups {
		if group.Stage != "" {
			lines = 3
		}
	}
	boxHeight := lines*lineHeight + padding
	l := newLayout(g, func(group Group) int {
		longest := 0
		for _, line := range group.lines() {
			longest = max(longest, utf8.RuneCountInString(line))
		}
		return longest*charWidth + 2*padding
	})
	top := func(level int) int { return margin + level*(boxHeight+rowGap) }
	width, height := max(l.width, 2*margin), top(len(l.levels))-rowGap+margin

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="monospace" font-size="14" role="img">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", xmlText("Groups of site "+g.Site))
	b.WriteString(`<defs><marker id="arrow" viewBox="0 0 10 10" refX="10" refY="5" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L10 5L0 10z" fill="#444444"/></marker></defs>` + "\n")
	b.WriteString(`<rect width="100%" height="100%" fill="#ffffff"/>` + "\n")
	for _, r := range l.routes {
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="#444444" stroke-width="1.5" marker-end="url(#arrow)"/>`+"\n",
			l.path(r, top, boxHeight))
	}
	for _, c := range l.cells {
		if c.group < 0 {
			continue
		}
		group := g.Groups[c.group]
		y, p := top(group.Level), group.paint()
		fmt.Fprintf(&b, "<g><title>%s</title>\n", xmlText(group.Name))
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="%s" stroke-width="%d"/>`+"\n",
			c.x-c.width/2, y, c.width, boxHeight, p.fill, p.line, group.border())
		for i, line := range group.lines() {
			weight := ""
			if i == 0 {
				weight = ` font-weight="bold"`
			}
			fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle"%s>%s</text>`+"\n", c.x, y+padding/2+(i+1)*lineHeight-4, weight, xmlText(line))
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// path draws an edge: from the bottom of a box, straight through the levels that it passes, to the top of another.
func (l *layout) path(r route, top func(int) int, boxHeight int) string {
	var b strings.Builder
	x, y := l.cells[r[0]].x, top(l.cells[r[0]].level)+boxHeight
	fmt.Fprintf(&b, "M%d %d", x, y)
	for i, c := range r[1:] {
		below := top(l.cells[c].level)
		bend := (below - y) / 2
		fmt.Fprintf(&b, "C%d %d %d %d %d %d", x, y+bend, l.cells[c].x, below-bend, l.cells[c].x, below)
		if x, y = l.cells[c].x, below; i < len(r)-2 {
			y += boxHeight
			fmt.Fprintf(&b, "L%d %d", x, y)
		}
	}
	return b.String()
}

// lines is the text in a box.
func (g Group) lines() []string {
	name := []rune(g.Name)
	if len(name) > longestName {
		name = append(name[:longestName-1:longestName-1], '…')
	}
	lines := []string{string(name), g.about()}
	if g.Stage != "" {
		lines = append(lines, string(g.Stage))
	}
	return lines
}

func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}
