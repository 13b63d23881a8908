package converge

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// nodeNow is everything on a node: its files, slipway's own aside, and what the ledger says.
func (b *sandbox) nodeNow() (map[string]string, string) {
	b.t.Helper()
	tree := b.tree()
	maps.DeleteFunc(tree, func(path, _ string) bool { return strings.HasPrefix(path, system.Home) })
	l, err := ledger.Read(b.System)
	if err != nil {
		b.t.Fatal(err)
	}
	text, err := json.MarshalIndent(struct{ Entries, Pending, Images any }{l.Entries, l.Pending, l.Images}, "", " ")
	if err != nil {
		b.t.Fatal(err)
	}
	return tree, string(text)
}

// takenBack applies items in a run of their own, takes that back, and checks that the node and its ledger are as before.
func (b *sandbox) takenBack(items ...Item) {
	b.t.Helper()
	files, entries := b.nodeNow()
	run := func(c Manifest) {
		b.t.Helper()
		c.Protocol, c.Site, c.Run, c.Mode = Protocol, "one", "taken back", Apply
		s := Run(b.t.Context(), b.System, c, func(r Result) {
			if r.Status == Failed || r.Status == Skipped {
				b.t.Errorf("restore %t: %+v", c.Restore, r)
			}
		})
		if s.Error != nil {
			b.t.Fatal(s.Error)
		}
	}
	run(Manifest{Images: true, Items: items})
	run(Manifest{Restore: true})
	now, entriesNow := b.nodeNow()
	if diff := cmp.Diff(files, now); diff != "" {
		b.t.Fatalf("not as before:\n%s\nitems %+v", diff, items)
	}
	if diff := cmp.Diff(entries, entriesNow); diff != "" {
		b.t.Fatalf("the ledger is not as before:\n%s", diff)
	}
}

// TestRestoreCanary: the file of a canary whose service does not start with it is the old one again, and the service runs with that.
func TestRestoreCanary(t *testing.T) {
	active := "active"
	r := &recorder{Answers: map[string]system.Output{}}
	s := systemdNode(t, r)
	b := &bench{sandbox: &sandbox{s, s.Root, t}, types: types.All, run: "run-1"}
	b.mkdir("/etc/d")
	r.Effects = map[string]func(){"systemctl restart": func() {
		if active = "active"; b.get("/etc/d.conf") == "broken" {
			active = "failed"
		}
	}}
	r.Effects["systemctl start"] = r.Effects["systemctl restart"]
	b.Commands = func(_ context.Context, c system.Command) (system.Output, error) {
		r.Answers["systemctl show"] = system.Output{Stdout: []byte(systemtest.Shown("d.service", "loaded", active, "x", "enabled"))}
		return r.Run(c)
	}
	file := func(content string) Item {
		return managed(t, "file", "/etc/d.conf", resource.Parameters{"content": content}).notifies("service[d]")
	}
	service := managed(t, "service", "d", resource.Parameters{"ensure": "running"})
	b.converge(Apply, file("old"), service)
	before, entries := b.nodeNow()

	b.run = "run-2"
	results, _ := b.session(t.Context(), Manifest{Mode: Apply, Images: true, Items: []Item{
		managed(t, "file", "/etc/d", resource.Parameters{"mode": "0700"}), file("broken"), service,
		managed(t, "exec", "true", resource.Parameters{"command": "true", "path": []any{"/bin"}}),
	}})
	if active != "failed" || results[2].Status != Failed {
		t.Fatalf("the service is %s: %+v", active, results)
	}
	r.Ran = nil
	results, summary := b.session(t.Context(), Manifest{Mode: Apply, Restore: true})
	b.wantStatuses(results, "exec[true] unchanged", "service[d] changed", "file[/etc/d.conf] changed", "file[/etc/d] changed")
	if summary.Error != nil || results[0].Message != NotRestored {
		t.Errorf("%v, %q", summary.Error, results[0].Message)
	}
	if active != "active" || b.get("/etc/d.conf") != "old" || !slices.Contains(r.Ran, "systemctl reset-failed -- d.service") {
		t.Errorf("the service is %s, the file %q; ran %q", active, b.get("/etc/d.conf"), r.Ran)
	}
	now, entriesNow := b.nodeNow()
	if diff := cmp.Diff(before, now); diff != "" {
		t.Errorf("not as before:\n%s", diff)
	}
	if diff := cmp.Diff(entries, entriesNow); !strings.Contains(diff, "exec") || strings.Contains(diff, "/etc/d") {
		t.Errorf("of the ledger, only the command is to be another:\n%s", diff)
	}
}

