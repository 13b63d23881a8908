package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestApprovedBatches applies a site document batch by batch. A service of an entity changes as a whole, so it is
// refused while a part of its nodes waits.
func TestApprovedBatches(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	apply := func(content, more string, approved int, status int, wanted ...string) {
		t.Helper()
		site := "site: lon1\napproval: end\nnodes:\n"
		for _, n := range []string{"a", "b"} {
			if err := os.MkdirAll(filepath.Join(dir, n, "etc"), 0o755); err != nil {
				t.Fatal(err)
			}
			site += "- {name: " + n + ", connect: {transport: local, root: " + filepath.Join(dir, n) + "}}\n"
		}
		site += fmt.Sprintf("approved_batches: {web: %d}\n", approved) +
			"groups: [{name: web, selectors: [], depends_on: [], critical: true, rolling: {batches: ['1'], approve: ['1']}}]\n" +
			"services:\n- {name: app, selectors: [], configuration: {file: {/etc/app: {content: " + content + "}}}}\n" + more
		if err := os.WriteFile("site.yaml", []byte(site), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errOut, got := answer(t, "", "apply", "site.yaml", "--yes")
		if got != status {
			t.Errorf("status %d, want %d:\n%s", got, status, out+errOut)
		}
		for _, want := range wanted {
			if !strings.Contains(out+errOut, want) {
				t.Errorf("no %q in\n%s", want, out+errOut)
			}
		}
	}
	apply("one", "", 0, 0, "then the run ends for approval", `write approved_batches = { "web" = 1 }`, "site lon1: paused")
	apply("one", "", 0, 0, "nothing to do")
	apply("one", "", 1, 0, "batch 2 of 2: 1 node (b)", "site lon1: deployed")
	entity := `- {name: db, entity: db, selectors: []}
catalog:
  entities:
    db:
      attributes: {}
      tasks:
      - {name: conf, config: {type: file, title: /etc/db, parameters: {content: x}}}
      - {name: all, tag: cluster, config: {type: file, title: /etc/all, parameters: {content: x}}}
`
	apply("one", entity, 0, 2, `approved_batches: service "db" changes, which it does as a whole, and is also on nodes that `+
		`wait for approval: b; approve their batches, too, or write approval = "wait"`)
	apply("one", entity, 1, 0, "site lon1: deployed")
	apply("two", entity, 0, 0, "site lon1: paused")
	apply("two", entity, 2, 0, "site lon1: deployed")
	apply("two", entity, 3, 2, `approved_batches["web"]: there is no batch 3; the last one of the group is 2`)
}
