package command

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/server"
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
		rows, held := make([][]string, len(runs)), make([]server.Held, len(runs))
		for i, r := range runs {
			if held[i], err = server.HeldOf(cmd.Context(), store, r); err != nil {
				return err
			}
			rows[i] = []string{r.ID, r.Operation, held[i].State, r.Started.Local().Format(time.DateTime), duration(r),
				strconv.Itoa(len(r.Steps))}
		}
		return show(cmd, *output, held, func(p *printer) {
			p.table(table, []string{"RUN", "OPERATION", "STATUS", "STARTED", "DURATION", "STEPS"}, rows)
			for _, r := range held {
				for _, w := range waitsOf(r) {
					p.printf("\nrun %s %s\n", r.ID, w)
				}
			}
		})
	})
	cmd.AddCommand(newUnlock(j), newPrune(j), newApprove(j),
		newDecision(j, journal.Hold, "Start nothing more in a run until it is resumed",
			"Start nothing more in a run until `runs resume`. What runs is finished, unlocked and checked. Time limits of groups do not count meanwhile."),
		newDecision(j, journal.Resume, "Let a run go on that was paused", "Let a run go on that `runs pause` paused."),
		newDecision(j, journal.Cancel, "Stop a run", "Stop a run as an interrupt of Terraform does: nothing more is started, running sessions have the grace period to end, and nodes are\n"+
			"unlocked. The apply ends with an error, and the next plan shows the rest."))
	return cmd
}

func duration(r journal.Run) string {
	if r.Ended.IsZero() {
		return "-"
	}
	return r.Ended.Sub(r.Started).Round(100 * time.Millisecond).String()
}

func newUnlock(j *journalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "unlock SITE",
		Short: "Free a site from a run that is gone or hangs",
		Long: "Free a site from a run that is gone or hangs. The next run does this itself: at once when the process ended on this machine, otherwise after\n" +
			"30 seconds without a sign of life. A run that gives signs of life keeps its site, unless with --force: it then stops, and what it reached is\n" +
			"in the ledgers of the nodes. --fence is for a journal that is an older copy, when nodes refuse its runs: their errors name the number.",
		Args:              exactly(1, "one site"),
		ValidArgsFunction: offer(j.sites),
	}
	force := cmd.Flags().Bool("force", false, "free the site also from a run that gives signs of life")
	fence := cmd.Flags().Int64("fence", 0, "give the next lease a higher number than this `NUMBER`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if j.site != "" && j.site != args[0] {
			return inputError(fmt.Errorf("--site %q: must be the site to free, or be left out", j.site))
		}
		one := *j
		one.site = args[0]
		store, _, err := one.openToChange(cmd.Context())
		if err != nil {
			return err
		}
		holder, err := store.Unlock(cmd.Context(), args[0], *force, *fence)
		if err := errors.Join(err, store.Close()); err != nil {
			return err
		}
		if holder == nil {
			return printed(cmd, "site %s: no run holds it\n", args[0])
		}
		left := ""
		if holder.Workflow != "" {
			left = fmt.Sprintf(". Its workflow %s ends when a worker, or who waits for the run, finds that; without one, terminate "+
				"it in Temporal", holder.Workflow)
		}
		return printed(cmd, "site %s: free. It was held by run %s of %s, running since %s%s\n", args[0], holder.Run,
			holder.Owner, holder.Since.Format(time.DateTime), left)
	}
	return cmd
}

func newPrune(j *journalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Delete runs that ended long ago",
		Long: "Delete the runs of a site that ended before a time, with their events. Active runs and the history of services stay. The file of a journal in SQLite\n" +
			"does not shrink: later runs use the space.",
		Args: noArguments,
	}
	const olderThan = "older-than"
	age := cmd.Flags().String(olderThan, "", "how long ago the runs ended at least, such as 90d or 12h (required)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		limit, err := parseAge(*age)
		if err != nil {
			return inputError(fmt.Errorf("--%s %q: %w", olderThan, *age, err))
		}
		store, site, err := j.openToChange(cmd.Context())
		if err != nil {
			return err
		}
		n, err := store.Prune(cmd.Context(), limit)
		if err := errors.Join(err, store.Close()); err != nil {
			return err
		}
		return printed(cmd, "site %s: %s deleted\n", site, resource.Count(n, "run"))
	}
	return cmd
}

// parseAge reads a duration, also in days.
func parseAge(text string) (time.Duration, error) {
	age, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		age = time.Duration(n) * 24 * time.Hour
		if n > maximumDays {
			err = strconv.ErrRange
		}
	}
	if err != nil || age <= 0 {
		return 0, errors.New("must be a time such as 90d or 12h")
	}
	return age, nil
}

// maximumDays fits into a duration.
const maximumDays = 100_000
