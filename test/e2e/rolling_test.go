package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// upgrade is a catalog with tasks in the phases of a window that come before the configuration.
const upgrade = `
entities:
  upgrade:
    attributes:
      to: {type: string, modifier: rw+}
    tasks:
    - name: boot
      tag: upgrade_boot
      config: {type: exec, title: boot, parameters: {command: "echo boot-${self.to} $(date +%s.%N) >>DIARY; touch /run/work-boot-${self.to}", creates: "/run/work-boot-${self.to}"}}
    - name: storage
      tag: storage_upgrade
      config: {type: exec, title: storage, parameters: {command: "echo storage-${self.to} $(date +%s.%N) >>DIARY; touch /run/work-storage-${self.to}", creates: "/run/work-storage-${self.to}"}}
`

// rollingSite is a site with one rolling group of all nodes. Lock, work and unlock, and the task of a plugin before and after them, write themselves
// into the diary: the lock before anything else of it, the unlock when it is over, so that what the diary shows as unlocked is. The work is done once
// for each content; it lasts as long as the file /run/slow is there.
func rollingSite(t *testing.T, site string, machines []lab.Node) *workspace {
	t.Helper()
	roles := make([][]string, len(machines))
	for i := range roles {
		roles[i] = []string{"any"}
	}
	w := pluginSite(t, config{site: site, nodes: machines, groups: fmt.Sprintf(`
resource "slipway_group" "rolling" {
  name      = "rolling"
  critical  = true
  selectors = []
  rolling = {
    max_parallel = 2
    lock         = "echo locked begun $(date +%%s.%%N) >>%[1]s && sleep 0.2"
    unlock       = "sleep 0.2 && ! test -e /run/stuck && echo locked ended $(date +%%s.%%N) >>%[1]s"

    lock_new_nodes = var.lock_new_nodes
    batches        = var.batches
    health_check   = var.health_check
    soak           = var.soak
  }
  success_criteria = var.success_criteria
}
variable "lock_new_nodes" { default = true }
variable "batches" { default = null }
variable "health_check" { default = null }
variable "soak" { default = null }
variable "success_criteria" { default = null }
`, diary), groupList: []string{"rolling"}, services: fmt.Sprintf(`
resource "slipway_service" "work" {
  name      = "work"
  selectors = []
  configuration = { exec = { work = {
    command = "echo work-${var.content} $(date +%%s.%%N) >>%[1]s; while test -e /run/slow; do sleep 0.1; done; ! test -e /run/broken && touch /run/work-${var.content}"
    creates = "/run/work-${var.content}"
    require = ["file[%[2]s]"]
  } } }
}
data "slipway_catalog" "upgrade" { documents = [file("${path.module}/upgrade.yaml")] }
resource "slipway_service" "upgrade" {
  name       = "upgrade"
  entity     = data.slipway_catalog.upgrade.entities.upgrade
  selectors  = []
  attributes = { to = var.content }
}
`, diary, testFile), more: []string{"upgrade", "work"}}, roles...)
	w.write("upgrade.yaml", strings.ReplaceAll(upgrade, "DIARY", diary))
	w.plugin("around", map[string]string{"tasks.yaml": strings.ReplaceAll(`
- {role: any, stage: pre_deployment, type: shell, parameters: {cmd: echo before $(date +%s.%N) >>DIARY, timeout: 60}}
- {role: any, stage: post_deployment, type: shell, parameters: {cmd: echo after $(date +%s.%N) >>DIARY, timeout: 60}}
`, "DIARY", diary)})
	w.set("plugins", []string{"around"})
	return w
}

// takeForRolling takes nodes for a test, sorted by name, and removes what rollingSite leaves on them.
func takeForRolling(t *testing.T, count int) []lab.Node {
	t.Helper()
	taken := takeForDiary(t, count)
	t.Cleanup(func() { onEach(t, taken, "rm -f /run/work-* /run/slow /run/broken /run/stuck /run/sick") })
	slices.SortFunc(taken, func(a, b lab.Node) int { return cmp.Compare(a.Name, b.Name) })
	return taken
}

// moment is one line of a diary.
type moment struct {
	node, what string // what: before, locked begun, work-first, locked ended, after
	at         float64
}

