package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestApprovedBatches applies a site document batch by batch. A service of an entity changes until its last node is
// approved; before that, it stays in the state of a deployment that is under way.
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
	state := func(want string, files ...string) {
		t.Helper()
		out, errOut, _ := answer(t, "", "services", "list", "--site", "lon1")
		if fields := strings.Fields(out); !slices.Contains(fields, want) {
			t.Errorf("the service is not in the state %s:\n%s", want, out+errOut)
		}
		for _, f := range []string{"a/etc/db", "a/etc/all", "b/etc/db", "b/etc/all"} {
			raw, err := os.ReadFile(f)
			if got := strings.TrimSpace(string(raw)); (err == nil) != slices.Contains(files, f+"="+got) {
				t.Errorf("%s has %q, want of all %q", f, got, files)
			}
		}
	}
	changed := strings.ReplaceAll(entity, "content: x", "content: z")
	gone := "catalog:" + strings.SplitN(entity, "catalog:", 2)[1]
	apply("one", entity, 0, 0, "service db: create", "batch 1 of 2: 1 node (a)", "site lon1: paused")
	state("creating", "a/etc/db=x")
	apply("one", entity, 0, 0, "nothing to do")
	state("creating", "a/etc/db=x")
	apply("one", entity, 1, 0, "batch 2 of 2: 1 node (b)", "cluster", "site lon1: deployed")
	state("up", "a/etc/db=x", "a/etc/all=x", "b/etc/db=x", "b/etc/all=x")
	apply("one", changed, 0, 0, "service db: update", "site lon1: paused")
	state("update_inprogress", "a/etc/db=z", "a/etc/all=x", "b/etc/db=x", "b/etc/all=x")
	apply("one", entity, 0, 0, "service db: update", "site lon1: deployed") // it is taken back
	state("up", "a/etc/db=x", "a/etc/all=x", "b/etc/db=x", "b/etc/all=x")
	apply("one", changed, 0, 0, "site lon1: paused")
	apply("one", changed, 1, 0, "site lon1: deployed")
	state("up", "a/etc/db=z", "a/etc/all=z", "b/etc/db=z", "b/etc/all=z")
	apply("one", gone, 0, 0, "service db: delete", "site lon1: paused")
	state("deleting", "b/etc/db=z", "b/etc/all=z")
	apply("one", gone, 0, 0, "nothing to do")
	apply("one", gone, 1, 0, "site lon1: deployed")
	if out, _, _ := answer(t, "", "services", "list", "--site", "lon1"); strings.Contains(out, "deleting") {
		t.Errorf("the service is still there:\n%s", out)
	}
	apply("two", entity, 0, 0, "site lon1: paused")
	apply("two", entity, 2, 0, "site lon1: deployed")
	apply("two", entity, 3, 2, `approved_batches["web"]: there is no batch 3; the last one of the group is 2`)
}

// A simulation and a plan show how far a run goes that ends for approval, and what waits.
func TestHeldBatchesAreShown(t *testing.T) {
	site := func(approved string) string {
		return write(t, "site.yaml", "site: lon1\napproval: end\napproved_batches: {"+approved+"}\n"+
			"nodes: [{name: a}, {name: b}, {name: c}, {name: d}]\n"+
			"groups:\n- {name: web, selectors: [{node_names: [a, b, c]}], depends_on: [], critical: true, "+
			"rolling: {batches: ['1', '2'], approve: ['1', '2']}}\n"+
			"- {name: late, selectors: [{node_names: [d]}], depends_on: [web], critical: true}\n"+
			"services: [{name: app, selectors: [], configuration: {file: {/etc/app: {content: x}}}}]\n")
	}
	for _, tt := range []struct{ command, approved, want, not string }{
		{"simulate", "", `group "web" waits for the approval of batch 1 of 3`, ""},
		{"simulate", "", "not started: b c d", ""},
		{"simulate", "", "finish: paused, the next run goes on", ""},
		{"simulate", "", "deploy   web    NOT FINISHED, the run is paused  1", ""},
		{"simulate", "web: 1", "not started: c d", ""},
		{"simulate", "web: 2", "finish: success (exit status 0)", "waits for"},
		{"simulate", "web: 4", `approved_batches["web"]: there is no batch 4`, "finish"},
		{"simulate --fail a:deploy", "", "finish: failed due to critical group failed", ""},
		{"simulate", "", "NOT_STARTED  3      b c d", ""},
		{"plan --output json", "", `"held":[{"group":"web","batch":1,"of":3},{"group":"late"}]`, ""},
		{"plan --output json", "web: 1", `"waiting":["c","d"]`, ""},
		{"plan --output json", "web: 2", `"changed_nodes":["a","b","c","d"]`, "held"},
	} {
		out, errOut, _ := answer(t, "", append(strings.Fields(tt.command), site(tt.approved))...)
		if strings.Contains(tt.command, "json") {
			var small bytes.Buffer
			if err := json.Compact(&small, []byte(out)); err != nil {
				t.Fatal(err)
			}
			out = small.String()
		}
		if out += errOut; !strings.Contains(out, tt.want) || tt.not != "" && strings.Contains(out, tt.not) {
			t.Errorf("%s with %q approved: want %q and not %q in\n%s", tt.command, tt.approved, tt.want, tt.not, out)
		}
	}
}
