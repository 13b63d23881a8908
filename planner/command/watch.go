package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const (
	pollInterval = 200 * time.Millisecond // how often watch looks for new events
	page         = 1000                   // how many events it reads at once
)

func newWatch(j *journalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Follow a run to its end",
		Long: "Follow a run to its end: Terraform shows nothing of it before it ends. RUN is the id of a run, or a beginning of it; without it\n" +
			"the active run is followed, and while there is no such run, the next one is waited for.\n\n" +
			"A terminal shows failures, groups, what runs now, and how long it takes; ? shows the keys, with which the run can also be approved, paused, resumed\n" +
			"and cancelled. Elsewhere, or with TERM=dumb, every event is one line; with --output json a JSON object.",
		Args:              atMostOneRun,
		ValidArgsFunction: offer(j.runs),
	}
	output := outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		store, run, err := j.watched(ctx, argument(args), &printer{w: cmd.ErrOrStderr()})
		switch {
		case err != nil && ctx.Err() != nil:
			return errors.New("no longer watched; no run was started")
		case err != nil:
			return err
		}
		defer store.Close() //nolint:errcheck // read only
		in, out := cmd.InOrStdin(), cmd.OutOrStdout()
		if *output == table && isTerminal(in) && isTerminal(out) {
			err = watchScreen(ctx, store, run, in, out)
		} else {
			err = follow(ctx, store, run.ID, &printer{w: out}, *output)
		}
		if ctx.Err() != nil {
			return errors.New("no longer watched; the run itself goes on")
		}
		return err
	}
	return cmd
}

// watched returns the run with this id and its journal. An empty id means the active run; while there is none, it waits
// for the next one to start and prints a notice.
func (f *journalFlags) watched(ctx context.Context, id string, notices *printer) (*journal.Store, journal.Run, error) {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	var last string // the run that was the newest one when the waiting started
	for waiting := false; ; waiting = true {
		store, run, err := f.run(ctx, id)
		switch {
		case err == nil && (id != "" || run.Status == journal.Running || waiting && run.ID != last):
			return store, run, nil
		case err == nil:
			if err := store.Close(); err != nil {
				return nil, run, err
			}
			err = fmt.Errorf("no run is active on the site %s; report shows the last one", run.Site)
		case id != "" || !errors.Is(err, journal.ErrNoJournal) && !errors.Is(err, journal.ErrNoRun):
			return nil, run, err
		}
		if !waiting {
			last = run.ID
			notices.printf("waiting for a run: %v\n", err)
		}
		if notices.err != nil {
			return nil, run, notices.err
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return nil, run, ctx.Err()
		}
	}
}

// run opens the journal and returns a run of it. Errors match [journal.ErrNoJournal] without a journal,
// [journal.ErrNoRun] without a run.
func (f *journalFlags) run(ctx context.Context, id string) (*journal.Store, journal.Run, error) {
	store, err := f.open(ctx)
	if err != nil {
		return nil, journal.Run{}, err
	}
	run, err := store.Run(ctx, id)
	if err != nil {
		return nil, run, errors.Join(inputError(err), store.Close())
	}
	return store, run, nil
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
		line, err := json.Marshal(e)
		if err != nil && p.err == nil {
			p.err = err
			return
		}
		p.printf("%s\n", resource.VisibleJSON(line))
		return
	}
	switch e.Kind { //nolint:exhaustive // the others are one line
	case journal.Planned: // the plan was shown before
		if p.phases == nil {
			p.phases = phases{}
		}
		p.phases.add(e)
	case journal.PhaseStarted, journal.PhaseFinished:
		e.Message = p.phases.name(e)
		p.printf("%s\n", eventLine(e))
	case journal.Output:
		start := eventLine(e)
		for _, line := range printedLines(e.Output) {
			p.printf("%s  | %s\n", start, line)
		}
	default:
		p.printf("%s\n", eventLine(e))
	}
}

// printedLines returns the lines of an output that are not empty, each harmless.
func printedLines(output string) (lines []string) {
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(harmless(line)); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// eventLine returns an event as one line of plain text.
func eventLine(e journal.Recorded) string {
	parts := []string{e.Time.Local().Format(time.TimeOnly), strings.ReplaceAll(string(e.Kind), "_", " ")}
	for _, s := range []string{e.Group, e.Node, e.Resource, e.Action, e.Status, e.Message} {
		if s != "" {
			parts = append(parts, harmless(s))
		}
	}
	return strings.Join(parts, "  ")
}
