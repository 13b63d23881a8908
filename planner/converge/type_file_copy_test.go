package converge

import "testing"

// A copy beside a file is not purged: it is slipway's.
func TestPurgeLeavesCopies(t *testing.T) {
	b := newSandbox(t)
	b.put("/etc/d/x", "old\n")
	b.put("/etc/d/stray", "")
	items := []Item{
		item("file[/etc/d]", "ensure", "directory", "recurse", true, "purge", true),
		item("file[/etc/d/x]", "content", "new\n", "backup", ".bak"),
	}
	b.wantAll("apply", Changed, b.apply(items...))
	b.wantAll("check", Unchanged, b.inMode(Check, items...))
	if got := b.get("/etc/d/x.bak"); got != "old\n" || b.there("/etc/d/stray") {
		t.Errorf("the copy is %q", got)
	}
	b.tearDown()
	if b.there("/etc/d/x.bak") || b.get("/etc/d/x") != "old\n" || !b.there("/etc/d/stray") {
		t.Errorf("%v", b.tree())
	}
}
