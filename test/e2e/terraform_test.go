package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// workspace is a folder in which Terraform runs.
type workspace struct {
	t   *testing.T
	dir string
	env []string
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

// exampleWorkspace returns an initialised copy of examples/lab that uses this lab.
func exampleWorkspace(t *testing.T) *workspace {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"five-groups", "lab"} {
		if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(filepath.Join("../../examples", dir))); err != nil {
			t.Fatal(err)
		}
	}
	w := &workspace{t: t, dir: filepath.Join(root, "lab"), env: []string{
		"TF_VAR_private_key_file=" + nodes.State("id_ed25519"), "TF_VAR_known_hosts_file=" + nodes.State("known_hosts"),
	}}
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
	// Not bound to the test's context: the journal and the ledgers must see an orderly end, which run's timeout gives.
	cmd := exec.Command(binary, args...)
	cmd.Dir = w.dir
	cmd.Env = append(append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.Getenv("SLIPWAY_MIRROR"), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1"), w.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func (w *workspace) run(args ...string) result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := w.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }) // its end shows below
	defer stop()
	_ = cmd.Wait() // the exit status tells
	return result{cmd.ProcessState.ExitCode(), out.String()}
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

// must fails the test when a command did not end with the status.
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

// attributes returns the deployment's attributes in the state.
func (w *workspace) attributes() map[string]any {
	w.t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
	if err != nil {
		w.t.Fatal(err)
	}
	var state struct {
		Resources []struct {
			Type      string
			Instances []struct{ Attributes map[string]any }
		}
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		w.t.Fatal(err)
	}
	for _, r := range state.Resources {
		if r.Type == "slipway_deployment" && len(r.Instances) == 1 {
			return r.Instances[0].Attributes
		}
	}
	w.t.Fatal("no deployment in the state")
	return nil
}

// replace changes main.tf.
func (w *workspace) replace(old, with string) {
	w.t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.dir, "main.tf"))
	if err != nil {
		w.t.Fatal(err)
	}
	if !strings.Contains(string(raw), old) {
		w.t.Fatalf("main.tf has no %q", old)
	}
	w.write("main.tf", strings.Replace(string(raw), old, with, 1))
}

// companion runs the provider's binary as a person does and returns its standard output.
func (w *workspace) companion(args ...string) ([]byte, error) {
	binary, err := filepath.Abs("../../.bin/terraform-provider-slipway")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = w.dir
	return cmd.Output()
}
