package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The nodes of examples/lab and the lab nodes that play them.
var exampleNodes = map[string]string{
	"ntp01": "node1", "ctl1": "node2", "ctl2": "node3", "ctl3": "node4",
	"cmp11": "node5", "cmp12": "node6", "cmp21": "node7", "cmp22": "node8", "mon1": "node9",
}

// TestSeed001 is the life of the five-group site: rolled out, found in order, drifted, repaired, destroyed without a trace.
func TestSeed001(t *testing.T) {
	watched := []string{"ntp01", "ctl1", "cmp21", "mon1"}
	before := map[string][]string{}
	for _, n := range watched {
		before[n] = fingerprint(t, exampleNodes[n])
	}
	w := exampleWorkspace(t)
	w.must(w.apply(), 0, "Apply complete", "control-nodes")
	w.must(w.plan(), 0, "No changes")

	if got := nodes.On(t, "node9", "curl -s http://127.0.0.1:8080/status 2>/dev/null || wget -qO- http://127.0.0.1:8080/status 2>/dev/null || exec 3<>/dev/tcp/127.0.0.1/8080 && echo open"); got == "" {
		t.Error("nginx does not answer on mon1")
	}
	if got := nodes.On(t, "node7", "cat /etc/motd"); got != "This node belongs to lab and runs workloads.\n" {
		t.Errorf("the override did not reach cmp21: /etc/motd is %q", got)
	}
	if got := nodes.On(t, "node2", "cat /etc/motd; dpkg-query -W -f '${db:Status-Status}\n' chrony"); got != "This node belongs to lab.\ninstalled\n" {
		t.Errorf("ctl1: %q", got)
	}
	assertOrder(t, w)

	nodes.On(t, "node7", "echo hand-made >/etc/motd")
	w.must(w.plan("-out=drift.tfplan"), 2, "cmp21", "file[/etc/motd]")
	drift := plannedDrift(t, w, "drift.tfplan")
	if len(drift) != 1 || drift[0].Node != "cmp21" || drift[0].Resource != "file[/etc/motd]" {
		t.Errorf("drift is %+v, want exactly file[/etc/motd] on cmp21", drift)
	}
	w.must(w.apply(), 0, "1 changed")
	if got := nodes.On(t, "node7", "cat /etc/motd"); got != "This node belongs to lab and runs workloads.\n" {
		t.Errorf("after the repair /etc/motd is %q", got)
	}
	w.must(w.plan(), 0)

	w.must(w.destroy(), 0)
	for _, n := range watched {
		if diff := difference(before[n], fingerprint(t, exampleNodes[n])); len(diff) > 0 {
			t.Errorf("%s is not as it was:\n%s", n, strings.Join(diff, "\n"))
		}
	}
}

// assertOrder checks in the journal that no group started before the groups it depends on were done.
func assertOrder(t *testing.T, w *workspace) {
	t.Helper()
	done := map[string]int{}
	started := map[string]int{}
	for i, e := range w.events() {
		if e.Kind == "group_finished" {
			done[e.Group] = i
		}
		if _, seen := started[e.Group]; e.Kind == "task_started" && !seen {
			started[e.Group] = i
		}
	}
	for _, pair := range [][2]string{{"ntp-node", "control-nodes"}, {"control-nodes", "compute-nodes-1"}, {"control-nodes", "compute-nodes-2"}} {
		if done[pair[0]] == 0 || started[pair[1]] == 0 || done[pair[0]] > started[pair[1]] {
			t.Errorf("%s finished at event %d, %s started at event %d", pair[0], done[pair[0]], pair[1], started[pair[1]])
		}
	}
}

type event struct{ Kind, Group, Node, Resource, Status, Message string }

// events returns the events of the newest run, as the companion reads them.
func (w *workspace) events() []event {
	w.t.Helper()
	raw, err := w.companion("report", "--output", "json")
	if err != nil {
		w.t.Fatalf("report: %v\n%s", err, raw)
	}
	var report struct{ Events []event }
	if err := json.Unmarshal(raw, &report); err != nil {
		w.t.Fatal(err)
	}
	return report.Events
}

type driftItem struct{ Node, Resource, Change string }

