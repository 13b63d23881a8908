package temporal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// TestErrorsOfWhatAWorkerHasNameIt: keys and files of known hosts are those of the worker that connects.
func TestErrorsOfWhatAWorkerHasNameIt(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	executor := rollout.NewInProcess()
	defer func() { _ = executor.Close() }()
	node := site.Node{Name: "a", Address: "127.0.0.1", Connection: site.Connection{User: "root", PrivateKeyFile: "/x/nokey",
		HostKeyPolicy: "accept-new", KnownHostsFile: filepath.Join(t.TempDir(), "known")}}
	failed := convergeRequest{Node: node}.converge(t.Context(), "", executor).Err.Err()
	want := "/x/nokey: cannot be read: no such file or directory (on the host " + host + " of the worker)"
	if failed == nil || !strings.Contains(failed.Error(), want) {
		t.Errorf("no %q in: %v", want, failed)
	}
	var connection *transport.Error
	if !errors.As(failed, &connection) || connection.Kind != transport.Key ||
		!strings.HasSuffix(connection.Message.String(), want) {
		t.Errorf("the connection's error: %+v", connection)
	}
}
