package workers

import (
	"context"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/temporal"
	"github.com/slipway/terraform-provider-slipway/planner/temporal/temporaltest"
)

// limit is what a fault may cost a run.
const limit = time.Minute

// lost are the arguments of a worker that hosts runs and takes those of nodes for lost early.
func lost() []string { return []string{"--control", "--lost-after", "10s"} }

// ofNodes are those of one that works on nodes without a zone.
func ofNodes() []string { return []string{"--zone", ""} }

// within returns the outcome of a run, which must come within the limit.
func (r *run) within(since time.Time) (engine.Outcome, string) {
	r.c.t.Helper()
	out, said := r.wait()
	if took := time.Since(since); took > limit {
		r.c.t.Errorf("the run took %s after the fault", took)
	}
	return out, said
}

// logs checks what the commands on a node wrote.
func (c *cluster) logs(node, want string) {
	c.t.Helper()
	if got := c.content(node, "log"); got != want {
		c.t.Errorf("the log of node %s has\n%s, want\n%s", node, got, want)
	}
}

// The nodes that a worker works on fail when it is killed, within a limit, because nobody knows what was done there; the
// others go on. Another worker, also one that is started later, goes on from their ledgers in the next run.
func TestKilledInASession(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"}, site.Node{Name: "b", Zone: "rack2"})
	c.worker(lost())
	c.worker([]string{"--zone", "rack2"})
	first := c.worker(ofNodes())
	c.gated("task")
	c.write("b", "go")
	r := c.start()
	c.atWork("a")
	killed := time.Now()
	first.end(syscall.SIGKILL)
	out, said := r.within(killed)
	if out.Status != engine.Failed || out.Nodes["b"] != "DEPLOYED" || !strings.Contains(said,
		"a (default): the worker that ran the session is gone, so that nobody knows what it did") {
		t.Errorf("the run ended as %q with nodes %v: %s", out.Status, out.Nodes, said)
	}
	c.worker(ofNodes())
	c.write("a", "go")
	c.apply()
	c.logs("a", "start task\nstart task\nend task\n")
	c.logs("b", "start task\nend task\n")
}

// inGroups makes the nodes of a site come one after the other.
func (c *cluster) inGroups() {
	c.site.Groups = nil
	for i, n := range c.site.Nodes {
		g := site.Group{Name: "of-" + n.Name, Critical: true, Selectors: site.Selectors{{NodeNames: []string{n.Name}}}}
		if i > 0 {
			g.DependsOn = []string{"of-" + c.site.Nodes[i-1].Name}
		}
		c.site.Groups = append(c.site.Groups, g)
	}
}

// A restart of the Temporal server does nothing to a run: what ends while it is away counts, and nothing is done twice.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	if shared.err != nil {
		newCluster(t)
	}
	c := on(t, temporaltest.Start(t), shared.database, site.Node{Name: "a"}, site.Node{Name: "b"})
	c.worker(nil)
	c.inGroups()
	c.gated("task")
	c.write("b", "go")
	r := c.start()
	c.atWork("a")
	since := time.Now()
	c.server.Kill(t)
	c.write("a", "go")
	c.await("the command ends", func() bool { return strings.Contains(c.content("a", "log"), "end") })
	c.server.Up(t)
	if out, said := r.within(since); out.Status != engine.Deployed {
		t.Errorf("the run ended as %q: %s", out.Status, said)
	}
	for _, node := range []string{"a", "b"} {
		c.logs(node, "start task\nend task\n")
	}
}

// A clock of who hosts a run that jumps, by a day ahead and two days back, does nothing to the run.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"}, site.Node{Name: "b"})
	c.worker(ofNodes())
	var jump atomic.Int64
	settings := c.settings()
	e := c.engine(settings)
	e.Handing, e.Now = nil, func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }
	working := make(chan struct{})
	host := &temporal.Worker{Settings: settings, Perform: func(ctx context.Context, site, id, saved string,
		drive func(context.Context, *rollout.Hosted, <-chan struct{}) error) error {
		return e.Host(ctx, site, id, saved, drive)
	}, Started: func() { close(working) }}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- host.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	<-working
	c.inGroups()
	c.gated("task")
	r := c.start()
	since := time.Now()
	c.atWork("a")
	jump.Store(int64(24 * time.Hour))
	c.write("a", "go")
	c.atWork("b")
	jump.Store(int64(-24 * time.Hour))
	c.write("b", "go")
	if out, said := r.within(since); out.Status != engine.Deployed {
		t.Errorf("the run ended as %q: %s", out.Status, said)
	}
	for _, node := range []string{"a", "b"} {
		c.logs(node, "start task\nend task\n")
	}
}
