package workers

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/encryption/encryptiontest"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// source writes a file of the controller, and returns its path and its SHA-256.
func (c *cluster) source(name, content string) (path, sum string) {
	c.t.Helper()
	path = filepath.Join(c.dir, "controller", name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return path, resource.SHA256(content)
}

// Files, archives and directories of the controller reach nodes through the workers of their zones, which have neither
// the files nor the keys of other zones. The database has nothing of them in clear, and nothing of them after its run.
func TestFilesOfTheController(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a", Zone: "rack1"}, site.Node{Name: "b", Zone: "rack2"})
	c.worker([]string{"--control"})
	for _, zone := range []string{"rack1", "rack2"} {
		c.worker([]string{"--zone", zone}, c.ofZone(zone))
	}
	var large, archive strings.Builder
	random := make([]byte, 5<<19) // of several parts
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
	const page = "the page of the site, which the database must not have in clear"
	large.WriteString(page)
	large.Write(random)
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "app/version", Mode: 0o644, Size: 3})
	if err == nil {
		_, err = w.Write([]byte("1.4"))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	largeAt, largeSum := c.source("large", large.String())
	archiveAt, archiveSum := c.source("app.tar", archive.String())
	index, _ := c.source("www/index.html", page)
	want := func(content string) {
		t.Helper()
		c.source("large", content)
		c.site.Services = []site.Service{{Name: "app", Configuration: resource.Configuration{
			"file": {
				"/etc/large": {"source_file": largeAt, "source_sha256": largeSum},
				"/etc/www":   {"source_dir": filepath.Dir(index)},
			},
			"archive": {"app": {"source_file": archiveAt, "source_sha256": archiveSum, "extract": true, "extract_path": "/etc/app",
				"strip_components": int64(1)}},
		}}}
		expanded, errs := engine.ReadDirectories(c.site)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		c.site = expanded
	}

	want("another")
	out, said := c.start().wait()
	if out.Status != "" || c.content("a", "etc/large") != "-" {
		t.Errorf("with another file of the controller, the run ended as %q", out.Status)
	}
	c.contains("a file that is another", said, "its content has the SHA-256", "and source_sha256 is "+largeSum, "No node was touched")

	want(large.String())
	c.apply()
	for _, node := range []string{"a", "b"} {
		for file, content := range map[string]string{"large": large.String(), "www/index.html": page, "app/version": "1.4"} {
			if got := c.content(node, "etc/"+file); got != content {
				t.Errorf("node %s has %d bytes in %s, want %d", node, len(got), file, len(content))
			}
		}
	}
	dump, err := c.database.Dump(c.journal)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(dump, []byte("file ")) || encryptiontest.Form(dump, page) != "" {
		t.Errorf("the dump of %d bytes has no file, or has one in clear", len(dump))
	}
	if len(dump) < 2*len(random) {
		t.Errorf("the dump of %d bytes does not have the files of both zones", len(dump))
	}

	// A run that needs no file leaves none, and those of runs that are deleted go with them.
	if err := os.RemoveAll(filepath.Join(c.dir, "controller", "large")); err != nil {
		t.Fatal(err)
	}
	c.site.Services = append(c.site.Services, site.Service{Name: "motd",
		Configuration: resource.Configuration{"file": {"/etc/motd": {"content": "x\n"}}}})
	c.apply()
	store, err := c.engine(c.settings()).Journals.Open(t.Context(), c.site.Name)
	if err != nil {
		t.Fatal(err)
	}
	n, err := store.Prune(t.Context(), -time.Minute)
	if err = errors.Join(err, store.Close()); err != nil || n != 2 {
		t.Errorf("%d runs were deleted, want 2 (%v)", n, err)
	}
	if dump, err = c.database.Dump(c.journal); err != nil || len(dump) > len(random) {
		t.Errorf("after the runs were deleted, the dump has %d bytes (%v)", len(dump), err)
	}
}

// mostMemory bounds the heap of who hands over a run with a file of 100 MiB, and of the worker, in MB.
const mostMemory = 80

// Neither who hands a run over nor the worker has a large file as a whole in memory. The heap counts, by what the runtime
// prints at each collection: what a process uses beside it depends on the race detector.
func TestMemoryOfALargeFile(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"})
	log, err := os.Create(filepath.Join(t.TempDir(), "worker"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the worker has it
	collections := variable("GODEBUG", "gctrace=1")
	c.worker(nil, collections, func(cmd *exec.Cmd) { cmd.Stderr = log })
	const size = 100 << 20
	path, _ := c.source("large", "")
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	if _, err := io.CopyN(h, zeros{}, size); err != nil {
		t.Fatal(err)
	}
	c.site.Services = []site.Service{{Name: "app", Configuration: resource.Configuration{"file": {
		"/etc/large": {"source_file": path, "source_sha256": hex.EncodeToString(h.Sum(nil))}}}}}
	p := c.command(nil, variable(processVariable, "companion"), collections)
	p.cmd.Args = []string{os.Args[0], "apply", "--yes", c.document(), "--temporal", c.server.Address, "--task-queue-prefix", c.prefix}
	said := c.begin(p).says(0)
	c.contains("apply", said, "deployed")
	if info, err := os.Stat(c.path("a", "etc/large")); err != nil || info.Size() != size {
		t.Fatalf("the node does not have %d bytes: %v", size, err)
	}
	ofWorker, err := os.ReadFile(log.Name())
	if err != nil {
		t.Fatal(err)
	}
	for of, trace := range map[string]string{"companion": said, "worker": string(ofWorker)} {
		most, collected := 0, collection.FindAllStringSubmatch(trace, -1)
		for _, c := range collected {
			n, err := strconv.Atoi(c[1])
			if err != nil {
				t.Fatal(err)
			}
			most = max(most, n)
		}
		t.Logf("the heap of the %s had at most %d MB in %d collections", of, most, len(collected))
		if most > mostMemory || len(collected) == 0 {
			t.Errorf("for a file of %d bytes, the heap of the %s had %d MB, want at most %d", size, of, most, mostMemory)
		}
	}
}

// collection is what a collection prints: the second of its sizes is the heap at its end, with what was added meanwhile.
var collection = regexp.MustCompile(`(?m)^gc .* \d+->(\d+)->\d+ MB`)

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
