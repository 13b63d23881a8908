package e2e

import (
	"crypto/sha512"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// TestFrugal counts what a node sees of a run (execution.md 2.1 and 2.2): one connection, at most one session for each phase and one more, and
// the helper only once.
func TestFrugal(t *testing.T) {
	t.Parallel()
	n := nodes.Take(t, 1)[0]
	n.On(t, "echo LogLevel VERBOSE >/etc/ssh/sshd_config.d/verbose.conf && systemctl restart ssh") // so that it tells of sessions
	defer n.On(t, "rm /etc/ssh/sshd_config.d/verbose.conf && systemctl restart ssh")
	w := newWorkspace(t, config{site: "frugal", nodes: []lab.Node{n}}.hcl(t))
	defer w.mustDestroy()

	log := &sshLog{node: n, own: map[string]bool{}}
	// traffic returns how many connections and sessions there are while Terraform runs.
	traffic := func(run func() result, status int) (connections, sessions int) {
		t.Helper()
		formerConnections, formerSessions := log.count(t)
		w.must(run(), status)
		connections, sessions = log.count(t)
		return connections - formerConnections, sessions - formerSessions
	}
	check := func(what string, connections, sessions, wantConnections, mostSessions int) {
		t.Helper()
		if connections != wantConnections || sessions < 1 || sessions > mostSessions {
			t.Errorf("%s: %d connections and %d sessions, want %d and at most %d:\n%s", what, connections, sessions, wantConnections, mostSessions, log.text)
		}
	}
	helper := func() string { return n.On(t, "stat -c '%n %i %y' /var/lib/slipway/helper-*") }

	connections, sessions := traffic(func() result { return w.apply() }, 0)
	check("first apply", connections, sessions, 1, w.phases()+1)
	sent := helper()
	connections, sessions = traffic(func() result { return w.plan("-out=again.tfplan") }, 0)
	check("plan", connections, sessions, 1, 1)
	w.set("content", "second")
	connections, sessions = traffic(func() result { return w.plan("-out=again.tfplan") }, 2)
	check("plan", connections, sessions, 1, 1)
	connections, sessions = traffic(func() result { return w.run("apply", "-input=false", "again.tfplan") }, 0)
	check("second apply", connections, sessions, 1, w.phases()+1)
	if now := helper(); now != sent {
		t.Errorf("the helper was sent again: %s, then %s", sent, now)
	}
	connections, sessions = traffic(w.destroy, 0)
	check("destroy, with the look before", connections, sessions, 2, 2)
	if got := n.On(t, "ls -d /var/lib/slipway 2>/dev/null || true"); got != "" {
		t.Errorf("%s is left", got)
	}
}

// sshLog is what a node's sshd tells of its connections.
type sshLog struct {
	node lab.Node
	own  map[string]bool // the ports of the looks at the log, which do not count
	text string          // all of it, at the last look
}

var (
	sshAccepted = regexp.MustCompile(`(?m)^Accepted publickey for .* port (\d+) `)
	sshSession  = regexp.MustCompile(`(?m)^Starting session: .* port (\d+) id`)
	sshOpen     = regexp.MustCompile(`(?m)^(?:ESTAB|CLOSE-WAIT) .*:(\d+)\s*$`)
)

// count returns how many connections and sessions others than the looks at the log had since sshd started. It waits until
// those connections have ended: ss shows them, as sshd has a different last line for each way in which one ends. Lines are
// found by the name of the program: on a busy machine, not all of them have the unit.
func (l *sshLog) count(t *testing.T) (connections, sessions int) {
	t.Helper()
	for tries := 0; ; tries++ {
		port, text, _ := strings.Cut(l.node.On(t, `echo "$SSH_CONNECTION" | cut -d " " -f 2 &&
ss -Htn state established state close-wait "( sport = :22 )" && journalctl -q --sync && journalctl -t sshd -o cat`), "\n")
		l.own[port] = true
		l.text = text[max(0, strings.LastIndex(text, "Server listening on")):]
		open := l.ports(sshOpen, text)
		if len(open) == 0 {
			return len(l.ports(sshAccepted, l.text)), len(l.ports(sshSession, l.text))
		}
		if tries == 100 {
			t.Fatalf("connections from the ports %v do not end:\n%s", open, l.text)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// ports returns the port of each line that matches, without those of the looks.
func (l *sshLog) ports(line *regexp.Regexp, text string) []string {
	var ports []string
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		if !l.own[m[1]] {
			ports = append(ports, m[1])
		}
	}
	return ports
}

// phases counts the phases of the newest run in which there was something to do.
func (w *workspace) phases() int {
	w.t.Helper()
	seen := map[int]bool{}
	for _, e := range w.events() {
		if e.Kind == "task_started" {
			seen[e.Phase] = true
		}
	}
	return len(seen)
}

// TestSecretsStayOnTheWire looks for secrets where others could read them while a run is at work (execution.md 2.5): arguments and environments of
// all processes, on the node and here; logs; the ledger; the journal; what Terraform prints.
func TestSecretsStayOnTheWire(t *testing.T) {
	t.Parallel()
	n := nodes.Take(t, 1)[0]
	before := fingerprints(t, n)
	const pattern = "tell-nobody-" // the secrets begin with it
	n.On(t, "mv /etc/sudoers.d/slipway /var/tmp/kept && echo 'slipway ALL=(ALL) ALL' >/etc/sudoers.d/asks && chmod 440 /etc/sudoers.d/asks && cp -p /etc/shadow /var/tmp/shadow && echo slipway:"+pattern+"sudo | chpasswd")
	w := newWorkspace(t, config{site: "secret", nodes: []lab.Node{n}, services: `
variable "secret" {
  type      = string
  sensitive = true
}
resource "slipway_service" "secret" {
  name      = "secret"
  selectors = []
  configuration = {
    file        = { "/etc/secret" = { content = "${var.secret}file", mode = "0600", sensitive = true } }
    file_line    = { secret = { path = "/etc/secret.line", line = { template = "password=$${secrets.line}" } } }
    user         = { secret = { password = { secret = "hash" } } }
    systemd_unit = { "secret.service" = { content = { template = "[Service]\nEnvironment=P=$${secrets.line}\nExecStart=/bin/true\n" } } }
    ini_setting = { secret = { path = "/etc/secret.ini", setting = "password", value = "${var.secret}ini", sensitive = true } }
    exec = {
      slow   = { command = "` + slow + `; true", unless = "test -e /run/slow-done", require = ["file[/etc/secret]", "ini_setting[secret]", "user[secret]", "file_line[secret]", "exec[secret]"] }
      secret = { command = "printf %s \"$PW\" | sha512sum >/run/secret.sum; echo \"$PW\"", environment = [{ template = "PW=$${secrets.line}" }] }
    }
  }
}
`, more: []string{"secret"}, extra: `
  secrets_wo      = { line = "${var.secret}line", hash = "!${var.secret}hash" }
  secrets_version = 1
`}.hcl(t))
	c := connection()
	c["user"], c["sudo"], c["sudo_password"] = "slipway", true, pattern+"sudo"
	w.set("connection", c)
	w.set("secret", pattern)
	p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
	p.untilSlow(n)
	// The pattern is put together by the shell, or the search would find itself.
	found := n.On(t, `p=tell-nobody; grep -laF -e "$p-" /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null || true`)
	for _, link := range w.processes(t) {
		for _, file := range []string{"cmdline", "environ"} {
			raw, err := os.ReadFile(filepath.Join(filepath.Dir(link), file))
			if err == nil && strings.Contains(string(raw), pattern) { // a process that has ended meanwhile has none
				found += link + " " + file + "\n"
			}
		}
	}
	if found != "" {
		t.Errorf("secrets are in arguments or environments: %s", found)
	}
	finish(t, n)
	r := w.must(p.wait(), 0)
	n.On(t, "touch /run/slow-done")
	got := n.On(t, "cat /etc/secret /etc/secret.ini /etc/secret.line /etc/systemd/system/secret.service /run/secret.sum; getent shadow secret")
	for _, want := range []string{pattern + "file", pattern + "ini", "password=" + pattern + "line", "P=" + pattern + "line",
		fmt.Sprintf("%x", sha512.Sum512([]byte(pattern+"line"))), "secret:!" + pattern + "hash:"} {
		if !strings.Contains(got, want) {
			t.Errorf("the secrets did not arrive: no %q in %q", want, got)
		}
	}
	found = n.On(t, `p=tell-nobody; grep -rlaF -e "$p-" /var/lib/slipway /var/log /run/log /tmp /var/tmp 2>/dev/null || true; journalctl -o cat | grep -F -e "$p-" || true`)
	if found != "" {
		t.Errorf("secrets are kept on the node: %s", found)
	}
	w.must(w.plan(), 0)
	n.On(t, "echo changed >/etc/secret && sed -i s/ini/changed/ /etc/secret.ini && : >/etc/secret.line && usermod -p '!other' secret && sed -i s/P=/Q=/ /etc/systemd/system/secret.service")
	drift := w.must(w.plan(), 2, "file[/etc/secret]", "ini_setting[secret]", "file_line[secret]", "user[secret]", "systemd_unit[secret.service]")
	for what, text := range map[string]string{"apply": r.out, "drift": drift.out, "journal": w.journal(t)} {
		if strings.Contains(text, pattern) {
			t.Errorf("the %s shows a secret", what)
		}
	}
	state, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
	if err != nil || strings.Contains(string(state), pattern+"line") || strings.Contains(string(state), pattern+"hash") {
		t.Errorf("the state has a secret (%v)", err)
	}
	n.On(t, "touch /run/slow-done")
	w.mustDestroy()
	n.On(t, "rm /run/slow-done /run/secret.sum /etc/sudoers.d/asks && mv /var/tmp/kept /etc/sudoers.d/slipway && mv /var/tmp/shadow /etc/shadow")
	assertUntouched(t, before, n)
}

// journal returns all bytes of the site's journal.
func (w *workspace) journal(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(w.dir, ".slipway", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("journal: %v %v", files, err)
	}
	var all strings.Builder
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(raw)
	}
	return all.String()
}
