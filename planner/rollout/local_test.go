package rollout_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// A site of sandbox nodes lives its whole life with the real engine: rolled out, unchanged, drifted, a node gone, torn
// down.
func TestLocalNodes(t *testing.T) {
	s := site.Site{Name: "lon1"}
	roots := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		root := t.TempDir()
		roots[name] = root
		write(t, root, "/etc/b", "mine\n") // there before slipway
		s.Nodes = append(s.Nodes, site.Node{Name: name, Connection: site.Connection{Transport: "local", Root: root}})
	}
	p, err := plan(s, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	e := rollout.NewInProcess()
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	o := rollout.Options{Executor: e, Recorder: &diary{}, RunID: "r1"}

	r, err := rollout.Run(t.Context(), s, p, o)
	if err != nil || r.Status != rollout.StatusSucceeded {
		t.Fatalf("error %v\n%s", err, r)
	}
	for name, root := range roots {
		n := r.Nodes[name]
		if got := slices.Sorted(maps.Keys(n.Ledger)); n.Changed != 2 ||
			!slices.Equal(got, []resource.ID{"file[/etc/a]", "file[/etc/b]"}) {
			t.Errorf("node %s: %d changed, ledger %v", name, n.Changed, n.Ledger)
		}
		if read(t, root, "/etc/a")+read(t, root, "/etc/b") != "x\nx\n" {
			t.Errorf("node %s does not have its files", name)
		}
	}

	items := map[string][]converge.Item{}
	for name := range roots {
		items[name] = rollout.Items([]task.Task{file(name, "/etc/a"), file(name, "/etc/b")})
	}
	write(t, roots["b"], "/etc/a", "by hand\n")
	if err := os.Rename(roots["c"], roots["c"]+".gone"); err != nil {
		t.Fatal(err)
	}
	found := rollout.Survey(t.Context(), s.Nodes, items, s.Name, o)
	if a := found["a"]; !a.Reachable || a.Error != nil || len(a.Drift) > 0 || len(a.Ledger) != 2 {
		t.Errorf("a: %+v, want no drift", a)
	}
	if b := found["b"]; len(b.Drift) != 1 || b.Drift[0].ID != "file[/etc/a]" || len(b.Drift[0].Differences) == 0 {
		t.Errorf("b: %+v, want drift of /etc/a alone", b)
	}
	if c := found["c"]; c.Reachable || c.Error == nil || len(c.Drift) > 0 || c.Ledger != nil {
		t.Errorf("c: %+v, want a node that cannot be reached", c)
	}
	if err := os.Rename(roots["c"]+".gone", roots["c"]); err != nil {
		t.Fatal(err)
	}

	// c leaves the site, and b's drift is repaired.
	departed := s.Nodes[2]
	s.Nodes = s.Nodes[:2]
	if p, err = plan(s, map[string]bool{"a": true}, []string{"c"}, false); err != nil {
		t.Fatal(err)
	}
	o.RunID, o.Recorder, o.Departed = "r2", &diary{}, map[string]site.Node{"c": departed}
	r, err = rollout.Run(t.Context(), s, p, o)
	if err != nil || r.Status != rollout.StatusSucceeded || r.Departed["c"].Status != rollout.TornDown {
		t.Fatalf("error %v\n%s", err, r)
	}
	if b := r.Nodes["b"]; b.Changed != 1 || b.Unchanged != 1 {
		t.Errorf("b: %d changed and %d unchanged, want 1 and 1", b.Changed, b.Unchanged)
	}
	asBefore(t, "c", roots["c"])

	o.RunID, o.Recorder = "r3", &diary{}
	down := rollout.TearDown(t.Context(), s.Name, s.Nodes, o)
	if down.Err != nil || down.Status != rollout.StatusSucceeded {
		t.Fatalf("error %v\n%s", down.Err, down)
	}
	asBefore(t, "a", roots["a"])
	asBefore(t, "b", roots["b"])
}

