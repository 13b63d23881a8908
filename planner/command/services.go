package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func newServices(j *journalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "services",
		Short: "Show the services on a site: their states, versions and history",
		Long: "Show the services on a site as the journal has them: every version of every service, what happened to it, and what failed. No node is\n" +
			"asked.\n\n" +
			"Exit status: 0 shown, 1 the journal cannot be read, 2 wrong arguments, or there is no such service or version.",
	}
	cmd.AddCommand(newServicesList(j), newServicesShow(j), newServicesLog(j), newServicesDiagnose(j))
	return cmd
}

// find returns the newest version of a service. An unknown service is an error of status 2 that lists the services, one
// with inline configuration one that names the run with its tasks.
func find(cmd *cobra.Command, store *journal.Store, name string) (services.Revision, error) {
	v, err := store.Service(cmd.Context(), name)
	if !errors.Is(err, journal.ErrNoService) {
		return v, err
	}
	run, err := runOf(cmd.Context(), store, name)
	if err != nil {
		return v, err
	}
	if run != "" {
		return v, inputError(fmt.Errorf("service %q: the journal has tasks of it and no versions, which only services of "+
			"entities have; `terraform-provider-slipway report %s` shows what its tasks did", name, run))
	}
	all, err := store.Services(cmd.Context(), false)
	if err != nil {
		return v, err
	}
	names := site.NamesOf(all, func(s services.Revision) string { return s.Service })
	hint := resource.DidYouMean(name, names)
	switch {
	case len(names) == 0:
		hint = "; no service of the site is in the journal"
	case hint == "":
		hint = "; there are " + shortList(names, ", ")
	}
	return v, inputError(fmt.Errorf("service %q: the journal knows no such service%s", name, hint))
}

// runOf returns the newest of the last ten runs in which a service has tasks, also one with inline configuration, of
// which the journal has no versions; empty where there is none.
func runOf(ctx context.Context, store *journal.Store, service string) (string, error) {
	runs, err := store.Runs(ctx, 10)
	if err != nil {
		return "", err
	}
	for _, run := range runs {
		tasks, err := store.AllEvents(ctx, run.ID, journal.TaskFinished)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(tasks, func(e journal.Recorded) bool { return e.Of(service) }) {
			return run.ID, nil
		}
	}
	return "", nil
}

// findVersion returns a version of the newest incarnation of a service, with its events; 0 is the newest version.
func findVersion(cmd *cobra.Command, store *journal.Store, name string, version int) (journal.ServiceRecord, error) {
	newest, err := find(cmd, store, name)
	if err != nil {
		return journal.ServiceRecord{}, err
	}
	if version == 0 {
		version = newest.Version
	}
	log, err := store.ServiceLog(cmd.Context(), name,
		journal.Point{Incarnation: newest.Incarnation, Version: version + 1}, 1)
	if err != nil {
		return journal.ServiceRecord{}, err
	}
	if len(log) == 0 || log[0].Incarnation != newest.Incarnation || log[0].Version != version {
		return journal.ServiceRecord{}, inputError(fmt.Errorf(
			"--version %d: the journal has no such version of service %q; the newest is %d", version, name,
			newest.Version))
	}
	return log[0], nil
}

// listed is a service in a list: a version without its attribute sets.
type listed struct {
	services.Revision

	// These hide those of the revision.
	EntityDigest *string `json:"entity_digest,omitempty"`
	Candidate    *string `json:"candidate,omitempty"`
	Active       *string `json:"active,omitempty"`
	Rollback     *string `json:"rollback,omitempty"`
	Redacted     *string `json:"redacted,omitempty"`
	Config       *string `json:"config,omitempty"`
}

