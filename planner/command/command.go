// Package command holds the companion's commands: what a person does with slipway besides terraform plan and apply.
package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// New returns the companion command. It reads nothing but its arguments and files, and writes to the command's output.
func New(version string) *cobra.Command {
	root := &cobra.Command{
		Use:   "terraform-provider-slipway",
		Short: "Companion of the slipway Terraform provider",
		Long: "Companion of the slipway Terraform provider. Started by Terraform, this program serves the provider; started by a person,\n" +
			"it tells what runs did on a site.",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	j := &journalFlags{}
	root.PersistentFlags().StringVar(&j.directory, "journal-directory", ".slipway", "directory of the journals, as journal_directory of the provider")
	root.PersistentFlags().StringVar(&j.site, "site", "", "name of the site; needed only where the directory holds journals of several")
	root.AddCommand(newRuns(j), newReport(j), newWatch(j))
	return root
}

// journalFlags say which journal is meant.
type journalFlags struct {
	directory string
	site      string
}

// file returns the journal that the flags mean.
func (f *journalFlags) file() (string, error) {
	if f.site != "" {
		if f.site != filepath.Base(f.site) {
			return "", fmt.Errorf("--site %q: is not the name of a site", f.site)
		}
		return filepath.Join(f.directory, f.site+".db"), nil
	}
	entries, err := os.ReadDir(f.directory)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("there is no journal directory %q: run this where terraform apply ran, or give --journal-directory", f.directory)
	}
	if err != nil {
		return "", err
	}
	var sites []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".db"); ok {
			sites = append(sites, name)
		}
	}
	slices.Sort(sites)
	switch len(sites) {
	case 0:
		return "", fmt.Errorf("the directory %q holds no journal: no site was applied from here yet", f.directory)
	case 1:
		return filepath.Join(f.directory, sites[0]+".db"), nil
	}
	return "", fmt.Errorf("the directory %q holds journals of several sites: choose one with --site: %s", f.directory, strings.Join(sites, ", "))
}

// format is the value of --output.
type format string

const (
	table  format = "table"
	asJSON format = "json"
)

// String, Set and Type make a format a flag.
func (f *format) String() string { return string(*f) }

// Set takes one of the formats.
func (f *format) Set(s string) error {
	if s != string(table) && s != string(asJSON) {
		return fmt.Errorf("must be %s or %s", table, asJSON)
	}
	*f = format(s)
	return nil
}

// Type names the flag's kind in the help text.
func (f *format) Type() string { return "format" }

func outputFlag(cmd *cobra.Command) *format {
	f := table
	cmd.Flags().VarP(&f, "output", "o", "table or json")
	return &f
}

// printer remembers the first error of a series of writes.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(text string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, text, args...)
	}
}