// plannedDrift returns the drift that a saved plan is going to repair.
func plannedDrift(t *testing.T, w *workspace, file string) []driftItem {
	t.Helper()
	cmd := w.command("show", "-json", file)
	cmd.Stderr = nil
	raw, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var plan struct {
		ResourceChanges []struct {
			Type   string
			Change struct {
				Before struct{ Drift []driftItem }
			}
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal(raw, &plan); err != nil {
		t.Fatal(err)
	}
	for _, c := range plan.ResourceChanges {
		if c.Type == "slipway_deployment" {
			return c.Change.Before.Drift
		}
	}
	t.Fatal("the plan does not mention the deployment")
	return nil
}

// TestCutOff cuts machines off: a compute node costs a warning, the control group fails the apply, and both are work for the next one.
func TestCutOff(t *testing.T) {
	w := newWorkspace(t, siteOf("cut", `
resource "slipway_group" "control" {
  name             = "control"
  critical         = true
  selectors        = [{ node_names = ["node1", "node2"] }]
  success_criteria = { percent_successful_nodes = 100 }
}
resource "slipway_group" "compute" {
  name              = "compute"
  critical          = false
  depends_on_groups = ["control"]
  selectors         = [{ node_names = ["node3", "node4"] }]
  success_criteria  = { percent_successful_nodes = 50 }
}
`, "[slipway_group.control, slipway_group.compute]", 4))
	defer w.destroy()

	nodes.Must(t, "fail", "node4", "off")
	w.must(w.apply(), 0, "Warning", "node4")
	if got := w.attributes()["status"]; got != "degraded" {
		t.Errorf("status is %v", got)
	}
	nodes.Must(t, "heal", "node4")
	w.must(w.plan(), 2, "compute", "node4")
	w.must(w.apply(), 0)
	w.must(w.plan(), 0)

	// Nothing to do on an unreachable node: a warning, no drift, no work.
	nodes.Must(t, "fail", "node3", "link")
	r := w.must(w.plan(), 0, "could not be checked", "node3")
	if strings.Contains(r.out, "will be") {
		t.Errorf("the plan wants to change something:\n%s", r.out)
	}
	nodes.Must(t, "heal", "node3")

	w.write("content.auto.tfvars", `content = "second"`)
	nodes.Must(t, "fail", "node2", "hang")
	w.must(w.apply(), 1, "control", "node2", "The site was not rolled out")
	if got := w.attributes()["status"]; got != "failed" {
		t.Errorf("status is %v", got)
	}
	if got := nodes.On(t, "node3", "cat /etc/slipway-test"); got != "first" {
		t.Errorf("the compute group ran although control failed: %q", got)
	}
	nodes.Must(t, "heal", "node2")
	w.must(w.apply(), 0)
	if got := nodes.On(t, "node3", "cat /etc/slipway-test"); got != "second" {
		t.Errorf("node3 has %q", got)
	}
	w.must(w.plan(), 0)
}

// TestRemovedNodes takes nodes out of the configuration: one that answers is torn down, one that does not is forgotten with a warning.
func TestRemovedNodes(t *testing.T) {
	before := fingerprint(t, "node2")
	w := newWorkspace(t, siteOf("shrink", "", "null", 3))
	defer w.destroy()
	w.must(w.apply(), 0)
	w.write("count.auto.tfvars", "nodes = 1")
	w.must(w.plan(), 2, "tear down", "node2", "node3")
	nodes.Must(t, "fail", "node3", "off")
	w.must(w.apply(), 0, "node3")
	if diff := difference(before, fingerprint(t, "node2")); len(diff) > 0 {
		t.Errorf("node2 is not as it was:\n%s", strings.Join(diff, "\n"))
	}
	w.must(w.plan(), 0)
	nodes.Must(t, "wipe", "node3")
}

// TestKilledApply kills Terraform and the provider in the middle: the next apply goes on from the ledgers.
func TestKilledApply(t *testing.T) {
	w := newWorkspace(t, siteOf("killed", "", "null", 2)+`
resource "slipway_service" "slow" {
  name      = "slow"
  selectors = []
  configuration = { exec = { "/bin/sleep 4 && touch /var/tmp/slow-done" = { creates = "/var/tmp/slow-done", require = ["file[/etc/slipway-test]"] } } }
}
`)
	w.replace("services = [slipway_service.test]", "services = [slipway_service.test, slipway_service.slow]")
	defer w.destroy()
	cmd := w.command("apply", "-input=false", "-auto-approve")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the slow command starts on node1", func() bool {
		return strings.Contains(nodes.On(t, "node1", "pgrep -x sleep || true; cat /etc/slipway-test 2>/dev/null || true"), "first")
	})
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	await(t, "the commands of the dead session are ended", func() bool {
		return strings.TrimSpace(nodes.On(t, "node1", "pgrep -x sleep || true")) == ""
	})
	if got := strings.TrimSpace(nodes.On(t, "node1", "ls /var/tmp/slow-done 2>/dev/null || true")); got != "" {
		t.Error("the slow command ran to its end although its session was dead")
	}
	os.Remove(filepath.Join(w.dir, ".terraform.tfstate.lock.info")) //nolint:errcheck // there only if the kill left it
	await(t, "the dead run's lease expires and an apply succeeds", func() bool {
		r := w.apply()
		if r.status != 0 && !strings.Contains(unwrapped(r.out), "Another run is at work") {
			t.Fatalf("apply after the kill:\n%s", r.out)
		}
		return r.status == 0
	})
	w.must(w.plan(), 0)
	nodes.On(t, "node1", "rm -f /var/tmp/slow-done")
	nodes.On(t, "node2", "rm -f /var/tmp/slow-done")
}

