package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// lifecycleHelp explains NAME|FILE.
const lifecycleHelp = "NAME is a lifecycle that slipway brings; FILE is a YAML document with the key lifecycles, and - is standard input. Of several in a file --name\n" +
	"chooses one. For a file that is called like a lifecycle write ./FILE.\n\n"

func newLifecycle() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lifecycle",
		Short: "Check, show, draw and copy the lifecycles of services",
		Long: "Check, show, draw and copy the lifecycles of services: the states that a service goes through, and what leads from one to the next. Nothing is\n" +
			"changed, and no node is asked.",
	}
	cmd.AddCommand(newLifecycleList(), newLifecycleLint(), newLifecycleShow(), newLifecycleGraph(), newLifecycleCopy())
	return cmd
}

func newLifecycleList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the lifecycles that slipway brings",
		Args:  noArguments,
	}
	output := outputFlag(cmd, asMarkdown)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		all := machines(document.ShippedLifecycles())
		rows := make([][]string, len(all))
		for i, s := range summaries(all) {
			rows[i] = []string{s.Name, fmt.Sprint(s.States), fmt.Sprint(s.Transfers), strings.Join(s.Gates, " ")}
		}
		return show(cmd, *output, summaries(all), func(p *printer) {
			p.table(*output, []string{"LIFECYCLE", "STATES", "TRANSFERS", "GATES"}, rows)
		})
	}
	return cmd
}

func newLifecycleLint() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Check lifecycles of one's own",
		Long: "Check lifecycles of one's own, and report everything that is wrong with them, with file, line and column: states that nothing leads to, automatic\n" +
			"transfers in a circle, no way to be deleted, and the like. FILE is a YAML document with the key lifecycles; - is standard input.\n\n" +
			"Exit status: 0 sound, 1 not sound, 2 a file could not be read.",
		Args: files,
	}
	output := outputFlag(cmd, asMarkdown)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		all, err := sources(cmd, args)
		if err != nil {
			return err
		}
		found, err := document.ParseLifecycles(all)
		var errs invalid.Errors
		if err != nil && !errors.As(err, &errs) {
			return err
		}
		if err := writeLint(cmd, *output, machines(found), errs); err != nil {
			return err
		}
		if len(errs) > 0 {
			return &statusError{statusFailed, fmt.Errorf("not sound: %s", resource.Count(len(errs), "error"))}
		}
		return nil
	}
	return cmd
}

func writeLint(cmd *cobra.Command, f format, valid []*lifecycle.Machine, errs invalid.Errors) error {
	p := &printer{w: cmd.OutOrStdout()}
	switch f {
	case asJSON:
		return writeJSON(p.w, struct {
			Valid      bool                   `json:"valid"`
			Lifecycles []lifecycleSummaryJSON `json:"lifecycles"`
			Errors     []errorAtJSON          `json:"problems"`
		}{len(errs) == 0, summaries(valid), errorsJSON(errs)})
	case asMarkdown:
		p.printf("# Lifecycles\n\n")
		p.errorTable(errs)
	default:
		for _, wrong := range errs {
			p.printf("%s\n", wrong.Error())
		}
	}
	for _, s := range summaries(valid) {
		name, gates := f.escape(s.Name), f.escape(strings.Join(s.Gates, ", "))
		if gates == "" {
			gates = "none"
		}
		p.printf("sound: lifecycle %s, %s, %s, gates: %s\n", name, resource.Count(s.States, "state"),
			resource.Count(s.Transfers, "transfer"), gates)
		if f == asMarkdown {
			p.printf("\n")
		}
	}
	return p.err
}

func newLifecycleShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "Show the states, transfers and gates of a lifecycle",
		Long: "Show the states, transfers and gates of a lifecycle.\n\n" + lifecycleHelp +
			"Exit status: 0 shown, 2 there is no such lifecycle, or it is not sound.",
		Args:              exactly(1, "one lifecycle, or one file"),
		ValidArgsFunction: offerLifecycles,
	}
	output := outputFlag(cmd, asMarkdown)
	name := nameFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		m, err := machineNamed(cmd, args[0], *name)
		if err != nil {
			return err
		}
		return writeLifecycle(cmd, *output, m)
	}
	return cmd
}

