package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// workspace is a folder in which Terraform runs.
type workspace struct {
	t   *testing.T
	dir string
}

// result is how one command ended.
type result struct {
	status int
	out    string // standard output and error
}

// newWorkspace returns an initialised workspace with the given main.tf.
func newWorkspace(t *testing.T, config string) *workspace {
	t.Helper()
	w := &workspace{t: t, dir: t.TempDir()}
	w.write("main.tf", config)
	w.init()
	return w
}

// exampleWorkspace returns an initialised copy of examples/lab on nodes of this lab, given by the names that they have in the example.
func exampleWorkspace(t *testing.T, players map[string]lab.Node) *workspace {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"five-groups", "lab"} {
		if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(filepath.Join("../../examples", dir))); err != nil {
			t.Fatal(err)
		}
	}
	at := map[string]string{}
	for name, n := range players {
		at[name] = n.Address
	}
	w := &workspace{t: t, dir: filepath.Join(root, "lab")}
	w.set("addresses", at)
	w.set("private_key_file", nodes.State("id_ed25519"))
	w.set("known_hosts_file", nodes.State("known_hosts"))
	w.init()
	return w
}

func (w *workspace) write(name, content string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspace) init() {
	w.t.Helper()
	if r := w.run("init", "-input=false", "-no-color"); r.status != 0 {
		w.t.Fatalf("init: %s", r.out)
	}
}

// command returns a Terraform command that is not started yet.
func (w *workspace) command(args ...string) *exec.Cmd {
	binary := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if binary == "" {
		binary = "terraform"
	}
	// Not bound to the test's context: the journal and the ledgers must see an orderly end, which begin gives.
	cmd := exec.Command(binary, args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.Getenv("SLIPWAY_MIRROR"), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// process is a Terraform command at work.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	stop func() bool
	mu   sync.Mutex
	out  bytes.Buffer // standard output and error
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// output returns what was printed so far.
func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// signal sends a signal to a process, or to a group of processes.
func (p *process) signal(s syscall.Signal, to int) {
	p.t.Helper()
	if err := syscall.Kill(to, s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) wait() result {
	_ = p.cmd.Wait() // the exit status tells
	p.stop()
	return result{p.cmd.ProcessState.ExitCode(), p.output()}
}

// begin starts a Terraform command. It is asked to end with the test, and after five minutes.
func (w *workspace) begin(args ...string) *process {
	w.t.Helper()
	p := &process{t: w.t, cmd: w.command(args...)}
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-p.pid(), syscall.SIGTERM) }) // its end shows in wait
	p.stop = func() bool { defer cancel(); return stop() }
	return p
}

func (w *workspace) run(args ...string) result {
	w.t.Helper()
	return w.begin(args...).wait()
}

func (w *workspace) plan(args ...string) result {
	w.t.Helper()
	return w.run(append([]string{"plan", "-input=false", "-no-color", "-detailed-exitcode"}, args...)...)
}

func (w *workspace) apply(args ...string) result {
	w.t.Helper()
	return w.run(append([]string{"apply", "-input=false", "-no-color", "-auto-approve"}, args...)...)
}

func (w *workspace) destroy() result {
	w.t.Helper()
	return w.run("destroy", "-input=false", "-no-color", "-auto-approve")
}

// mustDestroy destroys the site, also at the end of a test that failed.
func (w *workspace) mustDestroy() {
	w.t.Helper()
	if r := w.destroy(); r.status != 0 {
		w.t.Errorf("destroy:\n%s", r.out)
	}
}

// must fails the test when a command did not end with the status, or did not print something.
func (w *workspace) must(r result, status int, contains ...string) result {
	w.t.Helper()
	if r.status != status {
		w.t.Fatalf("exit status %d, want %d:\n%s", r.status, status, r.out)
	}
	flat := unwrapped(r.out)
	for _, want := range contains {
		if !strings.Contains(flat, want) {
			w.t.Fatalf("no %q in:\n%s", want, r.out)
		}
	}
	return r
}

// unwrapped undoes the line breaks and boxes that Terraform draws around diagnostics.
func unwrapped(out string) string {
	var b strings.Builder
	for _, line := range strings.Split(out, "\n") {
		b.WriteString(strings.TrimSpace(strings.TrimLeft(line, "│╷╵ ")))
		b.WriteByte(' ')
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// companion runs the provider's binary as a person does and returns its standard output.
func (w *workspace) companion(args ...string) ([]byte, error) {
	cmd := exec.Command(filepath.Join(filepath.Dir(os.Getenv("SLIPWAY_MIRROR")), "terraform-provider-slipway"), args...)
	cmd.Dir = w.dir
	return cmd.Output()
}