// A folder that is not there, or never was, holds nothing that could be undone: the tear-down says so and goes on. For
// anything else it is a configuration error.
func TestLocalRootIsMissing(t *testing.T) {
	e := rollout.NewInProcess()
	root := filepath.Join(t.TempDir(), "nowhere")
	node := site.Node{Name: "a", Connection: site.Connection{Transport: "local", Root: root}}
	events := &diary{}
	down := rollout.TearDown(t.Context(), "lon1", []site.Node{node},
		rollout.Options{Executor: e, Recorder: events, RunID: "r1"})
	if n := down.Nodes["a"]; n.Status != rollout.TornDown || n.Message != "" {
		t.Errorf("got %+v", n)
	}
	if text := down.String(); !strings.Contains(text, root+" is gone") {
		t.Errorf("the report does not say that the folder is gone:\n%s", text)
	}
	_, err := e.Converge(t.Context(), node, converge.Manifest{Protocol: converge.Protocol, Site: "lon1", Run: "r2",
		Mode: converge.Apply}, nil)
	var failed *transport.Error
	if !errors.As(err, &failed) || failed.Kind != transport.Config {
		t.Errorf("an apply gives %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// asBefore makes sure that a node has what it had before slipway came, and nothing else.
func asBefore(t *testing.T, name, root string) {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path[len(root):])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(files, []string{"/etc/b"}) || read(t, root, "/etc/b") != "mine\n" {
		t.Errorf("node %s has %q after the tear-down", name, files)
	}
}

func write(t *testing.T, root, path, content string) {
	t.Helper()
	full := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, root, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Error(err)
	}
	return string(content)
}

// An action that is planned behind the configuration of a node, and was not reached, is begun in the node's ledger, so
// that the next plan holds it; one that ran is done, also when it failed and may.
func TestActionsOfLocalNodes(t *testing.T) {
	root := t.TempDir()
	write(t, root, "/etc/b", "theirs\n")
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a",
		Connection: site.Connection{Transport: "local", Root: root}}}}
	p, err := plan(s, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	// below a folder it fails
	r := resource.Resource{Type: "shell", Title: "p/1", Parameters: resource.Parameters{"command": "true"}}
	act := task.Task{Kind: task.Remote, Node: "a", Name: "p/1", Group: task.PostCluster, Action: task.Run, Resource: r,
		Digest: resource.Digest(r), Tolerate: true}
	p.Phases = append(p.Phases, planner.Phase{TaskGroup: task.PostCluster, Tasks: []task.Task{act}})
	e := rollout.NewInProcess()
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, run := range []struct {
		id      string
		blocked bool   // something stands in the way of the configuration
		want    string // the action's digest
	}{{"r1", false, act.Digest}, {"r2", true, ""}, {"r3", false, act.Digest}} {
		if err := os.RemoveAll(filepath.Join(root, "/etc/a")); err != nil {
			t.Fatal(err)
		}
		if run.blocked {
			write(t, root, "/etc/a/full", "x")
		}
		report, err := rollout.Run(t.Context(), s, p, rollout.Options{Executor: e, Recorder: &diary{}, RunID: run.id})
		if err != nil {
			t.Fatal(err)
		}
		digest, there := report.Nodes["a"].Ledger[r.ID()]
		reached := slices.ContainsFunc(report.Warnings, func(w string) bool {
			return strings.Contains(w, "this task may fail")
		})
		if digest != run.want || !there || reached != (run.want != "") {
			t.Errorf("run %s: digest %q, want %q\n%s", run.id, digest, run.want, report)
		}
	}
}

// A controller that stalls, and whose site another one takes over, changes nothing any more, however late it wakes up.
func TestStalledControllerIsRefusedByTheNodes(t *testing.T) {
	s := site.Site{Name: "lon1"}
	roots := map[string]string{}
	for _, name := range []string{"a", "b"} {
		roots[name] = t.TempDir()
		write(t, roots[name], "/etc/b", "mine\n") // there before slipway
		s.Nodes = append(s.Nodes, site.Node{Name: name,
			Connection: site.Connection{Transport: "local", Root: roots[name]}})
	}
	p, err := plan(s, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	store, err := journal.Open(t.Context(), journal.File(t.TempDir(), s.Name))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // temporary
	start := func(id string) (*journal.Writer, rollout.Options) {
		t.Helper()
		w, err := store.Start(t.Context(), journal.Run{ID: id, Site: s.Name})
		if err != nil {
			t.Fatal(err)
		}
		// A diary takes events of the one that lost its lease, as a journal does until the lease is lost.
		return w, rollout.Options{Executor: rollout.NewInProcess(), Recorder: &diary{}, RunID: id, Fence: w.Fence()}
	}
	lost, stalled := start("r1")
	if _, err := store.Unlock(t.Context(), s.Name, true, 0); err != nil {
		t.Fatal(err)
	}
	w, next := start("r2")
	if r, err := rollout.Run(t.Context(), s, p, next); err != nil || r.Status != rollout.StatusSucceeded {
		t.Fatalf("error %v\n%s", err, r)
	}
	for _, root := range roots {
		write(t, root, "/etc/a", "later\n")
	}
	refused := func(what, node string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "another controller took over") ||
			!strings.Contains(err.Error(), "run r2 of ") || read(t, roots[node], "/etc/a") != "later\n" {
			t.Errorf("%s: node %s: %v", what, node, err)
		}
	}
	r, err := rollout.Run(t.Context(), s, p, stalled)
	if err != nil {
		t.Fatal(err)
	}
	for name, node := range r.Nodes {
		refused("run", name, node.Error)
	}
	for name, node := range rollout.TearDown(t.Context(), s.Name, s.Nodes, stalled).Nodes {
		refused("tear-down", name, errors.New(node.Message))
	}
	for name, found := range rollout.Survey(t.Context(), s.Nodes, nil, s.Name, rollout.Options{Executor: next.Executor}) {
		if found.Error != nil {
			t.Errorf("a plan, which has no lease: node %s: %v", name, found.Error)
		}
	}
	if r := rollout.TearDown(t.Context(), s.Name, s.Nodes, next); r.Status != rollout.StatusSucceeded {
		t.Errorf("%s", r)
	}
	if err := errors.Join(w.Finish(t.Context(), "succeeded", ""), stalled.Executor.Close(), next.Executor.Close()); err != nil {
		t.Error(err)
	}
	if err := lost.Finish(t.Context(), "succeeded", ""); !errors.Is(err, journal.ErrFenced) {
		t.Error(err)
	}
}