// TestImagesStayAsLongAsNeeded: until they are restored or another run changes the node, whatever the run that took them has removed.
func TestImagesStayAsLongAsNeeded(t *testing.T) {
	b := nodeOf(t, map[string]string{"/f": "old"})
	bench := &bench{sandbox: b, types: types.All, run: "run-1"}
	bench.converge(Apply, managed(t, "file", "/f", resource.Parameters{"content": "1"}))
	bench.run = "run-2"
	bench.session(t.Context(), Manifest{Mode: Apply, Images: true, Items: []Item{removal("file[/f]")}})
	if got := b.get("/f"); got != "old" || len(bench.ledgerNow().Images) != 1 {
		t.Fatalf("the file is %q, and there are %d images", got, len(bench.ledgerNow().Images))
	}
	bench.run = "run-3"
	if results, _ := bench.session(t.Context(), Manifest{Mode: Apply, Restore: true}); len(results) > 0 {
		t.Errorf("another run restored %+v", results)
	}
	if b.there(system.Home) {
		t.Error("with the images, nothing is left on the node, and slipway's directory is still there")
	}
}

// TestRestoreGoesOn: a restore that did not come to its end is repeated by the next one; meanwhile the ledger has what is left as begun.
func TestRestoreGoesOn(t *testing.T) {
	b := nodeOf(t, map[string]string{"/d/": ""})
	bench := &bench{sandbox: b, types: types.All, run: "run-1"}
	old, changed := resource.Parameters{"content": "1"}, resource.Parameters{"content": "2"}
	bench.converge(Apply, managed(t, "file", "/d/a", old), managed(t, "file", "/d/b", old))
	files, entries := b.nodeNow()
	bench.run = "run-2"
	bench.session(t.Context(), Manifest{Mode: Apply, Images: true, Items: []Item{
		managed(t, "file", "/d/a", changed), removal("file[/d/b]"), managed(t, "file", "/d/c", changed),
	}})
	ended, end := context.WithCancel(t.Context())
	end()
	results, _ := bench.session(ended, Manifest{Mode: Apply, Restore: true})
	bench.wantStatuses(results, "file[/d/c] skipped", "file[/d/b] skipped", "file[/d/a] skipped")
	b.put("/d/b/theirs", "in the way")
	results, summary := bench.session(t.Context(), Manifest{Mode: Apply, Restore: true})
	bench.wantStatuses(results, "file[/d/c] changed", "file[/d/b] failed", "file[/d/a] changed")
	if digest, known := summary.Ledger["file[/d/b]"]; digest != "" || !known {
		t.Errorf("what was not restored has the digest %q, %t", digest, known)
	}
	if err := os.RemoveAll(b.real("/d/b")); err != nil {
		t.Fatal(err)
	}
	bench.session(t.Context(), Manifest{Mode: Apply, Restore: true})
	now, entriesNow := b.nodeNow()
	if diff := cmp.Diff(files, now) + cmp.Diff(entries, entriesNow); diff != "" {
		t.Errorf("not as before:\n%s", diff)
	}
}

// endsAfter is a context that ends when it was asked so often.
type endsAfter struct {
	context.Context
	asked *int
}

func (c endsAfter) Err() error {
	if *c.asked--; *c.asked < 0 {
		return context.Canceled
	}
	return nil
}

