package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// owed warns when the last run of a site, but for one, ended without a word while it put batches back. Nothing is put
// back later (design.md 6): what comes goes on from the ledgers of the nodes.
func owed(ctx context.Context, store *journal.Store, siteName, but string) (m Messages) {
	run, err := store.Last(ctx, siteName, but)
	if errors.Is(err, journal.ErrNoRun) || err == nil && run.Status != journal.Abandoned {
		return nil
	}
	var events []journal.Recorded
	if err == nil {
		events, err = store.Events(ctx, run.ID, 0, mostOwed, journal.Note, journal.GroupFinished)
	}
	if err != nil {
		m.warn("The journal cannot be read", "%v\n\nWhether the last run put back all that it wanted to is not known.", err)
		return m
	}
	var open []journal.Recorded
	for _, e := range events {
		switch {
		case e.Kind == journal.Note && e.Action == string(task.Restore):
			open = append(open, e)
		case e.Kind == journal.GroupFinished:
			open = slices.DeleteFunc(open, func(o journal.Recorded) bool { return o.Group == e.Group })
		}
	}
	if len(open) == 0 {
		return nil
	}
	lines := make([]string, len(open))
	for i, e := range open {
		lines[i] = fmt.Sprintf("group %q: %s", e.Group, e.Message)
	}
	m.warn("A run ended before a batch was put back", "Run %s ended without a report, by a crash for example:\n%s.\n\n"+
		"So some of these nodes may have what that run changed. Nothing is put back any more: the next apply goes on from "+
		"what the ledgers of the nodes have.", run.ID, strings.Join(lines, "\n"))
	return m
}

// mostOwed bounds how many notes and groups of a run are looked at.
const mostOwed = 100_000
