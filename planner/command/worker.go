package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/callback/controller"
	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/temporal"
)

func newKey() *cobra.Command {
	var zone string
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Make a key that encrypts what runs leave for workers, or that of a zone",
		Long: "Print a new key for encryption_key of the provider and SLIPWAY_KEY of workers with --control. With --zone, print what a worker of that zone needs as its\n" +
			"SLIPWAY_KEY, made from the key in SLIPWAY_KEY: with it, a worker hosts no runs, and reads what is for its zone and nothing else. The empty zone is that of nodes\n" +
			"without one. A worker of several zones has the key of each, separated by spaces.",
		Args: noArguments,
	}
	cmd.Flags().StringVar(&zone, "zone", "", "the zone of the worker; empty for nodes without a zone")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkZone(zone); err != nil {
			return inputError(err)
		}
		key := encryption.New()
		if cmd.Flags().Changed("zone") {
			keys, err := encryption.Parse(os.Getenv("SLIPWAY_KEY"))
			if err == nil {
				key, err = keys.ForZone(zone)
			}
			if err != nil {
				return inputError(fmt.Errorf("SLIPWAY_KEY: %w", err))
			}
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), key)
		return err
	}
	return cmd
}

// checkZone returns the error of --zone, by the rules of the zone of a node.
func checkZone(zone string) error {
	if m := site.CheckFileName(zone); zone != "" && m != "" {
		return fmt.Errorf("--zone: %s", m)
	}
	return nil
}

