package system

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const foreigner = 65534 // a user that is neither root nor the session's

func TestNewRefusesARootThatIsNone(t *testing.T) {
	for _, root := range []string{"relative", filepath.Join(t.TempDir(), "missing"), ""} {
		if s, err := New(root); err == nil {
			s.Close()
			t.Errorf("New(%q) gives no error", root)
		}
	}
}

func TestPathsStayInTheRoot(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newSandbox(t)
	b.put("/etc/inside", "inside")
	b.put("/data/real/file", "linked")
	b.link("/absolute", "/data/real")           // relative to the root of the node
	b.link("/climb", "../../../../../../../..") // ends at the root
	b.link("/data/up", "../etc/inside")
	b.link("/out", outside)
	b.link("/circle", "circle")
	b.link("/dangling", "/etc/new")

	for path, want := range map[string]string{
		"/etc/inside": "inside", "/../../etc/inside": "inside", "/absolute/file": "linked",
		"/climb/etc/inside": "inside", "/data/up": "inside", "/data/real/../up": "inside", "//etc/./inside": "inside",
	} {
		if got, err := b.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("ReadFile(%s) = %q, %v; want %q", path, got, err, want)
		}
	}
	for _, path := range []string{"/out/secret", outside + "/secret", "/circle", "/circle/x", "/dangling", "relative", "/etc/inside/x", "/etc\x00/inside"} {
		if got, err := b.ReadFile(path); err == nil {
			t.Errorf("ReadFile(%s) = %q, no error", path, got)
		}
	}
	if err := b.WriteFile("/dangling", []byte("through"), Attributes{}); err != nil || b.get("/etc/new") != "through" {
		t.Errorf("writing through a link that dangles: %v", err)
	}
	if err := b.WriteFile("/out/secret", []byte("x"), Attributes{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("writing to a link's target outside: %v, want that it is not there", err)
	}
	if content, _ := os.ReadFile(filepath.Join(outside, "secret")); string(content) != "outside" {
		t.Errorf("the file outside is now %q", content)
	}
}

