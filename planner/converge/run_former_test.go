package converge

import (
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// former are resources that get another object, which fails: the parent of a path or the source is missing, or there is
// no such directory to extract into.
func former() map[string]struct {
	was, fails Item
	fix        func(b *sandbox)
	there      func(b *sandbox) bool
	brought    func(b *sandbox) bool
} {
	type row = struct {
		was, fails Item
		fix        func(b *sandbox)
		there      func(b *sandbox) bool
		brought    func(b *sandbox) bool
	}
	makeDir := func(b *sandbox) { b.mkdir("/missing") }
	has := func(path string) func(b *sandbox) bool { return func(b *sandbox) bool { return b.there(path) } }
	key := "AAAAC3NzaC1lZDI1NTE5AAAAIGFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh"
	return map[string]row{
		"file": {
			item("file[c]", "path", "/old", "content", "x"), item("file[c]", "path", "/missing/new", "content", "x"),
			makeDir, has("/old"), has("/missing/new"),
		},
		"ini_setting": {
			item("ini_setting[c]", "path", "/old.ini", "setting", "k", "value", "1"),
			item("ini_setting[c]", "path", "/missing/new.ini", "setting", "k", "value", "1"),
			makeDir, has("/old.ini"), has("/missing/new.ini"),
		},
		"file_line": {
			item("file_line[c]", "path", "/old.conf", "line", "k"), item("file_line[c]", "path", "/missing/new.conf", "line", "k"),
			makeDir, has("/old.conf"), has("/missing/new.conf"),
		},
		"ssh_authorized_key": {
			item("ssh_authorized_key[c]", "target", "/keys", "type", "ssh-ed25519", "key", key),
			item("ssh_authorized_key[c]", "user", "late", "type", "ssh-ed25519", "key", key),
			func(b *sandbox) {
				b.put("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nlate:x:"+uid()+"::/home/late:/bin/sh\n")
				b.mkdir("/home/late")
			}, has("/keys"), has("/home/late/.ssh/authorized_keys"),
		},
	}
}

// TestANewObjectFailsAndTheFormerStays: the new object is brought first, so that one that fails leaves the former one,
// which goes once the new one is there, or stays when the resource returns to it.
func TestANewObjectFailsAndTheFormerStays(t *testing.T) {
	for name, tt := range former() {
		t.Run(name, func(t *testing.T) {
			b := nodeOf(t, map[string]string{"/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n"})
			before := b.tree()
			b.wantAll("first", Changed, b.apply(tt.was))
			for range 2 { // also once more
				b.wantAll("it fails", Failed, b.apply(tt.fails))
				if !tt.there(b) {
					t.Fatal("the former object is gone, and there is no new one")
				}
			}
			if r := b.apply(tt.was)[0]; r.Status == Failed || !tt.there(b) {
				t.Errorf("back to the former one: %+v", r)
			}
			b.wantAll("once more", Unchanged, b.apply(tt.was))
			b.wantAll("it fails again", Failed, b.apply(tt.fails))
			b.tearDown()
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Errorf("torn down in between: %s", diff)
			}
			b.apply(tt.was)
			b.apply(tt.fails)
			b.wantAll("removed", Changed, b.apply(removal(string(tt.was.ID()))))
			if tt.there(b) {
				t.Error("the former object stays after the removal")
			}
			b.apply(tt.was)
			b.apply(tt.fails)
			tt.fix(b)
			b.takenBack(tt.fails)
			b.wantAll("fixed", Changed, b.apply(tt.fails))
			if tt.there(b) || !tt.brought(b) {
				t.Errorf("former %t, new %t", tt.there(b), tt.brought(b))
			}
			b.wantAll("once more", Unchanged, b.apply(tt.fails))
			b.tearDown()
			if tt.there(b) || tt.brought(b) {
				t.Error("something is left")
			}
		})
	}
}

// TestAFailedMoveIsToBeFinished: what the controller gets says that the resource is not finished, as long as the former
// object is there.
func TestAFailedMoveIsToBeFinished(t *testing.T) {
	b := newBench(t)
	b.apply(item("file[c]", "path", "/old", "content", "x"))
	b.apply(item("file[c]", "path", "/missing/new", "content", "x"))
	digests := b.ledgerNow().Digests("one")
	if diff := cmp.Diff(map[resource.ID]string{"file[c]": ""}, digests); diff != "" {
		t.Error(diff)
	}
}

// TestAnotherTitleTakesTheFormerObject: an object that was to be left, and is still there after the new one failed, may
// go to another resource.
func TestAnotherTitleTakesTheFormerObject(t *testing.T) {
	b := nodeOf(t, map[string]string{"/old": "theirs"})
	before := b.tree()
	b.apply(item("file[c]", "path", "/old", "content", "x"))
	b.apply(item("file[c]", "path", "/missing/new", "content", "x"))
	rs := b.apply(item("file[c]", "path", "/missing/new", "content", "x"), item("file[d]", "path", "/old", "content", "d"))
	if rs[1].Status != Changed || b.get("/old") != "d" {
		t.Errorf("%+v", rs)
	}
	b.tearDown()
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Error(diff)
	}
}

// TestSettingsOfOneFileThatMove: two settings of one file are there at once, each with what was there before it, and
// with a secret that is kept beside the ledger.
func TestSettingsOfOneFileThatMove(t *testing.T) {
	b := nodeOf(t, map[string]string{"/x.ini": "a = 1\nb = 2\n"})
	before := b.tree()
	setting := func(name string) Item {
		return item("ini_setting[i]", "path", "/x.ini", "setting", name, "value", "secret", "sensitive", true)
	}
	b.apply(setting("a"))
	b.wantAll("moved", Changed, b.apply(setting("b")))
	if is := b.get("/x.ini"); is != "a = 1\nb = secret\n" {
		t.Errorf("%q", is)
	}
	b.tearDown()
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Error(diff)
	}
}

// uid returns user and group of the tests, as in /etc/passwd.
func uid() string { return strconv.Itoa(os.Geteuid()) + ":" + strconv.Itoa(os.Getegid()) }

// TestASkippedResourceSaysThatItsFormerObjectWasUndone: it leaves the object to another resource before anything else,
// and is skipped then.
func TestASkippedResourceSaysThatItsFormerObjectWasUndone(t *testing.T) {
	b := newBench(t)
	b.apply(item("file[c]", "path", "/old", "content", "x"))
	moved := item("file[c]", "path", "/new", "content", "x")
	moved.Requires = []resource.ID{"file[x]"}
	rs := b.apply(item("file[x]", "path", "/missing/x", "content", "x"), moved, item("file[d]", "path", "/old", "content", "d"))
	want := "not begun: file[x], which it requires, failed or was skipped; fix that first; what it looked after before, /old, was undone first"
	if got := rs[1]; got.Status != Skipped || got.Message != want {
		t.Errorf("%s: %s", got.Status, got.Message)
	}
}
