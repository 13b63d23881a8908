package resources_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file of the controller passes through neither plan nor state; one that changes between plan and apply, or is too
// large, is an error that says so.
func TestTextFilesOfTheController(t *testing.T) {
	c, s := newCommandLine(t), newSandbox(t)
	s.must(os.MkdirAll(s.path("a", "etc"), 0o755))
	file, content := s.path("app.bin", ""), "what only the node has"
	write := func(text string) { s.must(os.WriteFile(file, []byte(text), 0o600)) }
	provider := fmt.Sprintf("journal_directory = %q", s.path("journal", ""))
	config := func(sum string) {
		c.configure(fmt.Sprintf(`
provider "slipway" {
  %s
}
resource "slipway_deployment" "test" {
  site     = "sources"
  nodes    = [{ name = "a", connect = { transport = "local", root = %q } }]
  services = [{ name = "app", selectors = [], configuration = { file = { "/etc/app" = {
    source_file   = %q
    source_sha256 = %s
  } } } }]
}
`, provider, s.path("a", ""), file, sum))
	}
	write(content)
	config(fmt.Sprintf("filesha256(%q)", file))
	c.has(c.changes(), []string{"create file[/etc/app]"}, content)
	c.apply()
	if got, err := os.ReadFile(s.path("a", "etc/app")); string(got) != content {
		t.Fatalf("the node has %q (%v)", got, err)
	}
	state, err := os.ReadFile(filepath.Join(c.dir, "terraform.tfstate"))
	if err != nil || strings.Contains(string(state), content) || !strings.Contains(string(state), "source_sha256") {
		t.Errorf("the state has the content, or nothing (%v):\n%s", err, state)
	}

	write("another")
	c.changes("-out=plan")
	write("changed since")
	c.run(1, "apply", "-input=false", "-no-color", "plan")
	config(`"` + strings.Repeat("0", 64) + `"`)
	c.has(unwrapped(c.failingApply()), []string{"file[/etc/app]: source_file", "and source_sha256 is 0000", "No node was touched"})
	if got, err := os.ReadFile(s.path("a", "etc/app")); string(got) != content {
		t.Errorf("the node has %q (%v)", got, err)
	}
	s.must(os.Remove(file))
	c.has(unwrapped(c.changes()), []string{"A file of the controller cannot be read", "no such file"})
	write("")
	s.must(os.Truncate(file, 100<<20+1))
	c.has(unwrapped(c.run(1, "plan", "-input=false", "-no-color")), []string{"A file of the controller is too large", "has 104857601 bytes"})
	config("null")
	c.has(unwrapped(c.run(1, "plan", "-input=false", "-no-color")), []string{"source_sha256: must be given with source_file"})
	// Workers get the files of the controller from the journal.
	write(content)
	provider = fmt.Sprintf(`journal        = "postgres://nobody@127.0.0.1:1/none"
  encryption_key = %q
  engine         = { temporal = { address = "127.0.0.1:1" } }`, key)
	config(`"` + strings.Repeat("0", 64) + `"`)
	c.has(unwrapped(c.changes("-refresh=false")), []string{"update file[/etc/app]"})
}
