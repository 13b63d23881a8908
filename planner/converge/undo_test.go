package converge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// folder is a sandbox with what a test puts into it.
func folder(t testing.TB, files map[string]string) *Session {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(file, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := system.New(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &Session{System: s}
}

// wholeMachine is a sandbox that passes for a whole machine, with commands that do what run says.
func wholeMachine(t testing.TB, files map[string]string, run func(system.Command) (system.Output, error)) *Session {
	t.Helper()
	s := folder(t, files)
	s.Commands = func(_ context.Context, c system.Command) (system.Output, error) { return run(c) }
	return s
}

func noCommand(c system.Command) (system.Output, error) {
	return system.Output{}, errors.New("unexpected command " + c.Argv[0])
}

// inventory lists everything in a sandbox but slipway's own directory: path -> mode and content.
func inventory(t testing.TB, s *Session) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(s.Root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path := "/" + strings.TrimPrefix(strings.TrimPrefix(name, s.Root), "/")
		if path == system.Home {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out[path] = info.Mode().String()
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			out[path] += fmt.Sprintf(" %q", content)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// interrupted writes into the node's ledger that an apply of an item was started and not finished.
func interrupted(t testing.TB, s *Session, i Item, before string) {
	t.Helper()
	if _, err := s.MakeHome(); err != nil {
		t.Fatal(err)
	}
	l, err := readLedger(s.System)
	if err != nil {
		t.Fatal(err)
	}
	e := &entry{Site: "s", Type: i.Type, Title: i.Title, Before: json.RawMessage(before), Run: "1", id: i.ID()}
	if n, ok := every[i.Type].Declared().(schema.Named); ok {
		e.Object, e.Aim = n.Object(i.Resource)
	}
	l.change(record{Entry: e})
	if err := l.fold(); err != nil {
		t.Fatal(err)
	}
}

// runAll applies items in one session, or tears the site down when there are none.
func runAll(t testing.TB, s *Session, items ...Item) []Result {
	t.Helper()
	var results []Result
	c := Catalog{Protocol: Protocol, Mode: Apply, Site: "s", Run: "2", Items: items, TearDown: len(items) == 0}
	summary := Run(t.Context(), s.System, c, func(r Result) { results = append(results, r) })
	if summary.Error != nil {
		t.Fatal(summary.Error.Message)
	}
	return results
}

// res returns a resource as the engine would give it to a type: valid and normalised.
func res(t testing.TB, typ Type, title string, parameters resource.Parameters) resource.Resource {
	t.Helper()
	schema := typ.Declared().Schema()
	r := resource.Resource{Type: schema.Type, Title: title, Parameters: parameters}
	if errs := schema.Validate(r); len(errs) > 0 {
		t.Fatalf("%s: %v", r.ID(), errs)
	}
	return schema.Normalize(r)
}

// applied captures and applies r as the engine does, and returns what was captured.
func applied(t testing.TB, s *Session, typ Type, r resource.Resource) json.RawMessage {
	t.Helper()
	before, err := typ.Capture(t.Context(), s, r)
	if err != nil {
		t.Fatalf("%s: capture: %v", r.ID(), err)
	}
	apply(t, s, typ, r)
	return before
}

// updated widens before and applies another form of a resource, as the engine does.
func updated(t testing.TB, s *Session, typ Type, r resource.Resource, before json.RawMessage) json.RawMessage {
	t.Helper()
	if w, ok := typ.(Widener); ok {
		for range 2 { // it may be repeated
			var err error
			if before, err = w.Widen(t.Context(), s, r, before); err != nil {
				t.Fatalf("%s: widen: %v", r.ID(), err)
			}
		}
	}
	apply(t, s, typ, r)
	return before
}

func apply(t testing.TB, s *Session, typ Type, r resource.Resource) {
	t.Helper()
	diffs, err := typ.Check(t.Context(), s, r)
	if err != nil {
		t.Fatalf("%s: check: %v", r.ID(), err)
	}
	if len(diffs) == 0 {
		return
	}
	if err := typ.Apply(t.Context(), s, r); err != nil {
		t.Fatalf("%s: apply: %v", r.ID(), err)
	}
	if diffs, err = typ.Check(t.Context(), s, r); err != nil || len(diffs) > 0 {
		t.Fatalf("%s: after its apply: %v, %v", r.ID(), diffs, err)
	}
}

// undone undoes r, twice, because a crash may hide that it was done.
func undone(t testing.TB, s *Session, typ Type, r resource.Resource, before json.RawMessage) {
	t.Helper()
	for range 2 {
		if err := typ.Undo(t.Context(), s, r.Title, before); err != nil {
			t.Fatalf("%s: undo: %v", r.ID(), err)
		}
	}
}

// change is one resource that a property test applies.
type change struct {
	typ Type
	resource.Resource
}

// checkUndo applies changes one after the other and undoes them backwards. Afterwards everything must be as it was, also with
// a foreign line that came in between.
func checkUndo(t testing.TB, s *Session, changes []change, path, foreign string) {
	t.Helper()
	was := inventory(t, s)
	original, readErr := s.ReadFile(path)
	var befores []json.RawMessage
	for _, c := range changes {
		befores = append(befores, applied(t, s, c.typ, c.Resource))
	}
	if foreign != "" && readErr == nil {
		content, err := s.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.WriteFile(path, append([]byte(foreign), content...), system.Attributes{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range slices.Backward(changes) {
		undone(t, s, c.typ, c.Resource, befores[i])
	}
	if foreign != "" && readErr == nil {
		content, err := s.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rest := bytes.Replace(content, []byte(foreign), nil, 1)
		if len(rest) == len(content) {
			t.Fatalf("the foreign line is gone: %q", content)
		}
		// Among equal lines, a foreign one can move where a line comes back to.
		if diff := cmp.Diff(sortedLines(original), sortedLines(rest)); diff != "" {
			t.Fatalf("with a foreign line, undo gives\n%q, not\n%q", rest, original)
		}
		return
	}
	if diff := cmp.Diff(was, inventory(t, s)); diff != "" {
		t.Fatalf("undo left a difference: %s", diff)
	}
}

// randomText returns a file made of fragments, with any kind of ends of lines, and perhaps none at its end.
func randomText(r *rand.Rand, fragments []string) string {
	var b strings.Builder
	ends := []string{"\n", "\n", "\n", "\r\n"}
	if r.IntN(2) == 0 {
		ends = ends[:1]
	}
	n := r.IntN(8)
	for i := range n {
		b.WriteString(fragments[r.IntN(len(fragments))])
		if i < n-1 || r.IntN(3) > 0 {
			b.WriteString(ends[r.IntN(len(ends))])
		}
	}
	return b.String()
}

func sortedLines(content []byte) []string {
	return slices.Sorted(strings.SplitSeq(strings.ReplaceAll(string(content), "\r", ""), "\n"))
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }
