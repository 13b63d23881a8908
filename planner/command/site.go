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
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// maxFile bounds how much of a file is read, in bytes. It is above every limit of the documents, whose errors are
// better.
const maxFile = 300 << 20

// siteHelp explains FILE in the help of every command that takes it.
const siteHelp = "FILE is a YAML document or a stream of them (a site document, a catalog, an Airship DeploymentStrategy), or what `terraform show -json` prints of a plan\n" +
	"file or a state; - is standard input. Several files together describe one site."

// siteFlags select the site in files with several.
type siteFlags struct{ address string }

func (f *siteFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.address, "address", "",
		"address of the slipway_deployment in a plan or state (terraform show -json) that holds several")
}

// stdinOnce refuses standard input for a file and a flag at once: the second would be empty.
func stdinOnce(args []string, flags ...string) error {
	if slices.Contains(args, "-") && slices.Contains(flags, "-") {
		return inputError(errors.New("standard input is named twice"))
	}
	return nil
}

// parse parses files into a site. Invalid documents are an error of status 2.
func parse(cmd *cobra.Command, names []string, o document.Options) (*document.Site, error) {
	all, err := sources(cmd, names)
	if err != nil {
		return nil, err
	}
	o.Check = planner.CheckParts
	s, err := document.ParseSite(all, o)
	if err == nil {
		err = readDirectories(s)
	}
	return s, inputError(err)
}

// readDirectories reads the directories of the controller that a site has. Those of a plan of Terraform may be
// elsewhere, so that one that cannot be read is a warning there.
func readDirectories(s *document.Site) error {
	var found invalid.Errors
	s.Site, found = engine.ReadDirectories(s.Site)
	errs := invalid.Errors{}
	for _, p := range found {
		p.Warning = s.Shown
		errs = append(errs, s.Locate(p))
	}
	s.Warnings = append(s.Warnings, errs.Warnings()...)
	if errs = errs.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}

// sources reads files. A file that cannot be read is an error of status 2.
func sources(cmd *cobra.Command, names []string) ([]document.Source, error) {
	out := make([]document.Source, len(names))
	for i, name := range names {
		if name == "-" && slices.Contains(names[:i], "-") {
			return nil, inputError(errors.New("standard input is named twice"))
		}
		var err error
		if out[i], err = source(cmd, name); err != nil {
			return nil, inputError(err)
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

// inventoryCodes are the codes of errors that a missing inventory causes.
var inventoryCodes = []invalid.Code{invalid.NoNodes, invalid.UnknownNode, invalid.UnreachableGoal, invalid.UnknownRole,
	invalid.NoEffect}

// check validates a site as a plan does and returns the errors with their positions. Without an inventory, selectors
// are not checked.
func check(s *document.Site) invalid.Errors {
	return append(locate(s, engine.Validate(s.Site)), s.Warnings...)
}

func locate(s *document.Site, found invalid.Errors) invalid.Errors {
	errs := invalid.Errors{}
	for _, p := range found {
		if !s.Inventory && slices.Contains(inventoryCodes, p.Code) {
			continue
		}
		errs = append(errs, s.Locate(p))
	}
	s.Sort(errs)
	return errs
}

// maxListed bounds how many errors, and how many warnings, are listed at once.
const maxListed = 1000

// split separates errors from warnings, each at most maxListed.
func split(errs invalid.Errors) (failures, warnings invalid.Errors) {
	return bounded(errs.Errors()), bounded(errs.Warnings())
}

// bounded cuts a list after maxListed errors and says how many more there are.
func bounded(errs invalid.Errors) invalid.Errors {
	left := len(errs) - maxListed
	if left <= 0 {
		return errs
	}
	next := errs[maxListed]
	return append(errs[:maxListed:maxListed], invalid.Error{File: next.File, Code: next.Code, Warning: next.Warning,
		Message: fmt.Sprintf("there are %d more; they are shown when these are fixed", left)})
}

// checkAddress refuses --address unless shown: then some file is what Terraform prints of a plan or state.
func checkAddress(address string, shown bool) error {
	if address == "" || shown {
		return nil
	}
	return inputError(fmt.Errorf("--address %s: chooses the slipway_deployment of a plan or state that holds several, but no file is what `terraform show -json` prints; "+
		"leave it out, or give such a file", address))
}

// valid parses files into a valid site and returns its warnings. Everything else is an error of status 2.
func valid(cmd *cobra.Command, names []string, o document.Options) (*document.Site, invalid.Errors, error) {
	s, err := parse(cmd, names, o)
	if err == nil {
		err = checkAddress(o.Address, s.Shown)
	}
	if err != nil {
		return nil, nil, err
	}
	warnings, err := onlyWarnings(check(s))
	return s, warnings, err
}

// onlyWarnings returns errors that are all warnings. Errors among them become an error of status 2.
func onlyWarnings(errs invalid.Errors) (invalid.Errors, error) {
	failures, warnings := split(errs)
	if len(failures) > 0 {
		return nil, inputError(failures)
	}
	return warnings, nil
}

// withNodes is valid for commands that need an inventory.
func withNodes(cmd *cobra.Command, names []string, o document.Options) (*document.Site, invalid.Errors, error) {
	s, warnings, err := valid(cmd, names, o)
	if err == nil && !s.Inventory {
		return nil, nil, noNodes(names)
	}
	return s, warnings, err
}

func noNodes(names []string) error {
	return inputError(fmt.Errorf("no document holds nodes; name the inventory, too: a document with the key \"nodes\" beside %s", strings.Join(names, ", ")))
}

// errorAtJSON is an error as the commands print it with --output json.
type errorAtJSON struct {
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Path     string `json:"path,omitempty"`
	Severity string `json:"severity"` // error or warning
	Code     string `json:"code"`
	Message  string `json:"message"`
}

func errorsJSON(errs invalid.Errors) []errorAtJSON {
	out := make([]errorAtJSON, len(errs))
	for i, p := range errs {
		out[i] = errorAtJSON{File: p.File, Line: p.Line, Column: p.Column, Path: p.Path(), Severity: "error",
			Code: string(p.Code), Message: p.Message}
		if p.Warning {
			out[i].Severity = "warning"
		}
	}
	return out
}

// warn prints warnings after the output.
func warn(p *printer, warnings invalid.Errors, f format) {
	if len(warnings) == 0 {
		return
	}
	if f == asMarkdown {
		p.printf("\n## Warnings\n\n")
		for _, w := range warnings {
			p.printf("- %s\n", f.escape(w.Error()))
		}
		return
	}
	p.printf("\n")
	for _, w := range warnings {
		p.printf("%s\n", w.Error())
	}
}

// firstRun plans the first run on a site, where nothing is applied yet, and returns the plan with its warnings. Errors
// have status 2. locate finds the positions of errors. Without an inventory there is no plan.
func firstRun(s *document.Site, locate func(invalid.Errors) invalid.Errors) (*engine.Planned, invalid.Errors,
	error) {
	made, found := engine.Plan(nil, s.Site, engine.Settings{Unreached: true})
	warnings, err := onlyWarnings(locate(found))
	if err != nil || !s.Inventory {
		return nil, append(warnings, s.Warnings...), err
	}
	return made, append(warnings, s.Warnings...), nil
}
