package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// puppetSite is a site of one node with the configuration resources that a test gives.
func puppetSite(t *testing.T, n lab.Node, configuration string) string {
	t.Helper()
	return config{site: "puppet", nodes: []lab.Node{n}, more: []string{"puppet"}, services: fmt.Sprintf(`
resource "slipway_service" "puppet" {
  name          = "puppet"
  selectors     = []
  configuration = {%s}
}
`, configuration)}.hcl(t)
}

// expect compares what commands print on a node with what they are to print.
func expect(t *testing.T, n lab.Node, commands ...[2]string) {
	t.Helper()
	for _, c := range commands {
		if got := strings.TrimSpace(n.On(t, c[0])); got != c[1] {
			t.Errorf("%s: %q, want %q", c[0], got, c[1])
		}
	}
}

// TestServiceWithCommands runs a daemon that systemd does not know by its own commands: it is started, restarted when a file
// changes, found and started again when it was killed, and stopped by the destroy.
func TestServiceWithCommands(t *testing.T) {
	t.Parallel()
	n := nodes.Take(t, 1)[0]
	before := fingerprints(t, n)
	w := newWorkspace(t, puppetSite(t, n, `
    file = { "/etc/slipway-daemon" = { content = "${var.content}\n" } }
    service = {
      daemon = {
        provider = "base", ensure = true, subscribe = ["file[/etc/slipway-daemon]"]
        start  = "read seconds </etc/slipway-daemon; setsid sleep $seconds >/dev/null 2>&1 </dev/null &"
        stop   = ["pkill", "-f", "^sleep 27[12][.]25"]
        status = ["pgrep", "-f", "^sleep 27[12][.]25"]
      }
    }`))
	running := [2]string{"pgrep -af '^sleep 27[12][.]25' | cut -d' ' -f2-", "sleep 271.25"}
	w.set("content", "271.25")
	w.must(w.apply(), 0)
	expect(t, n, running)
	w.must(w.plan(), 0, "No changes")
	n.On(t, "pkill -f '^sleep 271[.]25'")
	w.must(w.apply(), 0)
	expect(t, n, running)
	w.set("content", "272.25")
	w.must(w.apply(), 0)
	running[1] = "sleep 272.25"
	expect(t, n, running)
	w.mustDestroy()
	running[1] = ""
	expect(t, n, running)
	assertUntouched(t, before, n)
}

// TestPackagesOfLanguages installs packages of pip and gem beside those of apt, with options, in a version and in another one, holds one of
// apt, and takes all away.
func TestPackagesOfLanguages(t *testing.T) {
	t.Parallel()
	n := nodes.Take(t, 1)[0]
	t.Cleanup(func() { n.Wipe(t) })
	const tools = `
    package = {
      python3-pip = { install_options = ["--no-install-recommends"] }
      ruby        = { install_options = ["--no-install-recommends"] }
      tree        = { mark = %q }
      %s
    }`
	site := func(mark, more string) string { return puppetSite(t, n, fmt.Sprintf(tools, mark, more)) }
	w := newWorkspace(t, site("hold", ""))
	w.must(w.apply(), 0)
	expect(t, n, [2]string{"apt-mark showhold", "tree"}, [2]string{"dpkg -s build-essential >/dev/null 2>&1 || echo not there", "not there"})
	n.On(t, `mkdir -p /srv/wheels /srv/gems/gems && cd /srv/gems && for v in 1.0 2.0; do
echo "Gem::Specification.new { |s| s.name = 'slipgem'; s.version = '$v'; s.summary = 'x'; s.authors = ['x']; s.files = [] }" >s.gemspec
gem build -o gems/slipgem-$v.gem s.gemspec >/dev/null 2>&1
done && gem generate_index >/dev/null && python3 - <<'END'
import zipfile
for v in ("1.0", "2.0"):
    with zipfile.ZipFile("/srv/wheels/slip_py-%s-py3-none-any.whl" % v, "w") as z:
        info = "slip_py-%s.dist-info/" % v
        z.writestr("slip_py.py", "version = '%s'\n" % v)
        z.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: slip-py\nVersion: %s\n" % v)
        z.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: slipway\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(info + "RECORD", "slip_py.py,,\n%sMETADATA,,\n%sWHEEL,,\n%sRECORD,,\n" % (info, info, info))
END`)
	languages := func(version string) string {
		return fmt.Sprintf(`
      slipgem = { ensure = %[1]q, provider = "gem", require = ["package[ruby]"], install_options = ["--clear-sources", "--source", "file:///srv/gems"] }
      "the library" = { name = "Slip_Py", ensure = %[1]q, provider = "pip", install_options = ["--no-index", "--find-links", "/srv/wheels", "--break-system-packages"] }`, version)
	}
	pip, gem := [2]string{"pip3 list --format=freeze | grep slip", "slip-py==1.0"}, [2]string{"gem list slipgem | grep slip", "slipgem (1.0)"}
	w.write("main.tf", site("none", languages("1.0")))
	w.must(w.apply(), 0)
	expect(t, n, [2]string{"apt-mark showhold", ""}, pip, gem)
	w.must(w.plan(), 0, "No changes")
	n.On(t, "pip3 uninstall -y -q --break-system-packages slip-py 2>&1")
	w.write("main.tf", site("none", languages("2.0")))
	w.must(w.apply(), 0)
	expect(t, n, [2]string{pip[0], "slip-py==2.0"}, [2]string{gem[0], "slipgem (2.0, 1.0)"}) // of a gem, several versions may be there
	w.write("main.tf", site("hold", ""))
	w.must(w.apply(), 0)
	expect(t, n, [2]string{"apt-mark showhold", "tree"}, [2]string{"pip3 list --format=freeze | grep slip; gem list | grep slip; echo end", "end"})
	w.mustDestroy()
	expect(t, n, [2]string{"apt-mark showhold; ls /usr/bin/pip3 /usr/bin/gem /usr/bin/tree 2>/dev/null; echo end", "end"})
}

