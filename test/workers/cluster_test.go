package workers

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/callback/controller"
	"github.com/slipway/terraform-provider-slipway/planner/command"
	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/temporal"
	"github.com/slipway/terraform-provider-slipway/planner/temporal/temporaltest"
)

// patience is how long a test waits for what a run does, on a machine that is short of everything.
const patience = 3 * time.Minute

// cluster is a site whose runs are handed over.
type cluster struct {
	t        testing.TB
	dir      string
	server   *temporaltest.Server
	database *postgrestest.Cluster
	journal  string
	key      string
	prefix   string
	site     site.Site
	prior    *engine.Prior
}

var clusters atomic.Int32

// newCluster returns a site on the server and the database that the tests share.
func newCluster(t testing.TB, nodes ...site.Node) *cluster {
	t.Helper()
	if errors.Is(shared.err, temporaltest.ErrMissing) {
		temporaltest.Skip(t, shared.err)
	}
	if shared.err != nil {
		postgrestest.Skip(t, shared.err)
	}
	return on(t, shared.server, shared.database, nodes...)
}

// on returns a site on a server and a database.
func on(t testing.TB, server *temporaltest.Server, database *postgrestest.Cluster, nodes ...site.Node) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir(), server: server, database: database, journal: database.URL(t),
		key: encryption.New(), prefix: fmt.Sprint("test", clusters.Add(1)), site: site.Site{Name: "lon1"}}
	for _, n := range nodes {
		n.Address = c.path(n.Name, "")
		c.site.Nodes = append(c.site.Nodes, n)
		if err := os.MkdirAll(c.path(n.Name, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *cluster) path(node, file string) string { return filepath.Join(c.dir, node, file) }

// content returns a file of a node, and "-" where there is no such file.
func (c *cluster) content(node, file string) string {
	text, err := os.ReadFile(c.path(node, file))
	if err != nil {
		return "-"
	}
	return string(text)
}

func (c *cluster) write(node, file string) {
	c.t.Helper()
	if err := os.WriteFile(c.path(node, file), nil, 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// file wants a file with a content on all nodes.
func (c *cluster) file(content string) {
	c.site.Services = []site.Service{{Name: "app",
		Configuration: resource.Configuration{"file": {"/etc/app": {"content": content}}}}}
}

// gated wants a command on each node that is at work until the file go is there. It writes into the file log of the
// node that it has started and ended, and that another one was at work.
func (c *cluster) gated(name string) {
	for _, n := range c.site.Nodes {
		c.site.Services = append(c.site.Services, site.Service{Name: name + "-" + n.Name,
			Selectors: site.Selectors{{NodeNames: []string{n.Name}}},
			Configuration: resource.Configuration{"exec": {name: {
				"command": fmt.Sprintf(`cd %q; exec 9>>lock; flock -n 9 || echo twice >>log; echo start %s >>log
while [ ! -e go ]; do /bin/sleep 0.05 9>&-; done; echo end %[2]s >>log`, c.path(n.Name, ""), name)}}}})
	}
}

// process is a worker of the test.
type process struct {
	c      *cluster
	cmd    *exec.Cmd
	listen string
	errors bytes.Buffer
}

// setting changes a worker that is to be started.
type setting func(*exec.Cmd)

// variable sets a variable of its environment.
func variable(name, value string) setting {
	return func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, name+"="+value) }
}

// command returns a worker that is not started.
func (c *cluster) command(args []string, settings ...setting) *process {
	c.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil || l.Close() != nil {
		c.t.Fatal("no free port", err)
	}
	p := &process{c: c, listen: l.Addr().String()}
	p.cmd = exec.CommandContext(context.WithoutCancel(c.t.Context()), os.Args[0], append([]string{"--temporal", c.server.Address,
		"--task-queue-prefix", c.prefix, "--listen", p.listen}, args...)...)
	p.cmd.Env = append(os.Environ(), processVariable+"=1", command.JournalVariable+"="+c.journal, "SLIPWAY_KEY="+c.key)
	p.cmd.Stderr = io.MultiWriter(&p.errors, c.t.Output())
	for _, s := range settings {
		s(p.cmd)
	}
	return p
}

// worker starts a worker and returns when it works. It ends with the test.
func (c *cluster) worker(args []string, settings ...setting) *process {
	c.t.Helper()
	p := c.command(args, settings...)
	c.t.Cleanup(func() { p.end(syscall.SIGKILL) })
	if err := p.works(); err != nil {
		c.t.Fatal(err)
	}
	return p
}

// works starts a worker and returns when it works.
func (p *process) works() error {
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return err
	}
	if lines := bufio.NewScanner(out); !lines.Scan() || !strings.HasPrefix(lines.Text(), "working for ") {
		return fmt.Errorf("the worker does not work: %q", lines.Text())
	}
	return nil
}

// refused starts a worker that must refuse to work, and returns what it prints.
func (c *cluster) refused(status int, args []string, settings ...setting) string {
	c.t.Helper()
	p := c.command(args, settings...)
	limit := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer limit.Stop()
	err := p.cmd.Run()
	if got := p.cmd.ProcessState.ExitCode(); got != status {
		c.t.Errorf("the worker %v ended with status %d, want %d: %v", args, got, status, err)
	}
	return p.errors.String()
}

// end ends a worker with a signal and returns how it ended.
func (p *process) end(signal syscall.Signal) *os.ProcessState {
	if p.cmd.Process != nil && p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Signal(signal)
		_ = p.cmd.Wait()
	}
	return p.cmd.ProcessState
}

