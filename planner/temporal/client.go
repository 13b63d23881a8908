package temporal

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
)

// Settings say how a server of Temporal is reached.
type Settings struct {
	Address   string           // HOST:PORT
	Namespace string           // empty is DefaultNamespace
	Prefix    string           // of the names of task queues; empty is DefaultPrefix
	TLS       *TLS             // nil: no TLS, but with an API key
	APIKey    string           // a secret
	Keys      *encryption.Keys // required: the server stores nothing in clear
	// ZoneWait is how long a session waits for a worker of its zone, LostAfter for how long the worker that runs it may be
	// silent before it counts as gone. 0: the defaults.
	ZoneWait, LostAfter time.Duration
	Build               string           // version of slipway
	Now                 func() time.Time // nil is time.Now
	// Named returns a setting as users write it, for errors: an attribute of engine.temporal, such as tls.ca_file, or
	// encryption_key; the empty one is the server. Required.
	Named func(setting string) string
}

// TLS says how a server of Temporal is reached with TLS. Empty fields are the defaults of the machine.
type TLS struct {
	CAFile, CertFile, KeyFile string
	ServerName                string
}

// Defaults of Settings.
const (
	DefaultNamespace = "default"
	DefaultPrefix    = "slipway"
	DefaultZoneWait  = 2 * time.Minute
	// After DefaultLostAfter a worker that is cut off also gives its sessions up, by its own clock: another one goes on.
	DefaultLostAfter = time.Minute
	// LeastLostAfter leaves a worker that lives time for its signs of life, see signs, on a slow server.
	LeastLostAfter = 10 * time.Second
)

func (s Settings) wrong(setting, format string, args ...any) error {
	return fmt.Errorf("%s: %w", s.Named(setting), fmt.Errorf(format, args...))
}

// Check returns what is wrong with settings of who hosts runs, or asks for them; with zones, of a worker that has
// sessions of these alone.
func (s Settings) Check(zones ...string) error {
	host, port, err := net.SplitHostPort(s.Address)
	number, noNumber := strconv.Atoi(port)
	switch {
	case s.Address == "":
		return s.wrong("address", "is needed, such as \"temporal.example.org:7233\"")
	case err != nil || host == "" || noNumber != nil || number < 1 || number > 65535:
		return s.wrong("address", "%q is not HOST:PORT; write, for example, \"temporal.example.org:7233\"", s.Address)
	case strings.ContainsAny(s.Prefix, " \t\n/"):
		return s.wrong("task_queue_prefix", "%q must be without white space and slashes", s.Prefix)
	case s.TLS != nil && (s.TLS.CertFile == "") != (s.TLS.KeyFile == ""):
		return s.wrong("tls.cert_file", "goes with %s; give both, or neither", s.Named("tls.key_file"))
	case s.Keys == nil && len(zones) > 0:
		return s.wrong("encryption_key", "is needed, and not set: set it to what %s", printed(zones))
	case s.Keys == nil:
		return s.wrong("encryption_key", "is needed, and not set. Set encryption_key of the provider, or SLIPWAY_KEY where "+
			"Terraform runs, and SLIPWAY_KEY where workers and the companion run, to one key. Where there is none yet, "+
			"`terraform-provider-slipway key` makes one")
	}
	return nil
}

// printed says which commands print the keys of zones, and where.
func printed(zones []string) string {
	commands := make([]string, len(zones))
	for i, zone := range zones {
		commands[i] = "`terraform-provider-slipway key --zone " + cmp.Or(zone, `""`) + "`"
	}
	const where = " where SLIPWAY_KEY is the key of the provider"
	if len(zones) == 1 {
		return commands[0] + " prints" + where
	}
	return strings.Join(commands, " and ") + " print" + where
}

// queue returns the name of a task queue.
func (s Settings) queue(parts ...string) string {
	return strings.Join(append([]string{cmp.Or(s.Prefix, DefaultPrefix)}, parts...), "-")
}

// controls are the task queues of workflows and of what plans, one for each key that can read their payloads; the first
// is that of what these settings start.
func (s Settings) controls() (queues []string) {
	for _, id := range s.Keys.IDs(encryption.Control) {
		queues = append(queues, s.queue("control", fmt.Sprintf("v%d", Version), id))
	}
	return queues
}

// control is the first of controls.
func (s Settings) control() string { return s.controls()[0] }

// zones are the task queues of the workers of a zone, likewise; the empty zone is that of nodes without one.
func (s Settings) zones(zone string) (queues []string) {
	for _, id := range s.Keys.IDs(zone) {
		queues = append(queues, s.queue("zone", fmt.Sprintf("v%d", Version), id, zone))
	}
	return queues
}

// zoneQueue is what a task queue of zones has before the zone.
var zoneQueue = regexp.MustCompile(fmt.Sprintf("-zone-v%d-[0-9a-f]{16}-", Version))

// zoneOf returns the zone of a task queue of zones; false: it is another task queue.
func zoneOf(queue string) (zone string, is bool) {
	at := zoneQueue.FindStringIndex(queue)
	if at == nil {
		return "", false
	}
	return queue[at[1]:], true
}

// hosts returns the error of keys with which nobody hosts runs or asks for them.
func (s Settings) hosts() error {
	if s.Keys.OfZone() {
		return s.wrong("encryption_key", "has keys of zones alone, and who hosts runs, or asks for them, needs the key of the "+
			"provider, from which these were made")
	}
	return nil
}

// dial returns a client that connects when it is used.
func (s Settings) dial() (client.Client, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	o := client.Options{HostPort: s.Address, Namespace: s.namespace(),
		Logger: slog.New(slog.DiscardHandler)}
	if s.TLS != nil || s.APIKey != "" {
		config, err := s.tls()
		if err != nil {
			return nil, err
		}
		o.ConnectionOptions.TLS = config
	}
	if s.APIKey != "" {
		o.Credentials = client.NewAPIKeyStaticCredentials(s.APIKey)
	}
	Encrypt(&o, s.Keys)
	return client.NewLazyClient(o)
}

