package rollout

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/remote"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// InProcess is the executor in this process. It opens one connection per node when it first needs it, keeps it, and
// runs one session at a time on each node. The catalog of a local node runs in this process, below the root of the
// node. Nodes have their effective connections ([site.Connection.Over]).
type InProcess struct {
	dial   Dial
	send   send
	system func(root string) (*system.System, error) // of a local node
	// Helpers gives those that are sent to nodes; NewInProcess sets it to what the build carries.
	Helpers func() (remote.Helpers, error)
	// guardLimit is for how long a guarded change is tried to be confirmed; tests shorten it.
	guardLimit time.Duration

	mu     sync.Mutex
	nodes  map[string]*link
	closed bool
}

// Dial opens a connection to a node. All its errors are *[transport.Error].
type Dial func(ctx context.Context, c site.Connection, name, address string) (transport.Conn, error)

// send runs a catalog through a connection: remote.Converge, but for tests.
type send func(context.Context, *remote.Link, site.Connection, remote.Helpers, converge.Manifest,
	func(converge.Result)) (converge.Summary, error)

// NewInProcess returns an executor without connections. Close it.
func NewInProcess() *InProcess {
	return &InProcess{dial: transport.Dial, send: remote.Converge, system: system.New,
		Helpers: sync.OnceValues(remote.Embedded), guardLimit: types.GuardLimit, nodes: map[string]*link{}}
}

// link is the connection of one node.
type link struct {
	token  chan struct{} // holds one token, which a session takes; it guards the other fields
	conn   *remote.Link  // nil until dialled
	closed bool
}

var _ Executor = (*InProcess)(nil)

var errClosed = errors.New("the executor is closed")

// Converge implements [Executor].
func (e *InProcess) Converge(ctx context.Context, node site.Node, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	l, err := e.link(node.Name)
	if err != nil {
		return converge.Summary{}, fmt.Errorf("node %q: %w", node.Name, err)
	}
	select {
	case <-l.token:
	case <-ctx.Done():
		return converge.Summary{}, fmt.Errorf("node %q: not started: %w", node.Name, context.Cause(ctx))
	}
	defer func() { l.token <- struct{}{} }()
	if l.closed {
		return converge.Summary{}, fmt.Errorf("node %q: %w", node.Name, errClosed)
	}
	return e.throughSessions(ctx, l, node, c, each)
}

// session runs a catalog in one session. The caller has the token of the node.
func (e *InProcess) session(ctx context.Context, l *link, node site.Node, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	if node.Connection.Transport == "local" {
		return e.local(ctx, node, c, each)
	}
	if l.conn == nil {
		conn, err := e.dial(ctx, node.Connection, node.Name, node.Address)
		if err != nil {
			return converge.Summary{}, err
		}
		l.conn = &remote.Link{Conn: conn}
	}
	helpers, err := e.Helpers()
	if err != nil {
		return converge.Summary{}, fmt.Errorf("node %q: the helper that this build carries cannot be used: %w",
			node.Name, err)
	}
	summary, err := e.send(ctx, l.conn, node.Connection, helpers, c, each)
	var died *transport.Error
	if errors.As(err, &died) && died.Kind == transport.Lost {
		// The error above says all there is to say about this connection; whoever asks for the node again gets a new
		// one.
		_ = l.close()
	}
	return summary, err
}

// local runs a catalog in this process.
func (e *InProcess) local(ctx context.Context, node site.Node, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	root := node.Connection.Root
	if root == "" {
		root = "/"
	}
	if path.Clean(root) == "/" {
		if err := refuseRestart(node, c); err != nil {
			return converge.Summary{}, err
		}
	}
	system, err := e.system(root)
	if err != nil {
		return converge.Summary{}, &transport.Error{Kind: transport.Config, Node: node.Name,
			Message: resource.Textf("%s: %v", node.Connection.Named("root"), err), Err: err}
	}
	defer func() { _ = system.Close() }() // it only holds a directory open: nothing can be lost
	summary := converge.Run(ctx, system, c, each)
	summary.Identity = summary.Identity.Bounded()
	if summary.Error != nil {
		return summary, summary.Error
	}
	return summary, nil
}

func (e *InProcess) link(node string) (*link, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed
	}
	l := e.nodes[node]
	if l == nil {
		l = &link{token: make(chan struct{}, 1)}
		l.token <- struct{}{}
		e.nodes[node] = l
	}
	return l, nil
}

// close ends the connection; the next session gets a new one. The caller has the token of the node.
func (l *link) close() error {
	if l.conn == nil {
		return nil
	}
	conn := l.conn
	l.conn = nil
	return conn.Close()
}

// Close ends all connections, each after its running session. It may be called more than once.
func (e *InProcess) Close() error {
	e.mu.Lock()
	nodes := e.nodes
	e.nodes, e.closed = nil, true
	e.mu.Unlock()
	var errs []error
	for _, l := range nodes {
		<-l.token
		l.closed = true
		errs = append(errs, l.close())
		l.token <- struct{}{}
	}
	return errors.Join(errs...)
}
