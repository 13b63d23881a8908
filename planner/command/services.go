package command

import (
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

// oneService is the Args of a command that takes the name of a service.
func oneService(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return inputError(errors.New(cmd.CommandPath() + ": name one service"))
	}
	return nil
}

// find returns the newest version of a service. An unknown service is an error of status 2 that lists the services.
func find(cmd *cobra.Command, store *journal.Store, name string) (services.Revision, error) {
	v, err := store.Service(cmd.Context(), name)
	if !errors.Is(err, journal.ErrNoService) {
		return v, err
	}
	all, err := store.Services(cmd.Context(), false)
	if err != nil {
		return v, err
	}
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Service
	}
	hint := resource.DidYouMean(name, names)
	switch {
	case len(names) == 0:
		hint = "; the journal holds none"
	case hint == "":
		hint = "; there are " + shortList(names, ", ")
	}
	return v, inputError(fmt.Errorf("service %q: the journal knows no such service%s", name, hint))
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

// serviceJSON is a service as the commands print it with --output json.
type serviceJSON struct {
	Service        string    `json:"service"`
	Incarnation    int       `json:"incarnation"`
	ID             string    `json:"id"`
	Entity         string    `json:"entity"`
	EntityVersion  int       `json:"entity_version"`
	Identity       string    `json:"identity,omitempty"`
	Lifecycle      string    `json:"lifecycle"`
	State          string    `json:"state"`
	Label          string    `json:"label,omitempty"` // info, success, warning or danger
	Version        int       `json:"version"`
	DesiredVersion int       `json:"desired_version"`
	Deleted        bool      `json:"deleted"`
	Reason         string    `json:"reason,omitempty"` // why the last transfer happened
	Updated        time.Time `json:"updated"`
	Run            string    `json:"run"`
	Owner          string    `json:"owner"`
}

func describeService(v services.Revision) serviceJSON {
	return serviceJSON{Service: v.Service, Incarnation: v.Incarnation, ID: v.ID, Entity: v.Entity,
		EntityVersion: v.EntityVersion, Identity: v.Identity,
		Lifecycle: v.Lifecycle, State: v.State, Label: v.Label, Version: v.Version, DesiredVersion: v.DesiredVersion,
		Deleted: v.Deleted,
		Reason:  v.TransferContext, Updated: v.Time.UTC(), Run: v.Run, Owner: v.Owner}
}

// serviceDetailsJSON is a version of a service with all its attribute sets.
type serviceDetailsJSON struct {
	serviceJSON
	EntityDigest string         `json:"entity_digest,omitempty"`
	Candidate    map[string]any `json:"candidate"` // null: there is no such set
	Active       map[string]any `json:"active"`
	Rollback     map[string]any `json:"rollback"`
	// attributes whose values are not recorded, because they are sensitive
	Redacted []string        `json:"redacted"`
	Config   map[string]bool `json:"config"`
}

func describeDetails(v services.Revision) serviceDetailsJSON {
	out := serviceDetailsJSON{serviceJSON: describeService(v), EntityDigest: v.EntityDigest, Candidate: v.Candidate,
		Active: v.Active, Rollback: v.Rollback,
		Redacted: orEmpty(v.Redacted), Config: v.Config}
	if out.Config == nil {
		out.Config = map[string]bool{}
	}
	return out
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
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		store, err := j.open(cmd.Context())
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // read only
		known, err := store.Services(cmd.Context(), !all)
		if err != nil {
			return err
		}
		known = slices.DeleteFunc(known, func(v services.Revision) bool {
			return entity != "" && v.Entity != entity || state != "" && v.State != state
		})
		if *output == asJSON {
			out := make([]serviceJSON, len(known))
			for i, v := range known {
				out[i] = describeService(v)
			}
			return writeJSON(cmd.OutOrStdout(), out)
		}
		p := &printer{w: cmd.OutOrStdout()}
		var rows [][]string
		for _, v := range known {
			rows = append(rows, []string{v.Service, v.Entity, orDash(v.Identity), labelled(v), fmt.Sprint(v.Version),
				v.Time.Format(time.DateTime), v.Run})
		}
		p.rows("SERVICE\tENTITY\tIDENTITY\tSTATE\tVERSION\tUPDATED\tRUN", rows)
		return p.err
	}
	return cmd
}

// labelled returns a state with its label, without the label info.
func labelled(v services.Revision) string {
	if v.Label == "" || v.Label == "info" {
		return v.State
	}
	return v.State + " (" + v.Label + ")"
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func newServicesShow(j *journalFlags) *cobra.Command {
	var version int
	cmd := &cobra.Command{
		Use:   "show SERVICE",
		Short: "Show a service with its attribute sets",
		Long:  "Show a service with its attribute sets, as it is or as it was in an earlier version. Sensitive values are not recorded; their names are shown.",
		Args:  oneService,
	}
	output := outputFlag(cmd)
	versionFlag(cmd, &version, "show this version instead of the newest")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkVersion(cmd, version); err != nil {
			return err
		}
		store, err := j.open(cmd.Context())
		if err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // read only
		r, err := findVersion(cmd, store, args[0], version)
		if err != nil {
			return err
		}
		if *output == asJSON {
			return writeJSON(cmd.OutOrStdout(), describeDetails(r.Revision))
		}
		p := &printer{w: cmd.OutOrStdout()}
		p.details(r.Revision)
		return p.err
	}
	return cmd
}

// versionFlag adds --version, which chooses a version of a service; 0 is the newest.
func versionFlag(cmd *cobra.Command, version *int, help string) {
	cmd.Flags().IntVar(version, "version", 0, help)
}

// checkVersion refuses a version below 1.
func checkVersion(cmd *cobra.Command, version int) error {
	if cmd.Flags().Changed("version") && version < 1 {
		return inputError(fmt.Errorf("--version %d: versions begin with 1", version))
	}
	return nil
}

// details prints a version of a service with all its attribute sets.
func (p *printer) details(v services.Revision) {
	p.printf("service %s: %s, version %d\n", v.Service, labelled(v), v.Version)
	rows := [][2]string{
		{"entity", fmt.Sprintf("%s, version %d", v.Entity, v.EntityVersion)}, {"identity", v.Identity}, {"lifecycle",
			v.Lifecycle}, {"id", v.ID},
		{"reason", v.TransferContext}, {"updated",
			fmt.Sprintf("%s in run %s, by %s", v.Time.Format(time.DateTime), v.Run, v.Owner)},
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
