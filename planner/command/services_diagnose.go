package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

func newServicesDiagnose(j *journalFlags) *cobra.Command {
	var rejections, failures int
	cmd := &cobra.Command{
		Use:   "diagnose SERVICE",
		Short: "Show why a service was rejected and what failed in its deployments",
		Long: "Show why a service was rejected, and what failed in its deployments: the last attempts that took the error edge of the lifecycle, newest first.\n" +
			"A rejection is one of validation, with its messages. A failure is one of deployment, with the tasks of the service that failed since the\n" +
			"deployment before it.",
		Args:              exactly(1, "one service"),
		ValidArgsFunction: offer(j.services),
	}
	output := outputFlag(cmd)
	version := versionFlag(cmd, "look back from this version instead of the newest")
	cmd.Flags().IntVar(&rejections, "rejection-lookbehind", 1, "at most so many rejections")
	cmd.Flags().IntVar(&failures, "failure-lookbehind", 1, "at most so many failures")
	cmd.RunE = j.reading(func(cmd *cobra.Command, store *journal.Store, args []string) error {
		if rejections < 0 || failures < 0 {
			return inputError(fmt.Errorf("--rejection-lookbehind %d, --failure-lookbehind %d: must be 0 or more",
				rejections, failures))
		}
		r, err := findVersion(cmd, store, args[0], *version)
		if err != nil {
			return err
		}
		d, err := diagnose(cmd.Context(), store, r.Revision, rejections, failures)
		if err != nil {
			return err
		}
		return show(cmd, *output, d, func(p *printer) { p.diagnosis(d) })
	})
	return cmd
}

// diagnosisJSON is what diagnose prints with --output json.
type diagnosisJSON struct {
	Service    string        `json:"service"`
	Version    int           `json:"version"` // the newest that was examined
	State      string        `json:"state"`
	Label      string        `json:"label,omitempty"`
	Rejections []attemptJSON `json:"rejections"` // newest first
	Failures   []attemptJSON `json:"failures"`   // newest first
}

// attemptJSON is an attempt of a transfer that took its error edge.
type attemptJSON struct {
	Version     int       `json:"version"` // of the service before it
	Type        string    `json:"type"`
	Source      string    `json:"source"`
	Destination string    `json:"destination"`
	Time        time.Time `json:"time"`
	Run         string    `json:"run"`
	Messages    []string  `json:"messages"`
	// of a failure: the tasks of the service that failed, in the order of the run
	Tasks []journal.Recorded `json:"tasks,omitzero"`
}

// resourceTransition is the type of the events of a deployment's result.
const resourceTransition = "RESOURCE_TRANSITION"

// logPage is how many versions are read at once.
const logPage = 200

// diagnose finds the last rejections and failures at or before a version of a service.
func diagnose(ctx context.Context, store *journal.Store, v services.Revision, rejections,
	failures int) (diagnosisJSON, error) {
	d := diagnosisJSON{Service: v.Service, Version: v.Version, State: v.State, Label: v.Label,
		Rejections: []attemptJSON{}, Failures: []attemptJSON{}}
	events, err := history(ctx, store, v)
	if err != nil {
		return d, err
	}
	done := map[string]bool{} // attempts, by correlation
	for i, e := range events {
		if !e.IsError || e.Correlation != "" && done[e.Correlation] {
			continue
		}
		done[e.Correlation] = true
		about := attempt(events[i:])
		switch deployed := e.Type == resourceTransition; {
		case !deployed && len(d.Rejections) < rejections:
			d.Rejections = append(d.Rejections, about)
		case deployed && len(d.Failures) < failures:
			if about.Tasks, err = failedTasks(ctx, store, events[i:]); err != nil {
				return d, err
			}
			d.Failures = append(d.Failures, about)
		}
	}
	return d, nil
}

// history returns the events of a version of a service and of those before it, newest first.
func history(ctx context.Context, store *journal.Store, v services.Revision) (out []journal.RecordedServiceEvent,
	err error) {
	before := journal.Point{Incarnation: v.Incarnation, Version: v.Version + 1}
	for {
		log, err := store.ServiceLog(ctx, v.Service, before, logPage)
		if err != nil {
			return nil, err
		}
		for _, r := range log {
			if r.Incarnation != v.Incarnation {
				return out, nil
			}
			slices.Reverse(r.Events)
			out = append(out, r.Events...)
			before = journal.Point{Incarnation: r.Incarnation, Version: r.Version}
		}
		if len(log) < logPage {
			return out, nil
		}
	}
}

// attempt describes an attempt of a transfer. events are newest first; the first one is the last of the attempt.
func attempt(events []journal.RecordedServiceEvent) attemptJSON {
	last := events[0]
	out := attemptJSON{Version: last.Version, Type: last.Type, Source: last.Source, Destination: last.Destination,
		Time: last.Time, Run: last.Run, Messages: []string{}}
	for _, e := range events {
		same := e.Seq == last.Seq || last.Correlation != "" && e.Correlation == last.Correlation
		if same && e.IsError && e.Message != "" && !slices.Contains(out.Messages, e.Message) {
			out.Messages = append(out.Messages, e.Message)
		}
	}
	slices.Reverse(out.Messages)
	return out
}

// failedTasks returns the failed tasks of a service in one deployment. events are newest first; the first one is the
// deployment's result. A run may have several deployments of a service: tasks of this one finished after the result
// before.
func failedTasks(ctx context.Context, store *journal.Store, events []journal.RecordedServiceEvent) ([]journal.Recorded,
	error) {
	result := events[0]
	var since time.Time
	for _, e := range events[1:] {
		if e.Type == resourceTransition && e.Run == result.Run &&
			(e.Correlation == "" || e.Correlation != result.Correlation) {
			since = e.Time
			break
		}
	}
	all, err := store.AllEvents(ctx, result.Run)
	if err != nil {
		return nil, err
	}
	out := []journal.Recorded{}
	for _, e := range all {
		failed := e.Status == "failed" || e.Status == "unknown"
		if e.Kind == journal.TaskFinished && failed && e.Of(result.Service) && e.Time.After(since) &&
			!e.Time.After(result.Time) {
			out = append(out, e)
		}
	}
	return out, nil
}

// diagnosis prints what diagnose found.
func (p *printer) diagnosis(d diagnosisJSON) {
	p.printf("service %s: %s, version %d\n", d.Service,
		labelled(services.Revision{State: d.State, Label: d.Label}), d.Version)
	if len(d.Rejections)+len(d.Failures) == 0 {
		p.printf("\nnothing was rejected and nothing failed\n")
	}
	for _, r := range d.Rejections {
		p.attempt("rejected", r)
	}
	for _, f := range d.Failures {
		p.attempt("failed", f)
		for _, t := range f.Tasks {
			about := t.Resource
			if t.Node != "" {
				about = t.Node + ": " + t.Resource
			}
			p.printf("  %s: %s\n", about, oneLine(cmp.Or(t.Message, t.Status)))
			for line := range strings.Lines(t.Output) {
				p.printf("    %s\n", strings.TrimRight(line, "\n"))
			}
		}
		if len(f.Tasks) == 0 {
			p.printf("  no task of its own failed; `report %s` shows the nodes\n", f.Run)
		}
	}
}

// attempt prints the heading and the messages of an attempt that took the error edge.
func (p *printer) attempt(what string, a attemptJSON) {
	p.printf("\n%s: %s -> %s, from version %d, %s in run %s\n", what, a.Source, a.Destination, a.Version,
		a.Time.Local().Format(time.DateTime), a.Run)
	for _, m := range a.Messages {
		p.printf("  %s\n", oneLine(m))
	}
}
