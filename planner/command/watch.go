package command

import (
	"context"
	"encoding/json"
	"errors"
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
		Args: atMostOneRun,
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
			return bad(err)
		}
		err = follow(cmd.Context(), store, run.ID, &printer{w: cmd.OutOrStdout()}, *output)
		if cmd.Context().Err() != nil {
			return errors.New("no longer watched; the run itself goes on")
		}
		return err
	}
	return cmd
}

// follow prints the events of a run until it has ended.
func follow(ctx context.Context, store *journal.Store, id string, p *printer, f format) error {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	var after int64
	for {
		// Read the run before its events: once it has ended, no event is missed.
		run, err := store.Run(ctx, id)
		if err != nil {
			return err
		}
		for more := true; more; {
			events, err := store.Events(ctx, id, after, page)
			if err != nil {
				return err
			}
			for _, e := range events {
				after = e.Seq
				p.event(e, f)
			}
			more = len(events) == page
		}
		if run.Status != journal.Running {
			if f == table {
				p.printf("run %s: %s\n", run.ID, run.Status)
			}
			return p.err
		}
		if p.err != nil {
			return p.err
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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