// TestRestoreEndsInTheMiddle: wherever a restore ends, the ledger says of each file what it is, so that the next run, with images of its own, makes of it
// what it is sent.
func TestRestoreEndsInTheMiddle(t *testing.T) {
	old, changed := resource.Parameters{"content": "1"}, resource.Parameters{"content": "2"}
	var ends []string
	for asked := range 60 {
		b := nodeOf(t, map[string]string{"/d/": ""})
		bench := &bench{sandbox: b, types: types.All, run: "run-1"}
		bench.converge(Apply, managed(t, "file", "/d/a", old), managed(t, "file", "/d/b", old))
		bench.run = "run-2"
		was := []Item{managed(t, "file", "/d/a", old), managed(t, "file", "/d/b", old)}
		next := []Item{managed(t, "file", "/d/a", changed), managed(t, "file", "/d/b", changed), managed(t, "file", "/d/c", changed)}
		bench.session(t.Context(), Manifest{Mode: Apply, Images: true, Items: next})
		_, summary := bench.session(endsAfter{t.Context(), &asked}, Manifest{Mode: Apply, Restore: true})
		files, _ := b.nodeNow()
		ends = append(ends, strings.Join([]string{files["/d/a"], files["/d/b"], files["/d/c"]}, "|"))
		for i, item := range next {
			digest, known := summary.Ledger[item.ID()]
			content, there := files["/d/"+string(rune('a'+i))]
			restored := i < len(was) && digest == was[i].Digest || i == len(was) && !known
			if summary.Ledger != nil && digest != "" && (digest == item.Digest) == restored {
				t.Errorf("%d: %s has the digest %q and is %q, %t", asked, item.ID(), digest, content, there)
			}
		}
		bench.run = "run-3"
		bench.converge(Apply, next...)
		for name, content := range map[string]string{"/d/a": "2", "/d/b": "2", "/d/c": "2"} {
			if got := b.get(name); got != content {
				t.Errorf("%d: the next run left %s with %q", asked, name, got)
			}
		}
	}
	if slices.Sort(ends); len(slices.Compact(ends)) < 3 {
		t.Errorf("the restores ended with %q only", ends)
	}
}

// TestRestoreAccounts: a user and a group that a run deletes or makes, and what it changes of them, come back with their numbers and password.
func TestRestoreAccounts(t *testing.T) {
	for name, tt := range map[string]struct {
		item   Item
		change []string // old and new text of the account files, in pairs: what the run does to them
		want   []string
	}{
		"deleted": {
			managed(t, "user", "ann", resource.Parameters{"ensure": "absent"}),
			[]string{"/etc/passwd", "ann:x:1000:1000:Ann A:/home/ann:/bin/bash\n", "", "/etc/shadow", "ann:$6$former$hash:1:0:99999:7:::\n", ""},
			[]string{"useradd -u 1000 -g 1000 -G adm,users -c Ann A -d /home/ann -s /bin/bash -M ann", "chpasswd -e"},
		},
		"changed": {
			managed(t, "user", "ann", resource.Parameters{"comment": "B", "shell": "/bin/sh"}),
			[]string{"/etc/passwd", ":Ann A:/home/ann:/bin/bash", ":B:/home/ann:/bin/sh"},
			[]string{"usermod -c Ann A -s /bin/bash ann"},
		},
		"made": {
			managed(t, "user", "bob", resource.Parameters{}),
			[]string{"/etc/passwd", "root:x", "bob:x:1001:1001::/home/bob:/bin/sh\nroot:x"}, []string{"userdel bob"},
		},
		"group deleted": {
			managed(t, "group", "web", resource.Parameters{"ensure": "absent"}),
			[]string{"/etc/group", "web:x:33:\n", ""}, []string{"groupadd -g 33 web"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{Effects: map[string]func(){}}
			s := wholeMachine(t, systemtest.AccountFiles(), r.Run)
			r.Effects["userdel"] = func() { systemtest.Edit(t, s.Root, "/etc/passwd", "bob:", "was:") }
			typ := types.All[tt.item.Type]
			before, err := typ.Capture(t.Context(), s, tt.item.Resource)
			if err != nil {
				t.Fatal(err)
			}
			s.Image = "run 0"
			image, err := typ.(types.Imager).Image(t.Context(), s, tt.item.Title, before)
			if err != nil {
				t.Fatal(err)
			}
			s.Image, r.Ran = "", nil
			for change := range slices.Chunk(tt.change, 3) {
				systemtest.Edit(t, s.Root, change[0], change[1], change[2])
			}
			s.Forget()
			if err := typ.Undo(t.Context(), s, tt.item.Title, image); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.Ran, tt.want) {
				t.Errorf("ran %q, want %q", r.Ran, tt.want)
			}
		})
	}
}

