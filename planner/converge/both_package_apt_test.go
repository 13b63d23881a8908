package converge

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

// aptNode is a node with apt whose database the test can change.
func aptNode(t *testing.T, database string, r *recorder) *types.Session {
	t.Helper()
	return wholeMachine(t, map[string]string{"/var/lib/dpkg/status": dpkgStanza + database, "/usr/bin/apt-get": "", "/usr/bin/dnf": ""}, r.run)
}

// nowInstalled returns an effect that rewrites the database.
func nowInstalled(t *testing.T, s **types.Session, database, auto string) func() {
	return func() {
		for path, text := range map[string]string{"/var/lib/dpkg/status": dpkgStanza + database, "/var/lib/apt/extended_states": auto} {
			file := filepath.Join((*s).Root, path)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
}
