package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFiles: files and directories of the machine that runs Terraform are on the nodes as they are here, and what
// changes in a directory is all that a plan has.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t, "files", "web1", "web2")
	for _, file := range []string{"stray", "own.local"} {
		if err := os.MkdirAll(s.path("web1", "srv/site"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, s.path("web1", "srv/site/"+file), "of others")
	}
	if err := os.MkdirAll(s.path("web2", "srv"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.apply()
	s.settled()
	read := func(file string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(s.dir, file))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, node := range []string{"web1", "web2"} {
		s.has(node, "srv/publish", read("publish.sh"))
		s.has(node, "srv/site/index.html", read("site/index.html"))
		s.has(node, "srv/site/css/style.css", read("site/css/style.css"))
		s.has(node, "srv/site/stray", "")
	}
	s.has("web1", "srv/site/own.local", "of others")
	if strings.Contains(read("terraform.tfstate"), "on every node") {
		t.Error("the state has the content of a file")
	}

	write(t, filepath.Join(s.dir, "site/index.html"), "another page")
	if err := os.RemoveAll(filepath.Join(s.dir, "site/css")); err != nil {
		t.Fatal(err)
	}
	_, plan := s.status("plan", "-detailed-exitcode")
	for _, want := range []string{"6 changes on 2 nodes", "update file[/srv/site/index.html]", "remove file[/srv/site/css/style.css]"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan has no %q:\n%s", want, plan)
		}
	}
	s.apply()
	s.settled()
	for _, node := range []string{"web1", "web2"} {
		s.has(node, "srv/site/index.html", "another page")
		s.has(node, "srv/site/css/style.css", "")
	}
	s.does("destroy", "-auto-approve")
	s.has("web1", "srv/site/stray", "of others")
}
