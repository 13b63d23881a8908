package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLimit applies a site in parts: what lies outside of the limit stays as it is, nodes that left the site among it, and no report calls it deployed.
func TestLimit(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	content := func(node string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, node, "etc", "app"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, node := range []string{"a", "b", "c"} {
		if err := os.MkdirAll(filepath.Join(dir, node, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	apply := func(text, limit string, nodes ...string) (string, int) {
		t.Helper()
		site := "site: lon1\nnodes:\n"
		for _, n := range nodes {
			site += "- {name: " + n + ", connect: {transport: local, root: " + filepath.Join(dir, n) + "}}\n"
		}
		site += "services: [{name: app, selectors: [], configuration: {file: {/etc/app: {content: " + text + "}}}}]\n" +
			"groups: [{name: web, selectors: [], depends_on: [], critical: true, success_criteria: {minimum_successful_nodes: 1}}]\n" + limit
		if err := os.WriteFile("site.yaml", []byte(site), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errOut, status := answer(t, "", "apply", "site.yaml", "--yes")
		return out + errOut, status
	}
	is := func(a, b, c string) {
		t.Helper()
		if got := content("a") + content("b") + content("c"); got != a+b+c {
			t.Errorf("the nodes have %q, want %q", got, a+b+c)
		}
	}
	wants := func(out string, wanted ...string) {
		t.Helper()
		for _, want := range wanted {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	}
	apply("one", "", "a", "b", "c")
	is("one", "one", "one")
	out, _ := apply("two", "limit: {nodes: [a]}\n", "a", "b", "c")
	wants(out, "covers only node a; 2 nodes with work or to be torn down outside of the limit: b, c", "site lon1: limited")
	is("two", "one", "one")
	out, _ = apply("two", "limit: {nodes: [a]}\n", "a", "b", "c")
	wants(out, "nothing to do")

	if err := os.RemoveAll(filepath.Join(dir, "b", "etc")); err != nil {
		t.Fatal(err)
	}
	out, _ = apply("two", "limit: {nodes: [b]}\n", "a", "b", "c")
	wants(out, "1 of 3 nodes deployed", "NOT_STARTED (outside of the limit): c", "FAILED: b")
	out, _ = apply("two", "limit: {nodes: [a]}\n", "a", "b") // c leaves
	wants(out, "outside of the limit: b, c", "nothing to do")
	is("two", "", "one")
	out, _ = apply("two", "limit: {nodes: [c]}\n", "a", "b")
	wants(out, "tear down c")
	is("two", "", "")
	if err := os.Mkdir(filepath.Join(dir, "b", "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, _ = apply("two", "", "a", "b")
	wants(out, "site lon1: deployed")
	is("two", "two", "")
}

// A simulation covers what the limit names, as a run does: nothing fails outside of it.
func TestSimulateKeepsTheLimit(t *testing.T) {
	site := func(more string) string {
		return write(t, "site.yaml", "site: lon1\n"+more+"\nnodes: [{name: a}, {name: b}, {name: c}, {name: d}]\n"+
			"groups:\n- {name: web, selectors: [{node_names: [a, b, c]}], depends_on: [], critical: true, "+
			"success_criteria: {maximum_failed_nodes: 0}, rolling: {batches: ['1', '2'], approve: ['1', '2']}}\n"+
			"- {name: late, selectors: [{node_names: [d]}], depends_on: [web], critical: true}\n"+
			"- {name: none, selectors: [{node_tags: [none]}], depends_on: [], critical: false}\n"+
			"services: [{name: app, selectors: [], configuration: {file: {/etc/app: {content: x}}}}]\n")
	}
	for _, tt := range []struct {
		command, site string
		status        int
		wants         []string
	}{
		{"simulate", "limit: {nodes: [b]}", 0, []string{"deploy   web    SUCCESS  1", "deploy   late   SUCCESS  0",
			"outside of the limit: a c d", "NOT_STARTED  3      a c d", "DEPLOYED     1      b",
			"finish: success within the limit (exit status 0)"}},
		{"simulate --fail a:deploy", "limit: {nodes: [b]}", 0, []string{"finish: success within the limit", "NOT_STARTED  3      a c d"}},
		{"simulate --fail b:deploy", "limit: {nodes: [b]}", 1, []string{"finish: failed due to critical group failed"}},
		{"simulate", "limit: {groups: [late], nodes: [c]}", 0, []string{"NOT_STARTED  2      a b", "DEPLOYED     2      c d"}},
		{"simulate", "limit: {nodes: [x]}", 2, []string{`limit.nodes[0]: there is no node "x"; use one of a, b, c, d`}},
		{"simulate", "limit: {groups: [wed]}", 2, []string{`limit.groups[0]: there is no group "wed"`}},
		{"plan", "limit: {groups: [none]}", 0, []string{"limit: the plan covers no node, since the groups of the limit have none: name nodes, or groups that have " +
			"nodes; 4 nodes with work or to be torn down outside of the limit"}},
		{"plan", "limit: {nodes: [c]}\napproval: end", 0, []string{"limit: the plan covers no node; 3 nodes with work"}}, // c waits
		{"simulate --only a,c", "limit: {groups: [web]}", 0, []string{"finish: success (exit status 0)", "DEPLOYED     2      a c"}},
		{"simulate --output json", "limit: {nodes: [b]}", 0, []string{`"status": "limited"`, `"outside": [`}},
		// Of the batches, as of the groups behind them, waits what the limit names.
		{"simulate", "limit: {nodes: [a, c, d]}\napproval: end", 0, []string{`group "web" waits for the approval of batch 1 of 3`,
			"; not started: c d", "outside of the limit: b", "NOT_STARTED  3      b c d", "finish: paused, the next run goes on"}},
		{"simulate", "limit: {nodes: [a]}\napproval: end", 0, []string{"finish: success within the limit", "DEPLOYED     1      a"}},
	} {
		out, errOut, status := answer(t, "", append(strings.Fields(tt.command), site(tt.site))...)
		for _, want := range tt.wants {
			if !strings.Contains(out+errOut, want) || status != tt.status {
				t.Errorf("%s with %s: want %q and status %d, got %d:\n%s", tt.command, tt.site, want, tt.status, status, out+errOut)
			}
		}
	}
}

// A limit and approval hold together: what lies outside of the limit stays as it is, and of what it names a service
// changes until its last node is approved.
func TestLimitWithApproval(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	const entity = "catalog: {entities: {db: {attributes: {}, tasks: [{name: conf, config: {type: file, title: /etc/db, parameters: {content: x}}}]}}}\n"
	apply := func(on, bounds string, status int, wanted ...string) {
		t.Helper()
		site := "site: lon1\napproval: end\n" + bounds + "\nnodes:\n"
		for _, n := range []string{"a", "b", "c"} {
			if err := os.MkdirAll(filepath.Join(dir, n, "etc"), 0o755); err != nil {
				t.Fatal(err)
			}
			site += "- {name: " + n + ", connect: {transport: local, root: " + filepath.Join(dir, n) + "}}\n"
		}
		site += "groups: [{name: web, selectors: [], depends_on: [], critical: true, rolling: {batches: ['1', '2'], approve: ['1']}}]\n" +
			"services:\n- {name: app, selectors: [], configuration: {file: {/etc/app: {content: x}}}}\n" +
			"- {name: db, entity: db, selectors: [{node_names: [" + on + "]}]}\n" + entity
		if err := os.WriteFile("site.yaml", []byte(site), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errOut, got := answer(t, "", "apply", "site.yaml", "--yes")
		for _, want := range wanted {
			if !strings.Contains(out+errOut, want) || got != status {
				t.Errorf("want %q and status %d, got %d:\n%s", want, status, got, out+errOut)
			}
		}
	}
	state := func(want string, files ...string) {
		t.Helper()
		if out, errOut, _ := answer(t, "", "services", "list", "--site", "lon1"); !strings.Contains(out, want) {
			t.Errorf("the service is not in the state %s:\n%s", want, out+errOut)
		}
		for _, f := range []string{"a/etc/app", "a/etc/db", "b/etc/app", "b/etc/db", "c/etc/app", "c/etc/db"} {
			if _, err := os.Stat(f); (err == nil) != slices.Contains(files, f) {
				t.Errorf("%s: %v, want of all %q", f, err, files)
			}
		}
	}
	const limit = "limit: {nodes: [a, b]}"
	apply("a, b, c", limit, 2, `limit: service "db" changes, which it does as a whole, and is also on nodes outside of the limit: c; name them, too`)
	apply("a, b", limit, 0, "limit: the plan covers only node a; 1 node with work or to be torn down outside of the limit: c.",
		`waits for the approval of batch 1 of 3`, "; 1 node with work or to be torn down behind that: b.",
		"NOT_STARTED (not approved yet): b", "NOT_STARTED (outside of the limit): c", "site lon1: paused")
	state("creating", "a/etc/app", "a/etc/db")
	apply("a, b", limit, 0, "nothing to do")
	apply("a, b", limit+"\napproved_batches: {web: 1}", 0, "batch 2 of 3: 1 node (b)",
		"outside of the limit: c.", "site lon1: limited")
	state(" up ", "a/etc/app", "a/etc/db", "b/etc/app", "b/etc/db")
	apply("a, b", "approved_batches: {web: 1}", 0, "site lon1: deployed")
	state(" up ", "a/etc/app", "a/etc/db", "b/etc/app", "b/etc/db", "c/etc/app")
}
