package converge

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// managed returns an item as the controller sends it.
func managed(t testing.TB, typ, title string, parameters resource.Parameters) Item {
	t.Helper()
	r := res(t, types.All[typ], title, parameters)
	return Item{Resource: r, Digest: resource.Digest(r)}
}

// TestUndoFinishesWhatItCan: what an undo needs was taken away by others. It is no obstacle, and is reported.
func TestUndoFinishesWhatItCan(t *testing.T) {
	remove := func(path string) func(*testing.T, *types.Session) {
		return func(t *testing.T, s *types.Session) {
			if err := os.RemoveAll(filepath.Join(s.Root, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	replace := func(path string) func(*testing.T, *types.Session) {
		return func(t *testing.T, s *types.Session) {
			remove(path)(t, s)
			if err := os.WriteFile(filepath.Join(s.Root, path), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	content := resource.Parameters{"content": "new"}
	setting := resource.Parameters{"path": "/d/a.ini", "section": "s", "setting": "k", "value": "new"}
	for name, tt := range map[string]struct {
		typ, title string
		parameters resource.Parameters
		meanwhile  func(*testing.T, *types.Session)
		message    string
		left       string // what is in /d/file or /d/a.ini afterwards
	}{
		"a file, its directory gone":         {"file", "/d/file", content, remove("/d"), "/d is gone", ""},
		"a file, a file for its directory":   {"file", "/d/file", content, replace("/d"), "/d is gone", ""},
		"a new file, its directory gone":     {"file", "/d/new", content, remove("/d"), types.AlreadyGone, ""},
		"a link, its directory gone":         {"file", "/d/link", resource.Parameters{"target": "/x"}, remove("/d"), "/d is gone", ""},
		"a directory, its directory gone":    {"file", "/d/dir", resource.Parameters{"ensure": "absent", "force": true}, remove("/d"), "/d is gone", ""},
		"a file, its copy gone":              {"file", "/d/file", content, remove(system.BackupPath), "the copy of what was in /d/file before is gone", "new"},
		"a setting, its directory gone":      {"ini_setting", "x", setting, remove("/d"), "/d is gone", ""},
		"a secret setting, its copy gone":    {"ini_setting", "x", with(setting, "sensitive", true), remove(system.BackupPath), "the copy of what was in /d/a.ini before is gone", "[s]\n"},
		"a host, its directory gone":         {"host", "h", resource.Parameters{"ip": "10.0.0.2"}, remove("/etc"), "/etc is gone", ""},
		"a kernel parameter, directory gone": {"sysctl", "net.x", resource.Parameters{"value": "2"}, remove("/etc/sysctl.d"), "/etc/sysctl.d is gone", ""},
		"a job, its directory gone":          {"cron", "j", resource.Parameters{"command": "/bin/new", "user": "root"}, remove("/var/spool/cron"), "/var/spool/cron/crontabs is gone", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := folder(t, map[string]string{
				"/d/file": "old", "/d/a.ini": "[s]\nk = old\n", "/d/dir/": "", "/etc/hosts": "10.0.0.1 h\n", "/var/spool/cron/crontabs/": "",
				"/etc/passwd": "root:x:0:0::/root:/bin/sh\n", "/proc/sys/net/x": "1\n", "/etc/sysctl.d/99-zz-slipway-net.x.conf": "net.x = 1\n",
				"/var/spool/cron/crontabs/root": "# Puppet Name: j\n0 1 * * * /bin/old\n",
			})
			s.Commands = func(_ context.Context, c system.Command) (system.Output, error) { // the only command: dd, of a kernel parameter
				return system.Output{}, os.WriteFile(filepath.Join(s.Root, "/proc/sys/net/x"), c.Stdin, 0o600)
			}
			if err := os.Symlink("/old", filepath.Join(s.Root, "/d/link")); err != nil {
				t.Fatal(err)
			}
			if got := runAll(t, s, managed(t, tt.typ, tt.title, tt.parameters))[0]; got.Status != Changed {
				t.Fatalf("%s: %s", got.Status, got.Message)
			}
			tt.meanwhile(t, s)
			got := runAll(t, s)[0]
			if got.Status != Changed || !strings.Contains(got.Message, tt.message) || tt.message == "" && got.Message != "" {
				t.Errorf("undone: %q, message %q", got.Status, got.Message)
			}
			if _, err := s.Lstat(system.Home); err == nil {
				t.Error("slipway's directory is left")
			}
			if tt.left != "" {
				path := "/d/file"
				if tt.typ != "file" {
					path = "/d/a.ini"
				}
				if is, err := s.ReadFile(path); string(is) != tt.left || err != nil {
					t.Errorf("%s: %q, %v", path, is, err)
				}
			}
		})
	}
}

func with(p resource.Parameters, name string, value any) resource.Parameters {
	out := resource.Parameters{name: value}
	for n, v := range p {
		out[n] = v
	}
	return out
}

// TestUndoOfMountPoints: slipway's own directory, and one that it made, are file systems of their own by now. They stay, empty.
func TestUndoOfMountPoints(t *testing.T) {
	s := folder(t, nil)
	mount := func(path string) {
		onDisk := filepath.Join(s.Root, path)
		if err := os.MkdirAll(onDisk, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", onDisk, "tmpfs", 0, "mode=700"); err != nil {
			t.Skipf("a file system cannot be mounted here: %v", err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(onDisk, 0); err != nil {
				t.Error(err)
			}
		})
	}
	mount(system.Home)
	runAll(t, s, managed(t, "file", "/made", resource.Parameters{"ensure": "directory"}))
	mount("/made")
	got := runAll(t, s)[0]
	if got.Status != Changed || !strings.Contains(got.Message, "/made is a mount point") {
		t.Errorf("%q: %s", got.Status, got.Message)
	}
	if names, err := s.ReadDir(system.Home); len(names) > 0 || err != nil {
		t.Errorf("left in %s: %q, %v", system.Home, names, err)
	}
}

// TestMountPointGoesWithItsMount: a directory that slipway made and mounted something on goes with the mount, also when that could not be unmounted
// at first, in a tear-down and in an update.
func TestMountPointGoesWithItsMount(t *testing.T) {
	for name, file := range map[string]string{"empty": "", "with a file in the mount": "/made/file"} {
		for way, removals := range map[string][]Item{"tear-down": nil, "update": {removal("mount[/made]"), removal("file[/made]")}} {
			t.Run(name+", "+way, func(t *testing.T) {
				k := newKernel(t, "")
				onDisk := filepath.Join(k.sys.Root, "/made")
				if err := os.Mkdir(onDisk, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := unix.Mount("tmpfs", onDisk, "tmpfs", 0, "mode=700"); err != nil {
					t.Skipf("a file system cannot be mounted here: %v", err)
				}
				if err := unix.Unmount(onDisk, 0); err != nil {
					t.Fatal(err)
				}
				if err := os.Remove(onDisk); err != nil {
					t.Fatal(err)
				}
				runAll(t, k.sys, managed(t, "file", "/made", resource.Parameters{"ensure": "directory"}),
					managed(t, "mount", "/made", resource.Parameters{"device": "none", "fstype": "tmpfs"}))
				if err := unix.Mount("tmpfs", onDisk, "tmpfs", 0, "mode=700"); err != nil {
					t.Fatal(err)
				}
				unmount := sync.OnceValue(func() error { return unix.Unmount(onDisk, 0) })
				t.Cleanup(func() { _ = unmount() })
				if file != "" {
					if err := k.sys.WriteFile(file, nil, system.Attributes{}); err != nil {
						t.Fatal(err)
					}
				}
				k.Fail = "umount"
				for _, got := range runAll(t, k.sys, removals...) {
					if got.ID == "mount[/made]" && got.Status != Failed || got.Message != "" && got.Status != Failed {
						t.Errorf("%s: %s %s", got.ID, got.Status, got.Message)
					}
				}
				if err := unmount(); err != nil {
					t.Fatal(err)
				}
				k.Fail = ""
				for _, got := range runAll(t, k.sys, removals...) {
					if got.Status == Failed {
						t.Errorf("%s: %s", got.ID, got.Message)
					}
				}
				if _, err := k.sys.Lstat("/made"); err == nil {
					t.Error("the directory is left")
				}
			})
		}
	}
}
