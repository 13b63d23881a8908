package converge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestADirectoryThatMovesAndFails: what is in a directory goes only when the directory is at its new path with all that is
// to be in it. Until then the former one stays whole, however often an apply fails.
func TestADirectoryThatMovesAndFails(t *testing.T) {
	root := func(at string) Item { return item("file[root]", "path", at, "ensure", "directory") }
	in := func(at, content string) Item { return item("file["+at+"]", "content", content) }
	dir := func(at string) Item { return item("file["+at+"]", "ensure", "directory") }
	was := []Item{root("/srv/www"), in("/srv/www/a", "1"), dir("/srv/www/css"), in("/srv/www/css/b", "2")}
	gone := []Item{removal("file[/srv/www/css/b]"), removal("file[/srv/www/css]"), removal("file[/srv/www/a]")}
	whole := func(b *sandbox) bool {
		return b.there("/srv/www/a") && b.there("/srv/www/css/b")
	}
	b := nodeOf(t, map[string]string{"/srv/": ""})
	before := b.tree()
	b.wantAll("first", Changed, b.apply(was...))

	now := append(gone, root("/srv/new/www"), in("/srv/new/www/a", "1"), dir("/srv/new/www/css"),
		in("/srv/new/www/css/b", "2"))
	b.apply(now...)
	if !whole(b) {
		t.Fatalf("the directory has no new path, and the former one is %v", b.tree())
	}

	b.mkdir("/srv/new")
	wrong := append(gone, root("/srv/new/www"), in("/srv/new/www/a", "1"), dir("/srv/new/www/css"),
		item("file[/srv/new/www/css/b]", "content", "2", "owner", "nobody-here"))
	for range 2 {
		b.apply(wrong...)
		if !whole(b) || !b.there("/srv/new/www/a") {
			t.Fatalf("a file is missing in the new one, and the former one is %v", b.tree())
		}
	}

	for _, r := range b.apply(now...) {
		if r.Status == Failed || r.Status == Skipped {
			t.Errorf("%+v", r)
		}
	}
	if b.there("/srv/www") || b.get("/srv/new/www/css/b") != "2" {
		t.Errorf("%v", b.tree())
	}
	b.wantAll("once more", Unchanged, b.apply(now...))

	b.apply(append(was, removal("file[/srv/new/www/css/b]"), removal("file[/srv/new/www/css]"),
		removal("file[/srv/new/www/a]"))...)
	if !whole(b) || b.there("/srv/new/www") {
		t.Errorf("moved back: %v", b.tree())
	}
	b.tearDown()
	if err := b.Remove("/srv/new"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Error(diff)
	}
}

// TestADirectoryMovesIntoItsPlace: what others are to have in the former directory takes the place of what is in it,
// which goes first.
func TestADirectoryMovesIntoItsPlace(t *testing.T) {
	b := nodeOf(t, map[string]string{"/srv/": ""})
	before := b.tree()
	b.wantAll("first", Changed, b.apply(item("file[root]", "path", "/srv/www", "ensure", "directory"),
		item("file[/srv/www/a]", "content", "1")))
	for _, r := range b.apply(removal("file[/srv/www/a]"), item("file[root]", "path", "/srv/new", "ensure", "directory"),
		item("file[/srv/new/a]", "content", "1"), item("file[dir]", "path", "/srv/www/a", "ensure", "directory"),
		item("file[/srv/www/a/b]", "content", "2")) {
		if r.Status == Failed || r.Status == Skipped {
			t.Errorf("%+v", r)
		}
	}
	if b.get("/srv/www/a/b") != "2" || b.get("/srv/new/a") != "1" {
		t.Errorf("%v", b.tree())
	}
	b.tearDown()
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Error(diff)
	}
}
