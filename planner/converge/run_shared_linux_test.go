package converge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// TestHardLinksThatContradict: two names of one file whose resources want different attributes would change them for ever.
// The second one is refused, in whichever run it comes.
func TestHardLinksThatContradict(t *testing.T) {
	linked := func(t *testing.T) *types.Session {
		s := folder(t, map[string]string{"a": "old"})
		if err := os.Link(filepath.Join(s.Root, "a"), filepath.Join(s.Root, "b")); err != nil {
			t.Fatal(err)
		}
		return s
	}
	file := func(t *testing.T, path string, p resource.Parameters) Item { return managed(t, "file", path, p) }
	const wrong = "file[/b] and file[/a] are one file, with two names (hard links), and differ in "
	for name, tt := range map[string]struct {
		a, b resource.Parameters
		want string // in the error of b; empty when there is none
	}{
		"modes":              {resource.Parameters{"mode": "0600"}, resource.Parameters{"mode": "0644"}, "mode: 0644 here and 0600 there"},
		"owners":             {resource.Parameters{"owner": "0"}, resource.Parameters{"owner": "1"}, "owner: 1 here and 0 there"},
		"one content":        {resource.Parameters{"content": "old", "mode": "0600"}, resource.Parameters{"content": "old", "mode": "0644"}, ""},
		"content and mode":   {resource.Parameters{"content": "new", "mode": "0600"}, resource.Parameters{"content": "old", "mode": "0644"}, ""},
		"one mode":           {resource.Parameters{"mode": "0600"}, resource.Parameters{"mode": "u=rw,go="}, ""},
		"one mode, an owner": {resource.Parameters{"mode": "0600"}, resource.Parameters{"owner": "0"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			needRoot(t)
			check := func(r Result) {
				t.Helper()
				if tt.want == "" && r.Status == Failed || tt.want != "" && (r.Status != Failed || !strings.Contains(r.Message, wrong+tt.want)) {
					t.Errorf("%s: %s, want %q", r.Status, r.Message, tt.want)
				}
			}
			s := linked(t)
			a, b := file(t, "/a", tt.a), file(t, "/b", tt.b)
			for range 2 {
				results := runAll(t, s, a, b)
				check(results[1])
				if results[0].Status == Failed {
					t.Errorf("the first one: %s", results[0].Message)
				}
			}
			check(runAll(t, s, b)[0]) // the run after does not have the first one, which is applied
			check(looked(t, s, a, b)[1])
		})
	}
	t.Run("both change", func(t *testing.T) {
		s := linked(t)
		for _, mode := range []string{"0600", "0640"} {
			for _, r := range runAll(t, s, file(t, "/a", resource.Parameters{"mode": mode}), file(t, "/b", resource.Parameters{"mode": mode})) {
				if r.Status == Failed {
					t.Errorf("%s: %s", r.ID, r.Message)
				}
			}
		}
	})
}

// looked checks items and changes nothing.
func looked(t *testing.T, s *types.Session, items ...Item) []Result {
	t.Helper()
	var results []Result
	summary := Run(t.Context(), s.System, Manifest{Protocol: Protocol, Mode: Check, Site: "s", Items: items}, func(r Result) { results = append(results, r) })
	if summary.Error != nil {
		t.Fatal(summary.Error.Message)
	}
	return results
}
