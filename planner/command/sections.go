package command

import "strings"

// section is a table with its title, which may be empty.
type section struct {
	title  string
	header []string
	rows   [][]string
}

// sections prints tables one after the other.
func (p *printer) sections(f format, all []section) {
	for i, s := range all {
		if i > 0 {
			p.printf("\n")
		}
		if f == asMarkdown {
			p.markdownSection(s)
			continue
		}
		if s.title != "" {
			p.printf("%s\n", s.title)
		}
		p.rows(strings.Join(s.header, "\t"), s.rows)
	}
}

func (p *printer) markdownSection(s section) {
	if s.title != "" {
		p.printf("## %s\n\n", markdownText(s.title))
	}
	row := func(cells []string) {
		for _, c := range cells {
			p.printf("| %s ", markdownText(c))
		}
		p.printf("|\n")
	}
	lower := make([]string, len(s.header))
	for i, name := range s.header {
		lower[i] = strings.ToLower(name)
	}
	row(lower)
	p.printf("%s|\n", strings.Repeat("|---", len(s.header)))
	for _, cells := range s.rows {
		row(cells)
	}
}