// momentsOf reads the diaries of nodes, in the order of time: their clocks are one.
func momentsOf(t *testing.T, machines ...lab.Node) []moment {
	t.Helper()
	var out []moment
	for i, told := range onEach(t, machines, "cat "+diary+" 2>/dev/null || true") {
		last := 0.0
		for line := range strings.Lines(told) {
			m := moment{node: machines[i].Name}
			i := strings.LastIndex(line, " ")
			if _, err := fmt.Sscan(line[i+1:], &m.at); err != nil || m.at < last {
				t.Fatalf("%s: the diary has %q after %f: %v", m.node, line, last, err)
			}
			m.what, last = line[:i], m.at
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	return out
}

// happened lists what happened on a node.
func happened(moments []moment, n lab.Node) []string {
	var out []string
	for _, m := range moments {
		if m.node == n.Name {
			out = append(out, m.what)
		}
	}
	return out
}

// assertLocked checks that never more than two nodes were locked at once, and that those given, and no others, stay locked. It returns how many
// nodes were locked at once, at most.
func assertLocked(t *testing.T, moments []moment, stay ...string) (most int) {
	t.Helper()
	locked := map[string]bool{}
	for _, m := range moments {
		switch m.what {
		case "locked begun":
			locked[m.node] = true
			if most = max(most, len(locked)); len(locked) > 2 {
				t.Errorf("more than two nodes are locked at %f: %v", m.at, locked)
			}
		case "locked ended":
			if !locked[m.node] {
				t.Errorf("%s is unlocked at %f and was not locked", m.node, m.at)
			}
			delete(locked, m.node)
		}
	}
	if left := slices.Sorted(maps.Keys(locked)); !slices.Equal(left, stay) {
		t.Errorf("in the end %v are locked, want %v", left, stay)
	}
	return most
}

// TestRolling rolls six nodes out, two at a time: the nodes' own clocks tell that never more than two were locked, each once, around its configuration
// and around nothing else.
func TestRolling(t *testing.T) {
	t.Parallel()
	six := takeForRolling(t, 6)
	w := rollingSite(t, "rolling", six)
	defer w.mustDestroy()
	w.must(w.plan(), 2, "pre_node: run shell around/1 on 6 nodes", "node phase, 2 nodes at a time between lock and unlock: 12 changes on 6 nodes", "upgrade_boot phase, 2 nodes at a time between lock and unlock: 6 changes on 6 nodes", "post_cluster: run shell around/2 on 6 nodes")
	w.must(w.apply(), 0)
	moments := momentsOf(t, six...)
	for _, n := range six {
		if got, want := happened(moments, n), []string{"before", "locked begun", "boot-first", "storage-first", "work-first", "locked ended", "after"}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", n.Name, got, want)
		}
	}
	if most := assertLocked(t, moments); most != 2 {
		t.Errorf("%d nodes were locked at once, want 2", most)
	}
	w.must(w.plan(), 0, "No changes")
	forgetDiaries(t, six)
	w.must(w.apply(), 0)
	if got := momentsOf(t, six...); len(got) > 0 {
		t.Errorf("without work: %v", got)
	}

	// A node whose work fails is unlocked too.
	six[2].On(t, "touch /run/broken")
	w.set("content", "second")
	w.must(w.apply(), 0, "Warning", six[2].Name+" (rolling): exec[work]")
	w.assertStatus("degraded", six[2].Name)
	moments = momentsOf(t, six...)
	for i, n := range six {
		want := []string{"before", "locked begun", "boot-second", "storage-second", "work-second", "locked ended"}
		if got := happened(moments, n); !slices.Equal(got[:min(len(want), len(got))], want) || i == 2 && len(got) > len(want) {
			t.Errorf("%s: %v, want %v", n.Name, got, want)
		}
	}
	assertLocked(t, moments)
	six[2].On(t, "rm /run/broken")
	w.must(w.apply(), 0)
	w.must(w.plan(), 0, "No changes")

	// A node that cannot be unlocked keeps its place: the others go one at a time. The next run unlocks it first.
	stuck := six[1]
	stuck.On(t, "touch /run/stuck")
	w.set("content", "third")
	forgetDiaries(t, six)
	w.must(w.apply(), 0, "Warning", stuck.Name+" (rolling): unlock: the command ended with status 1", "may still be locked")
	w.assertStatus("degraded", stuck.Name)
	assertLocked(t, momentsOf(t, six...), stuck.Name)
	stuck.On(t, "rm /run/stuck")
	w.must(w.plan(), 2, "pre_node: unlock 1 node ("+stuck.Name+"), left locked by an earlier run")
	w.must(w.apply(), 0)
	assertLocked(t, momentsOf(t, six...))
	w.must(w.plan(), 0, "No changes")
}

// TestBatches rolls four nodes out, one and then all. A canary that fails its health check is the only node that is
// touched; when it works, each batch is checked, soaks and is checked again before the next one starts.
func TestBatches(t *testing.T) {
	t.Parallel()
	four := takeForRolling(t, 4)
	w := rollingSite(t, "batches", four)
	defer w.mustDestroy()
	w.set("batches", []string{"1", "100%"})
	w.set("health_check", map[string]any{"command": "echo checked $(date +%s.%N) >>" + diary + "; ! test -e /run/sick", "retries": 1, "interval": "1s"})
	w.set("soak", "4s")
	four[0].On(t, "touch /run/sick")
	w.must(w.plan(), 2, "rolling (critical): batch 1 of 2: 1 node ("+four[0].Name+"), then health check", ", soak 4s, health check",
		"rolling (critical): batch 2 of 2: 3 nodes", "rolling (critical): each batch: node phase, 2 nodes at a time between lock and unlock")
	w.must(w.apply(), 1, "health check: the command ended with status 1 (run 2 of 2)", "3 nodes not deployed: batch 1 failed")
	moments := momentsOf(t, four...)
	work := []string{"before", "locked begun", "boot-first", "storage-first", "work-first", "locked ended", "checked", "checked"}
	for i, n := range four {
		if got, want := happened(moments, n), work[:len(work)*max(0, 1-i)]; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", n.Name, got, want)
		}
	}
	assertLocked(t, moments)

	four[0].On(t, "rm /run/sick")
	forgetDiaries(t, four)
	w.set("content", "second")
	w.must(w.apply(), 0)
	w.assertStatus("deployed")
	moments = momentsOf(t, four...)
	assertLocked(t, moments)
	soaked := map[string]float64{} // node -> its last check
	for i, n := range four {
		got := happened(moments, n)
		if want := strings.Split(strings.ReplaceAll(strings.Join(append(work, "after"), ","), "first", "second"), ","); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", n.Name, got, want)
		}
		var checks []float64
		for _, m := range moments {
			switch {
			case m.node == n.Name && m.what == "checked":
				checks = append(checks, m.at)
			case m.node == n.Name && m.what == "before" && i > 0 && m.at < soaked[four[0].Name]:
				t.Errorf("%s is worked on at %f, and the first batch was checked until %f", n.Name, m.at, soaked[four[0].Name])
			}
		}
		if len(checks) != 2 || checks[1]-checks[0] < 4 {
			t.Errorf("%s was checked at %f", n.Name, checks)
			continue
		}
		soaked[n.Name] = checks[1]
	}
	w.must(w.plan(), 0, "No changes")
}

