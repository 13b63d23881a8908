package resources_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// tearDown is a site of the nodes a and b, deployed through Temporal, whose tear-down waits for a worker of its nodes.
type tearDown struct {
	*cluster
	c      *commandLine
	config string
}

// newTearDown deploys the site. more is for the engine.
func newTearDown(t *testing.T, more string) *tearDown {
	t.Helper()
	s := newCluster(t, "a", "b")
	d := &tearDown{s, newCommandLine(t), s.engine(s.rolling("x\n", ""), more)}
	s.worker("--control")
	nodes := s.worker("--zone", "")
	d.c.configure(d.config)
	d.c.apply()
	s.end(nodes, syscall.SIGTERM)
	return d
}

// destroys are the runs that tore the site down, the last one first.
func (d *tearDown) destroys() (runs []journal.Run) {
	d.t.Helper()
	var all []journal.Run
	d.must(json.Unmarshal([]byte(d.companion(0, "runs", "--output", "json")), &all))
	for _, r := range all {
		if r.Operation == "delete" {
			runs = append(runs, r)
		}
	}
	return runs
}

// destroying starts a destroy and returns its run, which waits for a worker.
func (d *tearDown) destroying() (run string, cmd *exec.Cmd, out *bytes.Buffer) {
	d.t.Helper()
	before := len(d.destroys())
	cmd, out = d.c.command("destroy", "-refresh=false", "-auto-approve", "-input=false", "-no-color")
	d.must(cmd.Start())
	d.await("a session of the tear-down", func() bool {
		runs := d.destroys()
		if len(runs) == before {
			return false
		}
		run = runs[0].ID
		return strings.Contains(d.companion(0, "report", run, "--output", "json"), `"task_started"`)
	})
	return run, cmd, out
}

// elsewhere is another folder with the same configuration and state.
func (d *tearDown) elsewhere() *commandLine {
	d.t.Helper()
	other := newCommandLine(d.t)
	other.write("terraform.tfstate", d.state())
	other.configure(d.config)
	return other
}

func (d *tearDown) state() string {
	d.t.Helper()
	state, err := os.ReadFile(filepath.Join(d.c.dir, "terraform.tfstate"))
	d.must(err)
	return string(state)
}

func (d *tearDown) contains(what, text string, want ...string) {
	d.t.Helper()
	text = unwrapped(text)
	for _, w := range want {
		if !strings.Contains(text, w) {
			d.t.Errorf("%s: no %q in\n%s", what, w, text)
		}
	}
}

// over checks that nothing of the site is left on the nodes, and that so many runs tore it down.
func (d *tearDown) over(runs int) {
	d.t.Helper()
	d.must(d.gone("a", "b")(nil))
	if d.content("a", "etc/app") != "-" || d.content("b", "etc/app") != "-" {
		d.t.Error("the files of the site are still there")
	}
	if got := len(d.destroys()); got != runs {
		d.t.Errorf("%d runs tore the site down, want %d:\n%s", got, runs, d.companion(0, "runs"))
	}
}

// A destroy outlives Terraform. The next plan says that it is active, another destroy waits for it, and what does
// something else is refused. The plan after its end says how it ended.
func TestTextEngineDestroy(t *testing.T) {
	d := newTearDown(t, "")
	run, cmd, _ := d.destroying()
	d.must(cmd.Process.Kill())
	_ = cmd.Wait()
	waiting, refused := d.elsewhere(), d.elsewhere()
	d.contains("the plan", refused.changes(), "A run was active when this was planned", "Run "+run+", started",
		"so no node was looked at", "While it is active, destroy again to wait for it", "runs cancel "+run)
	d.contains("the plan of a destroy", refused.run(0, "plan", "-destroy", "-input=false", "-no-color"),
		"A run was active at the last refresh", "While run "+run+" is active", "runs cancel "+run)
	d.contains("an apply", refused.failingApply(), "does something else than what is wanted now", "runs cancel "+run)
	refused.write("terraform.tfstate", strings.Replace(d.state(), `"on_destroy": "teardown"`, `"on_destroy": "retain"`, 1))
	d.contains("a destroy that lets go of the nodes", refused.run(1, "destroy", "-auto-approve", "-input=false", "-no-color"),
		"so that the site cannot be let go", "runs cancel "+run)

	cmd, out := waiting.command("destroy", "-auto-approve", "-input=false", "-no-color")
	d.must(cmd.Start())
	d.worker("--zone", "")
	if err := cmd.Wait(); err != nil {
		t.Errorf("another destroy does not wait for the run: %v\n%s", err, out)
	}
	d.over(1)
	if text := waiting.run(0, "state", "list"); text != "" {
		t.Errorf("the other state has\n%s", text)
	}

	d.contains("the plan", d.c.changes(), "A run ended without Terraform", "Run "+run+` of the site "lon1" ended at`,
		"succeeded", "slipway_deployment.test will be created")
	d.c.run(0, "destroy", "-refresh=false", "-auto-approve", "-input=false", "-no-color")
	d.over(1)
	if text := d.c.run(0, "state", "list"); text != "" {
		t.Errorf("the state has\n%s", text)
	}
	d.c.apply()
	d.c.empty()
}

// Terraform's interrupt stops a destroy, unless it is to go on then; so does `runs cancel`. What is left stays in the
// state, and goes with the next destroy.
func TestTextEngineDestroyStopped(t *testing.T) {
	d := newTearDown(t, ", detach = true")
	run, cmd, out := d.destroying()
	d.must(cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); err == nil {
		t.Errorf("a destroy that goes on succeeds:\n%s", out)
	}
	d.contains("the destroy", out.String(), "The run goes on", "destroy again to wait for it", "runs cancel "+run)
	d.companion(0, "runs", "cancel", run)
	d.await("the end of the run", func() bool { return d.destroys()[0].Status == "interrupted" })
	d.worker("--zone", "")
	d.contains("the plan", d.c.run(0, "plan", "-input=false", "-no-color"), "A run ended without Terraform", "Run "+run,
		"interrupted", "The site was not torn down", "cancelled by")
	d.c.configure(strings.Replace(d.config, ", detach = true", "", 1))
	d.c.run(0, "destroy", "-auto-approve", "-input=false", "-no-color")
	d.over(2)
}

// Terraform's interrupt stops a destroy.
func TestTextEngineDestroyInterrupted(t *testing.T) {
	d := newTearDown(t, "")
	_, cmd, out := d.destroying()
	d.must(cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); err == nil {
		t.Errorf("an interrupted destroy succeeds:\n%s", out)
	}
	d.contains("the destroy", out.String(), "The site was not torn down", "the run was interrupted")
	if got := d.destroys()[0].Status; got != "interrupted" {
		t.Errorf("the run is %s", got)
	}
	d.worker("--zone", "")
	d.c.run(0, "destroy", "-auto-approve", "-input=false", "-no-color")
	d.over(2)
}
