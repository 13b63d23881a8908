package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge/remote"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"

	"golang.org/x/crypto/ssh"
)

// evil sets the title of the terminal that shows it, and turns the direction of its text.
const evil = "\x1b]0;owned\a\u009b\u202e"

// evilKey is the key of a server under an algorithm of another name.
type evilKey struct{ ssh.Signer }

func (k evilKey) PublicKey() ssh.PublicKey { return evilName{k.Signer.PublicKey()} }

type evilName struct{ ssh.PublicKey }

func (evilName) Type() string { return "ssh-" + evil }

// hostile is one place in which a node, or a server on the way to it, can say something.
type hostile struct {
	server  sshtest.Options
	reach   func(*testing.T, *sshtest.Server, *site.Node) // changes the way to the node
	refuses bool                                          // sessions
	uname   string                                        // what the node prints for it
	helper  string                                        // what it does in place of the helper
}

// What a hostile node or server says in a run, wherever it can, does nothing to the terminal that shows the run's
// report, its journal or its errors.
func TestHostileServers(t *testing.T) {
	for name, h := range map[string]hostile{
		"host key algorithms": {server: sshtest.Options{HostKeys: []ssh.Signer{evilKey{sshtest.NewKey(t)}}},
			reach: func(t *testing.T, _ *sshtest.Server, n *site.Node) {
				n.Connection.KnownHosts, n.Connection.HostKeyPolicy, n.Connection.KnownHostsFile = nil, "accept-new", filepath.Join(t.TempDir(), "known_hosts")
			}},
		"banner of a refused account": {server: sshtest.Options{Denied: evil}},
		"banner before refused keys": {server: sshtest.Options{Banner: evil},
			reach: func(t *testing.T, _ *sshtest.Server, n *site.Node) {
				_, n.Connection.PrivateKey = sshtest.NewPrivateKey(t, "")
			}},
		"refused channel": {server: sshtest.Options{Evil: evil}, refuses: true},
		"refused by a bastion": {server: sshtest.Options{Evil: evil},
			reach: func(_ *testing.T, s *sshtest.Server, n *site.Node) {
				n.Connection.Bastions, n.Connection.Port = []site.Bastion{s.Bastion()}, 1
			}},
		"name of a signal": {server: sshtest.Options{Evil: evil}, helper: "read -r x x x p x </proc/$PPID/stat; kill -KILL $p"},
		"platform":         {uname: evil},
		"id of a result": {helper: `read -r c; case "$c" in *'"title"'*) echo '{"result":{"id":"file[` +
			escaped(evil) + `]","status":"changed"}}';; esac; echo '{"summary":{"protocol":1,"ledger":{}}}'`},
		"what is no result": {helper: `read -r c; printf '%s\n' '` + evil + `'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			report := h.run(t, dir)
			if !strings.Contains(report, "owned") {
				t.Errorf("the report does not say it:\n%s", report)
			}
			legible(t, "the report", report)
			for _, args := range [][]string{{"report", "r1"}, {"report", "r1", "-o", "json"}, {"report", "r1", "-o", "markdown"},
				{"report", "r1", "-o", "html"}, {"report", "r1", "-o", "junit"}, {"watch", "r1"}} {
				out, err := run(t, append(args, "--journal-directory", dir)...)
				if err != nil {
					t.Error(err)
				}
				legible(t, strings.Join(args, " "), out)
			}
			raw, err := os.ReadFile(filepath.Join(dir, "lon1.db"))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(raw), evil) {
				t.Error("it is in the journal as it came")
			}
		})
	}
}

// escaped returns a text as JSON has it within quotes.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

// legible fails the test when a text could act on a terminal.
func legible(t *testing.T, what, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\u202e') {
			t.Errorf("%s has %U:\n%q", what, r, text)
			return
		}
	}
	for _, r := range evil { // as JSON has them; what was quoted has two backslashes there
		if code := escaped(string(r)); !unicode.IsPrint(r) && strings.HasPrefix(text, "{") &&
			strings.Contains(strings.ReplaceAll(text, `\\`, ""), code) {
			t.Errorf("%s has %s:\n%s", what, code, text)
		}
	}
}

// run works on the node once, with a journal in dir, and returns the report and what was wrong.
func (h hostile) run(t *testing.T, dir string) string {
	bin := t.TempDir()
	programs := map[string]string{"id": "echo 0"} // the commands take themselves for root's, whoever runs the tests
	if h.uname != "" {
		programs["uname"] = "printf '%s' '" + h.uname + "'"
	}
	for program, text := range programs {
		if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	o := h.server
	o.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	server := sshtest.Start(t, o)
	if h.refuses {
		server.RefuseSessions(1 << 30)
	}
	host, _ := server.Host()
	n := site.Node{Name: "web1", Address: host, Connection: server.Connection()}
	if h.reach != nil {
		h.reach(t, server, &n)
	}

	group := strategy.Default()[0].Name
	file := resource.Resource{Type: "file", Title: "/etc/a", Parameters: resource.Parameters{"content": "x\n"}}
	p := &planner.Plan{Site: "lon1", Digest: "d1",
		Groups: []planner.Group{{Name: group, Members: []string{n.Name}, Owned: []string{n.Name}}},
		Phases: []planner.Phase{
			{TaskGroup: task.Node, Group: group,
				Tasks: []task.Task{{Node: n.Name, Group: task.Node, Action: task.Create,
					Resource: file, Digest: resource.Digest(file)}}},
		}}
	store, err := journal.Open(t.Context(), filepath.Join(dir, "lon1.db"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := store.Start(t.Context(), journal.Run{ID: "r1", Site: "lon1", Operation: "create"})
	if err != nil {
		t.Fatal(err)
	}
	e := rollout.NewInProcess()
	e.Helpers = func() (remote.Helpers, error) {
		data, sum := sshtest.Gzip(t, "#!/bin/sh\n"+h.helper+"\n")
		script := remote.Helper{Compressed: data, Sum: sum}
		return remote.NewHelpers(map[string]remote.Helper{"linux/amd64": script, "linux/arm64": script}).In(t.TempDir()), nil
	}
	report, err := rollout.Run(t.Context(), site.Site{Name: "lon1", Nodes: []site.Node{n}}, p,
		rollout.Options{Executor: e, Recorder: w, RunID: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	text := report.String() + fmt.Sprintf("\n%v\n%s", report.Nodes[n.Name].Error, report.Nodes[n.Name].Reason())
	if err := w.Finish(t.Context(), string(report.Status), text); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return text
}