func newLifecycleGraph() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph NAME|FILE",
		Short: "Draw a lifecycle",
		Long: "Draw a lifecycle: its states, and arrows with what sets each transfer off; a dashed arrow is where it leads after a failure, and a thick border a state\n" +
			"in which services start.\n\n" + lifecycleHelp +
			"Exit status: 0 drawn, 2 there is no such lifecycle, or it is not sound.",
		Args:              exactly(1, "one lifecycle, or one file"),
		ValidArgsFunction: offerLifecycles,
	}
	name := nameFlag(cmd)
	output := pictureFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		m, err := machineNamed(cmd, args[0], *name)
		if err != nil {
			return err
		}
		return printed(cmd, "%s", pictureOfLifecycle(m).draw(*output))
	}
	return cmd
}

func newLifecycleCopy() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "copy NAME|FILE NEW",
		Short: "Write a lifecycle as a document, under another name, to be changed",
		Long: "Write a lifecycle as a document, under the name NEW, to be changed. It goes to standard output.\n\n" +
			lifecycleHelp +
			"Exit status: 0 written, 2 there is no such lifecycle, it is not sound, or NEW cannot be the name of one.",
		Args:              exactly(2, "a lifecycle or a file, and the name that the copy gets"),
		ValidArgsFunction: offerLifecycles,
	}
	name := nameFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		m, err := machineNamed(cmd, args[0], *name)
		if err != nil {
			return err
		}
		l := m.Lifecycle()
		l.Name = args[1]
		text, err := document.WriteLifecycle(l)
		if err != nil {
			return err
		}
		if _, err := document.ParseLifecycles([]document.Source{{Name: "the copy", Data: text}}); err != nil {
			return inputError(err)
		}
		return printed(cmd, "%s", text)
	}
	return cmd
}

func nameFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("name", "", "name of the lifecycle in a file with several")
}

// machines returns the machines of valid lifecycles.
func machines(all []lifecycle.Lifecycle) []*lifecycle.Machine {
	var out []*lifecycle.Machine
	for _, l := range all {
		if m, errs := lifecycle.New(l); len(errs) == 0 {
			out = append(out, m)
		}
	}
	return out
}

// machineNamed returns the lifecycle with a name, or that of a file; name chooses in a file with several.
func machineNamed(cmd *cobra.Command, argument, name string) (*lifecycle.Machine, error) {
	shipped := document.ShippedLifecycles()
	if i := slices.IndexFunc(shipped, func(l lifecycle.Lifecycle) bool { return l.Name == argument }); i >= 0 {
		return machines(shipped[i : i+1])[0], nil
	}
	all, err := sources(cmd, []string{argument})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, inputError(fmt.Errorf("there is no lifecycle %q, and no such file%s", argument,
			oneOf(argument, shipped)))
	}
	if err != nil {
		return nil, err
	}
	found, err := document.ParseLifecycles(all)
	if err != nil {
		return nil, inputError(err)
	}
	for _, m := range machines(found) {
		if own := m.Lifecycle().Name; own == name || name == "" && len(found) == 1 {
			return m, nil
		}
	}
	switch {
	case name != "":
		return nil, inputError(fmt.Errorf("%s holds no lifecycle %q%s", argument, name, oneOf(name, found)))
	case len(found) == 0:
		return nil, inputError(fmt.Errorf("%s holds no lifecycle", argument))
	}
	return nil, inputError(fmt.Errorf("%s holds several lifecycles: choose one with --name: %s", argument,
		strings.Join(lifecycle.Names(found), ", ")))
}

// oneOf suggests a lifecycle, or lists all.
func oneOf(name string, all []lifecycle.Lifecycle) string {
	names := lifecycle.Names(all)
	if hint := resource.DidYouMean(name, names); hint != "" {
		return hint
	}
	if len(names) == 0 {
		return ""
	}
	return "; use one of " + strings.Join(names, ", ")
}

