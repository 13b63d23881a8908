package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A frozen site document is planned as long as there is no work.
func TestFreeze(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.yaml")
	write := func(more string) {
		t.Helper()
		text := "site: lon1\nnodes: [{name: a, connect: {transport: local, root: " + t.TempDir() + "}}]\n" +
			"services: [{name: app, selectors: [], configuration: {file: {/etc/app: {content: x}}}}]\n" + more
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("freeze: end of quarter\n")
	_, errOut, status := answer(t, "", "plan", file)
	if status != 2 || !strings.Contains(errOut, `freeze is "end of quarter": there is work`) ||
		!strings.Contains(errOut, "create file[/etc/app]") {
		t.Errorf("status %d:\n%s", status, errOut)
	}
	if out, errOut, status := answer(t, "", "plan", file, "--applied", file); status != 0 ||
		!strings.Contains(out, "nothing to do") {
		t.Errorf("status %d:\n%s%s", status, out, errOut)
	}
	// A simulation takes every node of a group for one with changes, of which a run of a frozen site makes none.
	if out, errOut, status := answer(t, "", "simulate", file); status != 2 || out != "" ||
		!strings.Contains(errOut, `deployment "lon1": freeze: is "end of quarter", so a run does nothing; take it away`) {
		t.Errorf("status %d:\n%s%s", status, out, errOut)
	}
	write("freeze: end of quarter\ngroups: [{name: g, critical: true, depends_on: [], selectors: [{node_names: [none]}]}]\n")
	if out, errOut, status := answer(t, "", "simulate", file); status != 0 || !strings.Contains(out, "finish: success") {
		t.Errorf("nothing is to be done, status %d:\n%s%s", status, out, errOut)
	}
	write("failure_budget: {nodes: 1}\n")
	if out, _, _ := answer(t, "", "plan", file); !strings.Contains(out,
		"failure budget: nothing new is started in any group once more than 1 node failed") {
		t.Errorf("got %s", out)
	}
}