// get returns what a worker serves, and its status.
func (p *process) get(path string) (int, string) {
	p.c.t.Helper()
	request, err := http.NewRequestWithContext(p.c.t.Context(), http.MethodGet, "http://"+p.listen+path, nil)
	if err != nil {
		p.c.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.c.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// metric returns the value of a series of a worker.
func (p *process) metric(series string) string {
	p.c.t.Helper()
	_, text := p.get("/metrics")
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		return "-"
	}
	return found[1]
}

// settings are those of all who take part.
func (c *cluster) settings() temporal.Settings {
	c.t.Helper()
	keys, err := encryption.Parse(c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	return temporal.Settings{Address: c.server.Address, Prefix: c.prefix, Keys: keys, Build: build,
		Named: func(setting string) string { return strings.TrimSuffix("engine.temporal."+setting, ".") }}
}

// journals is where the journal of the site is.
func (c *cluster) journals() journal.Location {
	return journal.Location{URL: c.journal, Setting: "journal", Keys: c.settings().Keys}
}

// store returns the journal of the site, which exists.
func (c *cluster) store() *journal.Store {
	c.t.Helper()
	s, err := c.journals().OpenExisting(c.t.Context(), c.site.Name)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = s.Close() })
	return s
}

// engine returns that of who asks for runs.
func (c *cluster) engine(settings temporal.Settings) *engine.Engine {
	c.t.Helper()
	client, err := temporal.NewClient(settings)
	if err != nil {
		c.t.Fatal(err)
	}
	journals := c.journals()
	executor := func() rollout.Executor { return client.Executor(journals) }
	return &engine.Engine{Journals: journals, Executor: executor, Caller: controller.New(controller.Options{}),
		Now: time.Now, Handing: &engine.Handing{Durable: client, Executor: executor, Asked: make(chan struct{})}}
}

// run is a run that was asked for.
type run struct {
	c   *cluster
	out chan engine.Outcome
}

// start asks for a run of the site.
func (c *cluster) start() *run {
	c.t.Helper()
	r := &run{c, make(chan engine.Outcome, 1)}
	e, prior, s := c.engine(c.settings()), c.prior, c.site
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), patience)
	c.t.Cleanup(cancel)
	go func() { r.out <- e.Apply(ctx, prior, s, engine.Run{}) }()
	return r
}

// wait returns the outcome of a run, which the next one goes on from, and what it says.
func (r *run) wait() (engine.Outcome, string) {
	r.c.t.Helper()
	out := <-r.out
	if out.Status != "" {
		r.c.prior = &engine.Prior{State: out.State, Nodes: r.c.site.Nodes, Unreachable: out.Unreachable}
	}
	var said []string
	for _, m := range out.Messages {
		said = append(said, m.Error())
	}
	return out, strings.Join(said, "\n")
}

// apply runs the site, which must succeed.
func (c *cluster) apply() {
	c.t.Helper()
	if out, said := c.start().wait(); out.Status != engine.Deployed {
		c.t.Fatalf("the run ended as %q: %s", cmp.Or(out.Status, "not started"), said)
	}
}

// await waits until a condition is true.
func (c *cluster) await(what string, is func() bool) {
	c.t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for limit := time.After(patience); !is(); {
		select {
		case <-ticker.C:
		case <-limit:
			c.t.Fatalf("%s: not after %s", what, patience)
		}
	}
}

// atWork waits until the command of a node is at work.
func (c *cluster) atWork(node string) {
	c.t.Helper()
	c.await("the command on "+node, func() bool { return strings.Contains(c.content(node, "log"), "start") })
}
