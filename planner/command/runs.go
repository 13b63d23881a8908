package command

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

func newRuns(j *journalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the runs on a site, newest first",
		Args:  noArguments,
	}
	output := outputFlag(cmd)
	limit := limitFlag(cmd, 20, "at most so many runs")
	cmd.RunE = j.reading(func(cmd *cobra.Command, store *journal.Store, _ []string) error {
		runs, err := store.Runs(cmd.Context(), *limit)
		if err != nil {
			return err
		}
		rows := make([][]string, len(runs))
		for i, r := range runs {
			rows[i] = []string{r.ID, r.Operation, r.Status, r.Started.Local().Format(time.DateTime), duration(r),
				strconv.Itoa(len(r.Steps))}
		}
		return show(cmd, *output, orEmpty(runs), func(p *printer) {
			p.table(table, []string{"RUN", "OPERATION", "STATUS", "STARTED", "DURATION", "STEPS"}, rows)
		})
	})
	cmd.AddCommand(newUnlock(j))
	return cmd
}

func duration(r journal.Run) string {
	if r.Ended.IsZero() {
		return "-"
	}
	return r.Ended.Sub(r.Started).Round(100 * time.Millisecond).String()
}
