// Package command contains the commands of the companion: what a person does with slipway besides terraform plan and
// apply.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
)

// Name is what the companion calls itself when it was started under this path: "slipway" under that name, also with a
// version behind it ("slipway-0.1.0", "slipway_v0.1.0"), else the name of the provider's program.
func Name(program string) string {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	if rest, is := strings.CutPrefix(name, "slipway"); is && (rest == "" || strings.ContainsAny(rest[:1], "-_")) {
		return "slipway"
	}
	return "terraform-provider-slipway"
}

// New returns the companion command. It reads nothing but its arguments, files and the command's input, and writes to
// the command's output.
//
// environment gives what the environment says of connections; nil: nothing. journalURL is what it says of the journal.
func New(version string, environment Environment, journalURL string) *cobra.Command {
	return newCompanion(version, environment, journalURL, func() rollout.Executor { return rollout.NewInProcess() })
}

// newCompanion is [New] with the executor of runs that are not handed over.
func newCompanion(version string, environment Environment, journalURL string,
	executor func() rollout.Executor) *cobra.Command {
	root := &cobra.Command{
		Use:   "terraform-provider-slipway",
		Short: "Companion of the slipway Terraform provider",
		Long: "Companion of the slipway Terraform provider. Started by Terraform, this program serves the provider; started by a person,\n" +
			"it shows what runs did on a site and what they would do, and applies sites that documents describe.",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	j := &journalFlags{environment: journalURL}
	for _, cmd := range []*cobra.Command{newRuns(j), newReport(j), newWatch(j), newServices(j)} {
		j.add(cmd.PersistentFlags())
		cmd.PersistentFlags().StringVar(&j.site, "site", "", "name of the site; needed only where there are journals of several")
		completeFlag(cmd, "site", offer(j.sites))
		root.AddCommand(cmd)
	}
	serve := newServe(j)
	j.add(serve.Flags())
	root.AddCommand(serve)
	root.AddCommand(NewWorker(version, environment, journalURL, executor), newKey(), newVersion())
	for _, cmd := range []*cobra.Command{newValidate(), newPlan(), newSimulate(), newGraph(), newOrder(), newOverride(),
		newConvert(), newEnroll(), newInventory(), newLifecycle()} {
		root.AddCommand(interruptible(cmd))
	}
	for _, cmd := range []func(*runFlags) *cobra.Command{newApply, newCheck, newDestroy} {
		root.AddCommand(cmd(&runFlags{version: version, environment: environment, executor: executor,
			journal: journalFlags{environment: journalURL}}))
	}
	root.SetVersionTemplate(versionTemplate())
	addHelp(root)
	strict(root)
	root.SetFlagErrorFunc(wrongFlag)
	return root
}

// JournalVariable is the environment variable with the URL of the PostgreSQL database with the journals.
const JournalVariable = "SLIPWAY_JOURNAL"

// missingError means that there is no journal yet. It matches [journal.ErrNoJournal].
type missingError struct{ error }

func (missingError) Is(target error) bool { return target == journal.ErrNoJournal }

func missingJournal(format string, args ...any) error {
	return inputError(missingError{fmt.Errorf(format, args...)})
}

// journalFlags select the journal.
type journalFlags struct {
	directory, url string
	environment    string // the URL of a database, which the environment gives where no flag says where journals are
	site           string
}

func (f *journalFlags) add(flags *pflag.FlagSet) {
	const directory = "journal-directory"
	flags.StringVar(&f.directory, directory, "", "directory of the journals, as journal_directory of the provider")
	flags.Lookup(directory).DefValue = journal.DefaultDirectory // an empty value says that the flag was not given
	flags.StringVar(&f.url, "journal", "",
		"URL of the PostgreSQL database with the journals, as journal of the provider; $"+JournalVariable+" otherwise, which others cannot see")
}

// location returns where the journals are.
func (f *journalFlags) location() (journal.Location, error) {
	switch {
	case f.url != "" && f.directory != "":
		return journal.Location{}, inputError(errors.New("--journal and --journal-directory: give one of them"))
	case f.url != "":
		return journal.Location{URL: f.url, Setting: "--journal"}, nil
	case f.directory == "" && f.environment != "":
		return journal.Location{URL: f.environment, Setting: JournalVariable}, nil
	}
	return journal.Location{Path: cmp.Or(f.directory, journal.DefaultDirectory), Setting: "--journal-directory"}, nil
}

// selected returns where the journals are, and the selected site, which has one.
func (f *journalFlags) selected(ctx context.Context) (l journal.Location, site string, err error) {
	if f.site != "" && f.site != filepath.Base(f.site) {
		return l, "", fmt.Errorf("--site %q: is not the name of a site", f.site)
	}
	if l, err = f.location(); err != nil {
		return l, "", err
	}
	sites, err := l.Sites(ctx)
	switch {
	case errors.Is(err, journal.ErrNoJournal):
		return l, "", missingJournal("there is no journal %s: run this where terraform apply ran, or give --journal-directory", l)
	case err != nil:
		return l, "", err
	case len(sites) == 0:
		return l, "", missingJournal("the %s holds no journal: no site was applied from here yet", l)
	case f.site != "" && !slices.Contains(sites, f.site):
		return l, "", missingJournal("--site %q: the %s holds no journal of it; it holds those of %s", f.site, l,
			strings.Join(sites, ", "))
	case f.site != "":
		return l, f.site, nil
	case len(sites) == 1:
		return l, sites[0], nil
	}
	return l, "", fmt.Errorf("the %s holds journals of several sites: choose one with --site: %s", l,
		strings.Join(sites, ", "))
}

// open opens the selected journal for reading.
func (f *journalFlags) open(ctx context.Context) (*journal.Store, error) {
	l, site, err := f.selected(ctx)
	if err != nil {
		return nil, err
	}
	return l.OpenExisting(ctx, site)
}

// openToChange opens the selected journal, which is one of site. Errors have status 2.
func (f *journalFlags) openToChange(ctx context.Context) (store *journal.Store, site string, err error) {
	l, site, err := f.selected(ctx)
	if err == nil {
		store, err = l.Open(ctx, site)
	}
	return store, site, inputError(err)
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

// PrintError prints the error of a command, in a form that does nothing to the terminal that shows it.
func PrintError(w io.Writer, err error) {
	_, _ = fmt.Fprintln(w, "slipway:", resource.Visible(err.Error())) // there is nothing else to say it to
}
