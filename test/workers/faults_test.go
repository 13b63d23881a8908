package workers

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
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

// proxy forwards connections to a server, until it is cut.
type proxy struct {
	address string
	cut     atomic.Bool
	mu      sync.Mutex
	open    []net.Conn
}

// newProxy starts one that ends with the test.
func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: l.Addr().String()}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				_ = in.Close()
				continue
			}
			p.mu.Lock()
			p.open = append(p.open, in, out)
			p.mu.Unlock()
			work.Go(func() { p.forward(in, out) })
			work.Go(func() { p.forward(out, in) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, c := range p.open {
			_ = c.Close()
		}
		p.mu.Unlock()
		work.Wait()
	})
	return p
}

// forward forwards what one side sends. What is sent over a proxy that is cut is lost, and nobody learns of it.
func (p *proxy) forward(to, from net.Conn) {
	defer to.Close()   //nolint:errcheck // it has ended
	defer from.Close() //nolint:errcheck // likewise
	_, _ = io.Copy(writer(func(b []byte) (int, error) {
		if p.cut.Load() {
			return len(b), nil
		}
		return to.Write(b)
	}), from)
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

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

// once wants a command on a node before the gated one of the same session, that says in the log how often it ran.
func (c *cluster) once(node, before string) {
	c.site.Services = append(c.site.Services, site.Service{Name: "once-" + node,
		Selectors: site.Selectors{{NodeNames: []string{node}}},
		Configuration: resource.Configuration{"exec": {"once": {"before": []any{"exec[" + before + "]"}, "unless": "/bin/false",
			"command": fmt.Sprintf("cd %q; echo once >>log", c.path(node, ""))}}}})
}

// again waits until the command of a node was started for the second time.
func (c *cluster) again(node string) {
	c.t.Helper()
	c.await("the command on "+node+" is started again", func() bool {
		return strings.Count(c.content(node, "log"), "start") == 2
	})
}

// When a worker is killed while it works on a node, another one of the zone goes on in the same run: what the ledger of
// the node has as done is not done again, and no command runs twice at the same time.
func TestKilledInASession(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"}, site.Node{Name: "b", Zone: "rack2"})
	c.worker(lost())
	c.worker([]string{"--zone", "rack2"})
	first := c.worker(ofNodes())
	c.gated("task")
	c.once("a", "task")
	c.write("b", "go")
	r := c.start()
	c.atWork("a")
	killed := time.Now()
	first.end(syscall.SIGKILL)
	c.worker(ofNodes())
	c.again("a")
	c.write("a", "go")
	if out, said := r.within(killed); out.Status != engine.Deployed {
		t.Errorf("the run ended as %q with nodes %v: %s", out.Status, out.Nodes, said)
	}
	c.logs("a", "once\nstart task\nstart task\nend task\n")
	c.logs("b", "start task\nend task\n")
	c.apply()
	c.logs("a", "once\nstart task\nstart task\nend task\n")
}

// Without another worker the node fails within a limit, because nobody knows what was done there; the others go on. The
// next run goes on from its ledger.
func TestKilledAlone(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"}, site.Node{Name: "b", Zone: "rack2"})
	c.worker(append(lost(), "--zone-wait", "5s"))
	c.worker([]string{"--zone", "rack2"})
	first := c.worker(ofNodes())
	c.gated("task")
	c.write("b", "go")
	r := c.start()
	c.atWork("a")
	killed := time.Now()
	first.end(syscall.SIGKILL)
	out, said := r.within(killed)
	if out.Status != engine.Failed || out.Nodes["b"] != "DEPLOYED" || !strings.Contains(said, "a (default): the worker that "+
		"ran the session is gone, and nobody goes on with it: it has no zone, and no worker took its session in 5s; start "+
		"`terraform-provider-slipway worker`") {
		t.Errorf("the run ended as %q with nodes %v: %s", out.Status, out.Nodes, said)
	}
	c.worker(ofNodes())
	c.write("a", "go")
	c.apply()
	c.logs("a", "start task\nstart task\nend task\n")
	c.logs("b", "start task\nend task\n")
}

// A worker that is cut off from the server while it works on a node gives that up, about when the server takes it for
// lost. Another one goes on in the same run, and no command runs twice at the same time.
func TestCutOffInASession(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"})
	c.worker(lost())
	p := newProxy(t, c.server.Address)
	first := c.worker(append(ofNodes(), "--temporal", p.address))
	c.gated("task")
	c.once("a", "task")
	r := c.start()
	c.atWork("a")
	since := time.Now()
	p.cut.Store(true)
	c.worker(ofNodes())
	c.again("a")
	c.write("a", "go")
	if out, said := r.within(since); out.Status != engine.Deployed {
		t.Errorf("the run ended as %q: %s", out.Status, said)
	}
	c.await("the session of the first worker ends", func() bool { return first.metric("slipway_sessions_active") == "0" })
	c.logs("a", "once\nstart task\nstart task\nend task\n")
}

// A worker that was cut off and stalled, and comes to a node when another worker has gone on there with its session, is
// kept out by the fence, in the same run and after it.
func TestFenced(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"})
	c.worker(lost())
	p := newProxy(t, c.server.Address)
	gate := c.path("a", "gate")
	first := c.worker(append(ofNodes(), "--temporal", p.address), variable(gateVariable, gate))
	c.file("x\n")
	r := c.start()
	c.await("the worker has the session", func() bool { return c.content("a", "gate.reached") != "-" })
	since := time.Now()
	p.cut.Store(true)
	c.worker(ofNodes())
	if out, said := r.within(since); out.Status != engine.Deployed {
		t.Errorf("the run ended as %q: %s", out.Status, said)
	}
	if err := os.WriteFile(c.path("a", "etc/app"), []byte("by hand\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c.write("a", "gate")
	c.await("the session of the first worker ends", func() bool { return first.metric("slipway_sessions_active") == "0" })
	if got := c.content("a", "etc/app"); got != "by hand\n" {
		t.Errorf("the file is %q: the worker that was cut off was not kept out", got)
	}
	if got := c.content("a", "gate.ended"); !strings.Contains(got, "another worker went on with the session") {
		t.Errorf("the session of the worker that was cut off ended with %s", got)
	}
}

// away takes a worker away from the others, and brings it back.
var away = map[string]func(host *process, path *proxy, away bool) error{
	"cut off": func(_ *process, path *proxy, away bool) error { path.cut.Store(away); return nil },
	"stopped": func(host *process, _ *proxy, away bool) error {
		if away {
			return host.cmd.Process.Signal(syscall.SIGSTOP)
		}
		return host.cmd.Process.Signal(syscall.SIGCONT)
	},
}

// A worker that hosts a run and is cut off from the server, or stopped altogether, leaves the run to another one, which goes
// on where it was: no task is started again. When it comes back it finds that it has lost the run, and changes nothing,
// neither on the nodes nor in the journal.
func TestHostComesBack(t *testing.T) {
	t.Parallel()
	type hosted struct {
		*cluster
		first *process
		path  *proxy
		run   *run
	}
	runs := map[string]hosted{} // one of each kind, at the same time: it takes a minute
	for how := range away {
		c := newCluster(t, site.Node{Name: "a"}, site.Node{Name: "b"}, site.Node{Name: "c"})
		c.worker(ofNodes())
		path := newProxy(t, c.server.Address)
		h := hosted{cluster: c, path: path, first: c.worker(append(lost(), "--temporal", path.address))}
		c.inGroups()
		c.gated("task")
		h.run = c.start()
		runs[how] = h
	}
	since := time.Now()
	for how, h := range runs {
		h.atWork("a")
		if err := away[how](h.first, h.path, true); err != nil {
			t.Fatal(err)
		}
		h.write("a", "go")
		h.worker(lost())
	}
	for how, h := range runs {
		h.atWork("b")
		if err := away[how](h.first, h.path, false); err != nil {
			t.Fatal(err)
		}
		h.await("the first worker has lost the run", func() bool { return h.first.metric("slipway_runs") == "0" })
		h.write("b", "go")
		h.write("c", "go")
	}
	for how, h := range runs {
		out, said := h.run.wait()
		if took := time.Since(since); out.Status != engine.Deployed || took > 2*limit {
			t.Errorf("%s: the run ended as %q after %s: %s", how, out.Status, took, said)
		}
		store := h.store()
		last, err := store.Run(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		events, err := store.AllEvents(t.Context(), last.ID, journal.RunStarted, journal.TaskStarted, journal.RunFinished)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[journal.Kind]int{}
		for _, e := range events {
			kinds[e.Kind]++
		}
		want := map[journal.Kind]int{journal.RunStarted: 1, journal.TaskStarted: 6, journal.RunFinished: 1}
		if !maps.Equal(kinds, want) {
			t.Errorf("%s: the journal has the events %v, want %v", how, kinds, want)
		}
		for _, n := range h.site.Nodes {
			h.logs(n.Name, "start task\nend task\n")
		}
	}
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

// Neither does a restart of the database: the end of a session waits for it.
func TestDatabaseRestarts(t *testing.T) {
	t.Parallel()
	if shared.err != nil {
		newCluster(t)
	}
	c := on(t, shared.server, postgrestest.Start(t), site.Node{Name: "a"}, site.Node{Name: "b"})
	c.worker(nil)
	c.inGroups()
	c.gated("task")
	c.write("b", "go")
	r := c.start()
	c.atWork("a")
	since := time.Now()
	if err := c.database.Stop(); err != nil {
		t.Fatal(err)
	}
	c.write("a", "go")
	c.await("the command ends", func() bool { return strings.Contains(c.content("a", "log"), "end") })
	if err := c.database.Up(); err != nil {
		t.Fatal(err)
	}
	if out, said := r.within(since); out.Status != engine.Deployed {
		t.Errorf("the run ended as %q: %s", out.Status, said)
	}
	for _, node := range []string{"a", "b"} {
		c.logs(node, "start task\nend task\n")
	}
}

// A database that is away for longer than a lease lasts without it makes who hosts the run give it up. It goes on when
// the database is back: in another generation, from the last step that was kept, and nothing is done twice.
func TestDatabaseIsAway(t *testing.T) {
	t.Parallel()
	if shared.err != nil {
		newCluster(t)
	}
	const away = journal.LeaseTime * 9 / 10
	for name, during := range map[string]struct {
		node string // on which a command is at work
		ends bool   // meanwhile
		soak time.Duration
	}{
		"a session goes on":        {"a", false, 0},
		"a session ends":           {"a", true, 0},
		"the last session goes on": {"b", false, 0},
		"the last session ends":    {"b", true, 0},
		"a batch soaks":            {"a", true, away + 10*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := on(t, shared.server, postgrestest.Start(t), site.Node{Name: "a"}, site.Node{Name: "b"})
			c.worker(nil)
			c.inGroups()
			c.gated("task")
			if during.soak > 0 {
				c.site.Groups[0].Rolling = &site.Rolling{MaxParallel: 1, Soak: during.soak}
			}
			r := c.start()
			if during.node == "b" {
				c.write("a", "go")
			}
			c.atWork(during.node)
			if during.soak > 0 {
				c.write("a", "go")
				store := c.store()
				c.await("the batch soaks", func() bool {
					last, err := store.Run(t.Context(), "")
					if err != nil {
						t.Fatal(err)
					}
					notes, err := store.AllEvents(t.Context(), last.ID, journal.Note)
					return err == nil && slices.ContainsFunc(notes, func(e journal.Recorded) bool {
						return e.Action == journal.Soak
					})
				})
			}
			if err := c.database.Stop(); err != nil {
				t.Fatal(err)
			}
			back := time.After(away)
			if during.ends {
				c.write(during.node, "go")
			}
			<-back
			if err := c.database.Up(); err != nil {
				t.Fatal(err)
			}
			since := time.Now()
			c.write("a", "go")
			c.write("b", "go")
			if out, said := r.within(since); out.Status != engine.Deployed {
				t.Errorf("the run ended as %q: %s", out.Status, said)
			}
			for _, node := range []string{"a", "b"} {
				c.logs(node, "start task\nend task\n")
			}
		})
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
	}, Ending: func() {}, Started: func(string) { close(working) }}
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
