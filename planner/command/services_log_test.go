package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The history of a service has each transition once: of its creation, of an update, and of one that failed.
func TestServicesLogHasEachTransitionOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := filepath.Join(dir, "n1/etc/proxy.conf")
	if err := os.MkdirAll(filepath.Dir(conf), 0o755); err != nil {
		t.Fatal(err)
	}
	apply := func(port int) error {
		t.Helper()
		file := filepath.Join(dir, "site.yaml")
		text := fmt.Sprintf(`site: lon1
nodes: [{name: n1, connect: {transport: local, root: %q}}]
services:
  - {name: proxy, selectors: [], entity: proxy, attributes: {port: %d}}
catalog:
  entities:
    proxy:
      attributes: {port: {type: int, modifier: rw+}}
      tasks:
        - {name: settings, config: {type: file, title: /etc/proxy.conf, parameters: {content: "port = ${self.port}\n"}}}
`, filepath.Join(dir, "n1"), port)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := run(t, "apply", "--yes", "--journal-directory", filepath.Join(dir, ".slipway"), file)
		return err
	}
	for _, port := range []int{80, 443} {
		if err := apply(port); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(conf); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(conf, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := apply(8080); err == nil {
		t.Fatal("the apply with a folder in the place of the file succeeded")
	}
	out, err := run(t, "services", "log", "proxy", "--journal-directory", filepath.Join(dir, ".slipway"))
	if err != nil {
		t.Fatal(err)
	}
	for version := range strings.SplitSeq(out, "\n\n") {
		seen := map[string]bool{}
		for line := range strings.Lines(version) {
			fields := strings.SplitN(strings.TrimSpace(line), "  ", 4) // time, type, transfer, text
			if len(fields) < 4 {
				continue
			}
			if key := fields[1] + " " + fields[2]; seen[key] {
				t.Errorf("%s twice in:\n%s", key, version)
			} else {
				seen[key] = true
			}
		}
	}
	for _, want := range []string{"start -> creating", "up -> update_start  from up to update_start by on_update: the configuration changed", "update_failed"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in:\n%s", want, out)
		}
	}
}
