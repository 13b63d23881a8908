package command

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/simulate"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

func newSimulate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate FILE...",
		Short: "Show how a run would go if some nodes failed, and touch nothing",
		Long: "Play a run on a site with scripted outcomes: groups in order, prepare and deploy, success criteria, and what follows from a failure. Every node of a\n" +
			"group is assumed to have changes; what is not scripted succeeds.\n\n" + siteHelp + "\n\n" +
			"Exit status: 0 success, also when nodes or groups failed that are not critical; 1 a critical group failed, or more nodes than the failure budget; 2 the question is wrong.",
		Args: files,
	}
	output := outputFlag(cmd, asMarkdown)
	flags, script := &siteFlags{}, &outcomeFlags{}
	flags.add(cmd)
	script.add(cmd)
	var only []string
	cmd.Flags().StringSliceVar(&only, "only", nil,
		"simulate a run of these `NODES` alone, as one critical group all of which must succeed, instead of the site's groups and limit")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := stdinOnce(args, script.file); err != nil {
			return err
		}
		s, warnings, err := withNodes(cmd, args, document.Options{Address: flags.address})
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("only") {
			if err := target(s, only); err != nil {
				return inputError(err)
			}
		}
		run, err := runSimulation(cmd, s, script)
		if err != nil {
			return err
		}
		guards, err := guardedIn(s, run)
		if err != nil {
			return err
		}
		if err := writeSimulation(cmd.OutOrStdout(), *output, run, guards, warnings); err != nil {
			return err
		}
		if run.Status == simulate.Failed {
			return &statusError{statusFailed, errors.New(criticalFailed(run.Report))}
		}
		return nil
	}
	return cmd
}

// target replaces the groups of a site by one group with the given nodes.
func target(s *document.Site, nodes []string) error {
	known := site.NodeNames(s.Site.Nodes)
	for _, name := range nodes {
		if !slices.Contains(known, name) {
			return fmt.Errorf("--only %s: there is no node %q%s", strings.Join(nodes, ","), name,
				resource.DidYouMean(name, known))
		}
	}
	var err error
	s.Site.Groups, err = strategy.Targets(nodes)
	s.Site.Limit = nil
	return err
}

// runSimulation simulates a run with the outcomes of the flags.
func runSimulation(cmd *cobra.Command, s *document.Site, script *outcomeFlags) (simulate.Run, error) {
	at := time.Now()
	if script.at != "" {
		var err error
		if at, err = time.Parse(time.RFC3339, script.at); err != nil {
			return simulate.Run{}, inputError(fmt.Errorf("--at %s: is not a time; write one such as 2026-03-28T20:00:00Z",
				script.at))
		}
	}
	outcomes, err := script.outcomes(cmd, s)
	if err != nil {
		return simulate.Run{}, err
	}
	run, err := simulate.New(s.Site, outcomes, at)
	return run, inputError(err)
}

func criticalFailed(r strategy.Report) string {
	if r.BudgetSpent {
		return "the run would fail: the failure budget of the deployment is spent"
	}
	var names []string
	for _, g := range r.Groups {
		if g.Critical && g.Stage == strategy.Failed {
			names = append(names, g.Name)
		}
	}
	return "the run would fail: critical groups that failed: " + strings.Join(names, ", ")
}

// guardedJSON is a configuration resource with guard, and the nodes of which a simulated run works on it.
type guardedJSON struct {
	Resource string   `json:"resource"`
	Nodes    []string `json:"nodes"`
}

// guardedIn returns what is guarded on the nodes that a simulated run works on, by resource.
func guardedIn(s *document.Site, run simulate.Run) (out []guardedJSON, err error) {
	guarded, found := engine.Guarded(s.Site)
	if _, err := onlyWarnings(locate(s, found)); err != nil {
		return nil, err
	}
	worked := map[string]bool{}
	for _, step := range run.Steps {
		for _, n := range step.Nodes {
			worked[n] = worked[n] || step.Phase == simulate.Deploy
		}
	}
	for _, id := range slices.Sorted(maps.Keys(guarded)) {
		nodes := slices.DeleteFunc(guarded[id], func(node string) bool { return !worked[node] })
		if len(nodes) > 0 {
			out = append(out, guardedJSON{string(id), nodes})
		}
	}
	return out, nil
}

