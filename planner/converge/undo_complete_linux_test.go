package converge

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// TestUndoBringsAccessListsBack: the group bits of a file with an access list are the list's mask. They must not become the group's own when the
// file comes back, nor must the list be lost.
func TestUndoBringsAccessListsBack(t *testing.T) {
	const mask = "\x02\x00\x00\x00\x01\x00\x06\x00\xff\xff\xff\xff\x02\x00\x06\x00\x01\x00\x00\x00\x04\x00\x04\x00\xff\xff\xff\xff\x10\x00\x06\x00\xff\xff\xff\xff\x20\x00\x00\x00\xff\xff\xff\xff"
	const list, standard = "system.posix_acl_access", "system.posix_acl_default"
	for name, tt := range map[string]struct {
		path       string
		lists      []string
		parameters resource.Parameters
	}{
		"a file that was removed":       {"/f", []string{list}, resource.Parameters{"ensure": "absent"}},
		"a file with another owner":     {"/f", []string{list}, resource.Parameters{"content": "new", "owner": "7"}},
		"a directory that was removed":  {"/d", []string{list, standard}, resource.Parameters{"ensure": "absent", "force": true}},
		"a directory with another mode": {"/d", []string{list, standard}, resource.Parameters{"ensure": "directory", "mode": "0700"}},
	} {
		t.Run(name, func(t *testing.T) {
			needRoot(t)
			s := folder(t, map[string]string{"/f": "old", "/d/": ""})
			onDisk := filepath.Join(s.Root, tt.path)
			for _, attribute := range tt.lists {
				if err := unix.Setxattr(onDisk, attribute, []byte(mask), 0); errors.Is(err, unix.ENOTSUP) {
					t.Skipf("NOT TESTED: the file system of %s knows no access lists", s.Root)
				} else if err != nil {
					t.Fatal(err)
				}
			}
			runAll(t, s, managed(t, "file", tt.path, tt.parameters))
			if got := runAll(t, s)[0]; got.Status != Changed {
				t.Fatal(got.Message)
			}
			for _, attribute := range tt.lists {
				value := make([]byte, 100)
				n, err := unix.Getxattr(onDisk, attribute, value)
				if err != nil || string(value[:n]) != mask {
					t.Errorf("%s is %q, %v; want %q", attribute, value[:max(n, 0)], err, mask)
				}
			}
		})
	}
}

// extendedAttributes are what a user attached, and cap_net_raw=ep.
var extendedAttributes = map[string]string{
	"user.origin":         "vendor",
	"security.capability": "\x01\x00\x00\x02\x00\x20\x00\x00" + strings.Repeat("\x00", 12),
}

// TestUndoBringsExtendedAttributesBack: what users attached to a file or directory returns with it, and the capabilities with the content that had
// them. A new owner takes neither.
func TestUndoBringsExtendedAttributesBack(t *testing.T) {
	needRoot(t)
	given := map[string]map[string]string{"/f": extendedAttributes, "/d": {"user.origin": "vendor"}}
	for name, tt := range map[string]struct {
		path       string
		parameters resource.Parameters
		kept       []string // by the change itself
	}{
		"a file with another content":             {"/f", resource.Parameters{"content": "new"}, []string{"user.origin"}},
		"a file with the same content":            {"/f", resource.Parameters{"content": "old", "mode": "0700"}, []string{"user.origin", "security.capability"}},
		"a file that was removed":                 {"/f", resource.Parameters{"ensure": "absent"}, nil},
		"a file in whose place is a link":         {"/f", resource.Parameters{"ensure": "link", "target": "/d"}, nil},
		"a file with another owner":               {"/f", resource.Parameters{"owner": "7"}, []string{"user.origin", "security.capability"}},
		"a file with another owner and mode":      {"/f", resource.Parameters{"owner": "7", "mode": "0700"}, []string{"user.origin", "security.capability"}},
		"a file with another owner and content":   {"/f", resource.Parameters{"content": "new", "owner": "7"}, nil},
		"a directory that was removed":            {"/d", resource.Parameters{"ensure": "absent", "force": true}, nil},
		"a directory with another owner":          {"/d", resource.Parameters{"owner": "7"}, []string{"user.origin"}},
		"a directory in whose place is a file":    {"/d", resource.Parameters{"ensure": "file", "content": "new", "force": true}, nil},
		"a file that makes place for a directory": {"/f", resource.Parameters{"ensure": "directory", "force": true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := folder(t, map[string]string{"/f": "old", "/d/": ""})
			onDisk := filepath.Join(s.Root, tt.path)
			for attribute, value := range given[tt.path] {
				if err := unix.Setxattr(onDisk, attribute, []byte(value), 0); errors.Is(err, unix.ENOTSUP) {
					t.Skipf("NOT TESTED: the file system of %s knows no %s", s.Root, attribute)
				} else if err != nil {
					t.Fatal(err)
				}
			}
			has := func(when, attribute string) {
				value := make([]byte, 100)
				n, err := unix.Lgetxattr(onDisk, attribute, value)
				if want := given[tt.path][attribute]; err != nil || string(value[:n]) != want {
					t.Errorf("%s, %s is %q, %v; want %q", when, attribute, value[:max(n, 0)], err, want)
				}
			}
			if got := runAll(t, s, managed(t, "file", tt.path, tt.parameters))[0]; got.Status != Changed {
				t.Fatal(got.Message)
			}
			for _, attribute := range tt.kept {
				has("after the change", attribute)
			}
			if got := runAll(t, s)[0]; got.Status != Changed {
				t.Fatal(got.Message)
			}
			for attribute := range given[tt.path] {
				has("after the undo", attribute)
			}
		})
	}
}

