package strategy

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// nodesPerLine bounds how many node names of one stage a table shows in a line.
const nodesPerLine = 10

// String renders the report as a table for people. The same report gives the same text.
//
//	GROUP             STAGE      CRITICAL  NODES  WHY
//	ntp-node          DEPLOYED   yes       1
//	control-nodes     FAILED     yes       3      2 of 3 nodes deployed, minimum_successful_nodes asks for 3
//	compute-nodes-1   FAILED     no        2      control-nodes failed
//
//	STAGE        COUNT  NODES
//	NOT_STARTED  2      cmp11 cmp12
//	...
func (r Report) String() string {
	groups := [][]string{{"GROUP", "STAGE", "CRITICAL", "NODES", "WHY"}}
	for _, g := range r.Groups {
		critical := "no"
		if g.Critical {
			critical = "yes"
		}
		groups = append(groups, []string{g.Name, string(g.Stage), critical, fmt.Sprint(len(g.Members)), g.reason()})
	}
	nodes := [][]string{{"STAGE", "COUNT", "NODES"}}
	for _, s := range r.Nodes {
		row := []string{string(s.Stage), fmt.Sprint(len(s.Nodes))}
		for from := 0; from == 0 || from < len(s.Nodes); from += nodesPerLine {
			nodes = append(nodes, append(row, strings.Join(s.Nodes[from:min(from+nodesPerLine, len(s.Nodes))], " ")))
			row = []string{"", ""}
		}
	}
	var b strings.Builder
	if len(r.Groups) > 0 {
		table(&b, groups)
		b.WriteString("\n")
	}
	table(&b, nodes)
	if len(r.Warnings) > 0 {
		b.WriteString("\n")
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w.Error())
	}
	if r.CriticalFailed {
		b.WriteString("\na critical group has failed\n")
	}
	if r.BudgetSpent {
		b.WriteString("\nthe failure budget is spent\n")
	}
	return b.String()
}

func (g GroupReport) reason() string {
	if g.FailedBy != "" {
		return g.FailedBy + " failed"
	}
	return strings.Join(g.Reasons(), "; ")
}

// table writes rows of equal length with their columns aligned and without trailing blanks.
func table(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