func writeSimulation(out io.Writer, f format, run simulate.Run, guards []guardedJSON, warnings invalid.Errors) error {
	if f == asJSON {
		return writeJSON(out, struct {
			simulate.Run
			ExitStatus int           `json:"exit_status"`
			Guarded    []guardedJSON `json:"guarded,omitempty"`
			Warnings   []errorAtJSON `json:"warnings"`
		}{run, exitStatusOf(run), guards, errorsJSON(warnings)})
	}
	w := &printer{w: out}
	heading, finish := "site %s\n\n", "\nfinish: %s (exit status %d)\n\n%s"
	if f == asMarkdown {
		heading, finish = "# Simulated run on site %s\n\n", "\nFinish: **%s** (exit status %d)\n\n```text\n%s```\n"
	}
	w.printf(heading, f.escape(run.Site))
	rows := make([][]string, len(run.Steps))
	for i, s := range run.Steps {
		rows[i] = []string{string(s.Phase), s.Group, s.Result(), fmt.Sprint(len(s.Nodes)), missing(s)}
	}
	w.table(f, []string{"PHASE", "GROUP", "RESULT", "NODES", "DID NOT SUCCEED"}, rows)
	for _, p := range run.Pauses {
		w.printf("\n%s group %s: %s\n", p.At.UTC().Format(time.RFC3339), f.escape(p.Group), p.Why)
	}
	if len(run.Waiting) > 0 {
		awaits := ""
		if run.Awaits != "" {
			awaits = f.escape(run.Awaits) + "; "
		}
		w.printf("\n%snot started: %s\n", awaits, f.escape(shortList(run.Waiting, " ")))
	}
	if len(run.Outside) > 0 {
		w.printf("\noutside of the limit: %s\n", f.escape(shortList(run.Outside, " ")))
	}
	for _, g := range guards {
		w.printf("\nguarded: %s on %s; a node that cannot be reached anew after the change puts it back\n",
			f.escape(g.Resource), f.escape(shortList(g.Nodes, " ")))
	}
	w.printf(finish, run.Finish(), exitStatusOf(run), run.Report)
	warn(w, warnings, f)
	return w.err
}

func exitStatusOf(run simulate.Run) int {
	if run.Status == simulate.Failed {
		return statusFailed
	}
	return 0
}

// missing lists the nodes of a step that did not succeed and the criteria that were not met.
func missing(s simulate.Step) string {
	var parts []string
	if len(s.Failed) > 0 {
		parts = append(parts, "failed: "+shortList(s.Failed, " "))
	}
	if len(s.TimedOut) > 0 {
		parts = append(parts, "timed out: "+shortList(s.TimedOut, " "))
	}
	for _, short := range s.Shortfalls {
		parts = append(parts, fmt.Sprint(short))
	}
	return strings.Join(parts, "; ")
}

// outcomeFlags are the flags with the outcomes of a simulated run.
type outcomeFlags struct {
	file    string
	fail    []string
	timeout []string
	at      string
}

func (f *outcomeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.at, "at", "",
		"`TIME` at which the run starts, for maintenance windows, such as 2026-03-28T20:00:00Z; default: now")
	cmd.Flags().StringVar(&f.file, "outcomes", "",
		"YAML file with the outcomes: phase: {node: success|failure|timeout|lost|lost_once}, the phases being prepare, deploy, health_check and restore")
	cmd.Flags().StringArrayVar(&f.fail, "fail", nil,
		"node that fails, as NODE or NODE:prepare (it does not answer) or NODE:deploy (a task fails) or NODE:health_check or NODE:restore (it is not put back); may be repeated")
	cmd.Flags().StringArrayVar(&f.timeout, "timeout", nil,
		"node that does not finish in time, as NODE (in deploy), NODE:prepare, NODE:deploy, NODE:health_check or NODE:restore; may be repeated")
}

func (f *outcomeFlags) given() bool {
	return f.file != "" || len(f.fail) > 0 || len(f.timeout) > 0 || f.at != ""
}

// outcomes merges the file and the flags; flags win.
func (f *outcomeFlags) outcomes(cmd *cobra.Command, s *document.Site) (simulate.Outcomes, error) {
	nodes := site.NodeNames(s.Site.Nodes)
	out := simulate.Outcomes{}
	if f.file != "" {
		read, err := source(cmd, f.file)
		if err != nil {
			return nil, inputError(err)
		}
		if out, err = document.ParseOutcomes(read, simulate.Scripted(), simulate.Results(), nodes); err != nil {
			return nil, inputError(err)
		}
	}
	for _, flag := range []struct {
		name   string
		values []string
		result simulate.Result
		usual  simulate.Phase // when the value names no phase
	}{{"fail", f.fail, simulate.Failure, simulate.Prepare}, {"timeout", f.timeout, simulate.Timeout, simulate.Deploy}} {
		for _, value := range flag.values {
			node, phase, named := strings.Cut(value, ":")
			if !named {
				phase = string(flag.usual)
			}
			if !slices.Contains(simulate.Scripted(), simulate.Phase(phase)) {
				return nil, inputError(fmt.Errorf("--%s %s: %q is not a phase; write prepare, deploy, health_check or restore", flag.name,
					value, phase))
			}
			if !slices.Contains(nodes, node) {
				return nil, inputError(fmt.Errorf("--%s %s: there is no node %q%s", flag.name, value, node,
					resource.DidYouMean(node, nodes)))
			}
			out.Add(simulate.Phase(phase), node, flag.result)
		}
	}
	return out, nil
}