// TestUndoBringsAttributesBackAfterTwoForms: a file that went in one form of its resource and came in another is no longer the file that was there.
func TestUndoBringsAttributesBackAfterTwoForms(t *testing.T) {
	needRoot(t)
	for name, parameters := range map[string][]resource.Parameters{
		"absent, then a file":                       {{"ensure": "absent"}, {"content": "new"}},
		"a link, then a file":                       {{"target": "/elsewhere"}, {"ensure": "file", "content": "new"}},
		"a file with content, then with attributes": {{"content": "new"}, {"group": "7"}},
		"a directory, then a file":                  {{"ensure": "directory"}, {"ensure": "file", "content": "new", "force": true}},
		"absent, then with attributes":              {{"ensure": "absent"}, {"group": "7"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := folder(t, map[string]string{"/f": "old"})
			onDisk := filepath.Join(s.Root, "f")
			if err := errors.Join(os.Chown(onDisk, 5, 6), os.Chmod(onDisk, 0o600)); err != nil {
				t.Fatal(err)
			}
			for attribute, value := range extendedAttributes {
				if err := unix.Setxattr(onDisk, attribute, []byte(value), 0); errors.Is(err, unix.ENOTSUP) {
					t.Skipf("NOT TESTED: the file system of %s knows no %s", s.Root, attribute)
				} else if err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range parameters {
				if got := runAll(t, s, managed(t, "file", "/f", p))[0]; got.Status != Changed {
					t.Fatal(got.Message)
				}
			}
			runAll(t, s)
			info, err := s.Lstat("/f")
			if err != nil || info.Mode != 0o600 || info.UID != 5 || info.GID != 6 {
				t.Errorf("mode %04o, owner %d, group %d, %v; want 0600, 5 and 6", info.Mode, info.UID, info.GID, err)
			}
			for attribute, want := range extendedAttributes {
				value := make([]byte, 100)
				n, err := unix.Getxattr(onDisk, attribute, value)
				if err != nil || string(value[:n]) != want {
					t.Errorf("%s is %q, %v; want %q", attribute, value[:max(n, 0)], err, want)
				}
			}
		})
	}
}

// TestUndoBringsAnyBytesBack: what is no UTF-8 goes through the ledger unchanged.
func TestUndoBringsAnyBytesBack(t *testing.T) {
	const latin1 = "/caf\xe9"
	s := folder(t, nil)
	if err := os.Symlink(latin1, filepath.Join(s.Root, "link")); err != nil {
		t.Fatal(err)
	}
	runAll(t, s, managed(t, "file", "/link", resource.Parameters{"target": "/elsewhere"}))
	runAll(t, s)
	if info, err := s.Lstat("/link"); info.Target != latin1 || err != nil {
		t.Errorf("the link leads to %q, %v; want %q", info.Target, err, latin1)
	}

	files := systemtest.AccountFiles()
	files["/etc/passwd"] = strings.Replace(files["/etc/passwd"], "Ann A", "Ann \xc5", 1)
	r := &recorder{}
	s = wholeMachine(t, files, r.Run)
	ann := res(t, types.All["user"], "ann", resource.Parameters{"comment": "Ann"})
	before, err := types.All["user"].Capture(t.Context(), s, ann)
	if err != nil {
		t.Fatal(err)
	}
	systemtest.Edit(t, s.Root, "/etc/passwd", "Ann \xc5", "Ann")
	s.Forget()
	if err := types.All["user"].Undo(t.Context(), s, "ann", before); err != nil {
		t.Fatal(err)
	}
	if want := "usermod -c Ann \xc5 ann"; !slices.Contains(r.Ran, want) {
		t.Errorf("ran %q, want %q", r.Ran, want)
	}
}

// TestUndoBringsAgeingBack: an account that had expired comes back expired, and a password as old as it was.
func TestUndoBringsAgeingBack(t *testing.T) {
	files := systemtest.AccountFiles()
	files["/etc/shadow"] = strings.Replace(files["/etc/shadow"], "hash:1:0:99999:7:::", "hash:19000:1:30:7:14:18262:", 1)
	files["/usr/bin/chage"] = ""
	for name, tt := range map[string]struct {
		parameters resource.Parameters
		want       string
	}{
		"deleted":      {resource.Parameters{"ensure": "absent"}, "chage -d 19000 -m 1 -M 30 -I 14 -E 18262 ann"},
		"new password": {resource.Parameters{"password": "$6$other"}, "chage -d 19000 ann"},
	} {
		r := &recorder{}
		s := wholeMachine(t, files, r.Run)
		before, err := types.All["user"].Capture(t.Context(), s, res(t, types.All["user"], "ann", tt.parameters))
		if err != nil {
			t.Fatal(err)
		}
		if name == "deleted" {
			systemtest.Edit(t, s.Root, "/etc/passwd", "ann:x:1000:1000:Ann A:/home/ann:/bin/bash\n", "")
			systemtest.Edit(t, s.Root, "/etc/shadow", "ann:", "was:")
			r.Effects = map[string]func(){"useradd": func() {
				systemtest.Edit(t, s.Root, "/etc/passwd", "root:x", "ann:x:1000:1000:Ann A:/home/ann:/bin/bash\nroot:x")
				systemtest.Edit(t, s.Root, "/etc/shadow", "was:$6$former$hash:19000:1:30:7:14:18262:", "ann:!:20000:0:99999:7:::")
			}}
		} else {
			systemtest.Edit(t, s.Root, "/etc/shadow", "$6$former$hash:19000", "$6$other:20000")
		}
		s.Forget()
		if err := types.All["user"].Undo(t.Context(), s, "ann", before); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(r.Ran, tt.want) {
			t.Errorf("%s: ran %q, want %q", name, r.Ran, tt.want)
		}
	}
}

// TestWhatAppearsLaterIsKept: what is to be absent and came back is kept before it is deleted again, and returns.
func TestWhatAppearsLaterIsKept(t *testing.T) {
	for name, was := range map[string]map[string]string{"nothing at first": {"/etc/hosts": ""}, "another file at first": {"/f": "first", "/etc/hosts": "10.0.0.1 h\n"}} {
		s := folder(t, was)
		items := []Item{managed(t, "file", "/f", resource.Parameters{"ensure": "absent"}), managed(t, "host", "h", resource.Parameters{"ensure": "absent"})}
		runAll(t, s, items...)
		for path, content := range map[string]string{"/f": "theirs", "/etc/hosts": "10.0.0.2 h\n"} {
			if err := s.WriteFile(path, []byte(content), system.Attributes{}); err != nil {
				t.Fatal(err)
			}
		}
		if got := runAll(t, s, items...)[0]; got.Status != Changed {
			t.Errorf("%s: %s", name, got.Status)
		}
		runAll(t, s)
		for path, want := range map[string]string{"/f": "theirs", "/etc/hosts": "10.0.0.2 h\n"} {
			if content, err := s.ReadFile(path); string(content) != want || err != nil {
				t.Errorf("%s: %s is %q, %v; want %q", name, path, content, err, want)
			}
		}
	}
}