// TestNewNodesAreSpared: with lock_new_nodes = false a node is locked when something is on it, and not before (litp.md 78).
func TestNewNodesAreSpared(t *testing.T) {
	t.Parallel()
	two := takeForRolling(t, 2)
	w := rollingSite(t, "spared", two)
	defer w.mustDestroy()
	w.set("lock_new_nodes", false)
	w.must(w.plan(), 2, "2 nodes at a time between lock and unlock, 2 new nodes ("+two[0].Name+", "+two[1].Name+") without")
	w.must(w.apply(), 0)
	for _, n := range two {
		if got, want := happened(momentsOf(t, n), n), []string{"before", "boot-first", "storage-first", "work-first", "after"}; !slices.Equal(got, want) {
			t.Errorf("new, %s: %v, want %v", n.Name, got, want)
		}
	}
	w.must(w.plan(), 0, "No changes")
	forgetDiaries(t, two)
	w.set("content", "second")
	w.must(w.apply(), 0)
	moments := momentsOf(t, two...)
	for _, n := range two {
		if got, want := happened(moments, n), []string{"before", "locked begun", "boot-second", "storage-second", "work-second", "locked ended", "after"}; !slices.Equal(got, want) {
			t.Errorf("known, %s: %v, want %v", n.Name, got, want)
		}
	}
	assertLocked(t, moments)
}

