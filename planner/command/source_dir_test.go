package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withDirectory writes a document of a site whose nodes have /etc/site as the folder tree beside the document, and a
// file that needs it.
func (s *sandbox) withDirectory(more string, nodes ...string) string {
	s.Helper()
	text := "site: lon1\nnodes:\n"
	for _, n := range nodes {
		text += "- {name: " + n + ", connect: {transport: local, root: " + s.path(n) + "}}\n"
	}
	text += "services:\n- {name: web, selectors: [], configuration: {file: {/etc/site: {source_dir: tree" + more + "}, " +
		"/etc/after: {content: x, require: 'file[/etc/site]'}}}}\n"
	s.must(os.WriteFile(s.path("site", "site.yaml"), []byte(text), 0o600))
	return s.path("site", "site.yaml")
}

func (s *sandbox) tree(name, content string, mode os.FileMode) {
	s.Helper()
	at := s.path("site", "tree", name)
	s.must(os.MkdirAll(filepath.Dir(at), 0o755))
	s.must(os.WriteFile(at, []byte(content), 0o600))
	s.must(os.Chmod(at, mode))
}

// isOn checks what is at a path on a node: mode and content, or nothing.
func (s *sandbox) isOn(node, path, want string) {
	s.Helper()
	at, got := s.path(node, path), ""
	if info, err := os.Lstat(at); err == nil {
		got = info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(at)
			s.must(err)
			got += " " + string(text)
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(at)
			s.must(err)
			got += " " + target
		}
	}
	if got != want {
		s.Errorf("%s on %s is %q, want %q", path, node, got, want)
	}
}

// The whole life of a directory of the controller: what is in it comes with its mode, what changes is sent alone, what
// drifts is repaired, what leaves it is undone, and what others have put there stays, unless it is purged.
func TestDirectoriesOfTheController(t *testing.T) {
	s := newSandbox(t, "a")
	s.must(os.MkdirAll(s.path("a", "etc", "site"), 0o755))
	s.must(os.WriteFile(s.path("a", "etc", "site", "index.html"), []byte("theirs"), 0o644))
	s.must(os.WriteFile(s.path("a", "etc", "site", "stray"), []byte("stray"), 0o644))
	s.tree("index.html", "one", 0o640)
	s.tree("bin/run", "#!/bin/sh\n", 0o755)
	s.tree("notes.bak", "left out", 0o644)
	s.must(os.Symlink("index.html", s.path("site", "tree", "start")))
	site := s.withDirectory(`, ignore: ["*.bak"]`, "a")

	s.expect(0, `file\[/etc/site/index\.html\]`, "", "apply", "--yes", site)
	s.isOn("a", "etc/site/index.html", "-rw-r----- one")
	s.isOn("a", "etc/site/bin/run", "-rwxr-xr-x #!/bin/sh\n")
	s.isOn("a", "etc/site/start", "Lrwxrwxrwx index.html")
	s.isOn("a", "etc/site/notes.bak", "")
	s.isOn("a", "etc/site/stray", "-rw-r--r-- stray")
	s.isOn("a", "etc/after", "-rw-r--r-- x")
	s.expect(0, `no drift`, "", "check", site)
	s.expect(0, `nothing to do|no changes|is as it should be`, "", "apply", "--yes", site)

	s.must(os.WriteFile(s.path("a", "etc", "site", "bin", "run"), []byte("by hand"), 0o755))
	s.expect(statusDrift, `/etc/site/bin/run\]? +content`, "", "check", site)
	s.tree("index.html", "two", 0o640)
	s.tree("new/deep/file", "deep", 0o600)
	s.must(os.Remove(s.path("site", "tree", "start")))
	// A changed directory is no drift.
	if out := s.expect(statusDrift, `bin/run`, "", "check", site); strings.Contains(out, "index.html") || strings.Contains(out, "deep") {
		t.Errorf("what is to come counts as drift:\n%s", out)
	}
	out := s.expect(0, `site lon1: deployed`, "", "apply", "--yes", site)
	for _, want := range []string{"update file[/etc/site/index.html]", "repair file[/etc/site/bin/run]", "file[/etc/site/new/deep/file]", "remove file[/etc/site/start]"} {
		if !strings.Contains(out, want) {
			t.Errorf("the steps have no %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "file[/etc/after]") {
		t.Errorf("what needs the directory changes with it:\n%s", out)
	}
	s.isOn("a", "etc/site/index.html", "-rw-r----- two")
	s.isOn("a", "etc/site/bin/run", "-rwxr-xr-x #!/bin/sh\n")
	s.isOn("a", "etc/site/new/deep/file", "-rw------- deep")
	s.isOn("a", "etc/site/start", "")

	site = s.withDirectory(`, purge: true, mode: "0644"`, "a")
	s.expect(0, `site lon1: deployed`, "", "apply", "--yes", site)
	s.isOn("a", "etc/site/stray", "")
	s.isOn("a", "etc/site/bin/run", "-rw-r--r-- #!/bin/sh\n")
	s.isOn("a", "etc/site/bin", "drwxr-xr-x")
	s.isOn("a", "etc/site/notes.bak", "-rw-r--r-- left out")

	s.expect(0, `torn down`, "", "destroy", "--yes", site)
	s.isOn("a", "etc/site/index.html", "-rw-r--r-- theirs")
	s.isOn("a", "etc/site/stray", "-rw-r--r-- stray")
	s.isOn("a", "etc/site/bin", "")
	s.isOn("a", "etc/site/new", "")
}

// A directory that is missing, or has what cannot be sent, is an error of the documents; so is one where none is read.
func TestDirectoriesOfTheControllerThatCannotBeRead(t *testing.T) {
	s := newSandbox(t, "a")
	s.must(os.MkdirAll(s.path("site"), 0o755))
	site := s.withDirectory("", "a")
	s.expect(statusInvalid, `site\.yaml:\d+.*source_dir: ".*tree": no such file or directory`, "", "apply", "--yes", site)
	s.tree("large", "", 0o644)
	s.must(os.Truncate(s.path("site", "tree", "large"), 100<<20+1))
	s.expect(statusInvalid, `large" has 104857601 bytes`, "", "apply", "--yes", site)
	s.must(os.Remove(s.path("site", "tree", "large")))
	s.tree("x", "x", 0o644)
	text, err := os.ReadFile(site)
	s.must(err)
	over := strings.Replace(string(text), "source_dir: tree", "mode: '0755', ensure: directory", 1) +
		"overrides:\n- {name: o, configuration: {file: {/etc/site: {source_dir: tree}}}}\n"
	s.must(os.WriteFile(site, []byte(over), 0o600))
	s.expect(statusInvalid, `not in an override`, "", "apply", "--yes", site)
	s.gone("a")
}
