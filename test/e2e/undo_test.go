package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// waitScript is for a script that runs as part of a package transaction: it reports its process id in the file waitReached, and waits.
const (
	waitReached = "/run/slipway-test-reached"
	waitScript  = "echo $$ >" + waitReached + "; while :; do sleep 0.1; done"
)

// nginxSite is a site with nginx-light, which brings other packages along, on one node.
func nginxSite(t *testing.T, site string, n lab.Node) *workspace {
	t.Helper()
	t.Cleanup(func() { n.On(t, "rm -f "+waitReached) })
	return newWorkspace(t, config{site: site, nodes: []lab.Node{n}, more: []string{"nginx"}, services: `
resource "slipway_service" "nginx" {
  name          = "nginx"
  selectors     = []
  configuration = { package = { "nginx-light" = {} } }
}
`}.hcl(t))
}

// killAtWait kills Terraform and its provider once the waiting script runs on the node, and there the package transaction, which would otherwise
// finish.
func (p *process) killAtWait(n lab.Node) {
	p.t.Helper()
	p.until(n, "the script of the package waits", "[ -s "+waitReached+" ]")
	p.signal(syscall.SIGKILL, -p.pid())
	p.wait()
	n.On(p.t, "pkill -KILL -s $(ps -o sid= -p $(cat "+waitReached+")); rm "+waitReached)
	until(p.t, n, "no package transaction runs", "! pgrep -x apt-get && ! pgrep -x dpkg")
}

// TestInterruptedDestroyLeavesNoPackage cuts a destroy while dpkg purges a package that came along with another one. By then apt has forgotten
// why that package was there.
func TestInterruptedDestroyLeavesNoPackage(t *testing.T) {
	t.Parallel()
	n := nodes.Take(t, 1)[0]
	before := fingerprints(t, n)
	w := nginxSite(t, "cutdestroy", n)
	w.must(w.apply(), 0)
	n.On(t, `sed -i "2i [ \"\$1\" != purge ] || { `+strings.ReplaceAll(waitScript, "$", `\$`)+`; }" /var/lib/dpkg/info/nginx-common.postrm`)
	p := w.begin("destroy", "-input=false", "-no-color", "-auto-approve")
	p.killAtWait(n)
	n.On(t, "sed -i 2d /var/lib/dpkg/info/nginx-common.postrm")
	if left := n.On(t, "dpkg-query -W -f '${binary:Package} ${Status}\n' 'nginx*'"); !strings.Contains(left, "nginx-common purge ok config-files") {
		t.Fatalf("the destroy was not cut while nginx-common was purged:\n%s", left)
	}
	await(t, "the dead run's lease expires and a destroy succeeds", func() bool { return w.destroy().status == 0 })
	n.On(t, "rm -r /var/www") // nginx's package makes it when it is installed, and purging leaves it
	assertUntouched(t, before, n)
}

// TestInterruptedInstallIsCompleted cuts an apply when the package that it asks for is configured, and one that came along is not.
func TestInterruptedInstallIsCompleted(t *testing.T) {
	t.Parallel()
	n := nodes.Take(t, 1)[0]
	before := fingerprints(t, n)
	w := nginxSite(t, "cutinstall", n)
	// The last thing that the transaction does is that nginx, triggered by its modules, reloads its service.
	const policy = "/usr/sbin/policy-rc.d"
	n.On(t, `printf '#!/bin/sh\n[ "$2" != reload ] || { `+waitScript+`; }\n' >`+policy+"; chmod 755 "+policy)
	p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
	p.killAtWait(n)
	n.On(t, "rm "+policy)
	if audit := n.On(t, "dpkg --audit; dpkg-query -W -f '${Status}' nginx-light"); !strings.Contains(audit, "install ok installed") ||
		!strings.Contains(audit, "nginx ") {
		t.Fatalf("the apply was not cut while nginx was half configured:\n%s", audit)
	}
	w.applyWhenFree()
	if audit := n.On(t, "dpkg --audit"); audit != "" {
		t.Errorf("the apply after the interruption succeeded, and dpkg says:\n%s", audit)
	}
	w.must(w.plan(), 0)
	w.mustDestroy()
	n.On(t, "rm -r /var/www")
	assertUntouched(t, before, n)
}