func TestLinksOfOthersAreNotFollowed(t *testing.T) {
	needRoot(t)
	b := newSandbox(t)
	b.put("/etc/shadow", "secret")
	b.link("/links/foreign", "/etc/shadow")
	b.link("/links/dir", "/etc")
	b.link("/home/eve/ours", "/etc/shadow") // made by root, in a directory where another user may put it
	b.link("/tmp/ours", "/etc/shadow")      // the same in a sticky directory: only its owner may put it there
	b.link("/tmp/foreign", "/etc/shadow")
	for _, name := range []string{"/links/foreign", "/links/dir", "/tmp/foreign"} {
		if err := os.Lchown(b.real(name), foreigner, foreigner); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(b.real("/home/eve"), foreigner, foreigner); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(b.real("/tmp"), 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/links/foreign", "/links/dir/shadow", "/home/eve/ours", "/tmp/foreign"} {
		if got, err := b.ReadFile(name); err == nil || !strings.Contains(err.Error(), "not followed") {
			t.Errorf("ReadFile(%s) = %q, %v; want that the link is not followed", name, got, err)
		}
		if err := b.WriteFile(name, []byte("x"), Attributes{}); err == nil {
			t.Errorf("WriteFile(%s) followed the link", name)
		}
		if err := b.SetAttributes(name, Attributes{Mode: pointer(fs.FileMode(0o666))}); err == nil {
			t.Errorf("SetAttributes(%s) followed the link", name)
		}
	}
	if got, err := b.ReadFile("/tmp/ours"); err != nil || string(got) != "secret" {
		t.Errorf("a link of root in a sticky directory: %q, %v", got, err)
	}
	if b.get("/etc/shadow") != "secret" {
		t.Error("the target was changed")
	}
	// The link itself can be looked at, replaced and removed.
	if info, err := b.Lstat("/links/foreign"); err != nil || info.Target != "/etc/shadow" {
		t.Errorf("Lstat of the link: %+v, %v", info, err)
	}
	if err := b.ReplaceFile("/links/foreign", []byte("mine"), Attributes{}); err != nil || b.get("/links/foreign") != "mine" {
		t.Errorf("ReplaceFile of the link: %v", err)
	}
	if err := b.Remove("/home/eve/ours"); err != nil || b.there("/home/eve/ours") {
		t.Errorf("Remove of the link: %v", err)
	}
}

func TestSetAttributesRefusesASecondNamePlantedByAnother(t *testing.T) {
	needRoot(t)
	b := newSandbox(t)
	b.put("/etc/shadow", "secret")
	b.mkdir("/home/eve")
	if err := os.Link(b.real("/etc/shadow"), b.real("/home/eve/mine")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(b.real("/home/eve"), foreigner, foreigner); err != nil {
		t.Fatal(err)
	}
	if err := b.SetAttributes("/home/eve/mine", Attributes{UID: pointer(foreigner)}); err == nil {
		t.Error("the file of root was given away through its second name")
	}
	// Replacing it leaves the other name alone.
	if err := b.WriteFile("/home/eve/mine", []byte("new"), Attributes{UID: pointer(foreigner)}); err != nil || b.get("/etc/shadow") != "secret" {
		t.Errorf("WriteFile: %v, the other name holds %q", err, b.get("/etc/shadow"))
	}
}

func TestWriteFile(t *testing.T) {
	b := newSandbox(t)
	b.mkdir("/d")
	stat := func(path string) *syscall.Stat_t {
		var st syscall.Stat_t
		if err := syscall.Lstat(b.real(path), &st); err != nil {
			t.Fatal(err)
		}
		return &st
	}
	if err := b.WriteFile("/d/new", []byte("one"), Attributes{}); err != nil {
		t.Fatal(err)
	}
	if st := stat("/d/new"); b.get("/d/new") != "one" || st.Mode&0o7777 != 0o644 || int(st.Uid) != os.Geteuid() {
		t.Errorf("new file: %q, mode %o, owner %d", b.get("/d/new"), st.Mode&0o7777, st.Uid)
	}
	if err := os.Chmod(b.real("/d/new"), 0o4750); err != nil { // 0o4750 as os.FileMode has no setuid bit
		t.Fatal(err)
	}
	before := stat("/d/new").Ino
	if err := b.WriteFile("/d/new", []byte("two"), Attributes{}); err != nil {
		t.Fatal(err)
	}
	if st := stat("/d/new"); b.get("/d/new") != "two" || st.Mode&0o7777 != 0o750 || st.Ino == before {
		t.Errorf("rewritten: %q, mode %o, same inode %v; want two, 750, another inode", b.get("/d/new"), st.Mode&0o7777, st.Ino == before)
	}
	for _, mode := range []fs.FileMode{0o4711, 0o711 | fs.ModeSetuid} {
		if err := b.WriteFile("/d/new", []byte("three"), Attributes{Mode: &mode}); err != nil {
			t.Fatal(err)
		}
		if st := stat("/d/new"); st.Mode&0o7777 != 0o4711 {
			t.Errorf("mode %v gave %o", mode, st.Mode&0o7777)
		}
	}
	if names, err := b.ReadDir("/d"); err != nil || !cmp.Equal(names, []string{"new"}) {
		t.Errorf("left behind: %v, %v", names, err)
	}
	if err := b.WriteFile("/d", []byte("x"), Attributes{}); err == nil {
		t.Error("a directory was replaced by a file")
	}
	if err := b.WriteFile("/missing/x", []byte("x"), Attributes{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("directory missing: %v", err)
	}
}

// accessList lets the user 1 read, besides the owner and others.
const accessList = "\x02\x00\x00\x00\x01\x00\x06\x00\xff\xff\xff\xff\x02\x00\x04\x00\x01\x00\x00\x00\x04\x00\x04\x00\xff\xff\xff\xff\x10\x00\x04\x00\xff\xff\xff\xff\x20\x00\x04\x00\xff\xff\xff\xff"

func TestWriteFileKeepsExtendedAttributes(t *testing.T) {
	b := newSandbox(t)
	b.put("/f", "old")
	acl := []byte(accessList)
	for name, value := range map[string][]byte{"user.origin": []byte("theirs"), "system.posix_acl_access": acl} {
		switch err := unix.Setxattr(b.real("/f"), name, value, 0); {
		case errors.Is(err, unix.ENOTSUP):
			t.Skipf("NOT TESTED: the file system of %s knows no %s", b.dir, name)
		case err != nil:
			t.Fatal(err)
		}
	}
	if err := b.WriteFile("/f", []byte("new"), Attributes{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"user.origin": []byte("theirs"), "system.posix_acl_access": acl} {
		value := make([]byte, 100)
		if n, err := unix.Getxattr(b.real("/f"), name, value); err != nil || string(value[:n]) != string(want) {
			t.Errorf("%s: %q, %v", name, value[:max(n, 0)], err)
		}
	}
}

// An access list that another user gave its own file must not open the file that takes its place.
func TestWriteFileTakesNoAccessListOver(t *testing.T) {
	needRoot(t)
	b := newSandbox(t)
	b.put("/f", "old")
	if err := os.Chown(b.real("/f"), foreigner, foreigner); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(b.real("/f"), "system.posix_acl_access", []byte(accessList), 0); errors.Is(err, unix.ENOTSUP) {
		t.Skipf("NOT TESTED: the file system of %s knows no access lists", b.dir)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := b.WriteFile("/f", []byte("secret"), Attributes{UID: pointer(0), GID: pointer(0), Mode: pointer(fs.FileMode(0o640))}); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Getxattr(b.real("/f"), "system.posix_acl_access", make([]byte, 100)); !errors.Is(err, unix.ENODATA) {
		t.Errorf("the access list is still there: %v", err)
	}
}

func TestWriteFileDropsWhatACrashLeft(t *testing.T) {
	b := newSandbox(t)
	b.mkdir("/d")
	p, err := b.locate("/d/x", true)
	if err != nil {
		t.Fatal(err)
	}
	left := "/d/" + p.beside().name
	p.close()
	b.put(left, "half")
	if err := b.WriteFile("/d/x", []byte("whole"), Attributes{}); err != nil || b.get("/d/x") != "whole" || b.there(left) {
		t.Errorf("err %v, left behind %v", err, b.there(left))
	}
}

// TestIsMountPoint asks of what every Linux has mounted, and of links to it.
func TestIsMountPoint(t *testing.T) {
	s, err := New("/")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/proc", link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"/proc": true, "/proc/sys": false, link: false, filepath.Dir(link): false} {
		if got, err := s.IsMountPoint(path); got != want || err != nil {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
}

func TestMkdirSymlinkRemove(t *testing.T) {
	b := newSandbox(t)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(b.Mkdir("/a", Attributes{Mode: pointer(fs.FileMode(0o2750))}))
	check(b.Mkdir("/a/b", Attributes{}))
	check(b.WriteFile("/a/b/f", []byte("x"), Attributes{}))
	check(b.Symlink("/a/l", "b"))
	check(b.Symlink("/a/l", "b/f"))
	if info, err := b.Lstat("/a"); err != nil || ChmodBits(info.Mode) != 0o2750 || !info.IsDir() {
		t.Errorf("%+v, %v", info, err)
	}
	if info, err := b.Lstat("/a/l"); err != nil || info.Target != "b/f" {
		t.Errorf("%+v, %v", info, err)
	}
	if err := b.Mkdir("/x/y", Attributes{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("mkdir without parent: %v", err)
	}
	if err := b.Remove("/a/b"); err == nil {
		t.Error("a directory that is not empty was removed")
	}
	check(b.RemoveAll("/a"))
	check(b.RemoveAll("/a"))
	check(b.Remove("/a"))
	check(b.Remove("/a/b/c"))
	if got := b.tree(); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

func TestAccounts(t *testing.T) {
	b := newSandbox(t)
	if users, err := b.Users(); err != nil || len(users) != 0 {
		t.Fatalf("a node without accounts: %v, %v", users, err)
	}
	b.put("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\napp:x:900:901:The App,,:/srv/app:/bin/false\napp:x:1:1::/:/\n# a comment:x:1:1:::\nbroken\nodd:x:NaN:0:::\n")
	b.put("/etc/shadow", "app:$6$hash:19000:0:99999:7:::\n")
	b.put("/etc/group", "root:x:0:\napp:x:901:root,eve\n")
	b.Forget()
	users, err := b.Users()
	want := map[string]User{
		"root": {Name: "root", Home: "/root", Shell: "/bin/sh", Comment: "root"},
		"app": {Name: "app", UID: 900, GID: 901, Comment: "The App,,", Home: "/srv/app", Shell: "/bin/false", Hash: "$6$hash",
			Ageing: []string{"19000", "0", "99999", "7", "", ""}},
	}
	if diff := cmp.Diff(want, users); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	groups, err := b.Groups()
	if diff := cmp.Diff(map[string]Group{"root": {Name: "root"}, "app": {Name: "app", GID: 901, Members: []string{"root", "eve"}}}, groups); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for name, want := range map[string]int{"app": 900, "17": 17, "4294967293": 4294967293} {
		if uid, ok, err := b.LookupUser(name); uid != want || !ok || err != nil {
			t.Errorf("LookupUser(%s) = %d, %v, %v", name, uid, ok, err)
		}
	}
	for _, name := range []string{"nobody", "-1", "4294967295", ""} {
		if _, ok, _ := b.LookupUser(name); ok {
			t.Errorf("LookupUser(%q) found something", name)
		}
	}
	id, err := b.identify("root")
	if err != nil || !cmp.Equal(id.groups, []uint32{0, 901}) {
		t.Errorf("groups of root: %v, %v", id.groups, err)
	}
	b.put("/etc/passwd", "")
	if users, _ := b.Users(); len(users) != 2 {
		t.Error("users were read again without Forget")
	}
	b.Forget()
	if users, _ := b.Users(); len(users) != 0 {
		t.Error("users were remembered beyond Forget")
	}
}

func TestRememberKeepsNoErrorAndNothingOlderThanForget(t *testing.T) {
	b := newSandbox(t)
	calls := 0
	fail := func() (int, error) { calls++; return 0, errors.New("no") }
	for range 2 {
		if _, err := Remember(b.System, "k", fail); err == nil {
			t.Fatal("error lost")
		}
	}
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
	if _, err := Remember(b.System, "k", func() (int, error) { b.Forget(); return 1, nil }); err != nil {
		t.Fatal(err)
	}
	if v, _ := Remember(b.System, "k", func() (int, error) { return 2, nil }); v != 2 {
		t.Errorf("%v is from before Forget", v)
	}
}
