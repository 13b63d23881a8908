package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shared returns a workspace of the two sites that share the node web1, without the node.
func shared(t *testing.T) *workspace {
	t.Helper()
	w := newWorkspace(t)
	files, err := filepath.Glob(w.path("*.tf"))
	w.must(err)
	for _, file := range files {
		w.must(os.Remove(file))
	}
	w.write("main.tf", w.read("testdata/shared/main.tf"), 0o644)
	return w
}

// sharedOrigin is what that node has before slipway comes.
var sharedOrigin = map[string]string{
	"nodes/web1/etc/motd":  "old\n",
	"nodes/web1/etc/hosts": "127.0.0.1 localhost\n192.0.2.9 db\n",
}

// TestUpdateShared makes the node anew.
func TestUpdateShared(t *testing.T) {
	if !*update {
		t.Skip("the node is made anew with -update only")
	}
	w := shared(t)
	for _, dir := range []string{"etc", "srv"} {
		w.must(os.MkdirAll(w.path("nodes/web1/"+dir), 0o755))
	}
	for name, content := range sharedOrigin {
		w.write(name, []byte(content), 0o644)
	}
	w.apply(0)
	w.must(os.RemoveAll("testdata/shared/nodes"))
	w.must(os.CopyFS("testdata/shared/nodes", os.DirFS(w.path("nodes"))))
}

// TestSharedByTwoSites: of the ledger that an earlier slipway wrote on a node of two sites, each site is gone on with, what
// both have stays when the first one leaves, and the last one brings back what was there before slipway.
func TestSharedByTwoSites(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("NOT RUN: what is brought back belongs to root")
	}
	w := shared(t)
	w.must(os.CopyFS(w.path("nodes"), os.DirFS("testdata/shared/nodes")))
	w.must(filepath.WalkDir(w.path("nodes"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o755) // a checkout keeps no modes
		}
		if err == nil && !strings.Contains(path, "/slipway/") {
			return os.Chmod(path, 0o644)
		}
		return err
	}))
	run := regexp.MustCompile(`"run":"[^"]*"|"generation":\d+|"fences":{.*?\]}`)
	text := func() (s string) {
		for _, e := range w.tree() {
			s += run.ReplaceAllString(fmt.Sprintln(e.name, e.target, e.content), "")
		}
		return s
	}
	before := text()
	w.apply(0) // without a state: it goes on from the ledger
	compare(t, "node", before, text())

	out := w.run(0, "destroy", "-input=false", "-no-color", "-auto-approve", "-target=slipway_deployment.shop")
	for _, want := range []string{`file[/srv/www]`, `it stays on the node for the site "status", which has it, too`} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("without %q:\n%s", want, out)
		}
	}
	if page := string(w.read(w.path("nodes/web1/srv/www/status/index.html"))); page != "All is well\n" {
		t.Errorf("the page of the site that stays is %q", page)
	}
	if _, err := os.Stat(w.path("nodes/web1/srv/www/shop")); !os.IsNotExist(err) {
		t.Errorf("what only the site that left had: %v", err)
	}
	w.run(0, "plan", "-input=false", "-detailed-exitcode", "-target=slipway_deployment.status")

	w.run(0, "destroy", "-input=false", "-no-color", "-auto-approve")
	left := map[string]string{}
	for _, e := range w.tree() {
		if !strings.HasSuffix(e.name, "/") {
			left[e.name] = e.content
		}
	}
	compare(t, "what is left", fmt.Sprint(sharedOrigin), fmt.Sprint(left))
}
