package remote

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"
)

// TestASessionTakesTheNextManifest: one session does for manifests that come one after the other. Where the helper is
// not what it was, the session that waits has ended, or its helper failed, another session is started.
func TestASessionTakesTheNextManifest(t *testing.T) {
	n := newNode(t, sshtest.Options{})
	h := n.helpers(good)
	link := n.on(n.conn)
	works := func(sessions int) {
		t.Helper()
		results := 0
		_, err := n.limits.converge(t.Context(), link, n.connection, h, manifest(), func(converge.Result) { results++ })
		if err != nil || results != 1 {
			t.Fatalf("%d results, error %v", results, err)
		}
		if _, _, started := n.server.Sessions(); started != sessions {
			t.Fatalf("%d sessions, want %d", started, sessions)
		}
	}
	works(1)
	// A sign of life that the helper has not read, because it was about to end, is left to the bootstrap.
	if _, err := io.WriteString(link.waiting.session.Stdin(), "\n"); err != nil {
		t.Fatal(err)
	}
	works(1)
	file := filepath.Join(n.home, h.carried["linux/amd64"].file())
	if err := os.Chmod(file, 0o722); err != nil {
		t.Fatal(err)
	}
	works(2) // the helper is sent again
	works(2)
	if err := os.RemoveAll(n.home); err != nil { // as the last destroy does
		t.Fatal(err)
	}
	works(3)
	link.waiting.end(nil)
	_ = link.waiting.session.Wait()
	works(4)

	failing := n.helpers(`read -r manifest; echo '{"summary":{"protocol":1,"ledger":{},"error":{"code":"locked","message":"no"}}}'; exit 1`)
	other := n.on(n.conn)
	_, err := n.limits.converge(t.Context(), other, n.connection, failing, manifest(), func(converge.Result) {})
	refused(t, err, converge.CodeLocked, "no")
	if other.waiting != nil {
		t.Error("the session of a helper that failed waits")
	}
}
