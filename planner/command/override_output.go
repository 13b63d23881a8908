package command

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/document"
)

// laid is the answer.
type laid struct {
	site      string // its name; empty when no file describes one
	overrides int    // that the site has
	resources []laidJSON
}

// overridesJSON is the answer as the command prints it with --output json.
type overridesJSON struct {
	Site      string        `json:"site,omitempty"` // when the files describe one
	Resources []laidJSON    `json:"resources"`
	Warnings  []problemJSON `json:"warnings"`
}

// laidJSON is a resource as the command prints it with --output json: what came of it, and what it was.
type laidJSON struct {
	Resource   string         `json:"resource"`
	Type       string         `json:"type"`
	Title      string         `json:"title"`
	Service    string         `json:"service,omitempty"` // of a site: that brings it; none for a created one
	Nodes      []string       `json:"nodes,omitempty"`   // of a site: on which it came to the same
	Change     string         `json:"change"`            // created, changed or none
	Overrides  []string       `json:"overrides"`         // that changed or created it, the strongest last
	Parameters map[string]any `json:"parameters"`
	Before     map[string]any `json:"before,omitempty"` // where it was changed
	Changed    []string       `json:"changed"`          // the parameters that are other ones, of a created resource all
}

func (o *laid) write(out io.Writer, f format, warnings document.Problems) error {
	if f == asJSON {
		return writeJSON(out, overridesJSON{o.site, o.resources, problemsJSON(warnings)})
	}
	p := &printer{w: out}
	switch {
	case f == asMarkdown && o.site != "":
		p.printf("# Overrides of site %s\n\n", markdownText(o.site))
	case f == asMarkdown:
		p.printf("# Overrides\n\n")
	case o.site != "":
		p.printf("site %s\n\n", o.site)
	}
	told := o.resources
	if o.site != "" {
		told = slices.DeleteFunc(slices.Clone(told), func(l laidJSON) bool { return l.Change == "none" })
	}
	switch {
	case o.site != "" && o.overrides == 0:
		p.printf("the site has no overrides\n")
	case len(told) == 0 && o.site != "":
		p.printf("no override changes a resource\n")
	default:
		p.sections(f, []section{o.summary(told)})
	}
	if rest := len(o.resources) - len(told); rest > 0 && o.overrides > 0 {
		p.printf("\nunchanged: %s\n", countOf(rest, "resource"))
	}
	for _, l := range told {
		if l.Change != "none" {
			l.write(p, f)
		}
	}
	warn(p, warnings, f)
	return p.err
}

// summary is the table of resources.
func (o *laid) summary(told []laidJSON) section {
	s := section{header: []string{"RESOURCE", "CHANGE", "BY"}}
	if o.site != "" {
		s.header = append(s.header, "SERVICE", "NODES")
	}
	for _, l := range told {
		row := []string{l.Resource, l.Change, strings.Join(l.Overrides, ", ")}
		if o.site != "" {
			row = append(row, l.Service, shortList(l.Nodes, ", "))
		}
		s.rows = append(s.rows, row)
	}
	return s
}

// write tells the parameters of a resource that was changed or created, before and after.
func (l laidJSON) write(p *printer, f format) {
	title := l.Resource
	if len(l.Nodes) > 0 {
		title += " on " + shortList(l.Nodes, ", ")
	}
	p.printf("\n")
	values := section{title: title, header: []string{"PARAMETER", "CHANGE", "BEFORE", "AFTER"}}
	p.unlessMarkdown(f, "%s\n", title)
	for _, name := range slices.Sorted(maps.Keys(l.Parameters)) {
		before, had := l.Before[name]
		row := []string{name, "", "", text(l.Parameters[name])}
		if had {
			row[2] = text(before)
		}
		switch {
		case !slices.Contains(l.Changed, name):
			p.unlessMarkdown(f, "    %s: %s\n", name, row[3])
		case had:
			row[1] = "changed"
			p.unlessMarkdown(f, "  ~ %s: %s -> %s\n", name, row[2], row[3])
		default:
			row[1] = "new"
			p.unlessMarkdown(f, "  + %s: %s\n", name, row[3])
		}
		values.rows = append(values.rows, row)
	}
	if f == asMarkdown {
		p.markdownSection(values)
	}
}

// unlessMarkdown prints a line of the table format.
func (p *printer) unlessMarkdown(f format, text string, args ...any) {
	if f != asMarkdown {
		p.printf(text, args...)
	}
}

// text writes a value on one line. Values come from documents, so JSON can write them.
func text(v any) string {
	if v == hidden || v == awaited {
		return fmt.Sprint(v)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
