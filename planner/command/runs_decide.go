package command

import (
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// newDecision is a command with which a person decides about an active run, through its journal.
func newDecision(j *journalFlags, action, short, long string) *cobra.Command {
	cmd := &cobra.Command{Use: action + " RUN", Short: short,
		Long: long + " Who decided, when and why is in the journal, so `report` shows it.\n" +
			"RUN is the id of a run, or a beginning of it.", Args: exactly(1, "one run"), ValidArgsFunction: offer(j.activeRuns)}
	d := journal.Decision{Action: action}
	cmd.Flags().StringVar(&d.Reason, "why", "", "the reason, for the journal")
	if action == journal.Approve {
		cmd.Flags().StringVar(&d.Group, "group", "", "`GROUP` of the batch; needed when several wait")
		cmd.Flags().IntVar(&d.Batch, "batch", 0, "number of the batch, to approve no other one")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		store, run, err := j.run(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // what was written is durable
		d.Person = person()
		e, err := d.Record(cmd.Context(), store, run)
		if err != nil {
			return inputError(err)
		}
		return printed(cmd, "run %s: %s\n", run.ID, e.Decision())
	}
	return cmd
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

func newApprove(j *journalFlags) *cobra.Command {
	return newDecision(j, journal.Approve, "Approve a batch for which a run waits",
		"Approve a batch for which a run waits, so that the group goes on with the next one. The approval is for what the plan of the run does, and for no other run.")
}
