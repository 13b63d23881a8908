package command

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// decision is a command with which a person decides about an active run, through its journal.
func decision(j *journalFlags, use, short, long string, decide decide) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long + " Who decided, when and why is in the journal, so `report` shows it.\n" +
		"RUN is the id of a run, or a beginning of it.", Args: exactly(1, "one run")}
	why := cmd.Flags().String("why", "", "the reason, for the journal")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		store, run, err := j.run(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // what was written is durable
		text, err := recordDecision(cmd.Context(), store, run, *why, decide)
		if err != nil {
			return inputError(err)
		}
		p := &printer{w: cmd.OutOrStdout()}
		p.printf("%s\n", text)
		return p.err
	}
	return cmd
}

// decide checks that a run can be decided on in a way, and returns the event of that.
type decide func(context.Context, *journal.Store, journal.Run) (journal.Event, error)

// recordDecision records a decision of this person about a run, with its reason, and returns it as a line.
func recordDecision(ctx context.Context, store *journal.Store, run journal.Run, why string, decide decide) (string,
	error) {
	if run.Status != journal.Running {
		return "", fmt.Errorf("the run %s is %s; only an active run can be decided on", run.ID, run.Status)
	}
	e, err := decide(ctx, store, run)
	if err != nil {
		return "", err
	}
	e.Message = "by " + person()
	if why != "" {
		e.Message += ": " + why
	}
	if err := store.Decide(ctx, run.ID, e); err != nil {
		return "", err
	}
	return fmt.Sprintf("run %s: %s", run.ID, decided(e)), nil
}

// decided says what was decided, by whom and why.
func decided(e journal.Event) string {
	what := e.Action
	if e.Phase > 0 {
		what += fmt.Sprintf(" batch %d of group %s", e.Phase, e.Group)
	}
	return what + ", " + e.Message
}

// person names who runs this command, and on which machine.
func person() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

func newDecision(j *journalFlags, action, short, long string) *cobra.Command {
	return decision(j, action+" RUN", short, long, taking(action))
}

// taking decides on an action that is about the run as a whole.
func taking(action string) decide {
	return func(ctx context.Context, store *journal.Store, run journal.Run) (e journal.Event, err error) {
		events, err := store.Events(ctx, run.ID, 0, page, journal.Decided)
		held := false
		for _, e := range events {
			held = e.Action == journal.Hold || held && e.Action != journal.Resume
		}
		switch {
		case err != nil:
		case action == journal.Hold && held:
			err = fmt.Errorf("the run %s is paused already; `runs resume %s` lets it go on", run.ID, run.ID)
		case action == journal.Resume && !held:
			err = fmt.Errorf("the run %s is not paused by `runs pause`; `runs approve` approves a batch", run.ID)
		}
		return journal.Event{Action: action}, err
	}
}

func newApprove(j *journalFlags) *cobra.Command {
	var group string
	var batch int
	cmd := decision(j, "approve RUN", "Approve a batch for which a run waits",
		"Approve a batch for which a run waits, so that the group goes on with the next one. The approval is for what the plan of the run does, and for no other run.",
		func(ctx context.Context, store *journal.Store, run journal.Run) (journal.Event, error) {
			return approving(group, batch)(ctx, store, run)
		})
	cmd.Flags().StringVar(&group, "group", "", "`GROUP` of the batch; needed when several wait")
	cmd.Flags().IntVar(&batch, "batch", 0, "number of the batch, to approve no other one")
	return cmd
}

// approving approves the only batch of a group and number for which the run waits; empty and 0 mean any.
func approving(group string, batch int) decide {
	return func(ctx context.Context, store *journal.Store, run journal.Run) (e journal.Event, err error) {
		waiting, err := waitingFor(ctx, store, run.ID)
		if err != nil {
			return e, err
		}
		var all []string
		for _, w := range waiting {
			all = append(all, fmt.Sprintf("batch %d of group %s", w.Phase, w.Group))
		}
		asked := slices.DeleteFunc(slices.Clone(waiting), func(w journal.Recorded) bool {
			return group != "" && w.Group != group || batch != 0 && w.Phase != batch
		})
		switch {
		case len(waiting) == 0:
			return e, fmt.Errorf("the run %s waits for no approval", run.ID)
		case len(asked) == 0:
			return e, fmt.Errorf("no such batch waits for approval in the run %s; waiting are: %s", run.ID,
				strings.Join(all, ", "))
		case len(asked) > 1:
			return e, fmt.Errorf("several batches wait for approval in the run %s; choose one with --group: %s", run.ID,
				strings.Join(all, ", "))
		}
		w := asked[0]
		return journal.Event{Action: journal.Approve, Group: w.Group, Phase: w.Phase, Output: w.Output}, nil
	}
}

// waitingFor returns the batches for which a run waits, one of each group at most.
func waitingFor(ctx context.Context, store *journal.Store, run string) (waiting []journal.Recorded, err error) {
	events, err := store.Events(ctx, run, 0, page, journal.Paused, journal.Decided)
	for _, e := range events {
		if e.Kind == journal.Paused || e.Action == journal.Approve {
			waiting = slices.DeleteFunc(waiting, func(w journal.Recorded) bool { return w.Group == e.Group })
		}
		if e.Kind == journal.Paused {
			waiting = append(waiting, e)
		}
	}
	return waiting, err
}