// TestInterrupt stops an apply politely: what runs is ended, the state is honest, the next apply finishes.
func TestInterrupt(t *testing.T) {
	w := newWorkspace(t, siteOf("interrupt", `
resource "slipway_group" "all" {
  name      = "all"
  critical  = true
  selectors = []
  rolling   = { max_parallel = 1 }
}
`, "[slipway_group.all]", 3)+`
resource "slipway_service" "slow" {
  name      = "slow"
  selectors = []
  configuration = { exec = { "/bin/sleep 2 && touch /var/tmp/slow" = { creates = "/var/tmp/slow" } } }
}
`)
	w.replace("services = [slipway_service.test]", "services = [slipway_service.test, slipway_service.slow]")
	defer w.destroy()
	cmd := w.command("apply", "-input=false", "-no-color", "-auto-approve")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the slow command starts on node1", func() bool { return strings.TrimSpace(nodes.On(t, "node1", "pgrep -x sleep || true")) != "" })
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("an interrupted apply ended with status 0")
	}
	if got := nodes.On(t, "node3", "ls /etc/slipway-test 2>/dev/null || true"); got != "" {
		t.Error("a node was started after the interrupt")
	}
	if got := w.attributes()["status"]; got != "interrupted" {
		t.Errorf("status is %v", got)
	}
	w.must(w.apply(), 0)
	w.must(w.plan(), 0)
	for _, n := range []string{"node1", "node2", "node3"} {
		nodes.On(t, n, "rm -f /var/tmp/slow")
	}
}

// await polls until a condition holds, for at most a minute and a half.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	poll := time.NewTicker(200 * time.Millisecond)
	defer poll.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		<-poll.C
	}
}

// siteOf returns a site of n lab nodes with one file on each.
func siteOf(name, groups, groupList string, n int) string {
	return fmt.Sprintf(`
terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}
variable "nodes" {
  type    = number
  default = %d
}
variable "content" {
  type    = string
  default = "first"
}
provider "slipway" {
  connection = { user = "root", private_key_file = %q, known_hosts_file = %q, connect_timeout = "5s" }
}
resource "slipway_node" "this" {
  count   = var.nodes
  name    = "node${count.index + 1}"
  address = "10.231.1.${count.index + 1}"
}
%s
resource "slipway_service" "test" {
  name          = "test"
  selectors     = []
  configuration = { file = { "/etc/slipway-test" = { content = var.content, mode = "0644" } } }
}
resource "slipway_deployment" "this" {
  site     = %q
  nodes    = slipway_node.this
  groups   = %s
  services = [slipway_service.test]
}
`, n, nodes.State("id_ed25519"), nodes.State("known_hosts"), groups, name, groupList)
}
