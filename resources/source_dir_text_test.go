package resources_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory of the controller is read for each plan: what changed in it is in the plan by name, and nothing else.
// Where it is missing, the plan says so, and a destroy without a refresh does without.
func TestTextDirectoriesOfTheController(t *testing.T) {
	c, s := newCommandLine(t), newSandbox(t)
	s.must(os.MkdirAll(s.path("a", "etc"), 0o755))
	write := func(name, content string) {
		at := filepath.Join(c.dir, "tree", name)
		s.must(os.MkdirAll(filepath.Dir(at), 0o755))
		s.must(os.WriteFile(at, []byte(content), 0o644))
	}
	c.configure(fmt.Sprintf(`
provider "slipway" {
  journal_directory = %q
}
resource "slipway_service" "site" {
  name          = "site"
  selectors     = []
  configuration = { file = { "/etc/site" = { source_dir = "${path.module}/tree", mode = "0644" } } }
}
resource "slipway_deployment" "test" {
  site     = "trees"
  nodes    = [{ name = "a", connect = { transport = "local", root = %q } }]
  services = [slipway_service.site]
}
`, s.path("journal", ""), s.path("a", "")))
	c.has(unwrapped(c.run(1, "plan", "-input=false", "-no-color")), []string{`source_dir: "./tree": no such file or directory`})
	write("index.html", "what only the node has")
	write("deep/er/file", "two")
	c.has(c.changes(), []string{"file[/etc/site/index.html]", "file[/etc/site/deep/er/file]"}, "what only")
	c.apply()
	if got, err := os.ReadFile(s.path("a", "etc/site/index.html")); string(got) != "what only the node has" {
		t.Fatalf("the node has %q (%v)", got, err)
	}
	state, err := os.ReadFile(filepath.Join(c.dir, "terraform.tfstate"))
	if err != nil || strings.Contains(string(state), "what only") {
		t.Errorf("the state has the content (%v)", err)
	}
	c.empty()

	write("deep/er/file", "changed")
	write("new", "new")
	c.has(c.changes(), []string{"2 changes on node a: update file[/etc/site/deep/er/file], create file[/etc/site/new]"}, "drift = [")
	c.changes("-out=plan")
	write("deep/er/file", "changed once more")
	refused := unwrapped(c.run(1, "apply", "-input=false", "-no-color", "plan"))
	// The provider cannot refuse it first: what it gets in an apply has no trace of the plan before Terraform compares.
	c.has(refused, []string{"Provider produced inconsistent final plan", "slipway_deployment.test", ".digest: was "})
	if got, err := os.ReadFile(s.path("a", "etc/site/deep/er/file")); string(got) != "two" {
		t.Errorf("the node has %q (%v)", got, err)
	}
	c.apply()
	c.empty()
	s.must(os.WriteFile(s.path("a", "etc/site/new"), []byte("by hand"), 0o644))
	c.has(c.changes(), []string{"repair file[/etc/site/new]"})
	s.must(os.Remove(filepath.Join(c.dir, "tree", "new")))
	c.has(c.changes(), []string{"1 change on node a: remove file[/etc/site/new]"})
	c.apply()
	s.must(os.RemoveAll(filepath.Join(c.dir, "tree")))
	c.run(0, "destroy", "-input=false", "-no-color", "-auto-approve", "-refresh=false") // else it plans first
	if _, err := os.Stat(s.path("a", "etc/site")); err == nil {
		t.Error("the directory is left on the node")
	}
}