// TestRestoreCron: a crontab that the run makes, changes or removes is as it was, byte for byte.
func TestRestoreCron(t *testing.T) {
	job := func(title, command string) Item {
		return managed(t, "cron", title, resource.Parameters{"command": command, "minute": "1"})
	}
	b := nodeOf(t, nil)
	for _, items := range [][]Item{
		{job("a", "true"), job("b", "true")}, {job("a", "false")}, {removal("cron[a]"), job("b", "x")}, {job("c", "y")}, {removal("cron[b]"), removal("cron[c]")},
	} {
		b.takenBack(items...)
		b.apply(items...)
	}
}

// TestFilesComeBackWithTheirAttributes: a file that slipway removes with the last thing that it put there comes back with its access list, its
// capabilities and what users attached, like one of a file resource; by the undo of a resource and by that of a run.
func TestFilesComeBackWithTheirAttributes(t *testing.T) {
	needRoot(t)
	const dropIn = "/etc/sysctl.d/99-zz-slipway-net.ipv4.ip_forward.conf"
	attributes := maps.Clone(extendedAttributes)
	attributes["system.posix_acl_access"] = "\x02\x00\x00\x00\x01\x00\x06\x00\xff\xff\xff\xff\x02\x00\x06\x00\x01\x00\x00\x00\x04\x00\x04\x00\xff\xff\xff\xff" +
		"\x10\x00\x06\x00\xff\xff\xff\xff\x20\x00\x00\x00\xff\xff\xff\xff"
	sysctl := func(persist bool) Item {
		return managed(t, "sysctl", "net.ipv4.ip_forward", resource.Parameters{"value": "1", "persist": persist})
	}
	run := func(b *bench, made Item) {
		b.run = "run-2"
		b.session(t.Context(), Manifest{Mode: Apply, Images: true, Items: []Item{removal(string(made.ID()))}})
	}
	restore := func(b *bench) { b.session(t.Context(), Manifest{Mode: Apply, Restore: true}) }
	for name, tt := range map[string]struct {
		path     string
		made     Item // nothing: the file is there
		remove   func(*bench, Item)
		comeBack func(*bench)
	}{
		"line":    {"/etc/x.conf", managed(t, "file_line", "l", resource.Parameters{"path": "/etc/x.conf", "line": "x"}), run, restore},
		"setting": {"/etc/x.ini", managed(t, "ini_setting", "/etc/x.ini s k", resource.Parameters{"path": "/etc/x.ini", "section": "s", "setting": "k", "value": "v"}), run, restore},
		"host":    {"/etc/hosts", managed(t, "host", "h", resource.Parameters{"ip": "10.0.0.1"}), run, restore},
		"cron":    {"/var/spool/cron/crontabs/root", managed(t, "cron", "c", resource.Parameters{"command": "true"}), run, restore},
		"sysctl":  {dropIn, sysctl(true), run, restore},
		"sysctl that was there": {dropIn, Item{}, func(b *bench, _ Item) { b.converge(Apply, sysctl(false)) }, func(b *bench) {
			b.session(t.Context(), Manifest{Mode: Apply, TearDown: true})
		}},
		"sysctl that was there, by the run": {dropIn, Item{}, func(b *bench, _ Item) {
			b.session(t.Context(), Manifest{Mode: Apply, Images: true, Items: []Item{sysctl(false)}})
		}, restore},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{sandbox: nodeOf(t, map[string]string{"/etc/sysctl.d/": "", "/proc/sys/net/ipv4/ip_forward": "1\n"}), types: types.All, run: "run-1"}
			if tt.path == dropIn { // the type needs a whole machine
				b.Commands = func(context.Context, system.Command) (system.Output, error) { return system.Output{}, nil }
			}
			if tt.made.Type == "" {
				b.put(tt.path, "# mine\n")
			} else {
				b.converge(Apply, tt.made)
			}
			for attribute, value := range attributes {
				if err := unix.Setxattr(b.real(tt.path), attribute, []byte(value), 0); errors.Is(err, unix.ENOTSUP) {
					t.Skipf("NOT TESTED: the file system of %s knows no %s", b.dir, attribute)
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if tt.remove(b, tt.made); b.there(tt.path) {
				t.Fatal("the file was not removed")
			}
			tt.comeBack(b)
			for attribute, want := range attributes {
				value := make([]byte, 100)
				n, err := unix.Getxattr(b.real(tt.path), attribute, value)
				if err != nil || string(value[:n]) != want {
					t.Errorf("%s is %q, %v; want %q", attribute, value[:max(n, 0)], err, want)
				}
			}
		})
	}
}
