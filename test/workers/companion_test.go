package workers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/command"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// companion is a command of the companion at work.
type companion struct {
	*process
	out   string // file with what it prints
	ended chan struct{}
}

// companion starts a command of the companion in the directory of the site; engine says that it hands runs over.
func (c *cluster) companion(engine bool, args ...string) *companion {
	c.t.Helper()
	p := c.command(nil, variable(processVariable, "companion"))
	if p.cmd.Args = append([]string{os.Args[0]}, args...); engine {
		p.cmd.Args = append(p.cmd.Args, "--temporal", c.server.Address, "--task-queue-prefix", c.prefix)
	}
	return c.begin(p)
}

// begin starts a command in the directory of the site. It ends with the test.
func (c *cluster) begin(command *process) *companion {
	c.t.Helper()
	p := &companion{process: command, ended: make(chan struct{})}
	out, err := os.CreateTemp(c.t.TempDir(), "out")
	if err != nil {
		c.t.Fatal(err)
	}
	defer out.Close() //nolint:errcheck // the process has it
	p.out = out.Name()
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = c.dir, out, out
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // its status counts
	}()
	limit := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	c.t.Cleanup(func() { limit.Stop(); p.kill() })
	return p
}

func (p *companion) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// text returns what a command has printed.
func (p *companion) text() string {
	text, err := os.ReadFile(p.out)
	if err != nil {
		p.c.t.Fatal(err)
	}
	return string(text)
}

// says waits for the end of a command, which must have a status, and returns what it printed.
func (p *companion) says(status int) string {
	p.c.t.Helper()
	<-p.ended
	if got := p.cmd.ProcessState.ExitCode(); got != status {
		p.c.t.Errorf("%v ended with status %d, want %d: %s", p.cmd.Args[1:], got, status, p.text())
	}
	return p.text()
}

// document writes the site as a document.
func (c *cluster) document() string {
	c.t.Helper()
	nodes, services := []map[string]any{}, []map[string]any{}
	for _, n := range c.site.Nodes {
		node := map[string]any{"name": n.Name, "address": n.Address}
		if n.Address == "" {
			node = map[string]any{"name": n.Name, "connect": map[string]any{"transport": "local", "root": n.Connection.Root}}
		}
		nodes = append(nodes, node)
	}
	for _, s := range c.site.Services {
		of := []any{}
		for _, selector := range s.Selectors {
			of = append(of, map[string]any{"node_names": selector.NodeNames})
		}
		services = append(services, map[string]any{"name": s.Name, "selectors": of, "configuration": s.Configuration})
	}
	text, err := json.Marshal(map[string]any{"site": c.site.Name, "nodes": nodes, "services": services})
	if err == nil {
		err = os.WriteFile(filepath.Join(c.dir, "site.yaml"), text, 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return "site.yaml"
}

func (c *cluster) contains(what, text string, parts ...string) {
	c.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			c.t.Errorf("%s: no %q in\n%s", what, part, text)
		}
	}
}

// Documents are applied, checked and destroyed through workers. A run outlives the companion that asked for it: the next
// apply waits for it, or takes its outcome over, and another configuration is refused meanwhile.
func TestCompanionHandsOver(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"})
	worker := c.worker(nil)
	c.gated("task")
	file := c.document()
	first := c.companion(true, "apply", "--yes", file)
	c.atWork("a")
	first.kill()

	c.gated("other")
	c.contains("another configuration", c.companion(true, "apply", "--yes", c.document()).says(1), "runs cancel")
	c.site.Services = c.site.Services[:1]
	c.contains("a check", c.companion(true, "check", c.document()).says(1), "is active", "site lon1")
	second := c.companion(true, "apply", "--yes", file)
	c.await("the second apply waits", func() bool { return strings.Contains(second.text(), "is active") })
	c.write("a", "go")
	c.contains("an apply that waits", second.says(0), "is active", "site lon1: deployed")
	c.logs("a", "start task\nend task\n")
	c.contains("the next apply", c.companion(true, "apply", "--yes", file).says(0), "nothing to do")
	c.contains("a check", c.companion(true, "check", file).says(0), "no drift")
	if n := worker.metric("slipway_sessions_total"); n == "0" || n == "-" {
		t.Errorf("the worker ran %s sessions", n)
	}

	// A run that ends while nobody waits is taken over by whoever looks next.
	if err := os.Remove(c.path("a", "go")); err != nil {
		t.Fatal(err)
	}
	c.gated("more")
	third := c.companion(true, "apply", "--yes", c.document())
	c.await("the next command", func() bool { return strings.Contains(c.content("a", "log"), "start more") })
	third.kill()
	c.write("a", "go")
	c.await("the run ends", func() bool {
		return strings.Contains(c.companion(false, "runs", "--site", "lon1").says(0), "succeeded") &&
			!strings.Contains(c.companion(false, "runs", "--site", "lon1").says(0), "running")
	})
	c.contains("a check", c.companion(true, "check", file).says(0), "ended", "no drift")
	c.contains("an apply", c.companion(true, "apply", "--yes", file).says(0), "nothing to do")
	c.contains("an apply that knows it", c.companion(true, "apply", "--yes", file).says(0), "nothing to do")
	c.contains("report", c.companion(false, "report", "--site", "lon1").says(0), "exec[more]")

	// Ctrl-C stops a run, and with --detach it goes on.
	if err := os.Remove(c.path("a", "go")); err != nil {
		t.Fatal(err)
	}
	c.gated("last")
	detached := c.companion(true, "apply", "--yes", "--detach", c.document())
	c.await("the last command", func() bool { return strings.Contains(c.content("a", "log"), "start last") })
	if err := detached.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.contains("an apply that is detached", detached.says(1), "The run goes on", "runs cancel")
	c.write("a", "go")
	c.contains("a destroy", c.companion(true, "destroy", "--yes", file).says(1), "is active")
	c.await("the run ends", func() bool {
		return !strings.Contains(c.companion(false, "runs", "--site", "lon1").says(0), "running")
	})
	c.contains("a destroy", c.companion(true, "destroy", "--yes", file).says(0), "destroying site lon1")
	if _, err := os.Stat(filepath.Join(c.dir, "lon1.slipway.json")); !os.IsNotExist(err) {
		t.Errorf("the state file is there: %v", err)
	}
	c.logs("a", "start task\nend task\nstart more\nend more\nstart last\nend last\n")
}