// TestLeftLocked kills a run, with Terraform and provider, while two nodes are locked and at work: one whose power is cut stays locked, the other one's
// own helper unlocks it. The next plan shows that, when the site was there before the run, and the next run unlocks the node before it locks any other.
func TestLeftLocked(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"first run": false, "later run": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := takeForRolling(t, 5)
			dark, alone := all[2], all[3]
			w := rollingSite(t, "leftlocked", all)
			defer w.mustDestroy()
			if known {
				w.set("content", "zero")
				w.must(w.apply(), 0)
				forgetDiaries(t, all)
				w.set("content", "first")
			}
			killed := w.killLocked(t, all, dark, alone)

			w.set("content", "second") // so that nodes before it in the order have work too
			shown := w.must(w.plan(), 2)
			if told := strings.Contains(unwrapped(shown.out), "pre_node: unlock 1 node ("+dark.Name+"), left locked by an earlier run"); told != known {
				t.Errorf("the plan tells of the node that is left locked: %v, want %v\n%s", told, known, shown.out)
			}
			w.applyWhenFree()
			w.assertStatus("deployed")
			moments := momentsOf(t, all...)
			assertLocked(t, moments)
			assertUnlockedFirst(t, moments[killed:], dark, all)
			w.must(w.plan(), 0, "No changes")
		})
	}
}

// killLocked applies, kills the run while two nodes are at work, cuts the power of the first of them, and returns how many moments the diaries have when it
// is back and the second is unlocked.
func (w *workspace) killLocked(t *testing.T, all []lab.Node, dark, alone lab.Node) int {
	t.Helper()
	dark.On(t, "touch /run/slow")
	alone.On(t, "touch /run/slow")
	p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
	p.until(dark, "its work begins", "grep -q work-first "+diary)
	p.until(alone, "its work begins", "grep -q work-first "+diary)
	dark.Fail(t, "off")
	p.signal(syscall.SIGKILL, -p.pid())
	p.wait()
	await(t, "no provider is left", func() bool { return len(w.processes(t)) == 0 })
	until(t, alone, "its own helper unlocks it", `grep -q "locked ended" `+diary)
	dark.Heal(t)
	alone.On(t, "rm /run/slow")
	moments := momentsOf(t, all...)
	for i, want := range [][]string{
		{"before", "locked begun", "boot-first", "storage-first", "work-first", "locked ended"}, {"before", "locked begun", "boot-first", "storage-first", "work-first", "locked ended"},
		{"before", "locked begun", "boot-first", "storage-first", "work-first"}, {"before", "locked begun", "boot-first", "storage-first", "work-first", "locked ended"}, {"before"},
	} {
		if got := happened(moments, all[i]); !slices.Equal(got, want) {
			t.Errorf("%s in the run that was killed: %v, want %v", all[i].Name, got, want)
		}
	}
	return len(moments)
}

// assertUnlockedFirst checks that a run unlocks a node before it locks any, and then works on each inside a window of its own.
func assertUnlockedFirst(t *testing.T, moments []moment, left lab.Node, all []lab.Node) {
	t.Helper()
	for _, m := range moments {
		if m.what == "locked begun" {
			t.Errorf("%s is locked before %s is unlocked: %v", m.node, left.Name, moments)
			return
		}
		if m.what == "locked ended" {
			break
		}
	}
	for _, n := range all {
		got, want := happened(moments, n), []string{"before", "locked begun", "boot-second", "storage-second", "work-second", "locked ended", "after"}
		if i := slices.Index(got, "locked ended"); n.Name == left.Name && i >= 0 {
			got = slices.Delete(got, i, i+1)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", n.Name, got, want)
		}
	}
}

