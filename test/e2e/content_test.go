package e2e

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// helperMemory prints the most memory that each helper on a node has used, in KiB.
const helperMemory = `for p in /proc/[0-9]*; do
	case $(readlink $p/exe) in */slipway/helper-*) sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' $p/status;; esac
done 2>/dev/null; true`

// TestFilesOfTheController sends a file of 100 MiB, a directory and an archive over SSH. The helper holds no file in memory as a
// whole, the state has none of it, and all of it goes with the site.
func TestFilesOfTheController(t *testing.T) {
	t.Parallel()
	n := nodes.Take(t, 1)[0]
	before := fingerprints(t, n)
	w := newWorkspace(t, fmt.Sprintf(`
terraform {
  required_providers { slipway = { source = "slipway/slipway" } }
}
provider "slipway" {
  connection = %s
}
resource "slipway_service" "app" {
  name      = "app"
  selectors = []
  configuration = { file = {
    "/opt/app.bin" = {
      source_file   = "${path.module}/app.bin"
      source_sha256 = filesha256("${path.module}/app.bin")
      mode          = "0755"
    }
    "/srv/site" = { source_dir = "${path.module}/site", owner = "www-data", purge = true, ignore = ["*.bak"] }
  }
  archive = { app = {
    source_file   = "${path.module}/app.tar"
    source_sha256 = filesha256("${path.module}/app.tar")
    extract       = true
    extract_path  = "/opt/app"
  } } }
}
resource "slipway_deployment" "this" {
  site     = "content"
  nodes    = [{ name = "web1", address = %q }]
  services = [slipway_service.app]
}
`, asJSON(t, connection()), n.Address))
	sum := w.random("app.bin", 1)
	for i := range 50 {
		w.put(fmt.Sprintf("site/d%d/f%d", i%5, i), fmt.Sprintf("file %d\n", i))
	}
	w.put("site/left.bak", "left out")
	w.archive("app.tar", "version", "1\n")

	w.must(w.plan(), 2, "file[/opt/app.bin]", "file[/srv/site/d0/f0]", "archive[app]")
	applying := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
	ended := make(chan result, 1)
	go func() { ended <- applying.wait() }()
	most := 0
	for done := false; !done; {
		select {
		case r := <-ended:
			w.must(r, 0)
			done = true
		default:
			for line := range strings.Lines(n.On(t, helperMemory)) {
				kib, err := strconv.Atoi(strings.TrimSpace(line))
				if err != nil {
					t.Fatal(err)
				}
				most = max(most, kib)
			}
		}
	}
	t.Logf("the helper used at most %d MiB", most>>10)
	if most == 0 || most > 64<<10 {
		t.Errorf("the helper used at most %d KiB, want less than 64 MiB, and to have seen it", most)
	}
	if got := n.On(t, "sha256sum </opt/app.bin; stat -c %a /opt/app.bin; find /srv/site -type f | wc -l; stat -c %U /srv/site/d0/f0; cat /opt/app/version"); got != sum+"  -\n755\n50\nwww-data\n1\n" {
		t.Errorf("the node has %q", got)
	}
	state, err := os.Stat(filepath.Join(w.dir, "terraform.tfstate"))
	if err != nil || state.Size() > 1<<20 {
		t.Errorf("the state has %d bytes (%v)", state.Size(), err)
	}
	w.must(w.plan(), 0, "No changes")

	t.Log("drift, a directory that changed, and a stray file")
	n.On(t, "echo x >>/opt/app.bin; touch /srv/site/stray; rm /opt/app/version")
	w.put("site/d0/f0", "changed\n")
	if err := os.Remove(filepath.Join(w.dir, "site/d1/f1")); err != nil {
		t.Fatal(err)
	}
	w.must(w.plan(), 2, "repair archive[app], file[/opt/app.bin]", "update file[/srv/site/d0/f0]", "remove file[/srv/site/d1/f1]")
	w.must(w.apply(), 0)
	if got := n.On(t, "sha256sum </opt/app.bin; cat /srv/site/d0/f0; find /srv/site -type f | wc -l; cat /opt/app/version"); got != sum+"  -\nchanged\n49\n1\n" {
		t.Errorf("the node has %q", got)
	}
	w.archive("app.tar", "edition", "2\n")
	w.must(w.plan(), 2, "update archive[app]")
	w.must(w.apply(), 0)
	if got := n.On(t, "cd /opt/app && grep . *"); got != "2\n" {
		t.Errorf("of the archive the node has %q", got)
	}

	w.mustDestroy()
	n.On(t, "rm /srv/site/stray && rmdir /srv/site") // what purge removed is back, and nothing else is there
	assertUntouched(t, before, n)
}

// put writes a file of the workspace, with the directories above it.
func (w *workspace) put(name, content string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(w.dir, name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// archive writes a tar with one file.
func (w *workspace) archive(name, file, content string) {
	w.t.Helper()
	var b strings.Builder
	a := tar.NewWriter(&b)
	err := a.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: file, Mode: 0o644, Size: int64(len(content))})
	if err == nil {
		_, err = io.WriteString(a, content)
	}
	if err = errors.Join(err, a.Close()); err != nil {
		w.t.Fatal(err)
	}
	w.put(name, b.String())
}

// random writes a file of 100 MiB, and returns its SHA-256.
func (w *workspace) random(name string, seed byte) string {
	w.t.Helper()
	f, err := os.Create(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(f, h), rand.NewChaCha8([32]byte{seed}), 100<<20); err != nil {
		w.t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}
