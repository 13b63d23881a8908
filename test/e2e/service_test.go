package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// appCatalog is an application whose check fails for a release that the node's file /run/broken names. The check lasts as long as the file /run/slow is there.
const appCatalog = `
entities:
  app:
    identity: name
    attributes:
      name: string
      release: {type: string, modifier: rw+}
    tasks:
    - name: configuration
      config: {type: file, title: /etc/slipway-app, parameters: {mode: "0644", content: "release ${self.release}\n"}}
    - name: check
      requires: [{task: configuration}]
      config:
        type: exec
        title: check
        parameters: {command: "echo ${self.release} >>/run/checks; while test -e /run/slow; do sleep 0.1; done; ! grep -qx ${self.release} /run/broken"}
`

// appSite is a site with the service app on all nodes, in the release that the variable release has.
func appSite(t *testing.T, site string, machines []lab.Node, rollback bool) *workspace {
	t.Helper()
	w := newWorkspace(t, config{site: site, nodes: machines, more: []string{"app"}, services: fmt.Sprintf(`
variable "release" {
  type    = string
  default = "first"
}
data "slipway_catalog" "site" { documents = [file("${path.module}/catalog.yaml")] }
resource "slipway_service" "app" {
  name                = "app"
  selectors           = []
  entity              = data.slipway_catalog.site.entities.app
  attributes          = { name = "app", release = var.release }
  rollback_on_failure = %t
}
`, rollback)}.hcl(t))
	w.write("catalog.yaml", appCatalog)
	return w
}

// takeForApp takes nodes for a test, and removes what appCatalog uses on them.
func takeForApp(t *testing.T, count int) []lab.Node {
	t.Helper()
	taken := nodes.Take(t, count)
	t.Cleanup(func() { onEach(t, taken, "rm -f /run/slow /run/broken /run/checks") })
	return taken
}

// assertRelease checks which release the nodes have, and that it was the last one to be checked.
func assertRelease(t *testing.T, machines []lab.Node, release string) {
	t.Helper()
	for i, got := range onEach(t, machines, "cat /etc/slipway-app; tail -n 1 /run/checks") {
		if want := "release " + release + "\n" + release + "\n"; got != want {
			t.Errorf("%s has %q, want %q", machines[i].Name, got, want)
		}
	}
}

// serviceStatus is what a deployment tells of a service.
type serviceStatus struct {
	State   string
	Version int
}

// assertService checks what the state tells of the service app.
func (w *workspace) assertService(want serviceStatus) {
	w.t.Helper()
	if got := w.attributes().Services["app"]; got != want {
		w.t.Errorf("the service is %v, want %v", got, want)
	}
}

// TestServiceLife takes a service from its creation through an update, one that fails and is rolled back, and one after the journal was lost, to its
// deletion.
func TestServiceLife(t *testing.T) {
	t.Parallel()
	two := takeForApp(t, 2)
	before := fingerprints(t, two...)
	w := appSite(t, "servicelife", two, true)
	w.must(w.plan(), 2, "service app: create (version 2, creating)")
	w.must(w.apply(), 0)
	assertRelease(t, two, "first")
	w.assertService(serviceStatus{"up", 3})
	w.must(w.plan(), 0, "No changes")

	w.set("release", "second")
	w.must(w.plan(), 2, "service app: update release (version 5, up to update_inprogress)", "update file[/etc/slipway-app] on 2, run exec[check] on 2")
	w.must(w.apply(), 0)
	assertRelease(t, two, "second")
	w.assertService(serviceStatus{"up", 6})
	w.must(w.plan(), 0, "No changes")

	// The check fails on one node: both have the release before again.
	two[1].On(t, "echo third >/run/broken")
	w.set("release", "third")
	w.must(w.apply(), 1, `The update of the service "app" was rolled back`, "Version 8 failed: exec[check] on "+two[1].Name+": ", "What version 5 had is deployed again, as version 11")
	assertRelease(t, two, "second")
	w.assertService(serviceStatus{"up", 11})
	if told, err := w.companion("services", "diagnose", "app"); err != nil || !strings.Contains(string(told), two[1].Name+": exec[check]") {
		t.Errorf("diagnose: %v\n%s", err, told)
	}
	w.must(w.plan(), 2, "service app: update release (version 13, up to update_inprogress)")

	// The journal is lost.
	if err := os.RemoveAll(filepath.Join(w.dir, ".slipway")); err != nil {
		t.Fatal(err)
	}
	two[1].On(t, "rm /run/broken")
	w.must(w.apply(), 0)
	assertRelease(t, two, "third")
	w.assertService(serviceStatus{"up", 14})
	raw, err := w.companion("services", "list", "-o", "json")
	var listed []struct {
		Service, Entity, Identity, State string
		Version, Incarnation             int
	}
	if err != nil || json.Unmarshal(raw, &listed) != nil || len(listed) != 1 || fmt.Sprint(listed[0]) != "{app app app up 14 1}" {
		t.Errorf("the new journal lists %s, %v", raw, err)
	}

	// Without it, nothing of it is left.
	w.write("main.tf", config{site: "servicelife", nodes: two}.hcl(t))
	w.must(w.plan(), 2, "service app: delete")
	w.must(w.apply(), 0)
	onEach(t, two, "! test -e /etc/slipway-app; ! grep -e slipway-app -e check /var/lib/slipway/ledger.json")
	w.assertService(serviceStatus{})
	w.must(w.plan(), 0, "No changes")
	w.mustDestroy()
	onEach(t, two, "rm -f /run/checks")
	assertUntouched(t, before, two...)
}