func newServicesList(j *journalFlags) *cobra.Command {
	var entity, state string
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the services of a site with their states",
		Args:  noArguments,
	}
	output := outputFlag(cmd)
	cmd.Flags().StringVar(&entity, "entity", "", "only services of this entity")
	cmd.Flags().StringVar(&state, "state", "", "only services in this state")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "deleted services too")
	cmd.RunE = j.reading(func(cmd *cobra.Command, store *journal.Store, _ []string) error {
		known, err := store.Services(cmd.Context(), !all)
		if err != nil {
			return err
		}
		known = slices.DeleteFunc(known, func(v services.Revision) bool {
			return entity != "" && v.Entity != entity || state != "" && v.State != state
		})
		list, rows := make([]listed, len(known)), make([][]string, len(known))
		for i, v := range known {
			list[i].Revision = v
			rows[i] = []string{v.Service, v.Entity, cmp.Or(v.Identity, "-"), labelled(v), fmt.Sprint(v.Version),
				v.Time.Local().Format(time.DateTime), v.Run}
		}
		return show(cmd, *output, list, func(p *printer) {
			p.table(table, []string{"SERVICE", "ENTITY", "IDENTITY", "STATE", "VERSION", "UPDATED", "RUN"}, rows)
		})
	})
	return cmd
}

// labelled returns a state with its label, without the label info.
func labelled(v services.Revision) string {
	if v.Label == "" || v.Label == "info" {
		return v.State
	}
	return v.State + " (" + v.Label + ")"
}

func newServicesShow(j *journalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "show SERVICE",
		Short:             "Show a service with its attribute sets",
		Long:              "Show a service with its attribute sets, as it is or as it was in an earlier version. Sensitive values are not recorded; their names are shown.",
		Args:              exactly(1, "one service"),
		ValidArgsFunction: offer(j.services),
	}
	output := outputFlag(cmd)
	version := versionFlag(cmd, "show this version instead of the newest")
	cmd.RunE = j.reading(func(cmd *cobra.Command, store *journal.Store, args []string) error {
		r, err := findVersion(cmd, store, args[0], *version)
		if err != nil {
			return err
		}
		return show(cmd, *output, r.Revision, func(p *printer) { p.details(r.Revision) })
	})
	return cmd
}

// details prints a version of a service with all its attribute sets.
func (p *printer) details(v services.Revision) {
	p.printf("service %s: %s, version %d\n", v.Service, labelled(v), v.Version)
	rows := [][2]string{
		{"entity", fmt.Sprintf("%s, version %d", v.Entity, v.EntityVersion)}, {"identity", v.Identity}, {"lifecycle",
			v.Lifecycle}, {"id", v.ID},
		{"reason", v.TransferContext}, {"updated",
			fmt.Sprintf("%s in run %s, by %s", v.Time.Local().Format(time.DateTime), v.Run, v.Owner)},
	}
	for _, row := range rows {
		if row[1] != "" {
			p.printf("%s: %s\n", row[0], row[1])
		}
	}
	for _, gate := range slices.Sorted(maps.Keys(v.Config)) {
		p.printf("config %s: %t\n", gate, v.Config[gate])
	}
	for _, set := range []struct {
		name   string
		values map[string]any
	}{{"candidate", v.Candidate}, {"active", v.Active}, {"rollback", v.Rollback}} {
		if set.values == nil {
			continue
		}
		if len(set.values) == 0 {
			p.printf("\n%s attributes: none\n", set.name)
			continue
		}
		p.printf("\n%s attributes:\n", set.name)
		for _, name := range slices.Sorted(maps.Keys(set.values)) {
			p.printf("  %s: %s\n", name, text(set.values[name]))
		}
	}
	if len(v.Redacted) > 0 {
		p.printf("\nnot recorded, because sensitive: %s\n", strings.Join(v.Redacted, ", "))
	}
}

func newServicesLog(j *journalFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log SERVICE",
		Short: "Show the history of a service, newest version first",
		Long: "Show the history of a service: its versions, newest first, each with the events that made it. An event that is ignored, and an attempt that\n" +
			"failed, are listed with the version that they found.",
		Args:              exactly(1, "one service"),
		ValidArgsFunction: offer(j.services),
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
