package command

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withFile writes a document in a folder of its own, of a site with a file whose content is in a file beside the
// document.
func (s *sandbox) withFile(sum string, nodes ...string) string {
	s.Helper()
	text := "site: lon1\nnodes:\n"
	for _, n := range nodes {
		text += "- {name: " + n + ", connect: {transport: local, root: " + s.path(n) + "}}\n"
	}
	text += "services:\n- {name: motd, selectors: [], configuration: {file: {/etc/motd: {source_file: files/motd, source_sha256: " + sum + "}}}}\n"
	s.must(os.MkdirAll(s.path("site", "files"), 0o755))
	s.must(os.WriteFile(s.path("site", "site.yaml"), []byte(text), 0o600))
	return s.path("site", "site.yaml")
}

func (s *sandbox) source(content string) (sum string) {
	s.Helper()
	s.must(os.MkdirAll(s.path("site", "files"), 0o755))
	s.must(os.WriteFile(s.path("site", "files", "motd"), []byte(content), 0o600))
	digits := sha256.Sum256([]byte(content))
	return hex.EncodeToString(digits[:])
}

// plan plans a site of which nothing is applied.
func (s *sandbox) plan(site string) (string, error) {
	s.Helper()
	cmd := New("test", nil, "")
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"plan", site})
	err := cmd.ExecuteContext(s.Context())
	return out.String(), err
}

// A document names a file of the controller relative to itself. One that is not what the document says, or is missing,
// is refused before any node is touched, and nothing but nodes has its content.
func TestFilesOfTheController(t *testing.T) {
	s := newSandbox(t, "a", "b")
	const content = "welcome, whoever you are\n"
	sum := s.source(content)
	site := s.withFile(sum, "a", "b")
	if out, err := s.plan(site); err != nil || !strings.Contains(out, "2 changes") {
		t.Fatalf("plan: %v\n%s", err, out)
	}
	s.expect(0, `site lon1: deployed`, "", "apply", "--yes", site)
	s.has("a", content)
	s.has("b", content)
	s.must(filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(path) == "motd" {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), content) {
			t.Errorf("the content is in %s", path)
		}
		return err
	}))

	s.must(os.WriteFile(s.path("a", "etc", "motd"), []byte("by hand"), 0o644))
	s.expect(statusDrift, `/etc/motd\]? +content`, "", "check", site)
	s.source("another")
	refused := s.expect(statusFailed, `source_file ".*site/files/motd".* has the SHA-256 [0-9a-f]{64}, and source_sha256 is `+sum, "", "apply", "--yes", site)
	if !strings.Contains(refused, "No node was touched") {
		t.Errorf("it says %s", refused)
	}
	s.has("a", "by hand")
	s.must(os.Remove(s.path("site", "files", "motd")))
	s.expect(statusFailed, `source_file ".*site/files/motd": no such file or directory`, "", "apply", "--yes", site)
	s.source(content)
	s.expect(0, ``, "", "apply", "--yes", site)
	s.has("a", content)
	s.expect(0, ``, "", "destroy", "--yes", site)
	s.gone("a", "b")
}

// What cannot be sent is an error of the plan.
func TestLargeFilesOfTheControllerAreRefused(t *testing.T) {
	s := newSandbox(t, "a")
	site := s.withFile(s.source("x"), "a")
	s.must(os.Truncate(s.path("site", "files", "motd"), 100<<20+1))
	if out, err := s.plan(site); ExitStatus(err) != statusInvalid || !strings.Contains(err.Error(), "has 104857601 bytes, and may have at most 104857600") {
		t.Errorf("plan: %v\n%s", err, out)
	}
	s.expect(statusFailed, `source_file ".*motd": has 104857601 bytes`, "", "apply", "--yes", site)
}

// An archive of the controller is extracted on a node, and refused before any node is touched when it is not what the
// document says. It need not be there where what it brought is to be absent.
func TestArchiveOfTheController(t *testing.T) {
	s := newSandbox(t, "a")
	var archive strings.Builder
	w := tar.NewWriter(&archive)
	s.must(w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "motd", Mode: 0o644, Size: 3}))
	_, err := w.Write([]byte("one"))
	s.must(errors.Join(err, w.Close()))
	sum := s.source(archive.String())
	document := func(ensure string) string {
		site := s.withFile(sum, "a")
		text, err := os.ReadFile(site)
		s.must(err)
		s.must(os.WriteFile(site, []byte(strings.Replace(string(text), "{file: {/etc/motd: {",
			"{archive: {/etc/motd.tar: {extract: true, extract_path: /etc, ensure: "+ensure+", ", 1)), 0o600))
		return site
	}
	s.source("another")
	s.expect(statusFailed, `archive\[/etc/motd.tar\]: source_file ".*files/motd": its content has the SHA-256`, "",
		"apply", "--yes", document("present"))
	s.gone("a")
	s.source(archive.String())
	s.expect(0, ``, "", "apply", "--yes", document("present"))
	s.has("a", "one")
	s.must(os.Remove(s.path("site", "files", "motd")))
	s.expect(0, ``, "", "apply", "--yes", document("absent"))
	if _, err := os.Stat(s.path("a", "etc", "motd")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what the archive brought is there: %v", err)
	}
	s.expect(0, ``, "", "destroy", "--yes", document("absent"))
	s.gone("a")
}
