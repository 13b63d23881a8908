package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// slow is a command that lasts until finish, and for no longer than four minutes.
const slow = "/bin/sleep 240.25"

// slowService runs the slow command once on every node, after the file of slipway_service.test.
func slowService() string {
	return `
resource "slipway_service" "slow" {
  name      = "slow"
  selectors = []
  configuration = { exec = { slow = { command = "` + slow + `; touch /run/slow-done", creates = "/run/slow-done", require = ["file[` + testFile + `]"] } } }
}
`
}

// takeForSlow takes nodes for a test with slowService, and removes the mark that its command leaves.
func takeForSlow(t *testing.T, count int) []lab.Node {
	t.Helper()
	taken := nodes.Take(t, count)
	t.Cleanup(func() {
		for _, n := range taken {
			n.On(t, "rm -f /run/slow-done")
		}
	})
	return taken
}

// untilSlow waits until the slow command runs on a node.
func (p *process) untilSlow(n lab.Node) {
	p.t.Helper()
	p.until(n, "the slow command runs", `pgrep -xf "`+slow+`"`)
}

// finish lets the slow command come to its end.
func finish(t *testing.T, n lab.Node) {
	t.Helper()
	n.On(t, `pkill -xf "`+slow+`"`)
}

// TestKilled ends Terraform in every way in which it saves no state (terraform.md 5.7). The next apply goes on from the nodes' ledgers.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end func(*testing.T, *process)
		// done tells what becomes of the command at work. When the provider dies too, the node ends it (execution.md 2.4).
		// When only Terraform does, the provider sees to an orderly end.
		done string
	}{
		"with its provider": {func(t *testing.T, p *process) { p.signal(syscall.SIGKILL, -p.pid()) }, ""},
		"terminal closed":   {func(t *testing.T, p *process) { p.signal(syscall.SIGHUP, p.pid()) }, "/run/slow-done\n"},
		"interrupted twice": {func(t *testing.T, p *process) {
			p.signal(syscall.SIGINT, p.pid())
			await(t, "Terraform takes note of the interrupt", func() bool { return strings.Contains(p.output(), "Interrupt received") })
			p.signal(syscall.SIGINT, p.pid())
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := takeForSlow(t, 1)[0]
			w := newWorkspace(t, config{site: "killed", nodes: []lab.Node{n}, services: slowService(), more: []string{"slow"}}.hcl(t))
			p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
			p.untilSlow(n)
			c.end(t, p)
			if r := p.wait(); r.status == 0 {
				t.Errorf("Terraform ended with status 0:\n%s", r.out)
			}
			if c.done != "" {
				finish(t, n)
			}
			until(t, n, "the slow command ends", `! pgrep -xf "`+slow+`"`)
			await(t, "no provider is left", func() bool { return len(w.processes(t)) == 0 })
			if got := n.On(t, "cat "+testFile+"; ls /run/slow-done 2>/dev/null || true"); got != "first"+c.done {
				t.Errorf("the file and the mark of the slow command are %q, want %q", got, "first"+c.done)
			}
			n.On(t, "touch /run/slow-done")
			w.applyWhenFree()
			w.must(w.plan(), 0)
			w.mustDestroy()
		})
	}
}

// applyWhenFree applies when the lease of a run that was killed has expired.
func (w *workspace) applyWhenFree() {
	w.t.Helper()
	await(w.t, "the dead run's lease expires and an apply succeeds", func() bool {
		r := w.apply()
		if r.status != 0 && !strings.Contains(unwrapped(r.out), "Another run is at work") {
			w.t.Fatalf("apply after the end:\n%s", r.out)
		}
		return r.status == 0
	})
}

// processes lists those that work in the folder: Terraform and its providers.
func (w *workspace) processes(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(link string) bool {
		dir, err := os.Readlink(link)
		return err != nil || dir != w.dir // a process that has ended meanwhile cannot be read
	})
}

// TestInterrupt stops an apply politely: no new node is begun, the one at work may end, the state is honest, the next apply finishes.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(p *process){
		"SIGINT":  func(p *process) { p.signal(syscall.SIGINT, -p.pid()) }, // to the whole group, as from a terminal
		"SIGTERM": func(p *process) { p.signal(syscall.SIGTERM, p.pid()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			two := takeForSlow(t, 2)
			first, second := two[0], two[1]
			if first.Name > second.Name {
				first, second = second, first
			}
			w := newWorkspace(t, config{site: "interrupt", nodes: two, groups: `
resource "slipway_group" "all" {
  name      = "all"
  critical  = true
  selectors = []
  rolling   = { max_parallel = 1 }
}
`, groupList: []string{"all"}, services: slowService(), more: []string{"slow"}}.hcl(t))
			defer w.mustDestroy()
			p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
			p.untilSlow(first)
			stop(p)
			await(t, "Terraform takes note of the signal", func() bool { return strings.Contains(p.output(), "Stopping operation") })
			first.On(t, "sleep 2") // for the provider, to which Terraform passes it on
			finish(t, first)
			w.must(p.wait(), 1, "The run was interrupted", "Apply again")
			w.assertStatus("interrupted")
			if got := first.On(t, "cat "+testFile+"; ls /run/slow-done"); got != "first/run/slow-done\n" {
				t.Errorf("what ran was not brought to its end: %q", got)
			}
			if got := second.On(t, "ls "+testFile+" 2>/dev/null || true"); got != "" {
				t.Error("a node was begun after the interrupt")
			}
			second.On(t, "touch /run/slow-done")
			w.must(w.apply(), 0)
			w.must(w.plan(), 0)
		})
	}
}

// until waits until a shell command succeeds on a node while Terraform works.
func (p *process) until(n lab.Node, what, command string) {
	p.t.Helper()
	p.t.Cleanup(func() {
		if p.t.Failed() {
			p.t.Logf("Terraform said:\n%s", p.output())
		}
	})
	until(p.t, n, what, command)
}

// until waits until a shell command succeeds on a node, for at most a minute and a half. It must hold no single quote.
func until(t *testing.T, n lab.Node, what, command string) {
	t.Helper()
	out, err := n.Command("timeout 90 sh -c 'until " + command + "; do sleep 0.1; done' 2>&1").CombinedOutput()
	if err != nil {
		t.Fatalf("%s: waited in vain: %s: %v\n%s", n.Name, what, err, out)
	}
}

// await polls until a condition holds, for at most a minute and a half.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	poll := time.NewTicker(500 * time.Millisecond)
	defer poll.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		<-poll.C
	}
}