// local makes sandboxes of the nodes, which the companion reaches by itself, too.
func (c *cluster) local() {
	for i := range c.site.Nodes {
		n := &c.site.Nodes[i]
		n.Connection, n.Address = site.Connection{Transport: "local", Root: n.Address}, ""
	}
}

// What keeps the companion from handing a run over is said before any node is touched, with the names of its flags.
func TestCompanionRefuses(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"})
	c.local()
	c.file("x\n")
	file := c.document()
	for _, test := range []struct {
		status int
		args   []string
		set    []setting
		want   string
	}{
		{2, []string{"--temporal", "here"}, nil, `--temporal: "here" is not HOST:PORT`},
		{2, []string{"--temporal", "127.0.0.1:1", "--tls-ca-file", "no-such"}, nil, "--tls-ca-file: open no-such"},
		{2, []string{"--temporal", "127.0.0.1:1"}, []setting{variable("SLIPWAY_KEY", "")}, "SLIPWAY_KEY: is needed"},
		{2, []string{"--temporal", "127.0.0.1:1"}, []setting{variable(command.JournalVariable, "")}, "give --journal, or SLIPWAY_JOURNAL"},
		{2, []string{"--detach"}, nil, "--detach: is of --temporal"},
		{1, []string{"--temporal", "127.0.0.1:1"}, nil, "--temporal: the Temporal server at \"127.0.0.1:1\" does not answer"},
		{1, []string{"--temporal", c.server.Address, "--task-queue-prefix", c.prefix}, nil, ": --temporal: no worker executes runs of this version"},
		{1, []string{"--task-queue-prefix", c.prefix}, []setting{variable("SLIPWAY_TEMPORAL", c.server.Address)},
			": SLIPWAY_TEMPORAL: no worker executes runs of this version"},
		{2, nil, []setting{variable("SLIPWAY_TEMPORAL", "here")}, `SLIPWAY_TEMPORAL: "here" is not HOST:PORT`},
	} {
		p := c.command(nil, append([]setting{variable(processVariable, "companion")}, test.set...)...)
		p.cmd.Args, p.cmd.Dir = append([]string{os.Args[0], "apply", "--yes", file}, test.args...), c.dir
		text, err := func() ([]byte, error) { p.cmd.Stderr = nil; return p.cmd.CombinedOutput() }()
		if p.cmd.ProcessState.ExitCode() != test.status || !strings.Contains(string(text), test.want) {
			t.Errorf("%v: %v, no %q in %s", test.args, err, test.want, text)
		}
		if files := fmt.Sprint(os.ReadDir(c.path("a", "etc"))); strings.Contains(files, "app") {
			t.Errorf("%v: the node was touched", test.args)
		}
	}
	text, err := os.ReadFile(c.path("", file))
	if err == nil {
		err = os.WriteFile(c.path("", "secret.yaml"), bytes.Replace(text, []byte(`"root":`),
			[]byte(`"credentials": {"sudo_password": "geheim"}, "root":`), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := c.command(nil, variable(processVariable, "companion"), variable("SLIPWAY_TEMPORAL", c.server.Address))
	p.cmd.Args, p.cmd.Dir, p.cmd.Stderr = []string{os.Args[0], "apply", "--yes", "secret.yaml"}, c.dir, nil
	text, err = p.cmd.CombinedOutput()
	if p.cmd.ProcessState.ExitCode() != 2 || strings.Contains(string(text), "1. default") ||
		!strings.Contains(string(text), `node "a": connect.credentials.sudo_password is a secret`) {
		t.Errorf("a credential: %v: %s", err, text)
	}
}

// A site that is deployed is looked at before it is planned: what keeps workers from that is named at once, too.
func TestCompanionNamesWhatKeepsWorkersFromLooking(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"})
	c.local()
	c.file("x\n")
	file := c.document()
	run := func(args ...string) (int, string) {
		p := c.command(nil, variable(processVariable, "companion"))
		p.cmd.Args, p.cmd.Dir = append([]string{os.Args[0]}, args...), c.dir
		var text bytes.Buffer
		p.cmd.Stdout, p.cmd.Stderr = &text, &text
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Kill() }).Stop() // it would wait for ever
		_ = p.cmd.Wait()                                                              // its status says it
		return p.cmd.ProcessState.ExitCode(), text.String()
	}
	if status, text := run("apply", "--yes", file); status != 0 {
		t.Fatalf("status %d: %s", status, text)
	}
	for _, test := range []struct{ address, want string }{
		{"127.0.0.1:1", `the Temporal server at "127.0.0.1:1" does not answer`},
		{c.server.Address, "no worker executes runs of this version"},
	} {
		for command, want := range map[string]int{"check": 1, "apply": 0} { // with the same documents, apply has nothing to do
			status, text := run(command, file, "--temporal", test.address, "--task-queue-prefix", c.prefix)
			if status != want || !strings.Contains(text, test.want) {
				t.Errorf("%s: status %d, no %q in %s", command, status, test.want, text)
			}
		}
	}
}
