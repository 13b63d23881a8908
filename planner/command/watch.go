package command

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// pollInterval is how often watch looks for new events.
const pollInterval = 200 * time.Millisecond

func newWatch(j *journalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Follow a run while it is at work, to its end",
		Long: "Follow a run while it is at work: Terraform shows nothing of it before it ends. RUN is the id of a run, or a beginning of it; without it\n" +
			"the newest run is followed. With --output json every line is one event.",
		Args: cobra.MaximumNArgs(1),
	}
	output := outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		store, err := j.open(cmd.Context())
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // read only
		run, err := store.Run(cmd.Context(), argument(args))
		if err != nil {
			return err
		}
		p := &printer{w: cmd.OutOrStdout()}
		poll := time.NewTicker(pollInterval)
		defer poll.Stop()
		var after int64
		for {
			// Read the run before its events: once it has ended, no event is missed.
			if run, err = store.Run(cmd.Context(), run.ID); err != nil {
				return err
			}
			for more := true; more; {
				events, err := store.Events(cmd.Context(), run.ID, after, page)
				if err != nil {
					return err
				}
				for _, e := range events {
					after = e.Seq
					p.event(e, *output)
				}
				more = len(events) == page
			}
			if !run.Ended.IsZero() {
				if *output == table {
					p.printf("run %s: %s\n", run.ID, run.Status)
				}
				return p.err
			}
			if p.err != nil {
				return p.err
			}
			select {
			case <-poll.C:
			case <-cmd.Context().Done():
				return cmd.Context().Err()
			}
		}
	}
	return cmd
}

// event prints one event on one line.
func (p *printer) event(e journal.Recorded, f format) {
	if f == asJSON {
		line, err := json.Marshal(describeEvent(e))
		if err != nil && p.err == nil {
			p.err = err
			return
		}
		p.printf("%s\n", line)
		return
	}
	parts := []string{e.Time.Format(time.TimeOnly), strings.ReplaceAll(string(e.Kind), "_", " ")}
	for _, s := range []string{e.Group, e.Node, e.Resource, e.Action, e.Status, strings.ReplaceAll(e.Message, "\n", " ")} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	p.printf("%s\n", strings.Join(parts, "  "))
}
