package converge

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// TestOneFileByTwoPaths: two paths lead to one file, through a link in one of them. The second resource is refused, and names the first.
func TestOneFileByTwoPaths(t *testing.T) {
	content := func(text string) resource.Parameters { return resource.Parameters{"content": text} }
	for name, tt := range map[string]struct {
		link  bool // it is there before the run
		has   int  // the index of the item that has the file of the last one
		items []Item
	}{
		"a link that is there": {true, 0, []Item{managed(t, "file", "/real/f", content("1")), managed(t, "file", "/alias/f", content("2"))}},
		"a link that the run makes": {false, 0, []Item{managed(t, "file", "/real/f", content("1")),
			managed(t, "file", "/alias", resource.Parameters{"target": "real"}), managed(t, "file", "/alias/f", content("2"))}},
		"a link that the run makes, and what is behind it first": {false, 1, []Item{
			managed(t, "file", "/alias", resource.Parameters{"target": "real"}), managed(t, "file", "/alias/f", content("1")),
			managed(t, "file", "/real/f", content("2"))}},
		"settings": {true, 0, []Item{
			managed(t, "ini_setting", "a", resource.Parameters{"path": "/real/i", "section": "s", "setting": "k", "value": "1"}),
			managed(t, "ini_setting", "b", resource.Parameters{"path": "/alias/i", "section": "s", "setting": "k", "value": "2"})}},
		"settings in a file that is a link": {true, 0, []Item{
			managed(t, "ini_setting", "a", resource.Parameters{"path": "/real/i", "section": "s", "setting": "k", "value": "1"}),
			managed(t, "ini_setting", "b", resource.Parameters{"path": "/i", "section": "s", "setting": "k", "value": "2"})}},
	} {
		t.Run(name, func(t *testing.T) {
			s := folder(t, map[string]string{"/real/f": "original", "/real/i": "[s]\nk = original\n"})
			if tt.link {
				for name, target := range map[string]string{"alias": "real", "i": "real/i"} {
					if err := os.Symlink(target, filepath.Join(s.Root, name)); err != nil {
						t.Fatal(err)
					}
				}
			}
			for range 2 {
				results := runAll(t, s, tt.items...)
				last, other := results[len(results)-1], results[tt.has]
				if other.Status == Failed || last.Status != Failed || !strings.Contains(last.Message, string(other.ID)) {
					t.Errorf("the one is %s, the other %s: %q", other.Status, last.Status, last.Message)
				}
			}
			runAll(t, s)
			for path, want := range map[string]string{"/real/f": "original", "/real/i": "[s]\nk = original\n"} {
				if is, err := s.ReadFile(path); string(is) != want || err != nil {
					t.Errorf("%s is %q, %v", path, is, err)
				}
			}
		})
	}
}

// TestOnePackageByTwoNames: a name with the node's own architecture is the name without.
func TestOnePackageByTwoNames(t *testing.T) {
	s := aptNode(t, systemtest.Stanza("tree", ""), &recorder{})
	results := runAll(t, s, managed(t, "package", "tree", nil), managed(t, "package", "tree:amd64", nil))
	if results[0].Status != Unchanged || results[1].Status != Failed || !strings.Contains(results[1].Message, "package[tree]") {
		t.Errorf("%+v", results)
	}
}

