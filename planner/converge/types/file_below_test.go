package types

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// confd is a directory with what slipway manages and what it does not.
func confd(t *testing.T) *Session {
	t.Helper()
	s := folder(t, map[string]string{
		"/etc/app.d/ours.conf": "ours", "/etc/app.d/mine.conf": "mine", "/etc/app.d/keep.local": "local", "/etc/app.d/theirs.conf": "theirs",
		"/etc/app.d/sub/ini": "[a]", "/etc/app.d/sub/old": "old", "/etc/app.d/gone/deep/x": "x", "/etc/app.d/empty/": "", "/etc/outside": "outside",
	})
	for name, mode := range map[string]os.FileMode{"theirs.conf": 0o640, "gone/deep/x": 0o600, "gone/deep": 0o700, "gone": 0o750} {
		if err := os.Chmod(filepath.Join(s.Root, "/etc/app.d", name), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link": "/etc/outside", "etc": "/etc"} {
		if err := os.Symlink(target, filepath.Join(s.Root, "/etc/app.d", name)); err != nil {
			t.Fatal(err)
		}
	}
	s.Site = "s"
	s.Wanted = []resource.Resource{
		{Type: "file", Title: "ours", Parameters: resource.Parameters{"path": "/etc/app.d/ours.conf"}},
		{Type: "ini_setting", Title: "ini", Parameters: resource.Parameters{"path": "/etc/app.d/sub/ini"}},
	}
	s.Ledger = &ledger.Ledger{Entries: []*ledger.Entry{
		{Site: "another", Type: "file", Title: "/etc/app.d/mine.conf", ID: "file[/etc/app.d/mine.conf]", Before: []byte(`{"path":"/etc/app.d/mine.conf","kind":"absent"}`)},
	}}
	return s
}

// left lists what is in the directory.
func left(t *testing.T, s *Session) string {
	t.Helper()
	var names []string
	for name := range systemtest.Inventory(t, s.Root) {
		if rest, below := strings.CutPrefix(name, "/etc/app.d/"); below {
			names = append(names, rest)
		}
	}
	return strings.Join(sortedUnion(names, nil), " ")
}

// TestPurge removes what no resource of any site manages, follows no link, and brings all back as it was.
func TestPurge(t *testing.T) {
	const kept = "keep.local mine.conf ours.conf sub sub/ini"
	for _, tt := range []struct {
		name       string
		parameters resource.Parameters
		difference string
		left       string
	}{
		{"files", nil, "etc, gone/deep/x, link, sub/old, theirs.conf", "empty gone gone/deep " + kept},
		{"directories", resource.Parameters{"force": true}, "empty, etc, gone, gone/deep, gone/deep/x and 3 more", kept},
		{"one level", resource.Parameters{"force": true, "recurselimit": int64(1)}, "etc, link, theirs.conf", "empty gone gone/deep gone/deep/x " + kept + " sub/old"},
		{"what is ignored stays, and its directory", resource.Parameters{"force": true, "ignore": []any{"x", "l*"}}, "empty, etc, sub/old, theirs.conf",
			"gone gone/deep gone/deep/x " + strings.Replace(kept, "mine", "link mine", 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := confd(t)
			p := resource.Parameters{"ensure": "directory", "recurse": true, "purge": true, "ignore": "*.local"}
			for k, v := range tt.parameters {
				p[k] = v
			}
			if list, given := tt.parameters["ignore"].([]any); given {
				p["ignore"] = append(list, "*.local")
			}
			r := res(t, fileType{}, "/etc/app.d", p)
			was := systemtest.Inventory(t, s.Root)
			diffs, err := fileType{}.Check(t.Context(), s, r)
			if diff := cmp.Diff([]Difference{{"purge", tt.difference, "absent"}}, diffs); diff != "" || err != nil {
				t.Error(err, diff)
			}
			before := applied(t, s, fileType{}, r)
			if got := left(t, s); strings.Join(sortedUnion(strings.Fields(tt.left), nil), " ") != got {
				t.Errorf("left: %s, want %s", got, tt.left)
			}
			if content, err := s.ReadFile("/etc/outside"); string(content) != "outside" {
				t.Errorf("a link was followed: %q, %v", content, err)
			}
			if err := os.WriteFile(filepath.Join(s.Root, "/etc/app.d/drift"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			before = updated(t, s, fileType{}, r, before)
			undone(t, s, fileType{}, r, before)
			now := systemtest.Inventory(t, s.Root)
			if now["/etc/app.d/drift"] == "" {
				t.Error("what came later and was removed does not come back")
			}
			delete(now, "/etc/app.d/drift")
			delete(now, "/var")
			delete(now, "/var/lib")
			if diff := cmp.Diff(was, now); diff != "" {
				t.Errorf("after undo (-was +is):\n%s", diff)
			}
		})
	}
}

// TestPurgeWithoutBackup removes for good.
func TestPurgeWithoutBackup(t *testing.T) {
	s := confd(t)
	r := res(t, fileType{}, "/etc/app.d", resource.Parameters{"ensure": "directory", "recurse": true, "purge": true, "force": true, "backup": false})
	before := applied(t, s, fileType{}, r)
	undone(t, s, fileType{}, r, before)
	if got, want := left(t, s), "mine.conf ours.conf sub sub/ini"; got != want || strings.Contains(string(before), "below") {
		t.Errorf("left: %s, want %s; before: %s", got, want, before)
	}
}

// TestPurgeLeavesWhatIsManagedByNow: what was removed does not come back over a file that has a resource by now.
func TestPurgeLeavesWhatIsManagedByNow(t *testing.T) {
	s := confd(t)
	r := res(t, fileType{}, "/etc/app.d", resource.Parameters{"ensure": "directory", "recurse": true, "purge": true})
	before := applied(t, s, fileType{}, r)
	s.Wanted = append(s.Wanted, resource.Resource{Type: "file", Title: "/etc/app.d/theirs.conf"})
	if err := os.WriteFile(filepath.Join(s.Root, "/etc/app.d/theirs.conf"), []byte("ours by now"), 0o644); err != nil {
		t.Fatal(err)
	}
	undone(t, s, fileType{}, r, before)
	if content, err := s.ReadFile("/etc/app.d/theirs.conf"); string(content) != "ours by now" {
		t.Errorf("%q, %v", content, err)
	}
}

// TestPurgeIsTakenBack: the image of a run has what the run is about to remove.
func TestPurgeIsTakenBack(t *testing.T) {
	s := confd(t)
	r := res(t, fileType{}, "/etc/app.d", resource.Parameters{"ensure": "directory", "recurse": true, "purge": true})
	was := left(t, s)
	before, err := fileType{}.Capture(t.Context(), s, r)
	if err != nil {
		t.Fatal(err)
	}
	s.Image = "1"
	image, err := fileType{}.Image(t.Context(), s, r.Title, before)
	if err != nil {
		t.Fatal(err)
	}
	s.Image = ""
	apply(t, s, fileType{}, r)
	if err := (fileType{}).Undo(t.Context(), s, r.Title, image); err != nil {
		t.Fatal(err)
	}
	if got := left(t, s); got != was {
		t.Errorf("%s, want %s", got, was)
	}
}

// TestRecurseGivesAttributes: to what has no resource of its own and is no link.
func TestRecurseGivesAttributes(t *testing.T) {
	s := confd(t)
	r := res(t, fileType{}, "/etc/app.d", resource.Parameters{"ensure": "directory", "recurse": true, "mode": "0640"})
	was := systemtest.Inventory(t, s.Root)
	diffs, err := fileType{}.Check(t.Context(), s, r)
	want := []Difference{{"mode", "0755", "0750"}, {"mode", "0755 of empty and 5 more", "0750"}}
	if diff := cmp.Diff(want, diffs); diff != "" || err != nil {
		t.Error(err, diff)
	}
	before := applied(t, s, fileType{}, r)
	now := systemtest.Inventory(t, s.Root)
	for name, mode := range map[string]string{"ours.conf": "-rw-r--r--", "mine.conf": "-rw-r--r--", "keep.local": "-rw-r-----", "gone/deep": "drwxr-x---", "gone/deep/x": "-rw-r-----", "sub": "drwxr-x---"} {
		if !strings.HasPrefix(now["/etc/app.d/"+name], mode) {
			t.Errorf("%s: %s, want %s", name, now["/etc/app.d/"+name], mode)
		}
	}
	undone(t, s, fileType{}, r, before)
	if diff := cmp.Diff(was, systemtest.Inventory(t, s.Root)); diff != "" {
		t.Errorf("after undo (-was +is):\n%s", diff)
	}
}

// TestRecurseIsBounded: what cannot be kept for undo is not touched.
func TestRecurseIsBounded(t *testing.T) {
	s := confd(t)
	for i := range mostKept + 1 {
		if err := os.WriteFile(filepath.Join(s.Root, "/etc/app.d", strings.Repeat("x", 1+i%200)+"-"+string(rune('a'+i/200))), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := res(t, fileType{}, "/etc/app.d", resource.Parameters{"ensure": "directory", "recurse": true, "purge": true})
	if _, err := (fileType{}).Capture(t.Context(), s, r); err == nil || !strings.Contains(err.Error(), "give backup = false") {
		t.Error(err)
	}
}

// TestSourceList copies the first of the sources that is there.
func TestSourceList(t *testing.T) {
	s := folder(t, map[string]string{"/srv/two": "two", "/srv/three": "three", "/etc/": ""})
	list := []any{"/srv/one", "/srv/two", "/srv/three"}
	r := res(t, fileType{}, "/etc/x", resource.Parameters{"source": list})
	before := applied(t, s, fileType{}, r)
	if content, err := s.ReadFile("/etc/x"); string(content) != "two" {
		t.Errorf("%q, %v", content, err)
	}
	if err := os.WriteFile(filepath.Join(s.Root, "/srv/one"), []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if diffs, err := (fileType{}).Check(t.Context(), s, r); err != nil || len(diffs) != 1 || diffs[0].Parameter != "content" {
		t.Errorf("another source counts: %v, %v", diffs, err)
	}
	undone(t, s, fileType{}, r, before)
	err := fileType{}.Apply(t.Context(), s, res(t, fileType{}, "/etc/x", resource.Parameters{"source": []any{"/srv/four", "/srv/five"}}))
	if err == nil || !strings.Contains(err.Error(), "source: ") || !strings.Contains(err.Error(), "/srv/five") {
		t.Error(err)
	}
	digest := resource.Digest(res(t, fileType{}, "/etc/x", resource.Parameters{"source": "/srv/two"}))
	if got := resource.Digest(res(t, fileType{}, "/etc/x", resource.Parameters{"source": []any{"/srv/two"}})); got != digest {
		t.Errorf("a list of one has the digest %s, not %s", got, digest)
	}
}

func TestRecurseSchema(t *testing.T) {
	for _, tt := range []struct {
		title      string
		parameters resource.Parameters
		wrong      string
	}{
		{"/etc/app.d", resource.Parameters{"ensure": "directory", "recurse": true, "purge": true, "recurselimit": "2", "ignore": "*.local"}, ""},
		{"/etc/app.d", resource.Parameters{"ensure": "directory", "purge": false}, ""},
		{"/etc/app.d", resource.Parameters{"recurse": true}, "recurse"},
		{"/etc/app.d", resource.Parameters{"ensure": "directory", "purge": true}, "purge"},
		{"/etc/app.d", resource.Parameters{"ensure": "directory", "recurse": "remote"}, "recurse"},
		{"/etc/app.d", resource.Parameters{"ensure": "directory", "recurse": true, "recurselimit": int64(0)}, "recurselimit"},
		{"/etc/app.d", resource.Parameters{"ensure": "directory", "recurse": true, "ignore": "a/b"}, "ignore"},
		{"/etc/app.d", resource.Parameters{"ensure": "directory", "recurse": true, "ignore": "[a"}, "ignore"},
		{"/etc", resource.Parameters{"ensure": "directory", "recurse": true, "purge": true}, "purge"},
		{"/usr/bin", resource.Parameters{"ensure": "directory", "recurse": true, "purge": true}, "purge"},
		{"/var/lib", resource.Parameters{"ensure": "directory", "recurse": true, "purge": true}, "purge"},
		{"/x", resource.Parameters{"source": []any{"/a", "b"}}, "source"},
		{"/x", resource.Parameters{"source": []any{}}, "source"},
		{"/x", resource.Parameters{"source": []any{"/a"}, "content": "x"}, "source"},
	} {
		errs := fileType{}.Schema().Validate(resource.Resource{Type: "file", Title: tt.title, Parameters: tt.parameters})
		if tt.wrong == "" && len(errs) > 0 || tt.wrong != "" && (len(errs) != 1 || errs[0].Attribute != tt.wrong) {
			t.Errorf("%s %v: %v, want %q", tt.title, tt.parameters, errs, tt.wrong)
		}
	}
}

// TestPurgeLaterWithForce: a directory that goes in a later form than what was in it comes back first.
func TestPurgeLaterWithForce(t *testing.T) {
	s := confd(t)
	form := func(force bool) resource.Resource {
		return res(t, fileType{}, "/etc/app.d", resource.Parameters{"ensure": "directory", "recurse": true, "purge": true, "force": force})
	}
	was := left(t, s)
	before := applied(t, s, fileType{}, form(false))
	before = updated(t, s, fileType{}, form(true), before)
	undone(t, s, fileType{}, form(true), before)
	if got := left(t, s); got != was {
		t.Errorf("%s, want %s", got, was)
	}
}

// TestPurgedCopyIsGone: what cannot come back is said, and keeps nothing else from coming back.
func TestPurgedCopyIsGone(t *testing.T) {
	s := confd(t)
	r := res(t, fileType{}, "/etc/app.d", resource.Parameters{"ensure": "directory", "recurse": true, "purge": true, "mode": "0700"})
	was := left(t, s)
	before := applied(t, s, fileType{}, r)
	b, err := decode[*fileBefore](before)
	if err != nil {
		t.Fatal(err)
	}
	for _, below := range b.Below {
		if strings.HasSuffix(below.Path, "/theirs.conf") {
			if err := s.Remove("/var/lib/slipway/backup/" + below.Kept); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = fileType{}.Undo(t.Context(), s, r.Title, before)
	if text, other := AsGone(err); other != nil || !strings.Contains(text, "/etc/app.d/theirs.conf") {
		t.Errorf("%v", err)
	}
	if got := left(t, s); got != strings.Replace(was, " theirs.conf", "", 1) || !strings.HasPrefix(systemtest.Inventory(t, s.Root)["/etc/app.d"], "drwxr-xr-x") {
		t.Errorf("%s, want %s without theirs.conf; %s", got, was, systemtest.Inventory(t, s.Root)["/etc/app.d"])
	}
}
