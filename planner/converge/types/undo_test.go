package types

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func noCommand(c system.Command) (system.Output, error) {
	return system.Output{}, errors.New("unexpected command " + c.Argv[0])
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
	was := systemtest.Inventory(t, s.Root)
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
	if diff := cmp.Diff(was, systemtest.Inventory(t, s.Root)); diff != "" {
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
