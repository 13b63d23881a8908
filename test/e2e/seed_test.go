package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// The nodes of examples/lab.
var exampleNodes = []string{"ntp01", "ctl1", "ctl2", "ctl3", "cmp11", "cmp12", "cmp21", "cmp22", "mon1"}

// TestSeed001 is the life of the five-group site: rolled out although a compute node is cut off, found in order, drifted, repaired although the
// control group fails at first, destroyed without a trace.
func TestSeed001(t *testing.T) {
	t.Parallel()
	machines := nodes.Take(t, len(exampleNodes))
	play := map[string]lab.Node{}
	for i, name := range exampleNodes {
		play[name] = machines[i]
	}
	before := fingerprints(t, machines...)
	w := exampleWorkspace(t, play)

	play["cmp12"].Fail(t, "link")
	w.must(w.apply(), 0, "Apply complete", "Warning: The site was rolled out in part", "cmp12")
	w.assertStatus("degraded", "cmp12")
	assertOrder(t, w)
	w.must(w.plan(), 2, "cmp12")
	play["cmp12"].Heal(t)
	w.must(w.apply(), 0, "1 changed")
	w.assertStatus("deployed")
	if got := w.changed(); !slices.Equal(nodesOf(got), []string{"cmp12"}) {
		t.Errorf("the second apply changed %v, want cmp12 only", got)
	}
	w.must(w.plan(), 0, "No changes")
	for name, n := range play {
		assertRolledOut(t, name, n)
	}

	play["cmp21"].On(t, "echo hand-made >/etc/motd")
	w.must(w.plan("-out=one.tfplan"), 2, "cmp21", "file[/etc/motd]")
	assertDrift(t, w, "one.tfplan", "cmp21 file[/etc/motd]")
	play["ctl1"].On(t, "systemctl disable -q chrony")
	w.must(w.plan("-out=two.tfplan"), 2)
	assertDrift(t, w, "two.tfplan", "cmp21 file[/etc/motd]", "ctl1 service[chrony]")
	play["ctl1"].Fail(t, "hang")
	w.must(w.run("apply", "-input=false", "-no-color", "two.tfplan"), 1, "control-nodes", "ctl1", "The site was not rolled out")
	w.assertStatus("failed", "ctl1")
	if got := play["cmp21"].On(t, "cat /etc/motd"); got != "hand-made\n" {
		t.Errorf("a compute node was repaired although the control group failed: %q", got)
	}
	play["ctl1"].Heal(t)
	w.must(w.apply(), 0, "1 changed")
	if got := w.changed(); !slices.Equal(got, []string{"cmp21 file[/etc/motd]", "ctl1 service[chrony]"}) {
		t.Errorf("the repair changed %v", got)
	}
	w.must(w.plan(), 0, "No changes")
	for _, name := range []string{"cmp21", "ctl1"} {
		assertRolledOut(t, name, play[name])
	}

	w.must(w.destroy(), 0, "Destroy complete")
	play["mon1"].On(t, "rm -r /var/www") // nginx's package makes it when it is installed, and purging leaves it
	assertUntouched(t, before, machines...)
}

// assertRolledOut looks at a node of the five groups itself.
func assertRolledOut(t *testing.T, name string, n lab.Node) {
	t.Helper()
	motd := "This node belongs to lab.\n"
	if strings.HasPrefix(name, "cmp") {
		motd = "This node belongs to lab and runs workloads.\n"
	}
	want := motd + "server 192.0.2.1 iburst\ndriftfile /var/lib/chrony/drift\n192.0.2.1 time\ninstalled\nenabled\n"
	look := `cat /etc/motd /etc/chrony/chrony.conf; grep -w time /etc/hosts | tr -s '\t' ' '; dpkg-query -W -f '${db:Status-Status}\n' chrony; systemctl is-enabled chrony`
	if name == "mon1" {
		want += "interval = 30\ntargets = 9\nactive\nenabled\nmonitored"
		look += `; grep = /etc/scrape.ini; systemctl is-active nginx; systemctl is-enabled nginx
			exec 3<>/dev/tcp/127.0.0.1/8080; printf 'GET /status HTTP/1.0\r\n\r\n' >&3; sed '1,/^\r$/d' <&3`
	}
	if got := n.On(t, look); got != want {
		t.Errorf("%s has\n%s\nwant\n%s", name, got, want)
	}
}

// assertOrder checks in the journal that no group started before the groups it depends on were done.
func assertOrder(t *testing.T, w *workspace) {
	t.Helper()
	done, started := map[string]int{}, map[string]int{}
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
