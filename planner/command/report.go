package command

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/server"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

func newReport(j *journalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "report [RUN]",
		Short:             "Show how a run went: its steps, groups, nodes and what failed",
		Long:              "Show how a run went. RUN is the id of a run, or a beginning of it; without it the newest run is shown.",
		Args:              atMostOneRun,
		ValidArgsFunction: offer(j.runs),
	}
	output := outputFlag(cmd, asMarkdown, asHTML, asJUnit)
	cmd.RunE = j.reading(func(cmd *cobra.Command, store *journal.Store, args []string) error {
		run, err := store.Run(cmd.Context(), argument(args))
		if err != nil {
			return inputError(err)
		}
		events, err := store.AllEvents(cmd.Context(), run.ID)
		if err != nil {
			return err
		}
		held, err := server.HeldOf(cmd.Context(), store, run)
		if err != nil {
			return err
		}
		a := newAccount(held, events)
		switch *output {
		case asMarkdown:
			return writeReportMarkdown(cmd.OutOrStdout(), a)
		case asHTML:
			return writeReportHTML(cmd.OutOrStdout(), a)
		case asJUnit:
			return writeReportJUnit(cmd.OutOrStdout(), a)
		}
		return show(cmd, *output, struct {
			server.Held
			Events []journal.Recorded `json:"events"`
		}{held, orEmpty(events)}, func(p *printer) { p.account(a) })
	})
	return cmd
}

// account is what a report says of a run.
type account struct {
	server.Held
	Texts, Noop, Failures []alike // changed texts, differences that stay because of noop, and failures
	Changed, Failed       int     // tasks
	Nodes                 []*journal.NodeHistory
	Phases                map[int64]string // of tasks, by their numbers
	Groups                []journal.Recorded
	Notes                 []journal.Recorded
	Decisions             []journal.Recorded // of persons; Message says all of it
}

// alike is a result that one or more nodes have.
type alike struct {
	Resource, Message, Output string
	Nodes                     []string
}

func newAccount(run server.Held, events []journal.Recorded) *account {
	run.Report = withoutHint(run.Report)
	a := &account{Held: run, Nodes: journal.NodesOf(events), Phases: server.Phases(events)}
	for _, e := range events {
		switch e.Kind {
		case journal.GroupFinished:
			a.Groups = append(a.Groups, e)
		case journal.Note:
			a.Notes = append(a.Notes, e)
		case journal.Decided:
			e.Message = e.Decision()
			a.Decisions = append(a.Decisions, e)
		}
	}
	if run.Status != journal.Running {
		a.Nodes = append(a.Nodes, a.unstarted(events)...)
		slices.SortFunc(a.Nodes, func(a, b *journal.NodeHistory) int { return strings.Compare(a.Node, b.Node) })
	}
	for _, n := range a.Nodes {
		a.Changed += n.Changed
		a.Failed += n.Failed
	}
	a.Texts = alikes(events, "changed", func(e journal.Recorded) bool { return e.Message == journal.TextChanged })
	a.Noop = alikes(events, "differs", nil)
	a.Failures = alikes(events, "failed", nil)
	return a
}

// unstarted returns the nodes that a run which has ended was to work on and never started, each with the reason.
func (a *account) unstarted(events []journal.Recorded) (out []*journal.NodeHistory) {
	known := map[string]bool{"": true}
	for _, n := range a.Nodes {
		known[n.Node] = true
	}
	for _, e := range events {
		if e.Kind != journal.Planned || e.Phase == 0 {
			continue
		}
		why := "the run is " + a.Status
		if i := slices.IndexFunc(a.Groups, func(g journal.Recorded) bool { return g.Group == e.Group }); i >= 0 {
			why = a.Groups[i].Message
		}
		if e.Group != "" {
			why = "group " + e.Group + ": " + why
		}
		for node := range e.PlannedTasks() {
			if !known[node] {
				known[node] = true
				out = append(out, &journal.NodeHistory{Node: node, Group: e.Group, Stage: string(strategy.NotStarted),
					Message: why})
			}
		}
	}
	return out
}

// alikes returns the results of a status, each once with its nodes.
func alikes(events []journal.Recorded, status string, among func(journal.Recorded) bool) (out []alike) {
	type key struct{ resource, message, output string }
	at := map[key]int{}
	for _, e := range events {
		if e.Kind != journal.TaskFinished || e.Status != status || among != nil && !among(e) {
			continue
		}
		message := withoutHint(strings.ReplaceAll(e.Message, fmt.Sprintf("node %q: ", e.Node), ""))
		k := key{e.Resource, message, strings.TrimRight(e.Output, " \n")}
		if _, known := at[k]; !known {
			at[k] = len(out)
			out = append(out, alike{Resource: k.resource, Message: k.message, Output: k.output})
		}
		out[at[k]].Nodes = append(out[at[k]].Nodes, e.Node)
	}
	for _, r := range out {
		slices.Sort(r.Nodes)
	}
	return out
}

// String says on which nodes what is alike; a callback may belong to no node.
func (r alike) String() string {
	about := slices.DeleteFunc([]string{rollout.Alike{Nodes: r.Nodes}.Who(), r.Resource, r.Message},
		func(s string) bool { return s == "" })
	return strings.Join(about, ": ")
}

// account prints how a run went.
func (p *printer) account(a *account) {
	p.printf("run %s: %s of site %s: %s\n", a.ID, a.Operation, a.Site, a.State)
	p.printf("started %s, took %s, by %s\n", a.Started.Local().Format(time.DateTime), duration(a.Run), a.Owner)
	for _, w := range waitsOf(a.Held) {
		p.printf("%s\n", w)
	}
	if len(a.Steps) > 0 {
		p.printf("\nsteps:\n")
	}
	for _, s := range a.Steps {
		p.printf("  %s\n", s)
	}
	if a.Report != "" {
		p.printf("\n%s\n", a.Report)
	}
	for _, t := range a.Texts[:min(len(a.Texts), textsShown)] {
		p.printf("\nchanged: %s: %s: %s:\n", shortList(t.Nodes, ", "), t.Resource, t.Message)
		for line := range strings.Lines(t.Output) {
			p.printf("    %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	if more := len(a.Texts) - textsShown; more > 0 {
		p.printf("\nand %d more changed texts; --output json has them\n", more)
	}
	for _, d := range a.Decisions {
		p.printf("\ndecided at %s: %s\n", d.Time.Local().Format(time.DateTime), d.Message)
	}
	p.results("noop", a.Noop)
	p.results("failed", a.Failures)
	p.printf("\n%s\n", a.counts())
}

func (p *printer) results(title string, results []alike) {
	for _, r := range results {
		p.printf("\n%s: %s\n", title, r)
		if r.Output != "" {
			p.printf("%s\n", r.Output)
		}
	}
}

func (a *account) counts() string {
	return fmt.Sprintf("%s changed something, %d failed", resource.Count(a.Changed, "task"), a.Failed)
}

// textsShown bounds the changed texts that a report shows; JSON has all.
const textsShown = 20

// hints say that a report shows more.
var hints = strings.NewReplacer("; `report` shows more of it", "", " (`report` shows them)", "")

// withoutHint drops from a message that a report shows more: this is the report.
func withoutHint(message string) string { return hints.Replace(message) }

func argument(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
