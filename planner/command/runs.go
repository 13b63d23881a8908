package command

import (
	"encoding/json"
	"io"
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
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkLimit(*limit); err != nil {
			return err
		}
		store, err := j.open(cmd.Context())
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // read only
		runs, err := store.Runs(cmd.Context(), *limit)
		if err != nil {
			return err
		}
		if *output == asJSON {
			return writeJSON(cmd.OutOrStdout(), describeRuns(runs))
		}
		p := &printer{w: cmd.OutOrStdout()}
		rows := make([][]string, len(runs))
		for i, r := range runs {
			rows[i] = []string{r.ID, r.Operation, r.Status, r.Started.Format(time.DateTime), duration(r),
				strconv.Itoa(len(r.Steps))}
		}
		p.rows("RUN\tOPERATION\tSTATUS\tSTARTED\tDURATION\tSTEPS", rows)
		return p.err
	}
	cmd.AddCommand(newUnlock(j))
	return cmd
}

// runJSON is a run as the commands print it with --output json.
type runJSON struct {
	ID        string     `json:"id"`
	Site      string     `json:"site"`
	Operation string     `json:"operation"` // create, update or delete
	Status    string     `json:"status"`
	Owner     string     `json:"owner"`
	Started   time.Time  `json:"started"`
	Ended     *time.Time `json:"ended,omitempty"`
	Digest    string     `json:"digest,omitempty"`
	Steps     []string   `json:"steps"`
	Report    string     `json:"report,omitempty"`
}

func describe(r journal.Run) runJSON {
	out := runJSON{ID: r.ID, Site: r.Site, Operation: r.Operation, Status: r.Status, Owner: r.Owner,
		Started: r.Started.UTC(), Digest: r.Digest, Steps: r.Steps, Report: r.Report}
	if out.Steps == nil {
		out.Steps = []string{}
	}
	if !r.Ended.IsZero() {
		ended := r.Ended.UTC()
		out.Ended = &ended
	}
	return out
}

func describeRuns(runs []journal.Run) []runJSON {
	out := make([]runJSON, len(runs))
	for i, r := range runs {
		out[i] = describe(r)
	}
	return out
}

func duration(r journal.Run) string {
	if r.Ended.IsZero() {
		return "-"
	}
	return r.Ended.Sub(r.Started).Round(100 * time.Millisecond).String()
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
