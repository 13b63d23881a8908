package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

func newServicesLog(j *journalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log SERVICE",
		Short: "Show the history of a service, newest version first",
		Long: "Show the history of a service: its versions, newest first, each with the events that made it. An event that is ignored, and an attempt that\n" +
			"failed, are listed with the version that they found.",
		Args: oneService,
	}
	output := outputFlag(cmd)
	limit := limitFlag(cmd, 20, "at most so many versions")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkLimit(*limit); err != nil {
			return err
		}
		store, err := j.open(cmd.Context())
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // read only
		newest, err := find(cmd, store, args[0])
		if err != nil {
			return err
		}
		log, err := store.ServiceLog(cmd.Context(), args[0], journal.Point{}, *limit)
		if err != nil {
			return err
		}
		if *output == asJSON {
			out := make([]recordJSON, len(log))
			for i, r := range log {
				out[i] = recordJSON{describeDetails(r.Revision), describeServiceEvents(r.Events)}
			}
			return writeJSON(cmd.OutOrStdout(), out)
		}
		p := &printer{w: cmd.OutOrStdout()}
		for i, r := range log {
			if i > 0 {
				p.printf("\n")
			}
			p.record(r, r.Incarnation != newest.Incarnation)
		}
		return p.err
	}
	return cmd
}

// recordJSON is a version of a service with its events as log prints it with --output json.
type recordJSON struct {
	serviceDetailsJSON
	Events []serviceEventJSON `json:"events"` // oldest first
}

// serviceEventJSON is an event of a service as the commands print it with --output json.
type serviceEventJSON struct {
	Seq            int64     `json:"seq"`
	Time           time.Time `json:"time"`
	Type           string    `json:"type"`
	Version        int       `json:"version"` // of the service before it
	DesiredVersion int       `json:"desired_version"`
	Source         string    `json:"source,omitempty"`
	Destination    string    `json:"destination,omitempty"`
	Message        string    `json:"message,omitempty"`
	Ignored        bool      `json:"ignored"`
	Error          bool      `json:"error"`    // it takes the error edge of a transfer
	Severity       int       `json:"severity"` // 3 trace, 10 debug, 20 info, 30 warning, 40 error, 50 critical
	Correlation    string    `json:"correlation,omitempty"`
	Run            string    `json:"run"`
}

func describeServiceEvents(events []journal.RecordedServiceEvent) []serviceEventJSON {
	out := make([]serviceEventJSON, len(events))
	for i, e := range events {
		out[i] = serviceEventJSON{Seq: e.Seq, Time: e.Time.UTC(), Type: e.Type, Version: e.Version,
			DesiredVersion: e.DesiredVersion, Source: e.Source,
			Destination: e.Destination, Message: e.Message, Ignored: e.Ignored, Error: e.IsError, Severity: e.Severity,
			Correlation: e.Correlation, Run: e.Run}
	}
	return out
}

// record prints a version with its events. earlier means that it belongs to an earlier incarnation.
func (p *printer) record(r journal.ServiceRecord, earlier bool) {
	note := ""
	if earlier {
		note = fmt.Sprintf(", of an earlier service of this name (incarnation %d)", r.Incarnation)
	}
	p.printf("version %d: %s%s\n", r.Version, labelled(r.Revision), note)
	p.printf("  %s in run %s, by %s\n", r.Time.Format(time.DateTime), r.Run, r.Owner)
	for _, e := range r.Events {
		parts := []string{e.Time.Format(time.TimeOnly), strings.ToLower(strings.ReplaceAll(e.Type, "_", " "))}
		if t := transferOf(e.ServiceEvent); t != "" {
			parts = append(parts, t)
		}
		if e.IsError {
			parts = append(parts, "error")
		}
		if e.Ignored {
			parts = append(parts, "ignored")
		}
		if e.Message != "" {
			parts = append(parts, oneLine(e.Message))
		}
		p.printf("  %s\n", strings.Join(parts, "  "))
	}
}

// transferOf formats the transfer of an event as "source -> destination", empty when it has none.
func transferOf(e journal.ServiceEvent) string {
	if e.Source == "" || e.Destination == "" {
		return e.Source + e.Destination
	}
	return e.Source + " -> " + e.Destination
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }
