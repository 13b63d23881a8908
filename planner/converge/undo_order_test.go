package converge

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func (i Item) after(ids ...resource.ID) Item {
	i.Requires = ids
	return i
}

// undoneInOrder tears the node down and returns the ids in the order in which they were undone.
func undoneInOrder(t *testing.T, s *types.Session) []string {
	t.Helper()
	var ids []string
	for _, r := range runAll(t, s) {
		if r.Status != Changed {
			t.Errorf("%s: %s: %s", r.ID, r.Status, r.Message)
		}
		ids = append(ids, string(r.ID))
	}
	return ids
}

// TestUndoFollowsDependencies: what was applied for the sake of another resource goes after it, also when it came into the ledger later.
func TestUndoFollowsDependencies(t *testing.T) {
	t.Run("what a resource requires", func(t *testing.T) {
		s := folder(t, nil)
		content := func(text string) resource.Parameters { return resource.Parameters{"content": text} }
		runAll(t, s, managed(t, "file", "/a", content("1")), managed(t, "file", "/c", content("1")))
		runAll(t, s, managed(t, "file", "/b", content("1")), managed(t, "file", "/a", content("2")).after("file[/b]"))
		runAll(t, s, managed(t, "file", "/a", content("3"))) // what is not sent along is not forgotten
		if got, want := undoneInOrder(t, s), []string{"file[/a]", "file[/b]", "file[/c]"}; !slices.Equal(got, want) {
			t.Errorf("undone in the order %q, want %q", got, want)
		}
	})
	t.Run("what lies below a directory", func(t *testing.T) {
		s := folder(t, map[string]string{"/d/": ""})
		runAll(t, s, managed(t, "file", "/d/x", resource.Parameters{"content": "1"}))
		runAll(t, s, managed(t, "file", "/e", resource.Parameters{"content": "1"}))
		interrupted(t, s, managed(t, "file", "/d", resource.Parameters{"ensure": "directory"}), `{"path":"/d","kind":"absent","said":["content"]}`)
		if got, want := undoneInOrder(t, s), []string{"file[/d/x]", "file[/d]", "file[/e]"}; !slices.Equal(got, want) {
			t.Errorf("undone in the order %q, want %q", got, want)
		}
		if _, err := s.Lstat("/d"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the directory is left: %v", err)
		}
	})
	t.Run("removals of a run", func(t *testing.T) {
		s := folder(t, map[string]string{"/d/": ""})
		runAll(t, s, managed(t, "file", "/d/x", resource.Parameters{"content": "1"}))
		interrupted(t, s, managed(t, "file", "/d", resource.Parameters{"ensure": "directory"}), `{"path":"/d","kind":"absent","said":["content"]}`)
		results := runAll(t, s, removal("file[/d]"), removal("file[/d/x]"))
		if results[0].ID != "file[/d/x]" || results[1].ID != "file[/d]" {
			t.Errorf("undone in the order %s, %s", results[0].ID, results[1].ID)
		}
	})
}

// TestMadeDirectoryGoesWithItsLast: a directory that slipway made, and that left the ledger while other things of slipway were in it, goes with
// the last of them, and stays as long as anything else is in it.
func TestMadeDirectoryGoesWithItsLast(t *testing.T) {
	directory := resource.Parameters{"ensure": "directory"}
	for _, foreign := range []bool{false, true} {
		s := folder(t, nil)
		runAll(t, s, managed(t, "file", "/dd", directory), managed(t, "file", "/dd/sub", directory), managed(t, "file", "/dd/x", resource.Parameters{"content": "x"}),
			managed(t, "ini_setting", "i", resource.Parameters{"path": "/dd/sub/i", "section": "s", "setting": "k", "value": "v"}))
		runAll(t, s, removal("file[/dd]"), removal("file[/dd/sub]"))
		runAll(t, s, removal("file[/dd/x]"))
		if _, err := s.Lstat("/dd/sub/i"); err != nil {
			t.Fatal(err)
		}
		if foreign {
			if err := s.WriteFile("/dd/others", nil, system.Attributes{}); err != nil {
				t.Fatal(err)
			}
		}
		runAll(t, s, removal("ini_setting[i]"))
		if _, err := s.Lstat("/dd/sub"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("/dd/sub is left: %v", err)
		}
		if !foreign { // what a resource looks after again stays until that goes
			runAll(t, s, managed(t, "file", "/dd", directory))
			if _, err := s.Lstat("/dd"); err != nil {
				t.Error(err)
			}
			runAll(t, s, removal("file[/dd]"))
		}
		if _, err := s.Lstat("/dd"); (err == nil) != foreign {
			t.Errorf("foreign file %v, /dd: %v", foreign, err)
		}
	}
}

// TestMadeDirectoryWithOthersFilesSaysSo: a directory that slipway made stays when somebody else keeps something in it, and the result says so.
func TestMadeDirectoryWithOthersFilesSaysSo(t *testing.T) {
	for dir, item := range map[string]Item{
		"/d":   managed(t, "file", "/d", resource.Parameters{"ensure": "directory"}),
		"/etc": managed(t, "host", "h", resource.Parameters{"ip": "192.0.2.1"}),
	} {
		s := folder(t, nil)
		runAll(t, s, item)
		if err := s.WriteFile(dir+"/notes", nil, system.Attributes{}); err != nil {
			t.Fatal(err)
		}
		got := runAll(t, s)[0]
		if want := dir + " is not empty, so it stays: others have notes in it"; got.Status != Changed || got.Message != want {
			t.Errorf("%s: %q, message %q, want %q", got.ID, got.Status, got.Message, want)
		}
	}
}
