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
		Args: exactly(1, "one service"),
	}
	output := outputFlag(cmd)
	limit := limitFlag(cmd, 20, "at most so many versions")
	cmd.RunE = j.reading(func(cmd *cobra.Command, store *journal.Store, args []string) error {
		newest, err := find(cmd, store, args[0])
		if err != nil {
			return err
		}
		log, err := store.ServiceLog(cmd.Context(), args[0], journal.Point{}, *limit)
		if err != nil {
			return err
		}
		return show(cmd, *output, log, func(p *printer) {
			for i, r := range log {
				if i > 0 {
					p.printf("\n")
				}
				p.record(r, r.Incarnation != newest.Incarnation)
			}
		})
	})
	return cmd
}

// record prints a version with its events. earlier means that it belongs to an earlier incarnation.
func (p *printer) record(r journal.ServiceRecord, earlier bool) {
	note := ""
	if earlier {
		note = fmt.Sprintf(", of an earlier service of this name (incarnation %d)", r.Incarnation)
	}
	p.printf("version %d: %s%s\n", r.Version, labelled(r.Revision), note)
	p.printf("  %s in run %s, by %s\n", r.Time.Local().Format(time.DateTime), r.Run, r.Owner)
	for _, e := range r.Events {
		parts := []string{e.Time.Local().Format(time.TimeOnly), strings.ToLower(strings.ReplaceAll(e.Type, "_", " "))}
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