// putBackSite is a site of one group that puts a batch that failed back. Each content has its file, its user, and its
// package; a service reads the file when it starts.
func putBackSite(t *testing.T, machines []lab.Node) *workspace {
	t.Helper()
	w := newWorkspace(t, config{site: "putback", nodes: machines, groups: `
resource "slipway_group" "rolling" {
  name      = "rolling"
  critical  = true
  selectors = []
  rolling = {
    max_parallel = 1
    lock         = "echo lock >>/run/locks; while test -e /run/hang && test $(wc -l </run/locks) -ge 2; do sleep 0.1; done"
    unlock       = "true"
    batches      = ["1"]
    health_check = { command = "! test -e /run/sick" }
    on_failure   = "rollback"
  }
}
`, groupList: []string{"rolling"}, more: []string{"canary"}, services: `
resource "slipway_service" "canary" {
  name      = "canary"
  selectors = []
  configuration = {
    file = {
      "/etc/canary" = { content = var.content, mode = "0640" }
      "/etc/systemd/system/canary.service" = { content = <<-EOT
        [Service]
        ExecStart=/bin/sh -c 'cat /etc/canary >/run/canary; exec sleep 1000000'
        EOT
      }
    }
    user    = { canary = { comment = var.content }, second = { ensure = var.content == "first" ? "absent" : "present" } }
    package = { tree = { ensure = var.content == "first" ? "absent" : "installed" } }
    service = { canary = { ensure = "running", require = ["file[/etc/systemd/system/canary.service]"], subscribe = ["file[/etc/canary]"] } }
  }
}
`}.hcl(t))
	t.Cleanup(func() { onEach(t, machines, "rm -f /run/locks /run/hang /run/sick /run/canary") })
	return w
}

// whatPutBackSiteMade shows what is on a node of the content of putBackSite.
const whatPutBackSiteMade = `echo $(cat /etc/canary /run/canary) $(stat -c %a /etc/canary) $(getent passwd canary | cut -d: -f5) $(id -u second 2>/dev/null || echo -) $(systemctl is-active canary) $(test -e /usr/bin/tree && echo tree || echo -)`

// TestBatchIsPutBack: a canary that fails its health check has again what it had before the run, but for its package,
// and the next plan has the work again; so it has when the run is killed before the canary was put back.
func TestBatchIsPutBack(t *testing.T) {
	t.Parallel()
	three := takeForRolling(t, 3)
	w := putBackSite(t, three)
	defer w.mustDestroy()
	w.must(w.apply(), 0)
	is := func(n lab.Node, want string) {
		t.Helper()
		if got := strings.TrimSpace(n.On(t, whatPutBackSiteMade)); got != want {
			t.Errorf("%s has %q, want %q", n.Name, got, want)
		}
	}
	is(three[0], "firstfirst 640 first - active -")
	canary := three[0]
	canary.On(t, "touch /run/sick; rm /run/locks")
	w.set("content", "second")
	work := []string{"rolling (critical): batch 1 of 2: 1 node (" + canary.Name + "), then health check", "puts back what it changed if it fails",
		"update file[/etc/canary] on 3"}
	w.must(w.plan(), 2, work...)
	w.must(w.apply(), 1, "health check: the command ended with status 1", "1 node put back to what was there before this run",
		"2 nodes not deployed: batch 1 failed", "not restored: package[tree]", "file[/etc/canary]", "user[canary]", "user[second]")
	w.assertStatus("failed", canary.Name)
	if locks := strings.Count(canary.On(t, "cat /run/locks"), "lock"); locks != 2 {
		t.Errorf("the canary was locked %d times, want 2", locks)
	}
	is(canary, "firstfirst 640 first - active tree")
	is(three[1], "firstfirst 640 first - active -")

	// The run is killed while it puts the canary back.
	w.must(w.plan(), 2, work...)
	canary.On(t, "rm /run/locks; touch /run/hang")
	p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
	p.until(canary, "it is about to be put back", "test $(wc -l </run/locks) -ge 2")
	p.signal(syscall.SIGKILL, -p.pid())
	p.wait()
	canary.On(t, "rm /run/hang /run/sick")
	w.applyWhenFree()
	for _, n := range three {
		is(n, "secondsecond 640 second "+strings.TrimSpace(n.On(t, "id -u second"))+" active tree")
	}
	w.must(w.plan(), 0, "No changes")
}
