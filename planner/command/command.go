// Package command contains the commands of the companion: what a person does with slipway besides terraform plan and
// apply.
package command

import (
	"context"
	"errors"
	"fmt"
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
	return inputError(missingError{fmt.Errorf(format, args...)})
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
		return "", missingJournal("--site %q: the directory %q holds no journal of it; it holds those of %s",
			f.site, f.directory, strings.Join(sites, ", "))
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

// reading is the RunE of a command that reads the selected journal.
func (f *journalFlags) reading(run func(cmd *cobra.Command, store *journal.Store, args []string) error) func(
	*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		store, err := f.open(cmd.Context())
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // read only
		return run(cmd, store, args)
	}
}

// Exit statuses of the companion.
const (
	statusFailed  = 1 // a document is not valid, a simulated run fails, or something failed
	statusInvalid = 2 // wrong arguments, files that cannot be read, documents that are not valid
)

// statusError is an error with an exit status of its own.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }

func (e *statusError) Unwrap() error { return e.err }

// inputError gives an error the status 2; nil stays nil.
func inputError(err error) error {
	if err == nil {
		return nil
	}
	return &statusError{statusInvalid, err}
}

// ExitStatus returns the exit status of the companion after a command returned err.
func ExitStatus(err error) int {
	var s *statusError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &s):
		return s.status
	}
	return statusFailed
}
