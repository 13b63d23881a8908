package converge

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// member is an entry of an archive: a directory ends in /, a link has a target, all else is a file.
type member struct {
	name, content string
	target        string
	mode          int64
	flag          byte // of a tar, where it is none of these
}

func tarOf(t testing.TB, members ...member) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := tar.Header{Name: m.name, Mode: m.mode, Size: int64(len(m.content)), Typeflag: m.flag, Linkname: m.target}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		switch {
		case h.Typeflag != 0:
		case strings.HasSuffix(m.name, "/"):
			if h.Typeflag = tar.TypeDir; m.mode == 0 {
				h.Mode = 0o755
			}
		case m.target != "":
			h.Typeflag = tar.TypeSymlink
		default:
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zipOf(t testing.TB, members ...member) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		h := zip.FileHeader{Name: m.name, Method: zip.Deflate}
		content, mode := m.content, fs.FileMode(m.mode)
		if mode == 0 {
			mode = 0o644
		}
		if strings.HasSuffix(m.name, "/") {
			mode = 0o755 | fs.ModeDir
		}
		if m.target != "" {
			content, mode = m.target, 0o777|fs.ModeSymlink
		}
		h.SetMode(mode)
		f, err := w.CreateHeader(&h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gzipped(t testing.TB, content string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// filtered is what a program of this machine makes of a content.
func filtered(t testing.TB, content, program string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("NOT TESTED: this machine has no %s", program)
	}
	c := exec.CommandContext(t.Context(), program, args...)
	c.Stdin = strings.NewReader(content)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// hasPrograms gives the sandbox programs of this machine, which run in the folder. ran gets each command.
func (b *sandbox) hasPrograms(ran *[]system.Command, names ...string) {
	b.t.Helper()
	for _, name := range names {
		b.put("/usr/bin/"+name, "")
		if err := os.Chmod(b.real("/usr/bin/"+name), 0o755); err != nil {
			b.t.Fatal(err)
		}
	}
	here := func(text string) string { return strings.ReplaceAll(text, system.Home, b.real(system.Home)) }
	m := machine(b.t)
	b.Commands = func(ctx context.Context, c system.Command) (system.Output, error) {
		if ran != nil {
			*ran = append(*ran, c)
		}
		c.Argv = slices.Clone(c.Argv)
		for i := range c.Argv {
			c.Argv[i] = here(c.Argv[i])
		}
		c.Argv[0] = c.Argv[0][strings.LastIndex(c.Argv[0], "/")+1:]
		c.Stdin = []byte(here(string(c.Stdin)))
		return m.Execute(ctx, c)
	}
}

// app is a usual archive: a directory of its own, with a program, a link and settings.
var app = []member{
	{name: "app-1.0/"}, {name: "app-1.0/bin/tool", content: "tool 1", mode: 0o755}, {name: "app-1.0/etc/app.conf", content: "a = 1\n"},
	{name: "app-1.0/lib.so", target: "lib.so.1"}, {name: "app-1.0/lib.so.1", content: "lib"}, {name: "app-1.0/README", content: "read me"},
}

func extracting(source string, pairs ...any) Item {
	return item("archive[/tmp/app.tar]", append([]any{"source", source, "extract", true, "extract_path", "/opt/app", "strip_components", 1}, pairs...)...)
}

// wantTree compares what is below a directory of the sandbox.
func (b *sandbox) wantTree(dir string, want map[string]string) {
	b.t.Helper()
	got := map[string]string{}
	for name, text := range b.tree() {
		if below, ok := strings.CutPrefix(name, dir+"/"); ok {
			got[below] = text
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("%s (-want +got):\n%s", dir, diff)
	}
}

func TestArchiveOfEachKind(t *testing.T) {
	needRoot(t)
	plain := tarOf(t, app...)
	for name, content := range map[string]func(*testing.T) string{
		"tar":   func(*testing.T) string { return plain },
		"gzip":  func(t *testing.T) string { return gzipped(t, plain) },
		"bzip2": func(t *testing.T) string { return filtered(t, plain, "bzip2") },
		"xz":    func(t *testing.T) string { return filtered(t, plain, "xz") },
		"zstd":  func(t *testing.T) string { return filtered(t, plain, "zstd") },
		"zip":   func(t *testing.T) string { return zipOf(t, app...) },
	} {
		t.Run(name, func(t *testing.T) {
			b := nodeOf(t, map[string]string{"/srv/app": content(t), "/opt/": ""})
			b.hasPrograms(nil, "xz", "zstd")
			before := b.tree()
			i := extracting("/srv/app")
			r := b.wantStatus(Check, i, Differs)
			if diff := cmp.Diff([]types.Difference{{Parameter: "ensure", Is: "absent", Should: "present"}}, r.Differences); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Errorf("a check changed:\n%s", diff)
			}
			b.wantStatus(Apply, i, Changed)
			want := map[string]string{
				"bin": "drwxr-xr-x", "bin/tool": "-rwxr-xr-x tool 1", "etc": "drwxr-xr-x", "etc/app.conf": "-rw-r--r-- a = 1\n",
				"lib.so": "Lrwxrwxrwx lib.so.1", "lib.so.1": "-rw-r--r-- lib", "README": "-rw-r--r-- read me",
			}
			b.wantTree("/opt/app", want)
			if b.there(system.WorkPath) {
				t.Error("the archive that was fetched is left behind")
			}
			b.wantStatus(Apply, i, Unchanged)

			// Each way in which it can drift is named, and repaired.
			b.put("/opt/app/etc/app.conf", "a = 2\n")
			b.put("/opt/app/lib.so.1", "bil")
			for _, err := range []error{
				os.Remove(b.real("/opt/app/README")), os.Chmod(b.real("/opt/app/bin/tool"), 0o700), os.Chown(b.real("/opt/app/bin"), 12, 13),
				os.Remove(b.real("/opt/app/lib.so")), os.Symlink("/etc", b.real("/opt/app/lib.so")),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			b.put("/opt/app/log", "of others")
			r = b.wantStatus(Check, i, Differs)
			wantDiffs := []types.Difference{
				{Parameter: "ensure", Is: "absent (README)", Should: "file"},
				{Parameter: "content", Is: "{sha256}1382c01d (etc/app.conf) and 1 more", Should: "{sha256}cb78bd8a"},
				{Parameter: "target", Is: "/etc (lib.so)", Should: "lib.so.1"},
				{Parameter: "mode", Is: "0700 (bin/tool)", Should: "0755"},
				{Parameter: "user", Is: "12 (bin)", Should: "0"}, {Parameter: "group", Is: "13 (bin)", Should: "0"},
			}
			if diff := cmp.Diff(wantDiffs, r.Differences); diff != "" {
				t.Error(diff)
			}
			b.wantStatus(Apply, i, Changed)
			want["log"] = "-rw-r--r-- of others"
			b.wantTree("/opt/app", want)
			b.wantStatus(Check, i, Unchanged)

			r = b.wantStatus(Apply, removal(string(i.ID())), Changed)
			if want := "/opt/app is not empty, so it stays: others have log in it"; r.Message != want {
				t.Errorf("%q, want %q", r.Message, want)
			}
			b.wantTree("/opt/app", map[string]string{"log": "-rw-r--r-- of others"})
			if err := os.RemoveAll(b.real("/opt/app")); err != nil {
				t.Fatal(err)
			}
			b.tearDown()
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Errorf("not as before:\n%s", diff)
			}
		})
	}
}

// Another archive takes the place of the first one: what that brought and it does not goes, and what was there before
// returns as soon as nothing is in its place.
func TestArchiveReplaced(t *testing.T) {
	needRoot(t)
	for name, cut := range map[string]bool{"at once": false, "cut off": true} {
		t.Run(name, func(t *testing.T) {
			b := nodeOf(t, map[string]string{
				"/srv/1": tarOf(t, member{name: "old/deep/x", content: "x1"}, member{name: "both", content: "b1"}, member{name: "kind", content: "k1"},
					member{name: "theirs", content: "t1"}, member{name: "first", content: "f1"}),
				"/srv/2":     tarOf(t, member{name: "new", content: "n2"}, member{name: "both", content: "b2"}, member{name: "kind/k", content: "k2"}, member{name: "theirs", content: "t2"}),
				"/opt/first": "theirs, first", "/opt/theirs": "theirs",
			})
			before := b.tree()
			first := item("archive[app]", "source", "/srv/1", "checksum", resource.SHA256(b.get("/srv/1")), "extract", true, "extract_path", "/opt")
			second := item("archive[app]", "source", "/srv/2", "checksum", resource.SHA256(b.get("/srv/2")), "extract", true, "extract_path", "/opt")
			b.wantStatus(Apply, first, Changed)
			b.wantTree("/opt", map[string]string{
				"old": "drwxr-xr-x", "old/deep": "drwxr-xr-x", "old/deep/x": "-rw-r--r-- x1", "both": "-rw-r--r-- b1", "kind": "-rw-r--r-- k1",
				"theirs": "-rw-r--r-- t1", "first": "-rw-r--r-- f1",
			})
			r := b.wantStatus(Check, second, Differs)
			sums := func(i Item) string { return "{sha256}" + i.Parameters.String("checksum")[:8] }
			if diff := cmp.Diff([]types.Difference{{Parameter: "checksum", Is: sums(first), Should: sums(second)}}, r.Differences); diff != "" {
				t.Error(diff)
			}
			if cut { // as a session leaves it that was killed when it had recorded what it is about to do, and written a part
				l, err := ledger.Read(b.System)
				if err != nil {
					t.Fatal(err)
				}
				typ := types.All["archive"]
				s := &types.Session{System: b.System, Site: "one", Ledger: l, ID: second.ID()}
				e := l.Entries[0]
				if e.Before, err = typ.(types.Widener).Widen(t.Context(), s, second.Resource, e.Before); err != nil {
					t.Fatal(err)
				}
				e.Digest = ""
				l.Change(ledger.Record{Entry: e})
				if err := l.Compact(); err != nil {
					t.Fatal(err)
				}
				b.put("/opt/both", "b2")
			}
			b.wantStatus(Apply, second, Changed)
			b.wantTree("/opt", map[string]string{
				"new": "-rw-r--r-- n2", "both": "-rw-r--r-- b2", "kind": "drwxr-xr-x", "kind/k": "-rw-r--r-- k2", "theirs": "-rw-r--r-- t2",
				"first": "-rw-r--r-- theirs, first",
			})
			b.wantStatus(Apply, second, Unchanged)
			b.put("/opt/first", "changed by them") // it is theirs again
			b.wantStatus(Check, second, Unchanged)
			b.tearDown()
			before["/opt/first"] = "-rw-r--r-- changed by them"
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Errorf("not as before:\n%s", diff)
			}
		})
	}
}

// An archive that could write anywhere else, or that cannot be trusted for another reason, is refused before anything is
// written.
func TestArchiveRefused(t *testing.T) {
	needRoot(t)
	const twice = "is there twice"
	ok := member{name: "ok", content: "ok"}
	for name, tt := range map[string]struct {
		content string
		node    map[string]string
		want    string
	}{
		"..":                        {tarOf(t, ok, member{name: "../evil", content: "x"}), nil, `its entry "../evil" has .. in its path; nothing was extracted`},
		".. in the middle":          {tarOf(t, ok, member{name: "a/../../evil", content: "x"}), nil, "has .. in its path"},
		"absolute":                  {tarOf(t, ok, member{name: "/etc/evil", content: "x"}), nil, "has an absolute path"},
		".. in a zip":               {zipOf(t, ok, member{name: "../evil", content: "x"}), nil, "has .. in its path"},
		"a backslash in a zip":      {zipOf(t, ok, member{name: `..\evil`, content: "x"}), nil, "has a backslash"},
		"a link in a zip":           {zipOf(t, ok, member{name: "l", target: "/etc"}), nil, `is a link to "/etc", out of the directory`},
		"an absolute link":          {tarOf(t, ok, member{name: "l", target: "/etc/passwd"}), nil, `its entry "l" is a link to "/etc/passwd", out of the directory that it is extracted into`},
		"a link out":                {tarOf(t, ok, member{name: "a/l", target: "../../x"}), nil, "out of the directory"},
		"a link out through others": {tarOf(t, ok, member{name: "a/b/up", target: ".."}, member{name: "l", target: "a/b/up/../../x"}), nil, "out of the directory"},
		"links in a circle":         {tarOf(t, ok, member{name: "a", target: "b"}, member{name: "b", target: "a/x"}), nil, "out of the directory"},
		"through a link":            {tarOf(t, ok, member{name: "l", target: "."}, member{name: "l/x", content: "x"}), nil, `its entry "l/x" is below "l", which is no directory`},
		"a link later":              {tarOf(t, ok, member{name: "l/x", content: "x"}, member{name: "l", target: "."}), nil, twice},
		"twice":                     {tarOf(t, ok, ok), nil, twice},
		"a hard link out":           {tarOf(t, ok, member{name: "h", target: "../etc/passwd", flag: tar.TypeLink}), nil, "has .. in its path"},
		"a hard link to nothing":    {tarOf(t, ok, member{name: "h", target: "none", flag: tar.TypeLink}), nil, "is a hard link to no file of the archive"},
		"a device":                  {tarOf(t, ok, member{name: "d", flag: tar.TypeChar}), nil, "is neither a file, nor a directory, nor a link"},
		"a pipe":                    {tarOf(t, ok, member{name: "p", flag: tar.TypeFifo}), nil, "is neither a file"},
		"no archive":                {strings.Repeat("not an archive\n", 100), nil, "it is neither a zip nor a tar"},
		"cut off":                   {gzipped(t, tarOf(t, ok, member{name: "x", content: strings.Repeat("x", 5000)}))[:60], nil, "/srv/a: it ends too early: it was cut off, or is no zip and no tar, plain or compressed"},
		"cut off, plain":            {tarOf(t, ok, member{name: "x", content: strings.Repeat("x", 5000)})[:1900], nil, "/srv/a: it ends too early"},
		"cut off in the head":       {tarOf(t, ok)[:100], nil, "/srv/a: it ends too early"},
		"cut off, gzip head":        {gzipped(t, tarOf(t, ok))[:7], nil, "/srv/a: it ends too early"},
		"two bytes of gzip":         {gzipped(t, tarOf(t, ok))[:2], nil, "/srv/a: it ends too early"},
		"empty":                     {"", nil, "/srv/a: it is empty; it must be a zip or a tar, plain or compressed"},
		"cut off, bzip2":            {"BZh91AY&SY", nil, "/srv/a: it ends too early"},
		"half a zip":                {zipOf(t, ok)[:40], nil, "it is not a whole zip"},
		"nothing":                   {tarOf(t), nil, "nothing is in it to extract"},
		"a directory of ours":       {tarOf(t, ok, member{name: "ok.d", content: "x"}), map[string]string{"/opt/ok.d/x": "theirs"}, "/opt/ok.d is a directory, and the archive has a file there; remove it, or give another extract_path"},
		"a link of ours":            {tarOf(t, ok, member{name: "d/x", content: "x"}), map[string]string{"/opt/d": "->/etc", "/etc/": ""}, "/opt/d is a link, and the archive has a directory there"},
		"no directory":              {tarOf(t, ok), map[string]string{"/opt": "a file"}, "/opt is a file, not a directory"},
		"no xz":                     {"\xfd7zXZ\x00", nil, "it is compressed by xz, which the node does not have; install it first, with package and require"},
	} {
		t.Run(name, func(t *testing.T) {
			b := nodeOf(t, tt.node)
			b.put("/srv/a", tt.content)
			before := b.tree()
			r := b.wantStatus(Apply, item("archive[a]", "source", "/srv/a", "extract", true, "extract_path", "/opt"), Failed)
			if !strings.Contains(r.Message, tt.want) {
				t.Errorf("%q, want %q", r.Message, tt.want)
			}
			b.tearDown()
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Errorf("not as before:\n%s", diff)
			}
		})
	}
}

// The limits of what is extracted hold for what a program decompresses, too.
func TestArchiveTooLarge(t *testing.T) {
	b := nodeOf(t, map[string]string{"/srv/a": "\xfd7zXZ\x00", "/usr/bin/xz": "", "/opt/": ""})
	if err := os.Chmod(b.real("/usr/bin/xz"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.Commands = func(_ context.Context, c system.Command) (system.Output, error) {
		if c.FileLimit != 4<<30 {
			t.Errorf("%q may write %d bytes", c.Argv, c.FileLimit)
		}
		return system.Output{Status: 128 + 25}, nil
	}
	r := b.wantStatus(Apply, item("archive[a]", "source", "/srv/a", "extract", true, "extract_path", "/opt"), Failed)
	if want := "/srv/a: has more than the limit of 4294967296 bytes"; r.Message != want {
		t.Errorf("%q, want %q", r.Message, want)
	}
	b.wantTree("/opt", map[string]string{})
}

func TestArchiveFromURL(t *testing.T) {
	needRoot(t)
	content := gzipped(t, tarOf(t, app...))
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		asked = append(asked, r.URL.String()+" "+name+":"+password)
		switch r.URL.Path {
		case "/app.tar.gz":
			_, _ = w.Write([]byte(content))
		case "/moved":
			http.Redirect(w, r, "/app.tar.gz", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	sum512 := sha512.Sum512([]byte(content))
	const password = `se"cr\et`
	for name, tt := range map[string]struct {
		programs   []string
		path       string
		parameters []any
		asked      []string
		want       string // of the error
	}{
		"curl":                    {[]string{"curl", "wget"}, "/app.tar.gz?token=%22a", nil, []string{"/app.tar.gz?token=%22a :"}, ""},
		"wget":                    {[]string{"wget"}, "/app.tar.gz", nil, []string{"/app.tar.gz :"}, ""},
		"a redirection":           {[]string{"curl"}, "/moved", nil, []string{"/moved :", "/app.tar.gz :"}, ""},
		"sha512":                  {[]string{"curl"}, "/app.tar.gz", []any{"checksum_type", "sha512", "checksum", hex.EncodeToString(sum512[:])}, []string{"/app.tar.gz :"}, ""},
		"a password":              {[]string{"curl"}, "/app.tar.gz", []any{"username", "ann", "password", password}, []string{"/app.tar.gz ann:" + password}, ""},
		"another checksum":        {[]string{"curl"}, "/app.tar.gz", []any{"checksum", strings.Repeat("0", 64)}, []string{"/app.tar.gz :"}, "has the checksum " + resource.SHA256(content) + ", not 0000"},
		"not there":               {[]string{"curl"}, "/none", nil, []string{"/none :"}, "The requested URL returned error: 404"},
		"not there, by wget":      {[]string{"wget"}, "/none", nil, []string{"/none :"}, "ERROR 404: Not Found."},
		"neither":                 {nil, "/app.tar.gz", nil, nil, "the node has neither curl nor wget; install one of them first, with package and require"},
		"a password without curl": {[]string{"wget"}, "/app.tar.gz", []any{"username", "ann", "password", password}, nil, "the node has no curl"},
	} {
		t.Run(name, func(t *testing.T) {
			asked = nil
			b := nodeOf(t, map[string]string{"/opt/": ""})
			var ran []system.Command
			b.hasPrograms(&ran, tt.programs...)
			before := b.tree()
			i := extracting(server.URL+tt.path, append([]any{"checksum", resource.SHA256(content)}, tt.parameters...)...)
			b.wantStatus(Check, i, Differs)
			if len(ran) > 0 {
				t.Errorf("a check ran %v", ran)
			}
			status := Changed
			if tt.want != "" {
				status = Failed
			}
			r := b.wantStatus(Apply, i, status)
			if !strings.Contains(r.Message, tt.want) || strings.Contains(r.Message, password) {
				t.Errorf("%q, want %q", r.Message, tt.want)
			}
			if diff := cmp.Diff(tt.asked, asked); diff != "" {
				t.Error(diff)
			}
			for _, c := range ran {
				if line := strings.Join(c.Argv, " "); strings.Contains(line, "ann") || c.Argv[0] == "/usr/bin/curl" && strings.Contains(line, "http") {
					t.Errorf("every user could read %q", line)
				}
			}
			if tt.want == "" {
				b.wantStatus(Check, i, Unchanged)
				if got := b.get("/opt/app/bin/tool"); got != "tool 1" {
					t.Errorf("%q", got)
				}
			}
			b.tearDown()
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Errorf("not as before:\n%s", diff)
			}
		})
	}
	b := newSandbox(t)
	r := b.wantStatus(Check, extracting(server.URL+"/app.tar.gz", "checksum", resource.SHA256(content)), Failed)
	if want := "source is a URL, which a program of the node fetches: the node is a sandbox folder"; !strings.HasPrefix(r.Message, want) {
		t.Errorf("%q, want %q", r.Message, want)
	}
}

// Without extract, the archive is a file at its path; with cleanup = false, it is both.
func TestArchiveKept(t *testing.T) {
	content := tarOf(t, app...)
	for name, extract := range map[string]bool{"not extracted": false, "extracted": true} {
		t.Run(name, func(t *testing.T) {
			b := nodeOf(t, map[string]string{"/srv/app": content, "/tmp/app.tar": "theirs", "/opt/": ""})
			before := b.tree()
			i := item("archive[/tmp/app.tar]", "source", "/srv/app")
			if extract {
				i = extracting("/srv/app", "cleanup", false)
			}
			b.wantStatus(Check, i, Differs)
			b.wantStatus(Apply, i, Changed)
			if b.get("/tmp/app.tar") != content || b.there("/opt/app/bin/tool") != extract {
				t.Errorf("%v", b.tree())
			}
			b.wantStatus(Apply, i, Unchanged)
			b.put("/tmp/app.tar", "by hand")
			r := b.wantStatus(Apply, i, Changed)
			if d := r.Differences[0]; len(r.Differences) != 1 || d.Parameter != "checksum" || d.Should != "{sha256}"+resource.SHA256(content)[:8] {
				t.Errorf("%v", r.Differences)
			}
			b.put("/srv/app", tarOf(t, app[:2]...)) // a file of the node that has no checksum is extracted again when it changes
			b.wantStatus(Check, i, Differs)
			b.wantStatus(Apply, i, Changed)
			if b.there("/opt/app/README") {
				t.Error("what the new archive does not have is there")
			}
			b.put("/srv/app", content)
			if extract { // the archive itself goes, and what it brought stays
				b.wantStatus(Apply, extracting("/srv/app"), Changed)
				if b.get("/tmp/app.tar") != "theirs" || !b.there("/opt/app/README") {
					t.Errorf("%v", b.tree())
				}
			}
			b.wantStatus(Apply, item("archive[/tmp/app.tar]", "ensure", "absent"), Changed)
			if b.there("/opt/app") || b.there("/tmp/app.tar") {
				t.Errorf("absent: %v", b.tree())
			}
			b.tearDown()
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Errorf("not as before:\n%s", diff)
			}
		})
	}
}

func TestArchiveCreates(t *testing.T) {
	b := nodeOf(t, map[string]string{"/srv/1": tarOf(t, app...), "/opt/app/bin/tool": "theirs"})
	before := b.tree()
	i := func(source string) Item {
		return extracting(source, "checksum", resource.SHA256(b.get(source)), "creates", "/opt/app/bin/tool")
	}
	first := i("/srv/1")
	b.wantStatus(Check, first, Unchanged)
	b.wantStatus(Apply, first, Unchanged)
	if err := os.Remove(b.real("/opt/app/bin/tool")); err != nil {
		t.Fatal(err)
	}
	b.wantStatus(Apply, first, Changed)
	b.put("/opt/app/etc/app.conf", "a = 7\n") // while the tool is there, the rest is not compared
	b.wantStatus(Apply, first, Unchanged)
	b.put("/srv/2", tarOf(t, app[:3]...))
	second := i("/srv/2")
	b.wantStatus(Apply, second, Changed)
	if b.get("/opt/app/etc/app.conf") != "a = 1\n" || b.there("/opt/app/README") {
		t.Errorf("%v", b.tree())
	}
	b.wantStatus(Apply, second, Unchanged)
	b.tearDown()
	delete(before, "/opt/app/bin/tool") // it was taken away before slipway brought its own
	now := b.tree()
	delete(now, "/srv/2")
	if diff := cmp.Diff(before, now); diff != "" {
		t.Errorf("not as before:\n%s", diff)
	}
}

// What has a resource of its own is left to that, a purged directory keeps what archives bring, and two archives do not
// bring one file.
func TestArchiveBesideOthers(t *testing.T) {
	b := nodeOf(t, map[string]string{"/srv/app": tarOf(t, app...), "/srv/other": tarOf(t, member{name: "README", content: "other"}), "/opt/": ""})
	before := b.tree()
	own := item("file[/opt/app/etc/app.conf]", "content", "own\n").requires("archive[/tmp/app.tar]")
	purged := item("file[/opt]", "ensure", "directory", "recurse", true, "purge", true, "force", true)
	items := []Item{purged, extracting("/srv/app"), own}
	for _, want := range []Status{Changed, Unchanged} {
		for _, r := range b.apply(items...) {
			if r.Status != want && r.ID != purged.ID() {
				t.Errorf("%s: %s %s %v, want %s", r.ID, r.Status, r.Message, r.Differences, want)
			}
		}
	}
	if b.get("/opt/app/etc/app.conf") != "own\n" || b.get("/opt/app/README") != "read me" {
		t.Errorf("%v", b.tree())
	}
	other := item("archive[other]", "source", "/srv/other", "extract", true, "extract_path", "/opt/app")
	r := b.wantStatus(Apply, other, Failed)
	if want := "/opt/app/README is in archive[/tmp/app.tar], too; give one of them another extract_path"; !strings.HasSuffix(r.Message, want) {
		t.Errorf("%q, want %q", r.Message, want)
	}
	b.tearDown()
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Errorf("not as before:\n%s", diff)
	}
}

// An archive as large as there are: what is checked and extracted stays bounded in time.
func TestArchiveOfManyFiles(t *testing.T) {
	members := []member{}
	for i := range 400 {
		members = append(members, member{name: fmt.Sprintf("d%d/f%d", i%50, i), content: fmt.Sprint(i)})
	}
	members = append(members, member{name: "hard", target: "d0/f0", flag: tar.TypeLink}, member{name: "d0/up", target: "../d1"})
	b := nodeOf(t, map[string]string{"/srv/a": tarOf(t, members...)})
	before := b.tree()
	i := item("archive[a]", "source", "/srv/a", "extract", true, "extract_path", "/opt/a/b")
	b.wantStatus(Apply, i, Changed)
	b.wantStatus(Apply, i, Unchanged)
	if got := b.get("/opt/a/b/hard") + b.get("/opt/a/b/d49/f399"); got != "0399" {
		t.Errorf("%q", got)
	}
	b.tearDown()
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Errorf("not as before:\n%s", diff)
	}
}

// The whole life of an archive that the controller sends: it is sent only where what it brings differs, never for a
// check, and what was there before returns. One that is not what the plan has is refused before anything is touched.
func TestArchiveOfTheController(t *testing.T) {
	needRoot(t)
	one, two := gzipped(t, tarOf(t, app...)), zipOf(t, member{name: "app-2.0/README", content: "read me 2"})
	from := supplyOf(one, two)
	of := func(content string, pairs ...any) Item {
		return item("archive[app]", append([]any{"source_file", "app.tgz", "source_sha256", resource.SHA256(content),
			"extract", true, "extract_path", "/opt/app", "strip_components", 1}, pairs...)...)
	}
	b := nodeOf(t, map[string]string{"/opt/app/README": "theirs", "/srv/": ""})
	before := b.tree()
	wantStatus(t, b.inMode(Check, of(one)), Differs, "ensure is absent, should be present")
	wantStatus(t, b.run(Manifest{Protocol: Protocol, Site: "one", Run: "r", Mode: Apply, Items: []Item{of(one)},
		Contents: func(_ context.Context, sums []string, use func(string, io.Reader) error) error {
			return use(sums[0], strings.NewReader(one+"x"))
		}}), Failed, "source_file: the content is not the one with the SHA-256 "+resource.SHA256(one))
	if got := b.tree(); got["/opt/app/README"] != before["/opt/app/README"] || got["/opt/app/bin"] != "" {
		t.Errorf("an archive that is refused changed the node: %v", got)
	}
	wantStatus(t, b.applyFrom(from, of(one)), Changed, "ensure")
	if b.get("/opt/app/bin/tool") != "tool 1" || b.get("/opt/app/README") != "read me" {
		t.Errorf("the node has %v", b.tree())
	}
	wantStatus(t, b.applyFrom(from, of(one)), Unchanged, "")
	if n := from.asked[resource.SHA256(one)]; n != 1 {
		t.Errorf("the archive was asked for %d times, want once", n)
	}
	b.put("/opt/app/bin/tool", "by hand")
	wantStatus(t, b.inMode(Check, of(one)), Differs, "content is {sha256}"+resource.SHA256("by hand")[:8]+" (bin/tool)")
	wantStatus(t, b.applyFrom(from, of(one)), Changed, "content")
	if b.get("/opt/app/bin/tool") != "tool 1" {
		t.Errorf("after the repair the node has %q", b.get("/opt/app/bin/tool"))
	}
	wantStatus(t, b.inMode(Check, of(two)), Differs, "checksum is {sha256}"+resource.SHA256(one)[:8])
	wantStatus(t, b.applyFrom(from, of(two)), Changed, "checksum")
	if b.get("/opt/app/README") != "read me 2" || b.tree()["/opt/app/bin/tool"] != "" {
		t.Errorf("the node has %v", b.tree())
	}
	at := []any{"path", "/srv/app.zip"}
	wantStatus(t, b.applyFrom(from, of(two, append(at, "cleanup", false)...)), Changed, "object is app")
	if b.get("/srv/app.zip") != two {
		t.Error("the archive is not at its path")
	}
	b.put("/srv/app.zip", "by hand")
	wantStatus(t, b.inMode(Check, of(two, append(at, "cleanup", false)...)), Differs, "checksum")
	b.tearDown()
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Errorf("not as before:\n%s", diff)
	}
}

// Whose the files are is said in the archive's own words, also of an archive that is only kept.
func TestArchiveSaysUser(t *testing.T) {
	b := nodeOf(t, map[string]string{"/a.tar": tarOf(t, member{name: "x", content: "1"}), "/d/": "", "/etc/passwd": "root:x:0:0::/root:/bin/sh\n"})
	kept := []any{"source", "/a.tar", "user"}
	r := b.apply(item("archive[/d/kept.tar]", append(kept, "app")...))[0]
	if want := `user "app": no such user on the node; make it first, with require`; r.Status != Failed || r.Message != want {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
	mine := item("archive[/d/kept.tar]", append(kept, "root")...)
	b.wantAll("apply", Changed, b.apply(mine))
	if err := os.Chown(b.real("/d/kept.tar"), 4711, 0); err != nil {
		t.Skip("only root may give files to others")
	}
	want := []types.Difference{{Parameter: "user", Is: "4711", Should: "root"}}
	if diff := cmp.Diff(want, b.inMode(Check, mine)[0].Differences); diff != "" {
		t.Error(diff)
	}
}
