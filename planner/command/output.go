package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// format is the value of --output.
type format string

const (
	table      format = "table"
	asJSON     format = "json"
	asMarkdown format = "markdown"
	asHTML     format = "html"
	asJUnit    format = "junit"
	asMermaid  format = "mermaid"
	asDOT      format = "dot"
)

// formatFlag is a flag whose value is one of the allowed formats.
type formatFlag struct {
	value   *format
	allowed []format
}

// String returns the chosen format.
func (f *formatFlag) String() string {
	if f.value == nil { // cobra calls it on an empty flag, too
		return ""
	}
	return string(*f.value)
}

// Set accepts the allowed formats.
func (f *formatFlag) Set(s string) error {
	if !slices.Contains(f.allowed, format(s)) {
		return fmt.Errorf("must be %s", f.names())
	}
	*f.value = format(s)
	return nil
}

// Type is the type of the flag in the help.
func (f *formatFlag) Type() string { return "format" }

// add adds the flag to a command. more follows the formats in the help.
func (f *formatFlag) add(cmd *cobra.Command, name, short, more string) {
	cmd.Flags().VarP(f, name, short, f.names()+more)
	completeFlag(cmd, name, cobra.FixedCompletions(resource.Texts(f.allowed), cobra.ShellCompDirectiveNoFileComp))
}

// names lists the formats: "table, json or markdown".
func (f *formatFlag) names() string {
	names := resource.Texts(f.allowed)
	if len(names) == 1 {
		return names[0]
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// outputFlag adds --output, with table, json and more formats; the default is table.
func outputFlag(cmd *cobra.Command, more ...format) *format {
	chosen := table
	(&formatFlag{value: &chosen, allowed: append([]format{table, asJSON}, more...)}).add(cmd, "output", "o", "")
	return &chosen
}

// pictureFlag adds --format, of pictures; the default is mermaid.
func pictureFlag(cmd *cobra.Command) *format {
	chosen := asMermaid
	(&formatFlag{value: &chosen, allowed: []format{asMermaid, asDOT}}).add(cmd, "format", "", "")
	return &chosen
}

// escape escapes the special characters of Markdown and its tables in Markdown.
func (f format) escape(s string) string {
	if f == asMarkdown {
		return markdownEscapes.Replace(s)
	}
	return s
}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "&",
	"&amp;", "~", `\~`, "[", `\[`, "]", `\]`, "#", `\#`, "\n", " ")

// show prints v as JSON, or what text prints.
func show(cmd *cobra.Command, f format, v any, text func(p *printer)) error {
	if f == asJSON {
		return writeJSON(cmd.OutOrStdout(), v)
	}
	p := &printer{w: cmd.OutOrStdout()}
	text(p)
	return p.err
}

func writeJSON(w io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = w.Write(append(resource.VisibleJSON(text), '\n'))
	}
	return err
}

// printer writes until the first error, which it keeps. What it writes does nothing to the terminal that shows it.
type printer struct {
	w      io.Writer
	err    error
	phases phases // of the run whose events it prints
}

func (p *printer) printf(text string, args ...any) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, resource.Visible(fmt.Sprintf(text, args...)))
	}
}

// printed prints a text that is all of the output of a command.
func printed(cmd *cobra.Command, text string, args ...any) error {
	p := &printer{w: cmd.OutOrStdout()}
	p.printf(text, args...)
	return p.err
}

// printedAlone prints an output that programs read, and the warnings to standard error.
func printedAlone(cmd *cobra.Command, text string, warnings invalid.Errors) error {
	notes := &printer{w: cmd.ErrOrStderr(), err: printed(cmd, "%s", text)}
	warn(notes, warnings, table)
	return notes.err
}

// section is a table with its title, which may be empty.
type section struct {
	title  string
	header []string
	rows   [][]string
}

// table prints a table without a title.
func (p *printer) table(f format, header []string, rows [][]string) {
	p.section(f, section{header: header, rows: rows})
}

// section prints a table, with its columns aligned and without trailing blanks if it is not Markdown.
func (p *printer) section(f format, s section) {
	if f == asMarkdown {
		if s.title != "" {
			p.printf("## %s\n\n", f.escape(s.title))
		}
		header := make([]string, len(s.header))
		for i, name := range s.header {
			header[i] = strings.ToLower(name)
		}
		for i, cells := range append([][]string{header}, s.rows...) {
			for _, cell := range cells {
				p.printf("| %s ", f.escape(cell))
			}
			p.printf("|\n")
			if i == 0 {
				p.printf("%s|\n", strings.Repeat("|---", len(header)))
			}
		}
		return
	}
	if s.title != "" {
		p.printf("%s\n", s.title)
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	for _, row := range append([][]string{s.header}, s.rows...) {
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t")) // to a text, which takes everything
	}
	_ = w.Flush()
	for line := range strings.Lines(b.String()) {
		p.printf("%s\n", strings.TrimRight(line, " \n"))
	}
}

// errorTable prints errors as a table in Markdown.
func (p *printer) errorTable(errs invalid.Errors) {
	var rows [][]string
	for _, j := range errorsJSON(errs) {
		position := fmt.Sprintf("%s:%d:%d", j.File, j.Line, j.Column)
		rows = append(rows, []string{j.Severity, position, j.Path + ": " + j.Message})
	}
	if len(rows) > 0 {
		p.table(asMarkdown, []string{"SEVERITY", "POSITION", "ERROR"}, rows)
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

// orEmpty returns an empty list for nil, so that JSON has [] and not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
