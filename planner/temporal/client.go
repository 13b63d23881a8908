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
	"strconv"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

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
	// DefaultLostAfter is longer than where another attempt finds what the first one did: a session is not tried again.
	DefaultLostAfter = time.Minute
)

// Check returns what is wrong with settings, with the attribute in front.
func (s Settings) Check() error {
	host, port, err := net.SplitHostPort(s.Address)
	number, wrong := strconv.Atoi(port)
	switch {
	case s.Address == "":
		return errors.New("address: is needed, such as \"temporal.example.org:7233\"")
	case err != nil || host == "" || wrong != nil || number < 1 || number > 65535:
		return fmt.Errorf("address: %q is not HOST:PORT; write, for example, \"temporal.example.org:7233\"", s.Address)
	case strings.ContainsAny(s.Prefix, " \t\n/"):
		return fmt.Errorf("task_queue_prefix: %q must be without white space and slashes", s.Prefix)
	case s.TLS != nil && (s.TLS.CertFile == "") != (s.TLS.KeyFile == ""):
		return errors.New("tls: cert_file and key_file go together; give both, or none")
	case s.Keys == nil:
		return errors.New("it needs a key, and there is none: " + encryption.Remedy + ", or make one with `openssl rand " +
			"-base64 32` and give it to the provider and to all workers")
	}
	return nil
}

// queue returns the name of a task queue.
func (s Settings) queue(parts ...string) string {
	return strings.Join(append([]string{cmp.Or(s.Prefix, DefaultPrefix)}, parts...), "-")
}

// control is the task queue of workflows and of what plans.
func (s Settings) control() string { return s.queue("control", fmt.Sprintf("v%d", Version)) }

// dial returns a client that connects when it is used.
func (s Settings) dial() (client.Client, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	o := client.Options{HostPort: s.Address, Namespace: cmp.Or(s.Namespace, DefaultNamespace),
		Logger: slog.New(slog.DiscardHandler)}
	if s.TLS != nil || s.APIKey != "" {
		config, err := cmp.Or(s.TLS, &TLS{}).config()
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

func (t TLS) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		text, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("tls.ca_file: %w", err)
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("tls.ca_file: %q has no certificate in PEM", t.CAFile)
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("tls.cert_file and tls.key_file: %w", err)
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
	if _, err := c.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return fmt.Errorf("address: the Temporal server at %q does not answer: %w", s.Address, err)
	}
	namespace := cmp.Or(s.Namespace, DefaultNamespace)
	_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	var missing *serviceerror.NamespaceNotFound
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("namespace: the Temporal server at %q has no namespace %q", s.Address, namespace)
	case err != nil:
		return fmt.Errorf("the Temporal server at %q refuses: %w", s.Address, err)
	}
	return nil
}

// Client hands runs over, see [engine.Durable].
type Client struct {
	settings Settings
	client   client.Client
}

// NewClient returns a client. It connects when it is used.
func NewClient(s Settings) (*Client, error) {
	c, err := s.dial()
	return &Client{s, c}, err
}

// Ready reports why no run can be handed over now.
func (c *Client) Ready(ctx context.Context) error {
	if err := c.settings.ready(ctx, c.client); err != nil {
		return fmt.Errorf("engine.temporal.%w", err)
	}
	queue := c.settings.control()
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for { // a worker that was just started may not be known yet
		d, err := c.client.DescribeTaskQueue(ctx, queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
		if err == nil && len(d.GetPollers()) > 0 {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("engine.temporal: task queue %s: %w", queue, err)
		}
		select {
		case <-time.After(askAgain):
			continue
		case <-ctx.Done():
		}
		return fmt.Errorf("engine.temporal: no worker executes runs of this version of slipway: nobody takes from the task "+
			"queue %s in the namespace %q. Start `terraform-provider-slipway worker --control`, of this version and with the "+
			"same task_queue_prefix", queue, cmp.Or(c.settings.Namespace, DefaultNamespace))
	}
}

// askAgain is the time between two questions for workers.
const askAgain = 500 * time.Millisecond

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
	return err
}

// Stop stops a run in order.
func (c *Client) Stop(ctx context.Context, run journal.Run) error {
	return c.client.SignalWorkflow(ctx, run.Workflow, "", StopSignal, nil)
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
	return &Remote{settings: c.settings, client: c.client, journals: journals}
}
