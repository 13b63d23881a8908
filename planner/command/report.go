package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
)

func newReport(j *journalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report [RUN]",
		Short: "Show how a run went: its steps, groups, nodes and what failed",
		Long:  "Show how a run went. RUN is the id of a run, or a beginning of it; without it the newest run is shown.",
		Args:  atMostOneRun,
	}
	output := outputFlag(cmd)
	cmd.RunE = j.reading(func(cmd *cobra.Command, store *journal.Store, args []string) error {
		run, err := store.Run(cmd.Context(), argument(args))
		if err != nil {
			return inputError(err)
		}
		events, err := allEvents(cmd.Context(), store, run.ID)
		if err != nil {
			return err
		}
		return show(cmd, *output, struct {
			journal.Run
			Events []journal.Recorded `json:"events"`
		}{run, orEmpty(events)}, func(p *printer) { p.run(run, events) })
	})
	return cmd
}

// run prints how a run went.
func (p *printer) run(run journal.Run, events []journal.Recorded) {
	p.printf("run %s: %s of site %s: %s\n", run.ID, run.Operation, run.Site, run.Status)
	p.printf("started %s, took %s, by %s\n", run.Started.Local().Format(time.DateTime), duration(run), run.Owner)
	if len(run.Steps) > 0 {
		p.printf("\nsteps:\n")
	}
	for _, s := range run.Steps {
		p.printf("  %s\n", s)
	}
	if run.Report != "" {
		p.printf("\n%s\n", withoutHint(run.Report))
	}
	p.texts(events)
	p.results("noop", "differs", events)
	p.results("failed", "failed", events)
	changed, failed := 0, 0
	for _, e := range events {
		if e.Kind == journal.TaskFinished && e.Status == "changed" {
			changed++
		}
		if e.Kind == journal.TaskFinished && e.Status == "failed" {
			failed++
		}
	}
	p.printf("\n%s changed something, %d failed\n", countOf(changed, "task"), failed)
}

// hints say that a report shows more.
var hints = strings.NewReplacer("; `report` shows more of it", "", " (`report` shows them)", "")

// withoutHint drops from a message that a report shows more: this is the report.
func withoutHint(message string) string { return hints.Replace(message) }

// results prints the results of a status, each once with its nodes.
func (p *printer) results(title, status string, events []journal.Recorded) {
	type result struct{ resource, message, output string }
	var order []result
	nodes := map[result][]string{}
	for _, e := range events {
		if e.Kind != journal.TaskFinished || e.Status != status {
			continue
		}
		message := strings.ReplaceAll(e.Message, fmt.Sprintf("node %q: ", e.Node), "")
		r := result{e.Resource, withoutHint(message), strings.TrimRight(e.Output, " \n")}
		if nodes[r] == nil {
			order = append(order, r)
		}
		nodes[r] = append(nodes[r], e.Node)
	}
	for _, r := range order {
		// a callback may belong to no node
		about := slices.DeleteFunc([]string{rollout.Alike{Nodes: nodes[r]}.Who(), r.resource, r.message},
			func(s string) bool { return s == "" })
		p.printf("\n%s: %s\n", title, strings.Join(about, ": "))
		if r.output != "" {
			p.printf("%s\n", r.output)
		}
	}
}

// textsShown bounds the changed texts that a report shows; JSON has all.
const textsShown = 20

// texts prints how texts were changed, each change once with its nodes.
func (p *printer) texts(events []journal.Recorded) {
	type text struct{ resource, diff string }
	var order []text
	nodes := map[text][]string{}
	for _, e := range events {
		if e.Kind != journal.TaskFinished || e.Status != "changed" || e.Message != journal.TextChanged {
			continue
		}
		t := text{e.Resource, e.Output}
		if nodes[t] == nil {
			order = append(order, t)
		}
		nodes[t] = append(nodes[t], e.Node)
	}
	for _, t := range order[:min(len(order), textsShown)] {
		p.printf("\nchanged: %s: %s: %s:\n", shortList(nodes[t], ", "), t.resource, journal.TextChanged)
		for line := range strings.Lines(t.diff) {
			p.printf("    %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	if more := len(order) - textsShown; more > 0 {
		p.printf("\nand %d more changed texts; --output json has them\n", more)
	}
}

func argument(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// page is how many events are read at once.
const page = 1000

func allEvents(ctx context.Context, store *journal.Store, run string) (all []journal.Recorded, err error) {
	var after int64
	for {
		events, err := store.Events(ctx, run, after, page)
		if err != nil {
			return nil, err
		}
		all = append(all, events...)
		if len(events) < page {
			return all, nil
		}
		after = events[len(events)-1].Seq
	}
}