// TestInterruptedInstallOfTwoPackages cuts an apply when one apt call has unpacked two packages with all that they depend on, and
// configured none. One of the two leaves the configuration before the next apply, which removes it with what only it brought,
// and completes the other. A destroy then leaves the node as it was.
func TestInterruptedInstallOfTwoPackages(t *testing.T) {
	t.Parallel()
	configured := func(t *testing.T, n lab.Node, packages string) string {
		t.Helper()
		return config{site: "cuttwo", nodes: []lab.Node{n}, more: []string{"two"}, services: `
resource "slipway_service" "two" {
  name          = "two"
  selectors     = []
  configuration = { package = { for p in [` + packages + `] : p => { ensure = "installed" } } }
}
`}.hcl(t)
	}
	for dropped, kept := range map[string]string{"jq": "nginx-light", "nginx-light": "jq"} {
		t.Run("without "+dropped, func(t *testing.T) {
			t.Parallel()
			n := nodes.Take(t, 1)[0]
			before := fingerprints(t, n)
			t.Cleanup(func() { n.On(t, "rm -f "+waitReached) })
			const hook, script = "/etc/dpkg/dpkg.cfg.d/slipway-test", "/run/slipway-test-wait"
			n.On(t, `printf '#!/bin/sh\n[ "$DPKG_HOOK_ACTION" != unpack ] || { `+waitScript+`; }\n' >`+script+"; chmod 755 "+script+
				"; echo post-invoke="+script+" >"+hook)
			w := newWorkspace(t, configured(t, n, `"jq", "nginx-light"`))
			p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
			p.killAtWait(n)
			n.On(t, "rm -r "+hook+" "+script+" /tmp/apt-dpkg-install-*") // apt's own, left by the kill
			const look = "dpkg-query -W -f '${binary:Package} ${Status}\n' jq libjq1 libonig5 nginx-light nginx 2>/dev/null || true"
			if cut := n.On(t, look); !strings.Contains(cut, "jq install ok unpacked") || !strings.Contains(cut, "nginx-light install ok unpacked") {
				t.Fatalf("the apply was not cut while both packages were unpacked:\n%s", cut)
			}
			w.write("main.tf", configured(t, n, fmt.Sprintf("%q", kept)))
			w.applyWhenFree()
			w.must(w.apply(), 0) // a node that answers a creation late has what was dropped in the next plan
			left := n.On(t, "dpkg --audit; "+look)
			if !strings.Contains(left, kept+" install ok installed") || strings.Contains(left, dropped+" install") ||
				dropped == "jq" == strings.Contains(left, "libonig5") || dropped == "nginx-light" == strings.Contains(left, "nginx ") {
				t.Errorf("%s left the configuration after the interruption, and after an apply there is\n%s", dropped, left)
			}
			w.must(w.plan(), 0)
			w.mustDestroy()
			n.On(t, "rm -rf /var/www") // nginx's package makes it when it is installed, and purging leaves it
			assertUntouched(t, before, n)
		})
	}
}

// TestPowerLossDuringAPurgeLeavesNoPackage switches a node off while dpkg removes a package, by when apt has forgotten why the
// other one came along. A destroy completes the purge, and an apply installs both again.
func TestPowerLossDuringAPurgeLeavesNoPackage(t *testing.T) {
	t.Parallel()
	n := nodes.Take(t, 1)[0]
	before := fingerprints(t, n)
	t.Cleanup(func() { n.On(t, "rm -f "+waitReached) })
	w := newWorkspace(t, config{site: "poweroff", nodes: []lab.Node{n}, more: []string{"rsync"}, services: `
resource "slipway_service" "rsync" {
  name          = "rsync"
  selectors     = []
  configuration = { package = { rsync = {} } }
}
`}.hcl(t))
	cutAt := func(script string) {
		t.Helper()
		w.must(w.apply(), 0)
		file := "/var/lib/dpkg/info/rsync." + script
		n.On(t, `sed -i "2i [ \"\$1\" != remove ] || { `+strings.ReplaceAll(waitScript, "$", `\$`)+`; }" `+file)
		p := w.begin("destroy", "-input=false", "-no-color", "-auto-approve")
		p.until(n, "the script of the package waits", "[ -s "+waitReached+" ]")
		p.signal(syscall.SIGKILL, -p.pid())
		p.wait()
		n.Fail(t, "off")
		n.Heal(t)
		n.On(t, "rm -f "+waitReached+"; [ ! -e "+file+" ] || sed -i 2d "+file)
		left := n.On(t, "dpkg-query -W -f '${binary:Package} ${Status}\n' rsync libpopt0")
		if !strings.Contains(left, "rsync deinstall ok half-") || !strings.Contains(left, "libpopt0:amd64 purge ok installed") {
			t.Fatalf("the destroy was not cut while rsync was removed:\n%s", left)
		}
	}
	for _, script := range []string{"prerm", "postrm"} {
		cutAt(script)
		await(t, "the dead run's lease expires and a destroy succeeds", func() bool { return w.destroy().status == 0 })
		assertUntouched(t, before, n)
		cutAt(script)
		w.applyWhenFree()
		w.must(w.plan(), 0)
		if is := n.On(t, "dpkg --audit; dpkg-query -W -f '${Status};' rsync libpopt0; apt-mark showauto libpopt0"); is !=
			"install ok installed;install ok installed;libpopt0\n" {
			t.Errorf("after %s and an apply: %s", script, is)
		}
		w.mustDestroy()
		assertUntouched(t, before, n)
	}
}
