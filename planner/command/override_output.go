package command

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// overrideResult is the result of the command.
type overrideResult struct {
	site      string // its name; empty when no file describes one
	overrides int    // that the site has
	resources []overriddenJSON
}

// overridesJSON is the output with --output json.
type overridesJSON struct {
	Site      string           `json:"site,omitempty"` // when the files describe one
	Resources []overriddenJSON `json:"resources"`
	Warnings  []errorAtJSON    `json:"warnings"`
}

// overriddenJSON is a resource before and after the overrides.
type overriddenJSON struct {
	Resource string `json:"resource"`
	Type     string `json:"type"`
	Title    string `json:"title"`
	// of a site: the service with the resource; empty when an override created it
	Service    string         `json:"service,omitempty"`
	Nodes      []string       `json:"nodes,omitempty"` // of a site: those with this result
	Change     string         `json:"change"`          // created, changed or none
	Overrides  []string       `json:"overrides"`       // that changed or created it, the strongest last
	Parameters map[string]any `json:"parameters"`
	Before     map[string]any `json:"before,omitempty"` // of a changed resource
	Changed    []string       `json:"changed"`          // parameters whose values differ; of a created resource all
}

func (o *overrideResult) write(out io.Writer, f format, warnings invalid.Errors) error {
	if f == asJSON {
		return writeJSON(out, overridesJSON{o.site, o.resources, errorsJSON(warnings)})
	}
	p := &printer{w: out}
	switch {
	case f == asMarkdown && o.site != "":
		p.printf("# Overrides of site %s\n\n", f.escape(o.site))
	case f == asMarkdown:
		p.printf("# Overrides\n\n")
	case o.site != "":
		p.printf("site %s\n\n", o.site)
	}
	shown := o.resources
	if o.site != "" {
		shown = slices.DeleteFunc(slices.Clone(shown), func(l overriddenJSON) bool { return l.Change == "none" })
	}
	switch {
	case o.site != "" && o.overrides == 0:
		p.printf("the site has no overrides\n")
	case len(shown) == 0 && o.site != "":
		p.printf("no override changes a resource\n")
	default:
		p.section(f, o.summary(shown))
	}
	if rest := len(o.resources) - len(shown); rest > 0 && o.overrides > 0 {
		p.printf("\nunchanged: %s\n", resource.Count(rest, "resource"))
	}
	for _, l := range shown {
		if l.Change != "none" {
			l.write(p, f)
		}
	}
	warn(p, warnings, f)
	return p.err
}

// summary is the table of resources.
func (o *overrideResult) summary(shown []overriddenJSON) section {
	s := section{header: []string{"RESOURCE", "CHANGE", "BY"}}
	if o.site != "" {
		s.header = append(s.header, "SERVICE", "NODES")
	}
	for _, l := range shown {
		row := []string{l.Resource, l.Change, strings.Join(l.Overrides, ", ")}
		if o.site != "" {
			row = append(row, l.Service, shortList(l.Nodes, ", "))
		}
		s.rows = append(s.rows, row)
	}
	return s
}

// write prints the parameters of a changed or created resource, before and after.
func (l overriddenJSON) write(p *printer, f format) {
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
		p.section(f, values)
	}
}

// unlessMarkdown prints a line of the table format.
func (p *printer) unlessMarkdown(f format, text string, args ...any) {
	if f != asMarkdown {
		p.printf(text, args...)
	}
}

// text formats a value as JSON on one line.
func text(v any) string {
	if v == hidden || v == awaited {
		return fmt.Sprint(v)
	}
	text, err := resource.CompactJSON(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return text
}