// TestPurgedDirectory empties a directory of what nobody manages, again after a file was put there by hand, leaves what is mounted in it and what
// a link leads to, and brings all back with the destroy.
func TestPurgedDirectory(t *testing.T) {
	t.Parallel()
	n := nodes.Take(t, 1)[0]
	n.On(t, `mkdir -p /etc/slip.d/sub/deep /etc/slip.d/mounted /srv/slip-elsewhere && cd /etc/slip.d && echo theirs >theirs && chmod 640 theirs && chown games: theirs &&
echo deep >sub/deep/file && chmod 700 sub/deep && echo local >x.local && ln -s /srv/slip-elsewhere link && echo elsewhere >/srv/slip-elsewhere/file &&
mount --bind /srv/slip-elsewhere mounted`)
	t.Cleanup(func() { n.On(t, "umount /etc/slip.d/mounted; rm -r /etc/slip.d /srv/slip-elsewhere") })
	before := fingerprints(t, n)
	w := newWorkspace(t, puppetSite(t, n, `
    file = {
      "/etc/slip.d"      = { ensure = "directory", recurse = true, purge = true, force = true, ignore = "*.local" }
      "/etc/slip.d/ours" = { source = ["/etc/slip-nowhere", "/etc/hostname"] }
    }
    ini_setting = { one = { path = "/etc/slip.d/ini", section = "a", setting = "b", value = "c" } }`))
	w.must(w.apply(), 0)
	content := [2]string{"cd /etc/slip.d; echo *; cat mounted/file", "ini mounted ours x.local\nelsewhere"}
	expect(t, n, content)
	w.must(w.plan(), 0, "No changes")
	n.On(t, "mkdir /etc/slip.d/by-hand; touch /etc/slip.d/by-hand/x")
	w.must(w.plan(), 2, "purge is by-hand, by-hand/x, should be absent")
	w.must(w.apply(), 0)
	expect(t, n, content)
	w.mustDestroy()
	n.On(t, "rm -r /etc/slip.d/by-hand") // it came back, too
	assertUntouched(t, before, n)
}

// TestAccountsAsInPuppet gives a group members and accounts an end, finds changes by hand, and takes all back.
func TestAccountsAsInPuppet(t *testing.T) {
	t.Parallel()
	n := nodes.Take(t, 1)[0]
	n.On(t, "groupadd slipteam && useradd -G slipteam slipann && useradd slipbob && chage -M 200 slipann")
	t.Cleanup(func() { n.On(t, "userdel slipann; userdel slipbob; groupdel slipteam 2>/dev/null; true") })
	before := fingerprints(t, n)
	site := func(group string) string {
		return puppetSite(t, n, fmt.Sprintf(`
    group = { slipteam = { %s } }
    user  = {
      slipann = { expiry = "2031-12-31", password_max_age = "90", password_min_age = 1, password_warn_days = 14 }
      slipeve = { password_max_age = 30 }
    }`, group))
	}
	w := newWorkspace(t, site(`members = ["slipbob", "slipeve"], auth_membership = true`))
	w.must(w.apply(), 0)
	state := [][2]string{
		{"getent group slipteam | cut -d: -f4", "slipbob,slipeve"}, {"getent shadow slipann | cut -d: -f4-6,8", "1:90:14:22644"},
		{"getent shadow slipeve | cut -d: -f5", "30"},
	}
	expect(t, n, state...)
	w.must(w.plan(), 0, "No changes")
	n.On(t, "gpasswd -a slipann slipteam >/dev/null; chage -E -1 -M 99999 slipann")
	w.must(w.plan(), 2, "members is slipann,slipbob,slipeve, should be slipbob,slipeve", "expiry is absent, should be 2031-12-31")
	w.must(w.apply(), 0)
	expect(t, n, state...)
	w.write("main.tf", site(`members = ["slipbob"]`))
	w.must(w.apply(), 0)
	expect(t, n, [2]string{"getent group slipteam | cut -d: -f4", "slipann,slipbob"})
	w.must(w.plan(), 0, "No changes")
	w.mustDestroy()
	assertUntouched(t, before, n)
}
