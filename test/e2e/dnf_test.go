package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// dnfNode takes a node and makes it one whose packages dnf manages, for the time of the test. test/lab/kind-dnf has the
// packages.
func dnfNode(t *testing.T) lab.Node {
	t.Helper()
	n := nodes.Take(t, 1)[0]
	n.Become(t, "dnf")
	return n
}

// dnfSite is a site with the given configuration besides the file of every test.
func dnfSite(t *testing.T, n lab.Node, configuration string) string {
	t.Helper()
	return config{site: "dnf", nodes: []lab.Node{n}, more: []string{"packages"}, services: `
resource "slipway_service" "packages" {
  name          = "packages"
  selectors     = []
  configuration = {` + configuration + `}
}
`}.hcl(t)
}

// installed lists what rpm has of the lab's packages, with their versions.
func installed(t *testing.T, n lab.Node) string {
	t.Helper()
	return strings.Join(strings.Fields(n.On(t, "rpm -qa --queryformat '%{NAME}-%{VERSION} ' | tr ' ' '\\n' | grep -v -e lab-release -e gpg-pubkey | sort")), " ")
}

// TestPackagesOfDnf manages packages with dnf from creation to undo: a version, install options, a dependency, a unit,
// an upgrade, drift, what its index does not have yet, and one package of several that fails.
func TestPackagesOfDnf(t *testing.T) {
	t.Parallel()
	n := dnfNode(t)
	before := fingerprints(t, n)
	const daemon = `
    service = { lab-daemon = { ensure = "running", enable = true, require = ["package[lab-daemon]"] } }`
	site := func(packages string) string {
		return dnfSite(t, n, "\n    package = {\n      lab-daemon = {}\n"+packages+"\n    }"+daemon)
	}
	const lean = `, install_options = ["--setopt=install_weak_deps=False"] }`
	w := newWorkspace(t, site(`      lab-tool = { ensure = "1.0"`+lean))
	w.must(w.apply(), 0)
	w.must(w.plan(), 0, "No changes")
	if got := installed(t, n); got != "lab-daemon-1.0 lab-lib-3.0 lab-tool-1.0" {
		t.Errorf("installed: %s", got)
	}
	if got := n.On(t, "lab-tool; systemctl is-active lab-daemon; systemctl is-enabled lab-daemon"); got != "1.0\nactive\nenabled\n" {
		t.Errorf("tool and daemon: %q", got)
	}

	w.write("main.tf", site(`      lab-tool = { ensure = "latest"`+lean))
	w.must(w.plan(), 2, "package[lab-tool]")
	w.must(w.apply(), 0)
	w.must(w.plan(), 0, "No changes")
	if got := installed(t, n); got != "lab-daemon-1.0 lab-lib-3.0 lab-tool-2.0" {
		t.Errorf("installed after the upgrade: %s", got)
	}

	n.On(t, "dnf -y -q downgrade lab-tool-1.0; dnf -y -q remove lab-daemon")
	w.must(w.plan("-out=drift.tfplan"), 2)
	assertDrift(t, w, "drift.tfplan", n.Name+" package[lab-daemon]", n.Name+" package[lab-tool]", n.Name+" service[lab-daemon]")
	w.must(w.run("apply", "-input=false", "-no-color", "drift.tfplan"), 0)
	w.must(w.plan(), 0, "No changes")
	n.On(t, "lab-tool | grep -qx 2.0 && systemctl is-active lab-daemon")

	t.Log("an older version")
	w.write("main.tf", site(`      lab-tool = { ensure = "1.0-1"`+lean))
	w.must(w.apply(), 0)
	n.On(t, "lab-tool | grep -qx 1.0")

	t.Log("a version that came to the repository since dnf looked")
	const index = "rm -rf /srv/rpm/lab/repodata && createrepo_c -q /srv/rpm/lab"
	n.On(t, "cp -a /srv/rpm/lab/repodata /srv/repodata && mv /srv/rpm/lab/lab-tool-2.0* /srv && "+index+" && dnf -q makecache --refresh && mv /srv/lab-tool* /srv/rpm/lab && "+index)
	w.write("main.tf", site(`      lab-tool = { ensure = "2.0"`+lean))
	w.must(w.apply(), 0)
	n.On(t, "lab-tool | grep -qx 2.0")

	t.Log("of three packages in one call, one fails and one does not exist")
	w.write("main.tf", site(`      lab-tool = { ensure = "2.0"`+lean+`
      lab-extra = {}
      lab-broken = {}
      lab-nothing = {}`))
	w.must(w.apply(), 1, `package "lab-broken": dnf ended with status 1: Error in PREIN scriptlet in rpm package lab-broken`,
		`package "lab-nothing": dnf ended with status 1: Unable to find a match: lab-nothing`)
	if got := installed(t, n); got != "lab-daemon-1.0 lab-extra-1.0 lab-lib-3.0 lab-tool-2.0" {
		t.Errorf("installed beside what failed: %s", got)
	}
	w.must(w.destroy(), 0)
	n.On(t, "rm -r /srv/rpm/lab/repodata && mv /srv/repodata /srv/rpm/lab")
	assertUntouched(t, before, n)
}

