// Package command contains the commands of the companion: what a person does with slipway besides terraform plan and
// apply.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// New returns the companion command. It reads nothing but its arguments, files and the command's input, and writes to
// the command's output.
//
// environment gives what the environment says of connections; nil: nothing.
func New(version string, environment Environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "terraform-provider-slipway",
		Short: "Companion of the slipway Terraform provider",
		Long: "Companion of the slipway Terraform provider. Started by Terraform, this program serves the provider; started by a person,\n" +
			"it shows what runs did on a site and what they would do, and applies sites that documents describe.",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	j := &journalFlags{}
	for _, cmd := range []*cobra.Command{newRuns(j), newReport(j), newWatch(j), newServices(j)} {
		cmd.PersistentFlags().StringVar(&j.directory, "journal-directory", ".slipway",
			"directory of the journals, as journal_directory of the provider")
		cmd.PersistentFlags().StringVar(&j.site, "site", "",
			"name of the site; needed only where the directory holds journals of several")
		root.AddCommand(cmd)
	}
	for _, cmd := range []*cobra.Command{newValidate(), newPlan(), newSimulate(), newGraph(), newOrder(), newOverride(),
		newLifecycle()} {
		root.AddCommand(interruptible(cmd))
	}
	root.AddCommand(newApply(version, environment), newCheck(environment), newDestroy(version, environment))
	addHelp(root)
	strict(root)
	root.SetFlagErrorFunc(wrongFlag)
	return root
}

// missingError means that there is no journal yet. It matches [fs.ErrNotExist].
type missingError struct{ error }

func (missingError) Is(target error) bool { return target == fs.ErrNotExist }

func missingJournal(format string, args ...any) error {
	return missingError{fmt.Errorf(format, args...)}
}

// journalFlags select the journal.
type journalFlags struct {
	directory string
	site      string
}

// file returns the file of the selected journal.
func (f *journalFlags) file() (string, error) {
	if f.site != "" && f.site != filepath.Base(f.site) {
		return "", fmt.Errorf("--site %q: is not the name of a site", f.site)
	}
	entries, err := os.ReadDir(f.directory)
	if errors.Is(err, os.ErrNotExist) {
		return "", missingJournal("there is no journal directory %q: run this where terraform apply ran, or give --journal-directory", f.directory)
	}
	if err != nil {
		return "", err
	}
	var sites []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), journal.Extension); ok {
			sites = append(sites, name)
		}
	}
	slices.Sort(sites)
	switch {
	case len(sites) == 0:
		return "", missingJournal("the directory %q holds no journal: no site was applied from here yet", f.directory)
	case f.site != "" && !slices.Contains(sites, f.site):
		return "", missingJournal("--site %q: the directory %q holds no journal of it; it holds those of %s", f.site,
			f.directory, strings.Join(sites, ", "))
	case f.site != "":
		return journal.File(f.directory, f.site), nil
	case len(sites) == 1:
		return journal.File(f.directory, sites[0]), nil
	}
	return "", fmt.Errorf("the directory %q holds journals of several sites: choose one with --site: %s", f.directory,
		strings.Join(sites, ", "))
}

// open opens the selected journal for reading.
func (f *journalFlags) open(ctx context.Context) (*journal.Store, error) {
	file, err := f.file()
	if err != nil {
		return nil, err
	}
	return journal.OpenExisting(ctx, file)
}

// format is the value of --output.
type format string

const (
	table      format = "table"
	asJSON     format = "json"
	asMarkdown format = "markdown"
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

// names lists the formats: "table, json or markdown".
func (f *formatFlag) names() string {
	names := make([]string, len(f.allowed))
	for i, a := range f.allowed {
		names[i] = string(a)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// outputFlag adds --output, with table, json and more formats; the default is table.
func outputFlag(cmd *cobra.Command, more ...format) *format {
	chosen := table
	f := &formatFlag{value: &chosen, allowed: append([]format{table, asJSON}, more...)}
	cmd.Flags().VarP(f, "output", "o", f.names())
	return &chosen
}

// printer writes until the first error, which it keeps.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(text string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, text, args...)
	}
}
