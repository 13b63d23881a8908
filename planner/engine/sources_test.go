package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// starter is a Durable that executes no run, and notes what the journal has of files when a workflow may start.
type starter struct {
	*testing.T
	at    journal.Location
	begun int
	files []string // ZONE/SHA-256 that must be there
}

func (*starter) Ready(context.Context) error             { return nil }
func (*starter) Workflow(site, run string) string        { return site + "/" + run }
func (*starter) Stop(context.Context, journal.Run) error { return nil }
func (*starter) End(context.Context, journal.Run) error  { return nil }
func (*starter) Ended(context.Context, journal.Run) error {
	return errors.New("ended")
}

func (b *starter) Begin(ctx context.Context, run journal.Run) error {
	b.begun++
	store, err := b.at.OpenExisting(ctx, run.Site)
	if err != nil {
		return err
	}
	for _, f := range b.files {
		zone, sum, _ := strings.Cut(f, "/")
		if _, err := store.FilePart(ctx, run.ID, zone, sum, 0); err != nil {
			b.Errorf("the workflow starts without %s: %v", f, err)
		}
	}
	w, err := store.Resume(ctx, run.ID)
	if err == nil {
		err = w.Finish(ctx, "failed", "it was not executed")
	}
	return errors.Join(err, store.Close())
}

// A workflow starts when the journal has the files of the controller, for each zone that gets them: also that of a run
// whose process ended before it had left them all. With another content than that of the plan there is no run.
func TestFilesAreLeftBeforeTheWorkflowStarts(t *testing.T) {
	keys, err := encryption.Parse(encryption.New())
	if err != nil {
		t.Fatal(err)
	}
	b := &starter{T: t, at: journal.Location{Path: t.TempDir(), Keys: keys}}
	path, sum := filepath.Join(t.TempDir(), "app"), resource.SHA256("content")
	write := func(content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := site.Site{Name: "lon1", Services: []site.Service{filesOf(map[string]resource.Parameters{
		"/etc/app": {"source_file": path, "source_sha256": sum}})}}
	for _, n := range []site.Node{{Name: "a", Zone: "rack1"}, {Name: "b", Zone: "rack1"}, {Name: "c"}} {
		n.Connection = site.Connection{Transport: "local", Root: t.TempDir()}
		s.Nodes = append(s.Nodes, n)
	}
	e := &Engine{Journals: b.at, Now: time.Now, Handing: &Handing{Durable: b}}
	how := Run{Settings: Settings{Cache: &Cache{}}}

	write("another")
	out := e.Apply(t.Context(), nil, s, how)
	if text := fmt.Sprint(out.Messages); !strings.Contains(text, "and source_sha256 is "+sum) || !strings.Contains(text, "No node was touched") {
		t.Errorf("with another content: %s", text)
	}
	store, err := b.at.Open(t.Context(), s.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // of a test
	if _, err := store.Run(t.Context(), ""); !errors.Is(err, journal.ErrNoRun) || b.begun != 0 {
		t.Errorf("with another content there is a run: %v", err)
	}

	write("content")
	b.files = []string{"rack1/" + sum, "/" + sum}
	e.Apply(t.Context(), nil, s, how)
	if b.begun != 1 {
		t.Errorf("%d workflows were started", b.begun)
	}

	r, err := requestOf(nil, s, how)
	if err != nil {
		t.Fatal(err)
	}
	run := journal.Run{ID: "cut-off", Site: s.Name, Operation: operation(nil), Workflow: "lon1/cut-off"}
	if run.Desired, err = r.desired(run.Operation); err != nil {
		t.Fatal(err)
	}
	if err := store.Hand(t.Context(), run, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	e.Apply(t.Context(), nil, s, how)
	if last, err := store.Run(t.Context(), ""); err != nil || last.ID != run.ID || b.begun != 2 {
		t.Errorf("the run that was cut off did not go on: %s, %d workflows (%v)", last.ID, b.begun, err)
	}
}

// A service that is updated by workers can be rolled back: its former file of the controller is left for them, too, while
// it is there.
func TestFilesAreLeftForARollback(t *testing.T) {
	keys, err := encryption.Parse(encryption.New())
	if err != nil {
		t.Fatal(err)
	}
	attribute := func(name string) catalog.Attribute {
		return catalog.Attribute{Name: name, Type: catalog.Type{Name: "string"}, Modifier: catalog.Changing}
	}
	c, errs := catalog.Resolve(catalog.Definitions{Entities: []catalog.Entity{{
		Name:      "app",
		Structure: catalog.Structure{Attributes: []catalog.Attribute{attribute("file"), attribute("sum")}},
		Tasks: []catalog.Task{{Name: "app", Config: &catalog.ConfigTask{Type: "file", Title: "/app",
			Parameters: map[string]any{"source_file": "${self.file}", "source_sha256": "${self.sum}"}}}},
	}}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	entity, _ := c.Entity("app")
	b := &starter{T: t, at: journal.Location{Path: t.TempDir(), Keys: keys}}
	node := site.Node{Name: "a", Zone: "rack1", Connection: site.Connection{Transport: "local", Root: t.TempDir()}}
	dir := t.TempDir()
	version := func(content string) site.Site {
		path := filepath.Join(dir, content)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return site.Site{Name: "lon1", Nodes: []site.Node{node}, Services: []site.Service{{Name: "app", Entity: entity, RollbackOnFailure: true,
			Attributes: map[string]any{"file": path, "sum": resource.SHA256(content)}}}}
	}
	e := &Engine{Journals: b.at, Now: time.Now, Executor: func() rollout.Executor { return rollout.NewInProcess() }}
	how := Run{Settings: Settings{Cache: &Cache{}}}
	out := e.Apply(t.Context(), nil, version("one"), how)
	if out.Status != Deployed {
		t.Fatalf("%q: %v", out.Status, out.Messages)
	}
	e.Handing = &Handing{Durable: b}
	prior := &Prior{State: out.State, Nodes: []site.Node{node}}
	b.files = []string{"rack1/" + resource.SHA256("one"), "rack1/" + resource.SHA256("two")}
	e.Apply(t.Context(), prior, version("two"), how)
	if err := os.Remove(filepath.Join(dir, "one")); err != nil {
		t.Fatal(err)
	}
	b.files = b.files[1:]
	e.Apply(t.Context(), prior, version("two"), how)
	if b.begun != 2 {
		t.Errorf("%d workflows were started, want 2", b.begun)
	}
}