// TestRepositoryOfDnf installs a signed package from a repository with its key: without the key, and with that of
// another, dnf refuses it.
func TestRepositoryOfDnf(t *testing.T) {
	t.Parallel()
	n := dnfNode(t)
	n.On(t, "rm -rf /tmp/other && mkdir -m 700 /tmp/other && export GNUPGHOME=/tmp/other && gpg --batch --quiet --passphrase '' --quick-generate-key other rsa2048 sign never && "+
		"gpg --batch --armor --export >/srv/other-key; gpgconf --kill all; rm -r /tmp/other")
	key, other := n.On(t, "cat /srv/rpm/signed/RPM-GPG-KEY"), n.On(t, "cat /srv/other-key")
	before := fingerprints(t, n)
	site := func(key string) string {
		return dnfSite(t, n, `
    yum_repository = { signed = { baseurl = "file:///srv/rpm/signed", gpgcheck = true`+key+` } }
    package        = { lab-signed = {} }
`)
	}
	w := newWorkspace(t, site(""))
	w.must(w.apply(), 1, `package "lab-signed": dnf ended with status 1: packages must be signed, and there is no key for the repository [signed]`)
	w.write("main.tf", site(fmt.Sprintf(", key = %q", other)))
	w.must(w.apply(), 1, `package "lab-signed": dnf ended with status 1: `, "GPG")
	w.write("main.tf", site(fmt.Sprintf(", key = %q", key)))
	w.must(w.apply(), 0)
	w.must(w.plan(), 0, "No changes")
	if got := installed(t, n); got != "lab-signed-1.0" {
		t.Errorf("installed: %s", got)
	}
	n.On(t, "echo enabled=0 >>/etc/yum.repos.d/signed.repo")
	w.must(w.plan("-out=drift.tfplan"), 2)
	assertDrift(t, w, "drift.tfplan", n.Name+" yum_repository[signed]")
	w.must(w.apply(), 0)
	w.must(w.destroy(), 0)
	n.On(t, "rpm -e --allmatches gpg-pubkey") // what dnf imported stays
	assertUntouched(t, before, n)
}

// TestDnfIsCutOff kills dnf and the helper while packages are installed, and again while they are upgraded: the next
// apply completes what dnf began.
func TestDnfIsCutOff(t *testing.T) {
	t.Parallel()
	n := dnfNode(t)
	before := fingerprints(t, n)
	site := func(version string) string {
		return dnfSite(t, n, fmt.Sprintf(`
    package = { lab-tool = { ensure = %q }, lab-daemon = {} }
`, version))
	}
	w := newWorkspace(t, site("1.0"))
	for _, version := range []string{"1.0", "2.0"} {
		w.write("main.tf", site(version))
		n.On(t, "touch /run/lab-wait")
		p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
		p.until(n, "dnf runs the script of the package", "pgrep -f /var/tmp/[r]pm-tmp")
		n.On(t, "pkill -KILL -f /var/lib/slipway/[h]elper-; pkill -KILL -f /usr/bin/[d]nf; pkill -KILL -f /var/tmp/[r]pm-tmp; rm /run/lab-wait")
		w.must(p.wait(), 1)
		w.must(w.plan(), 2)
		w.must(w.apply(), 0)
		w.must(w.plan(), 0, "No changes")
		if got, want := installed(t, n), "lab-daemon-1.0 lab-extra-1.0 lab-lib-3.0 lab-tool-"+version; got != want {
			t.Errorf("installed: %s, want %s", got, want)
		}
	}
	w.must(w.destroy(), 0)
	n.On(t, "rm -f /var/tmp/rpm-tmp.* /tmp/tmp*") // what rpm and dnf left when they were killed
	assertUntouched(t, before, n)
}
