package converge

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

// A parameter that an earlier form of a resource gave and the present one does not returns to what was there before, or, where slipway made the object, to
// what a new one has. A node on which the parameter was given and taken away is then like one that never had it.
func TestWhatIsNoLongerManagedReturns(t *testing.T) {
	file := func(pairs ...any) Item { return item("file[/etc/f]", pairs...) }
	host := func(pairs ...any) Item { return item("host[h]", append([]any{"ip", "10.0.0.1"}, pairs...)...) }
	for name, tt := range map[string]struct {
		there   map[string]string // files by path
		with    []Item            // forms that give more, one after the other
		without Item
	}{
		"mode of a file":            {map[string]string{"/etc/f": "was"}, []Item{file("content", "new", "mode", "0600")}, file("content", "new")},
		"mode, given later":         {map[string]string{"/etc/f": "was"}, []Item{file("content", "new"), file("content", "new", "mode", "0600")}, file("content", "new")},
		"mode of a new file":        {nil, []Item{file("content", "new", "mode", "0600")}, file("content", "new")},
		"mode of a new directory":   {nil, []Item{file("ensure", "directory", "mode", "0700")}, file("ensure", "directory")},
		"content of a file":         {map[string]string{"/etc/f": "was"}, []Item{file("content", "new", "mode", "0600")}, file("mode", "0600")},
		"a link in place of a file": {map[string]string{"/etc/f": "was"}, []Item{file("target", "/etc/other")}, file("mode", "0600")},
		"a file in place of a link": {map[string]string{"/etc/f": "->other"}, []Item{file("content", "new")}, file("ensure", "present")},
		"target of a link":          {map[string]string{"/etc/f": "->other"}, []Item{file("target", "/etc/new")}, file("ensure", "present")},
		"a file that was a link":    {map[string]string{"/etc/f": "->other"}, []Item{file("target", "/etc/new")}, file("content", "new")},
		"content of a new file":     {nil, []Item{file("content", "new")}, file("ensure", "file")},
		"content, given later":      {nil, []Item{file("ensure", "present"), file("content", "new", "mode", "0600")}, file("ensure", "present")},
		"a new file":                {nil, []Item{file("content", "new")}, file("mode", "0600")},
		"a new link":                {nil, []Item{file("target", "/etc/other")}, file("owner", "0")},
		"a new link, not a file":    {nil, []Item{file("target", "/etc/other")}, file("ensure", "present")},
		"parts of a line":           {map[string]string{"/etc/hosts": "10.0.0.2\th\told\t# was\n"}, []Item{host("host_aliases", []any{"a", "b"}, "comment", "loud")}, host()},
		"one part of a line":        {map[string]string{"/etc/hosts": "10.0.0.2\th\told\t# was\n"}, []Item{host("host_aliases", []any{"a", "b"}, "comment", "loud")}, host("comment", "loud")},
		"parts of a new line":       {map[string]string{"/etc/hosts": ""}, []Item{host("host_aliases", []any{"a", "b"}, "comment", "loud")}, host()},
	} {
		t.Run(name, func(t *testing.T) {
			start := func() *bench {
				b := newBench(t)
				b.types = types.All
				b.mkdir("/etc")
				for path, content := range tt.there {
					if target, link := strings.CutPrefix(content, "->"); link {
						b.link(path, target)
					} else {
						b.put(path, content)
					}
				}
				return b
			}
			must := func(b *bench, items ...Item) {
				t.Helper()
				for range 2 {
					results, summary := b.converge(Apply, items...)
					for _, r := range results {
						if r.Status == Failed || summary.Error != nil {
							t.Fatalf("%s: %s", r.ID, r.Message)
						}
					}
				}
			}
			want := start()
			must(want, tt.without)
			got := start()
			was := systemtest.Inventory(t, got.Root)
			for _, form := range tt.with {
				must(got, form)
			}
			must(got, tt.without)
			if d := cmp.Diff(systemtest.Inventory(t, want.Root), systemtest.Inventory(t, got.Root)); d != "" {
				t.Errorf("nodes with equal configuration differ: %s", d)
			}
			if results, _ := got.converge(Check, tt.without); results[0].Status != Unchanged {
				t.Errorf("it drifts at once: %v", results[0].Differences)
			}
			got.session(t.Context(), Manifest{Mode: Apply, TearDown: true})
			if d := cmp.Diff(was, systemtest.Inventory(t, got.Root)); d != "" {
				t.Errorf("after the tear-down: %s", d)
			}
		})
	}
}

