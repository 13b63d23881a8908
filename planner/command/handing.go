package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/temporal"
)

// addressVariable is the environment variable with the address of a Temporal server.
const addressVariable = "SLIPWAY_TEMPORAL"

// temporalFlags say how a server of Temporal is reached. What a flag leaves open, the environment says.
type temporalFlags struct {
	address, namespace, prefix            string
	tls                                   bool
	caFile, certFile, keyFile, serverName string
}

func (f *temporalFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.address, "temporal", "", "HOST:PORT of the Temporal server; $SLIPWAY_TEMPORAL otherwise")
	flags.StringVar(&f.namespace, "namespace", temporal.DefaultNamespace, "namespace of the server")
	flags.StringVar(&f.prefix, "task-queue-prefix", temporal.DefaultPrefix, "beginning of the names of task queues, as task_queue_prefix of the provider")
	flags.BoolVar(&f.tls, "tls", false, "use TLS, with the certificates that this machine trusts")
	flags.StringVar(&f.caFile, "tls-ca-file", "", "file with the authorities to trust, PEM; uses TLS, as the next three")
	flags.StringVar(&f.certFile, "tls-cert-file", "", "file with the certificate of this client, PEM")
	flags.StringVar(&f.keyFile, "tls-key-file", "", "file with its private key, PEM")
	flags.StringVar(&f.serverName, "tls-server-name", "", "name in the certificate of the server, where it is not the host of --temporal")
}

// settings are those of who hosts runs, or asks for them; with zones, of a worker that has sessions of these alone.
func (f *temporalFlags) settings(zones ...string) (temporal.Settings, error) {
	s := temporal.Settings{Address: cmp.Or(f.address, os.Getenv(addressVariable)), Namespace: f.namespace,
		Prefix: f.prefix, APIKey: os.Getenv("SLIPWAY_TEMPORAL_API_KEY"), Named: f.named}
	t := temporal.TLS{CAFile: f.caFile, CertFile: f.certFile, KeyFile: f.keyFile, ServerName: f.serverName}
	if f.tls || t != (temporal.TLS{}) {
		s.TLS = &t
	}
	var err error
	if s.Keys, err = encryption.Parse(os.Getenv("SLIPWAY_KEY")); err != nil {
		return s, fmt.Errorf("SLIPWAY_KEY: %w", err)
	}
	return s, s.Check(zones...)
}

// temporalSettings are the names of settings of a server, as commands have them.
var temporalSettings = map[string]string{"": "--temporal", "address": "--temporal", "namespace": "--namespace",
	"task_queue_prefix": "--task-queue-prefix", "tls": "--tls", "tls.ca_file": "--tls-ca-file",
	"tls.cert_file": "--tls-cert-file", "tls.key_file": "--tls-key-file", "tls.server_name": "--tls-server-name",
	"api_key": "SLIPWAY_TEMPORAL_API_KEY", "encryption_key": "SLIPWAY_KEY"}

// named returns a setting as the user wrote it.
func (f *temporalFlags) named(setting string) string {
	name := temporalSettings[setting]
	if name == "--temporal" && f.address == "" && os.Getenv(addressVariable) != "" {
		return addressVariable
	}
	return name
}

// handOver makes the engine of a site hand its runs over, where a server is named; it and the keys are of the workers.
func (f *runFlags) handOver(e *engine.Engine) error {
	if cmp.Or(f.temporal.address, os.Getenv(addressVariable)) == "" {
		if f.detach {
			return inputError(errors.New("--detach: is of --temporal, which is not given: runs end with this process"))
		}
		return nil
	}
	journals, err := f.journal.location()
	if err != nil {
		return err
	}
	if journals.URL == "" {
		return inputError(errors.New("--temporal: needs the journal that the workers have, which is a PostgreSQL database: " +
			"give --journal, or SLIPWAY_JOURNAL"))
	}
	settings, err := f.temporal.settings()
	if err != nil {
		return inputError(err)
	}
	settings.Build = f.version
	client, err := temporal.NewClient(settings)
	if err != nil {
		return inputError(err)
	}
	journals.Keys = settings.Keys
	asked := make(chan struct{})
	close(asked) // the context ends with a signal, and with nothing else
	e.Journals, e.Executor = journals, func() rollout.Executor { return client.Executor(journals) }
	e.Handing = &engine.Handing{Durable: client, Executor: e.Executor, Asked: asked, Detach: f.detach}
	return nil
}

// model is what a run that is handed over keeps for the state file that its outcome belongs to.
type model struct {
	Lineage string
	Nodes   []site.Node // without credentials
}

// model returns that of a run.
func (d *deployment) model(c stateContent) ([]byte, error) {
	return json.Marshal(model{c.Lineage, engine.WithoutCredentials(d.site.Nodes)})
}

// adopt brings the last run that was handed over into c, unless it is there, or cannot be read, as one of an older
// slipway. active is a run that has not ended, empty when there is none; changed says that c is another one.
func (d *deployment) adopt(ctx context.Context, c *stateContent) (active string, changed bool, err error) {
	h, err := d.engine.LastHanded(ctx, d.site.Name, c.Run)
	switch {
	case journal.Away(err):
		return "", false, fmt.Errorf("the last run is not known: %w", err)
	case err != nil:
		d.notes.printf("warning: the last run is not known: %v. The state file counts as it is.\n", err)
		return "", false, nil
	case h == nil:
		return "", false, nil
	case h.Active:
		d.notes.printf("%s\n", h.Working("is active on the site "+d.site.Name+"; no node is looked at"))
		return h.Run.ID, false, nil
	}
	var m model
	if err := json.Unmarshal(h.Model, &m); err != nil || m.Lineage != c.Lineage { // of Terraform or another state
		return "", false, nil //nolint:nilerr // see above
	}
	d.notes.printf("Run %s of the site %s ended at %s: %s.\n", h.Run.ID, d.site.Name, h.Run.Ended.Format(time.RFC3339),
		h.Run.Status)
	for _, m := range h.Outcome.Messages {
		d.notes.printf("%s\n", m.Error())
	}
	out := h.Outcome
	switch {
	case out.Status == "": // no node was touched
	case h.Run.Operation == engine.Delete:
		c.Unreachable, c.State.Applied, c.State.Unasked = out.Unreachable, out.State.Applied, out.State.Unasked
		if c.Status = out.Status; out.Status != engine.Destroyed {
			c.Status = engine.Failed
		}
	default:
		d.take(c, m.Nodes, d.prior(*c), out)
	}
	c.Run = h.Run.ID
	return "", true, nil
}