// TestAnotherSpellingTakesOver: a resource whose object is written another way, which only the node knows to be the same, under its title or another
// one, goes on where it was: nothing has changed, and what was there before slipway is back in the end, also when the link of the former way goes.
func TestAnotherSpellingTakesOver(t *testing.T) {
	for typ, parameters := range map[string]resource.Parameters{
		"file": {"content": "x"}, "ini_setting": {"setting": "k", "value": "v"}, "file_line": {"line": "x"},
	} {
		at := func(title, dir string) Item {
			p := maps.Clone(parameters)
			p["path"] = dir + "/f"
			return managed(t, typ, title, p)
		}
		link := managed(t, "file", "/alias", resource.Parameters{"target": "real"})
		for name, tt := range map[string]struct{ former, now []Item }{
			"the same title":                    {[]Item{at("f", "/alias")}, []Item{at("f", "/real")}},
			"another title":                     {[]Item{at("f", "/alias")}, []Item{removal(typ + "[f]"), at("g", "/real")}},
			"the same title, and the link goes": {[]Item{link, at("f", "/alias")}, []Item{removal("file[/alias]"), at("f", "/real")}},
			"another title, and the link goes":  {[]Item{link, at("f", "/alias")}, []Item{removal("file[/alias]"), removal(typ + "[f]"), at("g", "/real")}},
		} {
			t.Run(typ+", "+name, func(t *testing.T) {
				s := folder(t, map[string]string{"/real/f": "k = original\n"})
				if len(tt.former) == 1 {
					if err := os.Symlink("real", filepath.Join(s.Root, "alias")); err != nil {
						t.Fatal(err)
					}
				}
				runAll(t, s, tt.former...)
				file := filepath.Join(s.Root, "real/f")
				was, err := os.Stat(file)
				if err != nil {
					t.Fatal(err)
				}
				results := runAll(t, s, tt.now...)
				if last := results[len(results)-1]; last.Status != Unchanged {
					t.Errorf("it is %s: %s %v", last.Status, last.Message, last.Differences)
				}
				if now, err := os.Stat(file); err != nil || !os.SameFile(was, now) || now.ModTime() != was.ModTime() {
					t.Errorf("the file was written: %v", err)
				}
				runAll(t, s)
				if is, err := s.ReadFile("/real/f"); string(is) != "k = original\n" || err != nil {
					t.Errorf("after the tear-down it is %q, %v", is, err)
				}
			})
		}
	}
}

// TestAnotherNameOfAPackageKeepsIt: a package of slipway's whose name gets the node's own architecture, or loses it, is not removed and installed again.
func TestAnotherNameOfAPackageKeepsIt(t *testing.T) {
	const simulate, install = "apt-get" + systemtest.AptOptions + " -s", "apt-get" + systemtest.AptOptions + " install"
	for was, now := range map[string]string{"tree": "tree:amd64", "tree:amd64": "tree"} {
		var s *types.Session
		r := &recorder{Answers: map[string]system.Output{
			"apt-cache policy": systemtest.Prints(was + ":\n  Candidate: 1\n"),
			simulate:           systemtest.Prints("Inst tree (1 x [amd64])\n"),
		}}
		s = aptNode(t, "", r)
		r.Effects = map[string]func(){install: nowInstalled(t, &s, systemtest.Stanza("tree", ""), "")}
		if got := runAll(t, s, managed(t, "package", "t", resource.Parameters{"name": was}))[0]; got.Status != Changed {
			t.Fatalf("%s: %s", got.Status, got.Message)
		}
		r.Ran = nil
		got := runAll(t, s, managed(t, "package", "t", resource.Parameters{"name": now}))[0]
		if got.Status != Unchanged {
			t.Errorf("%s, then %s: it is %s: %s %v", was, now, got.Status, got.Message, got.Differences)
		}
		for _, line := range r.Ran {
			if strings.Contains(line, "purge") || strings.Contains(line, "remove") || strings.HasPrefix(line, install) {
				t.Errorf("%s, then %s: %s", was, now, line)
			}
		}
	}
}

// TestOneMountPointByTwoPaths: the second resource is refused, and what is mounted is found by either path.
func TestOneMountPointByTwoPaths(t *testing.T) {
	for name, paths := range map[string][2]string{"a link above": {"/alias/x", "/real/x"}, "a link": {"/point", "/real/x"}} {
		t.Run(name, func(t *testing.T) {
			k := newKernel(t, systemtest.RootFstab)
			if err := os.MkdirAll(filepath.Join(k.sys.Root, "real/x"), 0o755); err != nil {
				t.Fatal(err)
			}
			for name, target := range map[string]string{"alias": "real", "point": "real/x"} {
				if err := os.Symlink(target, filepath.Join(k.sys.Root, name)); err != nil {
					t.Fatal(err)
				}
			}
			k.Set([]string{"/real/x tmpfs tmpfs noexec"})
			p := resource.Parameters{"device": "tmpfs", "fstype": "tmpfs", "options": "noexec"}
			for range 2 {
				results := runAll(t, k.sys, managed(t, "mount", paths[0], p), managed(t, "mount", paths[1], p))
				if results[0].Status == Failed || results[1].Status != Failed || !strings.Contains(results[1].Message, "mount["+paths[0]+"]") {
					t.Errorf("%+v", results)
				}
			}
		})
	}
}