// A file that slipway made and that went with the parameters that made it is not slipway's any more.
func TestAFileThatWentIsLeftAlone(t *testing.T) {
	b := newBench(t)
	b.types = types.All
	b.mkdir("/etc")
	b.converge(Apply, item("file[/etc/f]", "content", "first"))
	for range 2 {
		b.converge(Apply, item("file[/etc/f]", "mode", "0644"))
	}
	b.put("/etc/f", "theirs")
	b.converge(Apply, item("file[/etc/f]", "mode", "0600"))
	b.session(t.Context(), Manifest{Mode: Apply, TearDown: true})
	if info, err := b.Lstat("/etc/f"); err != nil || system.ChmodBits(info.Mode) != 0o644 {
		t.Errorf("%v, mode %04o", err, system.ChmodBits(info.Mode))
	}
}

// The content that others have written into a file that slipway made is theirs.
func TestContentOfOthersStays(t *testing.T) {
	for _, form := range []Item{item("file[/etc/f]", "ensure", "file"), item("file[/etc/f]", "mode", "0644")} {
		b := newBench(t)
		b.types = types.All
		b.mkdir("/etc")
		b.converge(Apply, item("file[/etc/f]", "content", "first"))
		b.put("/etc/f", "theirs")
		if results, _ := b.converge(Apply, form); results[0].Status != Unchanged || b.get("/etc/f") != "theirs" {
			t.Errorf("%v, the file has %q", results, b.get("/etc/f"))
		}
	}
}

func chmod(b *bench, path string, mode os.FileMode) {
	b.t.Helper()
	if err := os.Chmod(b.real(path), mode); err != nil {
		b.t.Fatal(err)
	}
}

// What was released is not slipway's any more: neither a later form nor the removal touches what others have changed since.
func TestWhatWasReleasedIsLeftAlone(t *testing.T) {
	b := newBench(t)
	b.types = types.All
	b.put("/etc/f", "was")
	for i, form := range []Item{
		item("file[/etc/f]", "content", "a", "mode", "0600"), item("file[/etc/f]", "content", "a"),
		item("file[/etc/f]", "content", "b"), removal("file[/etc/f]"),
	} {
		if results, _ := b.converge(Apply, form); results[0].Status != Changed {
			t.Fatalf("form %d: %v", i, results)
		}
		if i == 1 {
			chmod(b, "/etc/f", 0o604)
		}
	}
	info, err := b.Lstat("/etc/f")
	if got := fmt.Sprintf("%04o %s", system.ChmodBits(info.Mode), b.get("/etc/f")); err != nil || got != "0604 was" {
		t.Errorf("the file is %s", got)
	}
}

// What an update that failed did not return, the next one does.
func TestReleaseIsRepeated(t *testing.T) {
	b := newBench(t)
	b.types = types.All
	b.put("/etc/f", "was")
	chmod(b, "/etc/f", 0o640)
	b.converge(Apply, item("file[/etc/f]", "content", "a", "mode", "0600"))
	if results, _ := b.converge(Apply, item("file[/etc/f]", "content", "a", "owner", "no-such-user")); results[0].Status != Failed {
		t.Fatalf("%v", results)
	}
	results, _ := b.converge(Apply, item("file[/etc/f]", "content", "a"))
	info, err := b.Lstat("/etc/f")
	if err != nil || system.ChmodBits(info.Mode) != 0o640 || results[0].Status != Changed {
		t.Errorf("%v: mode %04o, %v", err, system.ChmodBits(info.Mode), results)
	}
}