// tls returns how connections are encrypted.
func (s Settings) tls() (*tls.Config, error) {
	t := cmp.Or(s.TLS, &TLS{})
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		text, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, s.wrong("tls.ca_file", "%w", err)
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, s.wrong("tls.ca_file", "%q has no certificate in PEM", t.CAFile)
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, s.wrong("tls.cert_file", "with %s: %w", s.Named("tls.key_file"), err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// answerTime bounds how long a server may take to answer.
const answerTime = 10 * time.Second

// ready reports why a server cannot be used.
func (s Settings) ready(ctx context.Context, c client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
	if err == nil {
		_, err = c.WorkflowService().DescribeNamespace(ctx,
			&workflowservice.DescribeNamespaceRequest{Namespace: s.namespace()})
	}
	if err == nil {
		return nil
	}
	return cmp.Or(s.refused(err), s.silent(err))
}

func (s Settings) namespace() string { return cmp.Or(s.Namespace, DefaultNamespace) }

// refused returns what is wrong where the server refuses a call, however often it is repeated; nil: it may pass.
func (s Settings) refused(err error) error {
	var missing *serviceerror.NamespaceNotFound
	switch code := serviceerror.ToStatus(err).Code(); {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		return s.wrong("namespace", "the Temporal server at %q has no namespace %q", s.Address, s.namespace())
	case code == codes.Unauthenticated, code == codes.PermissionDenied:
		return s.wrong("api_key", "the Temporal server at %q refuses it for the namespace %q: %w", s.Address, s.namespace(), err)
	case code == codes.InvalidArgument,
		code == codes.ResourceExhausted && strings.Contains(err.Error(), "larger than max"):
		return s.wrong("", "the Temporal server at %q refuses the call: %w", s.Address, err)
	}
	return nil
}

// silent returns what the error of a call that was not answered says of the settings. What TLS found is text only.
func (s Settings) silent(err error) error {
	text := err.Error()
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case has("x509: certificate signed by unknown authority"):
		return s.wrong("tls.ca_file", "the certificate of the Temporal server at %q is signed by no authority that is trusted; "+
			"give the file with the certificate of its authority", s.Address)
	case has("x509: certificate is valid for"), has("x509: cannot validate certificate for"):
		return s.wrong("tls.server_name", "the certificate of the Temporal server at %q is for another name; give one of its "+
			"names: %w", s.Address, err)
	case has("first record does not look like a TLS handshake"):
		return s.wrong("tls", "the Temporal server at %q does not use TLS; leave it and %s out", s.Address, s.Named("api_key"))
	case has("tls: certificate required"), has("tls: bad certificate"), has("tls: unknown certificate"):
		return s.wrong("tls.cert_file", "the Temporal server at %q wants a certificate of an authority that it trusts: %w",
			s.Address, err)
	case s.TLS == nil && s.APIKey == "" && (has("reading server preface") || has("EOF") || has("connection reset")):
		return s.wrong("tls", "the Temporal server at %q ends connections without TLS; use it, if the server does", s.Address)
	}
	return s.wrong("address", "the Temporal server at %q does not answer: %w", s.Address, err)
}

// Client hands runs over, see [engine.Durable].
type Client struct {
	settings Settings
	client   client.Client
}

// NewClient returns a client. It connects when it is used.
func NewClient(s Settings) (*Client, error) {
	if err := s.hosts(); err != nil {
		return nil, err
	}
	c, err := s.dial()
	return &Client{s, c}, err
}

// Workflow returns the id of the workflow of a run.
func (c *Client) Workflow(site, run string) string { return "slipway/" + site + "/" + run }

// Begin lets the workflow of a run start. It does nothing when that was started before.
func (c *Client) Begin(ctx context.Context, run journal.Run) error {
	_, err := c.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: run.Workflow, TaskQueue: c.settings.control(),
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE},
		RunName, Input{Site: run.Site, Run: run.ID})
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &started) {
		return nil
	}
	return cmp.Or(c.settings.refused(err), err)
}

// Stop stops a run in order.
func (c *Client) Stop(ctx context.Context, run journal.Run) error {
	err := c.client.SignalWorkflow(ctx, run.Workflow, "", StopSignal, nil)
	return cmp.Or(c.settings.refused(err), err)
}

// End ends the workflow of a run at once, when it is active.
func (c *Client) End(ctx context.Context, run journal.Run) error {
	err := c.client.TerminateWorkflow(ctx, run.Workflow, "", "the site was freed from the run")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) { // it has ended
		return nil
	}
	return cmp.Or(c.settings.refused(err), err)
}

// Ended returns an error that says how the workflow of a run ended; nil while it is active, or cannot be asked.
func (c *Client) Ended(ctx context.Context, run journal.Run) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	d, err := c.client.DescribeWorkflowExecution(ctx, run.Workflow, "")
	var missing *serviceerror.NotFound
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("the server has no workflow %s", run.Workflow)
	case err != nil: // it goes on, or the next look finds out
		return nil //nolint:nilerr // see the contract
	case d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return nil
	}
	if err := c.client.GetWorkflow(ctx, run.Workflow, "").Get(ctx, nil); err != nil {
		return err
	}
	return fmt.Errorf("the workflow %s has ended, and the journal has no end of the run", run.Workflow)
}

// Executor returns an executor whose sessions workers of zones run.
func (c *Client) Executor(journals engine.Journals) rollout.Executor {
	return &Remote{server: c, journals: journals}
}