// TestServiceKilled kills Terraform and the provider while a service is updated. The next plan finds the service where it was, and its apply brings the update to its
// end, or back to where it began.
func TestServiceKilled(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"finished": false, "rolled back": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			two := takeForApp(t, 2)
			w := appSite(t, "servicekilled", two, fails)
			defer w.mustDestroy()
			w.must(w.apply(), 0)
			w.set("release", "second")
			w.must(w.apply("-target=slipway_service.app"), 0) // so that the plan changes the deployment alone, and the state stays as the plan saw it
			w.must(w.plan("-out=before.tfplan"), 2)
			onEach(t, two, "touch /run/slow")
			p := w.begin("apply", "-input=false", "-no-color", "before.tfplan")
			for _, n := range two {
				p.until(n, "its check runs", "grep -q second /run/checks")
			}
			p.signal(syscall.SIGKILL, -p.pid())
			p.wait()
			await(t, "no provider is left", func() bool { return len(w.processes(t)) == 0 })
			w.assertService(serviceStatus{"up", 3})

			// Plans that do not know of it are refused.
			told := onEach(t, two, "cat /var/lib/slipway/ledger.json /run/checks")
			for _, args := range [][]string{{"before.tfplan"}, {"-refresh=false", "-auto-approve"}} {
				w.must(w.run(append([]string{"apply", "-input=false", "-no-color"}, args...)...), 1, `The service "app" changed since the plan`,
					`The plan saw version 3 of it, in the state "up"; it is at version 5, in the state "update_inprogress". Nothing was touched.`)
			}
			for i, now := range onEach(t, two, "cat /var/lib/slipway/ledger.json /run/checks") {
				if now != told[i] {
					t.Errorf("%s was touched: %s, was %s", two[i].Name, now, told[i])
				}
			}

			w.must(w.plan("-out=after.tfplan"), 2)
			var found attributes
			if err := json.Unmarshal(w.planned("after.tfplan").Before, &found); err != nil || found.Services["app"] != (serviceStatus{"update_inprogress", 5}) {
				t.Errorf("the next plan finds the service as %v, %v", found.Services["app"], err)
			}
			onEach(t, two, "rm /run/slow")
			if !fails {
				w.applyWhenFree()
				assertRelease(t, two, "second")
				w.assertService(serviceStatus{"up", 6})
				w.must(w.plan(), 0, "No changes")
				return
			}
			two[1].On(t, "echo second >/run/broken")
			var r result
			await(t, "the dead run's lease expires", func() bool {
				r = w.apply()
				return !strings.Contains(unwrapped(r.out), "Another run is at work")
			})
			w.must(r, 1, `The update of the service "app" was rolled back`, "Version 5 failed: exec[check] on "+two[1].Name+": ", "What version 2 had is deployed again, as version 8")
			assertRelease(t, two, "first")
			w.assertService(serviceStatus{"up", 8})
			w.must(w.plan(), 2, "service app: update release (version 10, up to update_inprogress)")
		})
	}
}

// TestModuleForTwoSites applies examples/two-sites on nodes of the lab.
func TestModuleForTwoSites(t *testing.T) {
	t.Parallel()
	three := nodes.Take(t, 3)
	before := fingerprints(t, three...)
	root := t.TempDir()
	for _, dir := range []string{"modules", "two-sites"} {
		if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(filepath.Join("../../examples", dir))); err != nil {
			t.Fatal(err)
		}
	}
	w := &workspace{t: t, dir: filepath.Join(root, "two-sites")}
	at := func(machines []lab.Node) map[string]any {
		out := map[string]any{}
		for _, n := range machines {
			out[n.Name] = map[string]string{"address": n.Address}
		}
		return out
	}
	w.write("lab_override.tf", fmt.Sprintf("provider \"slipway\" {\n  connection = %s\n}\nlocals {\n  nodes = %s\n}\n",
		asJSON(t, connection()), asJSON(t, map[string]any{"lon1": at(three[:2]), "par1": at(three[2:])})))
	w.init()
	w.must(w.apply(), 0, `"lon1" = "up"`, `"par1" = "up"`)
	for i, got := range onEach(t, three, "cat /etc/systemd/timesyncd.conf.d/site.conf") {
		want := "# lon1\n[Time]\nNTP=192.0.2.1 192.0.2.2\nPollIntervalMaxSec=2048\n"
		if i == 2 {
			want = "# par1\n[Time]\nNTP=198.51.100.1\nPollIntervalMaxSec=512\n"
		}
		if got != want {
			t.Errorf("%s has %q, want %q", three[i].Name, got, want)
		}
	}
	w.must(w.plan(), 0, "No changes")
	w.mustDestroy()
	assertUntouched(t, before, three...)
}
