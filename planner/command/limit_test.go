package command

import (
	"os"
	"path/filepath"
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
