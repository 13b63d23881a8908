package command

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// rows prints a table with its columns aligned and without trailing blanks.
func (p *printer) rows(header string, rows [][]string) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	t := &printer{w: w}
	t.printf("%s\n", header)
	for _, row := range rows {
		t.printf("%s\n", strings.Join(row, "\t"))
	}
	if t.err == nil {
		t.err = w.Flush()
	}
	if p.err == nil {
		p.err = t.err
	}
	for line := range strings.Lines(b.String()) {
		p.printf("%s\n", strings.TrimRight(line, " \n"))
	}
}

// namesShown bounds how many names a table or Markdown shows of one list; JSON has all.
const namesShown = 20

func shortList(names []string, separator string) string {
	s := strings.Join(names[:min(len(names), namesShown)], separator)
	if more := len(names) - namesShown; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}
