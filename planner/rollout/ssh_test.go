package rollout_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"
)

// obedient stands for the helper: it says that it changed the files of the catalog.
const obedient = `#!/bin/sh
read -r catalog
for f in /etc/a /etc/b /etc/c; do
	case "$catalog" in *"\"title\":\"$f\""*) echo "{\"result\":{\"id\":\"file[$f]\",\"status\":\"changed\"}}";; esac
done
echo '{"summary":{"protocol":1,"ledger":{"file[/etc/a]":"d"}}}'
`

// A run over SSH opens one connection per node, and one session, which takes the preparation and all phases.
func TestSSHConnectionsAndSessions(t *testing.T) {
	bin := t.TempDir() // whose id(1) lets the commands take themselves for root's, whoever runs the tests
	if err := os.WriteFile(filepath.Join(bin, "id"), []byte("#!/bin/sh\necho 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := site.Site{Name: "lon1"}
	servers := map[string]*sshtest.Server{}
	for _, name := range []string{"a", "b", "c"} {
		server := sshtest.Start(t, sshtest.Options{Env: []string{"PATH=" + bin + ":" + os.Getenv("PATH")}})
		host, _ := server.Host()
		servers[name] = server
		s.Nodes = append(s.Nodes, site.Node{Name: name, Address: host, Connection: server.Connection()})
	}
	p, err := plan(s, nil, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	e := rollout.WithHelpers(rollout.Script(t, t.TempDir(), obedient))
	r, err := rollout.Run(t.Context(), s, p, rollout.Options{Executor: e, Recorder: &diary{}, RunID: "r1"})
	if err != nil || r.Status != rollout.StatusSucceeded {
		t.Fatalf("error %v\n%s", err, r)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	for name, server := range servers {
		_, most, started := server.Sessions()
		if server.Accepted() != 1 || started != 1 || most != 1 {
			t.Errorf("node %s: %d connections, %d sessions, %d at once; want 1 each", name, server.Accepted(), started, most)
		}
		if n := r.Nodes[name]; n.Changed != 3 || n.Ledger["file[/etc/a]"] != "d" {
			t.Errorf("node %s: %d changed, ledger %v", name, n.Changed, n.Ledger)
		}
	}
}

// dropper is a recorder that drops the connections of a server once the preparation is recorded.
type dropper struct {
	diary
	drop func()
}

func (d *dropper) Record(ctx context.Context, events ...journal.Event) error {
	for _, e := range events {
		if e.Kind == journal.PhaseFinished && d.drop != nil {
			d.drop()
			d.drop = nil
		}
	}
	return d.diary.Record(ctx, events...)
}

// A session that is lost before it started anything is tried again.
func TestLostBeforeTheStart(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "id"), []byte("#!/bin/sh\necho 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	server := sshtest.Start(t, sshtest.Options{Env: []string{"PATH=" + bin + ":" + os.Getenv("PATH")}})
	host, _ := server.Host()
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a", Address: host, Connection: server.Connection()}}}
	p, err := plan(s, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	e := rollout.WithHelpers(rollout.Script(t, t.TempDir(), obedient))
	diary := &dropper{drop: server.Drop}
	r, err := rollout.Run(t.Context(), s, p, rollout.Options{Executor: e, Recorder: diary, RunID: "r1"})
	if err := errors.Join(err, e.Close()); err != nil || r.Status != rollout.StatusSucceeded {
		t.Fatalf("error %v\n%s", err, r)
	}
	if n := r.Nodes["a"]; n.Changed != 2 || n.Error != nil || server.Accepted() != 2 {
		t.Errorf("%d changed, error %v, %d connections; want 2, none, 2", n.Changed, n.Error, server.Accepted())
	}
}
