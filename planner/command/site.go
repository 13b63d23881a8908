package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/preview"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// maxFile bounds what is read of a file, in bytes; it is above every limit of the documents, which tell better what is wrong.
const maxFile = 300 << 20

// siteHelp tells what FILE is, in the help of every command that takes it.
const siteHelp = "FILE is a YAML document or a stream of them (a site document, a catalog, an Airship DeploymentStrategy), or what `terraform show -json` prints of a plan\n" +
	"file or a state; - is standard input. Several files together describe one site."

// siteFlags choose the site in files that hold several.
type siteFlags struct{ address string }

func (f *siteFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.address, "address", "", "address of the slipway_deployment in a plan or state (terraform show -json) that holds several")
}

// stdinOnce refuses standard input as a file and for a flag as well: the second would be empty.
func stdinOnce(args []string, flags ...string) error {
	if slices.Contains(args, "-") && slices.Contains(flags, "-") {
		return bad(errors.New("standard input is named twice"))
	}
	return nil
}

// parse reads files into a site. Problems of their form are an error of status 2.
func parse(cmd *cobra.Command, names []string, o document.Options) (*document.Site, error) {
	all, err := sources(cmd, names)
	if err != nil {
		return nil, err
	}
	o.Check = planner.CheckParts
	s, err := document.ParseSite(all, o)
	return s, bad(err)
}

// sources reads files. What cannot be read is an error of status 2.
func sources(cmd *cobra.Command, names []string) ([]document.Source, error) {
	out := make([]document.Source, len(names))
	for i, name := range names {
		if name == "-" && slices.Contains(names[:i], "-") {
			return nil, bad(errors.New("standard input is named twice"))
		}
		var err error
		if out[i], err = source(cmd, name); err != nil {
			return nil, bad(err)
		}
	}
	return out, nil
}

func source(cmd *cobra.Command, name string) (document.Source, error) {
	if name == "-" {
		data, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxFile))
		return document.Source{Name: "standard input", Data: data}, err
	}
	file, err := os.Open(name)
	if err != nil {
		return document.Source{}, err
	}
	defer file.Close() //nolint:errcheck // read only
	data, err := io.ReadAll(io.LimitReader(file, maxFile))
	return document.Source{Name: name, Data: data}, err
}

// inventoryCodes are the problems that come of there being no nodes at all.
var inventoryCodes = []site.Code{site.NoNodes, site.UnknownNode, site.UnreachableGoal, site.UnknownRole, site.NoEffect}

// check validates a site as a plan does, and returns what it found with its places. Without an inventory nothing is said of what is
// selected.
func check(s *document.Site) document.Problems {
	return append(locate(s, preview.Check(s.Site)), s.Warnings...)
}

func locate(s *document.Site, found site.Problems) document.Problems {
	problems := document.Problems{}
	for _, p := range found {
		if !s.Inventory && slices.Contains(inventoryCodes, p.Code) {
			continue
		}
		problems = append(problems, s.Locate(p))
	}
	s.Sort(problems)
	return problems
}

// mostTold bounds how many errors, and how many warnings, are told at once: nobody reads more.
const mostTold = 1000

// split tells errors from warnings.
func split(problems document.Problems) (errs, warnings document.Problems) {
	for _, p := range problems {
		if p.Warning {
			warnings = append(warnings, p)
		} else {
			errs = append(errs, p)
		}
	}
	return bounded(errs), bounded(warnings)
}

// bounded leaves out what is too much, and tells so.
func bounded(problems document.Problems) document.Problems {
	left := len(problems) - mostTold
	if left <= 0 {
		return problems
	}
	rest := problems[mostTold]
	rest.Line, rest.Column, rest.Path = 0, 0, ""
	rest.Message = fmt.Sprintf("there are %d more; they are told when these are mended", left)
	return append(problems[:mostTold:mostTold], rest)
}

// chooses refuses an address where it chooses nothing: shown says whether some file is what Terraform prints of a plan or state.
func chooses(address string, shown bool) error {
	if address == "" || shown {
		return nil
	}
	return bad(fmt.Errorf("--address %s: chooses the slipway_deployment of a plan or state that holds several, but no file is what `terraform show -json` prints; "+
		"leave it out, or give such a file", address))
}

// valid reads files into a site that is valid, and returns the warnings. Everything else is an error of status 2.
func valid(cmd *cobra.Command, names []string, o document.Options) (*document.Site, document.Problems, error) {
	s, err := parse(cmd, names, o)
	if err == nil {
		err = chooses(o.Address, s.Shown)
	}
	if err != nil {
		return nil, nil, err
	}
	warnings, err := sound(check(s))
	return s, warnings, err
}

// sound returns warnings. Errors are one of status 2.
func sound(problems document.Problems) (document.Problems, error) {
	errs, warnings := split(problems)
	if len(errs) > 0 {
		return nil, bad(errs)
	}
	return warnings, nil
}

// withNodes is valid for a question that only an inventory can answer.
func withNodes(cmd *cobra.Command, names []string, o document.Options) (*document.Site, document.Problems, error) {
	s, warnings, err := valid(cmd, names, o)
	if err == nil && !s.Inventory {
		return nil, nil, noNodes(names)
	}
	return s, warnings, err
}

func noNodes(names []string) error {
	return bad(fmt.Errorf("no document holds nodes; name the inventory, too: a document with the key \"nodes\" beside %s", strings.Join(names, ", ")))
}

// problemJSON is a problem as the commands print it with --output json.
type problemJSON struct {
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Path     string `json:"path,omitempty"`
	Severity string `json:"severity"` // error or warning
	Code     string `json:"code"`
	Message  string `json:"message"`
}

func problemsJSON(problems document.Problems) []problemJSON {
	out := make([]problemJSON, len(problems))
	for i, p := range problems {
		out[i] = problemJSON{File: p.File, Line: p.Line, Column: p.Column, Path: p.Path, Severity: "error", Code: string(p.Code), Message: p.Message}
		if p.Warning {
			out[i].Severity = "warning"
		}
	}
	return out
}

// warn prints warnings after the answer.
func warn(p *printer, warnings document.Problems, f format) {
	if len(warnings) == 0 {
		return
	}
	if f == asMarkdown {
		p.printf("\n## Warnings\n\n")
		for _, w := range warnings {
			p.printf("- %s\n", markdownText(w.Error()))
		}
		return
	}
	p.printf("\n")
	for _, w := range warnings {
		p.printf("%s\n", w.Error())
	}
}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "&", "&amp;", "~", `\~`, "[", `\[`, "]", `\]`, "#", `\#`, "\n", " ")

// markdownText escapes what has a meaning in Markdown and its tables.
func markdownText(s string) string {
	return markdownEscapes.Replace(s)
}