// TestMountOfAnOlderLedger: an entry that does not say what it looks after is not undone for that.
func TestMountOfAnOlderLedger(t *testing.T) {
	k := newKernel(t, systemtest.RootFstab)
	p := resource.Parameters{"device": "tmpfs", "fstype": "tmpfs"}
	runAll(t, k.sys, managed(t, "mount", "/mnt", p))
	l, err := ledger.Read(k.sys.System)
	if err != nil {
		t.Fatal(err)
	}
	l.Entries[0].Object = ""
	if err := l.Compact(); err != nil {
		t.Fatal(err)
	}
	k.Calls = nil
	p["options"] = "noexec"
	if got := runAll(t, k.sys, managed(t, "mount", "/mnt", p)); got[0].Status != Changed || len(got[0].Differences) != 1 {
		t.Errorf("%+v", got)
	}
	for _, call := range k.Calls {
		if strings.HasPrefix(call, "umount") {
			t.Errorf("it was unmounted: %q", k.Calls)
		}
	}
	if l, err = ledger.Read(k.sys.System); err != nil || l.Entries[0].Object != "/mnt" {
		t.Errorf("the ledger knows %+v, %v", l.Entries[0], err)
	}
}

// TestHardLinksOfOneFile: two names of one file become files of their own when slipway writes them, so that a second run has nothing to do. Undo brings
// the contents and attributes back, and not that they were one file. Owner, group and mode alone are changed for both names.
func TestHardLinksOfOneFile(t *testing.T) {
	for name, tt := range map[string]struct {
		parameters resource.Parameters
		one        bool // they stay one file
	}{
		"content": {resource.Parameters{"content": "new"}, false},
		"mode":    {resource.Parameters{"mode": "0600"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := folder(t, map[string]string{"a": "old"})
			if err := os.Link(filepath.Join(s.Root, "a"), filepath.Join(s.Root, "b")); err != nil {
				t.Fatal(err)
			}
			was := systemtest.Inventory(t, s.Root)
			one := func() bool {
				a, errA := os.Stat(filepath.Join(s.Root, "a"))
				b, errB := os.Stat(filepath.Join(s.Root, "b"))
				return errA == nil && errB == nil && os.SameFile(a, b)
			}
			items := []Item{managed(t, "file", "/a", tt.parameters), managed(t, "file", "/b", tt.parameters)}
			runAll(t, s, items...)
			if one() != tt.one {
				t.Errorf("one file: %v", one())
			}
			for _, r := range runAll(t, s, items...) {
				if r.Status != Unchanged {
					t.Errorf("the second run: %+v", r)
				}
			}
			runAll(t, s)
			now := systemtest.Inventory(t, s.Root)
			delete(now, "/var")
			delete(now, "/var/lib")
			if diff := cmp.Diff(was, now); diff != "" || one() != tt.one {
				t.Errorf("one file: %v, %s", one(), diff)
			}
		})
	}
}

// TestOneServiceByTwoNames: a unit's other name is the unit.
func TestOneServiceByTwoNames(t *testing.T) {
	s := systemdNode(t, &recorder{})
	for _, dir := range []string{"/etc/systemd/system", "/usr/lib/systemd/system"} {
		if err := os.MkdirAll(filepath.Join(s.Root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/usr/lib/systemd/system/ssh.service", filepath.Join(s.Root, "etc/systemd/system/sshd.service")); err != nil {
		t.Fatal(err)
	}
	x := &session{sys: s, types: types.All}
	if one, other := x.resolved(object{"service", "sshd"}), x.resolved(object{"service", "ssh"}); one != other {
		t.Errorf("%v and %v", one, other)
	}
	if one, other := x.resolved(object{"service", "web"}), (object{"service", "web"}); one != other {
		t.Errorf("%v became %v", other, one)
	}
}