// lifecycleSummaryJSON is a lifecycle as lists of them show it with --output json.
type lifecycleSummaryJSON struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	States      int      `json:"states"`
	Transfers   int      `json:"transfers"`
	Gates       []string `json:"gates"`
}

func summaries(all []*lifecycle.Machine) []lifecycleSummaryJSON {
	out := make([]lifecycleSummaryJSON, len(all))
	for i, m := range all {
		l := m.Lifecycle()
		out[i] = lifecycleSummaryJSON{l.Name, l.Description, len(l.States), len(l.Transfers), orEmpty(m.Gates())}
	}
	return out
}

// lifecycleJSON is a lifecycle as show prints it with --output json: the keys are those of documents, states and
// transfers are lists.
type lifecycleJSON struct {
	lifecycle.Lifecycle
	Gates []string `json:"gates"`
}

func writeLifecycle(cmd *cobra.Command, f format, m *lifecycle.Machine) error {
	p := &printer{w: cmd.OutOrStdout()}
	l := m.Lifecycle()
	switch f {
	case asJSON:
		return writeJSON(p.w, lifecycleJSON{l, orEmpty(m.Gates())})
	case asMarkdown:
		p.printf("# Lifecycle %s\n\n", f.escape(l.Name))
	default:
		p.printf("lifecycle %s\n", l.Name)
	}
	if l.Description != "" {
		p.printf("%s\n", f.escape(l.Description))
	}
	p.printf("%s\n", f.escape("starts in "+strings.Join(m.Initial(), ", or when asked in ")))
	if gates := m.Gates(); len(gates) > 0 {
		for i, g := range gates {
			if g == lifecycle.AutoRollback {
				gates[i] += " (open with rollback_on_failure)"
			}
		}
		if f == asMarkdown {
			p.printf("\n")
		}
		p.printf("%s\n", f.escape("gates: "+strings.Join(gates, ", ")))
	}
	p.printf("\n")
	var rows [][]string
	for _, s := range l.States {
		role := s.Role(true)
		rows = append(rows, []string{s.Name, cmp.Or(string(s.Label), "-"), deploys(s), cmp.Or(string(role.Self), "-"),
			cmp.Or(string(role.Others), "-")})
	}
	p.table(f, []string{"STATE", "LABEL", "DEPLOYED", "VALIDATED WITH", "OTHERS SEE"}, rows)
	p.printf("\n")
	rows = nil
	for _, t := range l.Transfers {
		trigger := string(t.Trigger)
		if t.Validate {
			trigger += ", validated"
		}
		failure := cmp.Or(t.Error, "-")
		if t.Error != "" {
			failure = end(t.Error, t.ErrorOperation, t.ErrorPreserves)
		}
		rows = append(rows, []string{t.Source, trigger, end(t.Target, t.Operation, t.Preserves), failure,
			cmp.Or(t.Config, "-")})
	}
	p.table(f, []string{"FROM", "TRIGGER", "TO", "ON FAILURE", "GATE"}, rows)
	return p.err
}

// deploys describes what is on the nodes of a service in a state.
func deploys(s lifecycle.State) string {
	with, without := s.Role(true), s.Role(false)
	switch {
	case s.Deleted:
		return "deleted"
	case with.Export && s.Purge:
		return "is removed"
	case with.Export != without.Export:
		return "if it was before"
	}
	return yesNo(with.Export)
}

// end describes the target of a transfer and what the transfer does to the attribute sets.
func end(state string, op lifecycle.Operation, same bool) string {
	var notes []string
	if op != lifecycle.NoOperation {
		notes = append(notes, string(op))
	}
	if same {
		notes = append(notes, "same")
	}
	if len(notes) == 0 {
		return state
	}
	return fmt.Sprintf("%s (%s)", state, strings.Join(notes, ", "))
}
