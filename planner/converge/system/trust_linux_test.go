package system

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// underHardlinks runs a test on a thread that sees the given value of fs.protected_hardlinks; the machine keeps its own.
func underHardlinks(t *testing.T, value string, test func(t *testing.T)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("protected_hardlinks="+value, func(t *testing.T) {
		runtime.LockOSThread() // it is not unlocked: the thread ends with the test
		if err := unix.Unshare(unix.CLONE_NEWNS); errors.Is(err, unix.EPERM) {
			t.Skip("NOT TESTED: no mount namespace can be made here")
		} else if err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount(file, "/proc/sys/fs/protected_hardlinks", "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		test(t)
	})
}

// Without fs.protected_hardlinks every user can give any file, also a link of root, a second name in a sticky directory.
func TestStickyDirectoriesAreTrustedWithProtectedHardlinksOnly(t *testing.T) {
	needRoot(t)
	for _, value := range []string{"0", "1"} {
		underHardlinks(t, value, func(t *testing.T) {
			safe := value == "1"
			b := newSandbox(t)
			b.put("/etc/shadow", "secret")
			b.put("/own/file", "ours")
			b.link("/tmp/link", "/etc/shadow")
			b.link("/own/link", "/etc/shadow")
			for from, to := range map[string]string{"/etc/shadow": "/tmp/second", "/own/file": "/own/second"} {
				if err := os.Link(b.real(from), b.real(to)); err != nil {
					t.Fatal(err)
				}
			}
			for path, mode := range map[string]fs.FileMode{"/tmp": 0o777 | os.ModeSticky, "/own": 0o755 | os.ModeSticky} {
				if err := os.Chmod(b.real(path), mode); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := b.ReadFile("/tmp/link"); (err == nil) != safe || err != nil && !strings.Contains(err.Error(), "not followed") {
				t.Errorf("a link in a sticky directory is followed: %q, %v; want %v", got, err, safe)
			}
			if err := b.SetAttributes("/tmp/second", Attributes{UID: pointer(foreigner)}); (err == nil) != safe {
				t.Errorf("a second name in a sticky directory: error is %v; want that it can be given away: %v", err, safe)
			}
			// Nobody else can put a name into this one.
			if _, err := b.ReadFile("/own/link"); err != nil {
				t.Errorf("a link in a sticky directory of root alone: %v", err)
			}
			if err := b.SetAttributes("/own/second", Attributes{UID: pointer(foreigner)}); err != nil {
				t.Errorf("a second name in a sticky directory of root alone: %v", err)
			}
		})
	}
}

// What looks like the rights of the group root is the mask of an access list, where there is one.
func TestADirectoryThatAnAccessListOpensIsNotTrusted(t *testing.T) {
	needRoot(t)
	b := newSandbox(t)
	b.put("/etc/file", "text")
	b.link("/d/link", "/etc/file")
	if err := os.Chmod(b.real("/d"), 0o775); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ReadFile("/d/link"); err != nil {
		t.Errorf("a link in a directory that the group root may write: %v", err)
	}
	// user::rwx, user:4711:rwx, group::r-x, mask::rwx, other::r-x
	const list = "\x02\x00\x00\x00\x01\x00\x07\x00\xff\xff\xff\xff\x02\x00\x07\x00\x67\x12\x00\x00" +
		"\x04\x00\x05\x00\xff\xff\xff\xff\x10\x00\x07\x00\xff\xff\xff\xff\x20\x00\x05\x00\xff\xff\xff\xff"
	if err := unix.Setxattr(b.real("/d"), "system.posix_acl_access", []byte(list), 0); errors.Is(err, unix.ENOTSUP) {
		t.Skip("NOT TESTED: the file system of temporary files knows no access lists")
	} else if err != nil {
		t.Fatal(err)
	}
	if got, err := b.ReadFile("/d/link"); err == nil || !strings.Contains(err.Error(), "not followed") {
		t.Errorf("a link in a directory that another user may write: %q, %v", got, err)
	}
}

func TestADirectoryAtTheNameOfTheTemporaryFileIsNamed(t *testing.T) {
	b := newSandbox(t)
	b.mkdir("/d")
	b.link("/e/link", "/d/x")
	p, err := b.locate("/d/x", true)
	if err != nil {
		t.Fatal(err)
	}
	name := p.beside().name
	p.close()
	b.mkdir("/d/" + name)
	for what, err := range map[string]error{
		"write":                b.WriteFile("/d/x", []byte("whole"), Attributes{}),
		"write through a link": b.WriteFile("/e/link", []byte("whole"), Attributes{}),
		"link":                 b.Symlink("/d/x", "y"),
	} {
		if err == nil || !strings.Contains(err.Error(), `"`+name+`"`) || !strings.Contains(err.Error(), "is a directory; remove it") {
			t.Errorf("%s: the error is %v, want that it names the directory %s", what, err, name)
		}
	}
}