// NewWorker returns the command that executes runs and sessions, with an executor of nodes for each run. The others are
// as of [New].
func NewWorker(version string, environment Environment, journalURL string,
	nodes func() rollout.Executor) *cobra.Command {
	j := &journalFlags{environment: journalURL}
	var f temporalFlags
	var listen string
	var grace, zoneWait, lostAfter time.Duration
	var control bool
	var zones []string
	var sessions int
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Execute runs that the provider hands over to Temporal",
		Long: "Execute runs that the provider hands over with engine = { temporal = ... }. With --control it hosts runs: decides, plans passes, runs callbacks. With --zone it\n" +
			"works on the nodes of that zone. With neither it does both, for nodes without a zone. Any number of workers may work for one server; when one is gone,\n" +
			"another one goes on from the ledgers of the nodes.\n\n" +
			"The journal is the database that the provider has. SLIPWAY_KEY is the encryption_key of the provider; a worker with --zone and without --control needs no more\n" +
			"than what `key --zone` prints for its zone. Credentials of nodes are those of the worker: SLIPWAY_USER,\n" +
			"SLIPWAY_PRIVATE_KEY_FILE and so on, an agent, or files that the connections of nodes name; paths are those of this machine. SLIPWAY_TEMPORAL_API_KEY is\n" +
			"the API key of the namespace, where it needs one.\n\n" +
			"With SIGTERM it takes nothing more, lets sessions end within --grace, and ends.\n\n" +
			"Exit status: 0 ended as asked, 1 it cannot work, 2 wrong arguments.",
		Args: noArguments,
	}
	f.add(cmd.Flags())
	j.add(cmd.Flags())
	cmd.Flags().BoolVar(&control, "control", false, "host runs: decide what is done, plan passes, run callbacks")
	cmd.Flags().StringArrayVar(&zones, "zone", nil, "run sessions with the nodes of this `ZONE`; may be repeated, and be empty for nodes without a zone")
	cmd.Flags().IntVar(&sessions, "sessions", 100, "how many sessions with nodes at once; more wait")
	cmd.Flags().StringVar(&listen, "listen", "", "address for /healthz and /metrics (Prometheus), such as :8643; nothing is served otherwise")
	cmd.Flags().DurationVar(&grace, "grace", 10*time.Minute, "how long sessions may take to end when the worker is to end")
	cmd.Flags().DurationVar(&zoneWait, "zone-wait", temporal.DefaultZoneWait, "how long a session waits for a worker of its zone before its node fails; of --control")
	cmd.Flags().DurationVar(&lostAfter, "lost-after", temporal.DefaultLostAfter, "how long the worker of a session may be silent before another one of its zone goes on, 10s or more; of --control")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if sessions < 1 {
			return inputError(fmt.Errorf("worker: --sessions %d: must be 1 or more", sessions))
		}
		if grace < 0 {
			return inputError(fmt.Errorf("worker: --grace %s: must be 0s or more", grace))
		}
		for _, zone := range zones {
			if err := checkZone(zone); err != nil {
				return inputError(fmt.Errorf("worker: %w", err))
			}
		}
		hosts := control || len(zones) == 0
		for _, limit := range []struct {
			flag         string
			value, least time.Duration
		}{{"zone-wait", zoneWait, time.Second}, {"lost-after", lostAfter, temporal.LeastLostAfter}} {
			if limit.value < limit.least {
				return inputError(fmt.Errorf("worker: --%s %s: must be %s or more", limit.flag, limit.value, limit.least))
			}
			if !hosts && cmd.Flags().Changed(limit.flag) {
				return inputError(fmt.Errorf("worker: --%s: has no effect with --zone alone: give it to the workers with --control, "+
					"which host runs", limit.flag))
			}
		}
		if control && len(zones) == 0 && cmd.Flags().Changed("sessions") {
			return inputError(errors.New("worker: --sessions: has no effect with --control alone, which runs no sessions: leave it " +
				"out, or give --zone, too"))
		}
		var sessionsOf []string // the zones of a worker that hosts no runs
		if !control {
			sessionsOf = zones
		}
		settings, err := f.settings(sessionsOf...)
		if err != nil {
			return inputError(fmt.Errorf("worker: %w", err))
		}
		settings.Build = version
		journals, err := j.location()
		if err != nil {
			return err
		}
		if journals.URL == "" {
			return inputError(errors.New("worker: needs the journal of the provider, which is a PostgreSQL database: give --journal, or SLIPWAY_JOURNAL"))
		}
		if _, err := journals.Sites(cmd.Context()); err != nil {
			return fmt.Errorf("worker: %s: %w", journals.Setting, err)
		}
		journals.Keys, settings.ZoneWait, settings.LostAfter = settings.Keys, zoneWait, lostAfter
		var own site.Connection
		if environment != nil {
			if own, err = environment(); err != nil {
				return inputError(err)
			}
		}
		w := &temporal.Worker{Settings: settings, Grace: grace, Zones: zones, Sessions: sessions, Zone: temporal.Zone{
			Journals: journals,
			Executor: func() rollout.Executor { return rollout.WithConnection(nodes(), own) }}}
		if len(zones) == 0 && !control {
			w.Zones = []string{""}
		}
		if hosts {
			client, err := temporal.NewClient(settings)
			if err != nil {
				return fmt.Errorf("worker: %w", err)
			}
			e := &engine.Engine{Journals: journals,
				Executor: func() rollout.Executor { return client.Executor(journals) },
				Caller:   controller.New(controller.Options{}), Now: time.Now}
			w.Perform = func(ctx context.Context, site, id, saved string,
				drive func(context.Context, *rollout.Hosted, <-chan struct{}) error) error {
				return e.Host(ctx, site, id, saved, drive)
			}
		}
		serves := ""
		if listen != "" {
			l, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("worker: --listen: %w", err)
			}
			server := &http.Server{Handler: w.Handler(), ReadHeaderTimeout: 10 * time.Second}
			go func() { _ = server.Serve(l) }()
			defer func() { _ = server.Close() }()              // what it serves is of this process only
			_, port, _ := net.SplitHostPort(l.Addr().String()) // it has one
			serves = "; /healthz and /metrics are at " + served(listen, port, "")
		}
		out, notes := &printer{w: cmd.OutOrStdout()}, &printer{w: cmd.ErrOrStderr()}
		var does []string
		if w.Perform != nil {
			does = append(does, "hosts runs")
		}
		if len(w.Zones) > 0 {
			does = append(does, fmt.Sprintf("runs sessions, up to %d at once", sessions))
		}
		w.Ending = func() { out.printf("ending: takes nothing more, and lets sessions end within %s\n", grace) }
		w.Started = func(identity string) {
			for _, zone := range settings.Keys.Zones() {
				if !slices.Contains(w.Zones, zone) {
					notes.printf("SLIPWAY_KEY has a key of the zone %q, and this worker does not work for it. Give it no more than "+
						"what `terraform-provider-slipway key --zone` prints for its own.\n", zone)
				}
			}
			out.printf("working for %s: %s; %s%s\n", settings.Address, identity, strings.Join(does, ", "), serves)
		}
		if err := w.Run(cmd.Context()); err != nil {
			return fmt.Errorf("worker: %w", err)
		}
		out.printf("ended\n")
		return errors.Join(notes.err, out.err)
	}
	return cmd
}
