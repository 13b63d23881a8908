package converge

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// gitNode is a node with git and a repository in its folder /git/app, which has two commits, a tag on the first and a
// branch. git, which runs on this machine, sees the folder under the same path as the node.
type gitNode struct {
	*sandbox
	ran []system.Command
}

func newGitNode(t *testing.T) *gitNode {
	t.Helper()
	needRoot(t)
	if _, err := os.Stat("/usr/bin/git"); err != nil {
		t.Skip("NOT TESTED: this machine has no git")
	}
	b := &gitNode{sandbox: newSandbox(t)}
	b.link(b.dir, "/")
	b.put("/usr/bin/git", "")
	for _, file := range []string{"/etc/passwd", "/etc/group"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b.put(file, string(content))
	}
	for _, dir := range []string{b.real("/usr/bin/git"), b.dir, filepath.Dir(b.dir)} { // other users come here, too
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m := machine(t)
	b.Commands = func(ctx context.Context, c system.Command) (system.Output, error) {
		b.ran = append(b.ran, c)
		return m.Execute(ctx, c)
	}
	b.mkdir("/git/app", "/srv")
	b.git("/git/app", "init", "-q", "-b", "main")
	b.commit("/git/app", "a.txt", "one\n")
	b.git("/git/app", "tag", "-a", "-m", "first", "v1")
	b.git("/git/app", "branch", "stable")
	b.commit("/git/app", "dir/b.txt", "two\n")
	return b
}

// git runs git as a person on the node does.
func (b *gitNode) git(dir string, args ...string) string {
	b.t.Helper()
	c := exec.CommandContext(b.t.Context(), "/usr/bin/git", append([]string{"-C", b.real(dir), "-c", "protocol.file.allow=always", "-c", "safe.directory=*"}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := c.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (b *gitNode) commit(dir, file, content string) string {
	b.t.Helper()
	b.put(dir+"/"+file, content)
	b.git(dir, "add", ".")
	b.git(dir, "commit", "-q", "-m", file)
	return b.git(dir, "rev-parse", "HEAD")
}

// cloned is a clone of /git/app at /srv/app.
func (b *gitNode) cloned(pairs ...any) Item {
	return item("vcsrepo["+b.real("/srv/app")+"]", append([]any{"source", b.real("/git/app")}, pairs...)...)
}

func (b *gitNode) wantDifferences(i Item, want ...types.Difference) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.wantStatus(Check, i, Differs).Differences); diff != "" {
		b.t.Error(diff)
	}
}

func TestVcsrepo(t *testing.T) {
	b := newGitNode(t)
	before := b.tree()
	first, second := b.git("/git/app", "rev-parse", "v1^{commit}"), b.git("/git/app", "rev-parse", "main")
	at := func(branch, commit string) {
		t.Helper()
		if is := b.git("/srv/app", "rev-parse", "HEAD"); is != commit {
			t.Errorf("at %s, want %s", is, commit)
		}
		if is := b.git("/srv/app", "branch", "--show-current"); is != branch {
			t.Errorf("on the branch %q, want %q", is, branch)
		}
	}
	b.wantDifferences(b.cloned(), types.Difference{Parameter: "ensure", Is: "absent", Should: "present"})
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Errorf("a check changed:\n%s", diff)
	}
	b.wantStatus(Apply, b.cloned(), Changed)
	b.wantStatus(Apply, b.cloned(), Unchanged)
	at("main", second)

	// Changes of its files are drift, further files are not.
	b.put("/srv/app/a.txt", "by hand\n")
	b.put("/srv/app/log", "of others")
	if err := os.Remove(b.real("/srv/app/dir/b.txt")); err != nil {
		t.Fatal(err)
	}
	b.wantDifferences(b.cloned(), types.Difference{Parameter: "changes", Is: "a.txt, dir/b.txt", Should: "none"})
	b.wantStatus(Check, b.cloned("keep_local_changes", true), Unchanged)
	b.wantStatus(Apply, b.cloned(), Changed)
	if got := b.get("/srv/app/a.txt") + b.get("/srv/app/dir/b.txt") + b.get("/srv/app/log"); got != "one\ntwo\nof others" {
		t.Errorf("%q", got)
	}

	for _, tt := range []struct{ revision, is, branch, commit string }{
		{"v1", "main", "", first}, {"stable", first[:12], "stable", first}, {second, "stable", "", second}, {first[:8], second[:12], "", first},
		{"main", first[:12], "main", second},
	} {
		i := b.cloned("revision", tt.revision)
		b.wantDifferences(i, types.Difference{Parameter: "revision", Is: tt.is, Should: tt.revision})
		b.wantStatus(Apply, i, Changed)
		b.wantStatus(Apply, i, Unchanged)
		at(tt.branch, tt.commit)
	}

	// The server goes on: a branch follows with latest, a tag and a commit that came later are fetched when they are
	// wanted.
	third := b.commit("/git/app", "c.txt", "three\n")
	b.git("/git/app", "tag", "v2")
	fourth := b.commit("/git/app", "c.txt", "four\n")
	b.wantStatus(Check, b.cloned("revision", "main"), Unchanged)
	b.wantStatus(Apply, b.cloned("revision", "v2"), Changed)
	at("", third)
	b.wantStatus(Apply, b.cloned("revision", third), Unchanged)
	latest := b.cloned("ensure", "latest")
	b.wantDifferences(latest, types.Difference{Parameter: "revision", Is: third[:12], Should: "main"})
	b.wantStatus(Apply, latest, Changed)
	at("main", fourth)
	b.wantStatus(Apply, latest, Unchanged)
	fifth := b.commit("/git/app", "c.txt", "five\n")
	b.wantDifferences(b.cloned("ensure", "latest", "revision", "main"), types.Difference{Parameter: "revision", Is: fourth[:12], Should: fifth[:12]})
	b.wantStatus(Apply, b.cloned("revision", fifth), Changed)
	at("", fifth)

	// Another source.
	b.git("/git", "clone", "-q", "--bare", b.real("/git/app"), "moved")
	moved := item(string(b.cloned().ID()), "source", b.real("/git/moved"))
	b.wantDifferences(moved, types.Difference{Parameter: "source", Is: short(b.real("/git/app")), Should: short(b.real("/git/moved"))})
	b.wantStatus(Apply, moved, Changed)
	b.wantStatus(Apply, moved, Unchanged)

	r := b.wantStatus(Apply, removal(string(moved.ID())), Changed)
	if want := b.real("/srv/app") + " is not empty, so it stays: others have log in it"; r.Message != want {
		t.Errorf("%q, want %q", r.Message, want)
	}
	b.wantTree("/srv", map[string]string{"app": "drwxr-xr-x", "app/log": "-rw-r--r-- of others"})
	for _, c := range b.ran {
		if c.Argv[0] != "/usr/bin/git" || !strings.Contains(strings.Join(c.Env, " "), "GIT_TERMINAL_PROMPT=0") {
			t.Errorf("%q with %q was run", c.Argv, c.Env)
		}
	}
}

// short is a text as a difference has it.
func short(text string) string {
	if len(text) <= 80 {
		return text
	}
	return text[:79] + "…"
}

func TestVcsrepoIsUndone(t *testing.T) {
	for name, tt := range map[string]struct {
		before  func(*gitNode)
		i       func(*gitNode) Item
		message string
	}{
		"made":                    {func(*gitNode) {}, func(b *gitNode) Item { return b.cloned("depth", 1) }, ""},
		"in an empty directory":   {func(b *gitNode) { b.mkdir("/srv/app") }, func(b *gitNode) Item { return b.cloned() }, ""},
		"bare":                    {func(*gitNode) {}, func(b *gitNode) Item { return b.cloned("ensure", "bare") }, ""},
		"bare in a directory":     {func(b *gitNode) { b.mkdir("/srv/app") }, func(b *gitNode) Item { return b.cloned("ensure", "bare") }, ""},
		"a bare clone was there":  {func(b *gitNode) { b.git("/git", "clone", "-q", "--bare", "app", "../srv/app") }, func(b *gitNode) Item { return b.cloned("ensure", "bare") }, ""},
		"a file gave way":         {func(b *gitNode) { b.put("/srv/app", "x") }, func(b *gitNode) Item { return b.cloned("force", true) }, "gave way because of force, so what was there does not come back"},
		"a directory gave way":    {func(b *gitNode) { b.put("/srv/app/x", "x") }, func(b *gitNode) Item { return b.cloned("force", true) }, "gave way because of force"},
		"incomplete, was cut off": {func(b *gitNode) { b.mkdir("/srv/app/.git/objects") }, func(b *gitNode) Item { return b.cloned() }, "gave way because of force"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newGitNode(t)
			tt.before(b)
			before := b.tree()
			i := tt.i(b)
			if !strings.HasPrefix(name, "a bare") {
				b.wantStatus(Apply, i, Changed)
			}
			b.wantStatus(Apply, i, Unchanged)
			if r := b.wantStatus(Apply, removal(string(i.ID())), Changed); !strings.Contains(r.Message, tt.message) || tt.message == "" && r.Message != "" {
				t.Errorf("%q, want %q", r.Message, tt.message)
			}
			b.tearDown()
			if tt.message != "" {
				b.wantTree("/srv", map[string]string{})
			} else if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Errorf("not as before:\n%s", diff)
			}
		})
	}
}

// A clone that was there before returns to what it was, and what others changed in it is not lost.
func TestVcsrepoThereBefore(t *testing.T) {
	b := newGitNode(t)
	b.git("/git", "clone", "-q", "--bare", b.real("/git/app"), "other")
	b.git("/srv", "clone", "-q", b.real("/git/other"), "app")
	b.git("/srv/app", "checkout", "-q", "stable")
	was := b.git("/srv/app", "rev-parse", "HEAD")
	b.put("/srv/app/a.txt", "changed by them\n")
	i := b.cloned("revision", "main")
	r := b.wantStatus(Apply, i, Failed)
	if want := b.real("/srv/app") + " was there before slipway, and has changes (a.txt); set force = true to drop them, or keep_local_changes = true to leave them"; r.Message != want {
		t.Errorf("%q, want %q", r.Message, want)
	}
	kept := b.cloned("revision", "main", "keep_local_changes", true)
	b.wantStatus(Apply, kept, Changed)
	b.wantStatus(Apply, kept, Unchanged)
	if got := b.get("/srv/app/a.txt") + b.get("/srv/app/dir/b.txt"); got != "changed by them\ntwo\n" {
		t.Errorf("%q", got)
	}
	b.tearDown()
	if got := b.get("/srv/app/a.txt"); got != "changed by them\n" || b.there("/srv/app/dir") {
		t.Errorf("%q", got)
	}
	if got := b.git("/srv/app", "rev-parse", "HEAD") + b.git("/srv/app", "branch", "--show-current") + b.git("/srv/app", "remote", "get-url", "origin"); got != was+"stable"+b.real("/git/other") {
		t.Errorf("%q", got)
	}
	dropped := b.cloned("force", true)
	b.wantStatus(Apply, dropped, Changed)
	if got := b.get("/srv/app/a.txt"); got != "one\n" {
		t.Errorf("%q", got)
	}
}

func TestVcsrepoOfUser(t *testing.T) {
	b := newGitNode(t)
	if err := os.Chown(b.real("/git/app"), 65534, 65534); err != nil { // git trusts no repository of another user
		t.Fatal(err)
	}
	if err := os.Chown(b.real("/git/app/.git"), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	i := b.cloned("owner", "nobody", "group", "daemon")
	b.wantStatus(Apply, i, Changed)
	b.wantStatus(Apply, i, Unchanged)
	for _, c := range b.ran {
		if c.User != "nobody" {
			t.Errorf("%q ran as %q", c.Argv, c.User)
		}
	}
	if err := os.Chown(b.real("/srv/app/a.txt"), 0, 0); err != nil {
		t.Fatal(err)
	}
	b.wantDifferences(i, types.Difference{Parameter: "owner", Is: "root of a.txt", Should: "nobody"}, types.Difference{Parameter: "group", Is: "root of a.txt", Should: "daemon"})
	b.wantStatus(Apply, i, Changed)
	b.wantStatus(Check, i, Unchanged)
	r := b.wantStatus(Check, b.cloned(), Failed) // root runs nothing that another user can write into a clone
	if want := `/srv/app is a clone that belongs to "nobody" (65534), and git would run as another user; give owner = "nobody", or remove the clone`; !strings.HasSuffix(r.Message, want) {
		t.Errorf("%q, want %q", r.Message, want)
	}
	b.tearDown()
	b.wantTree("/srv", map[string]string{})
}

func TestVcsrepoSubmodules(t *testing.T) {
	b := newGitNode(t)
	b.mkdir("/git/lib")
	b.git("/git/lib", "init", "-q", "-b", "main")
	b.commit("/git/lib", "lib.txt", "lib 1\n")
	b.git("/git/app", "submodule", "add", "-q", b.real("/git/lib"), "lib")
	b.git("/git/app", "commit", "-q", "-m", "lib")
	before := b.tree()
	i := b.cloned()
	b.wantStatus(Apply, i, Changed)
	b.wantStatus(Apply, i, Unchanged)
	if got := b.get("/srv/app/lib/lib.txt"); got != "lib 1\n" {
		t.Errorf("%q", got)
	}
	if err := os.RemoveAll(b.real("/srv/app/lib/lib.txt")); err != nil {
		t.Fatal(err)
	}
	b.wantDifferences(i, types.Difference{Parameter: "changes", Is: "lib", Should: "none"})
	b.wantStatus(Apply, i, Changed)
	b.wantStatus(Check, i, Unchanged)
	b.tearDown()
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Errorf("not as before:\n%s", diff)
	}
}

func TestVcsrepoFails(t *testing.T) {
	asking := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Basic")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(asking.Close)
	for name, tt := range map[string]struct {
		before func(*gitNode)
		i      func(*gitNode) Item
		check  Status
		want   string
	}{
		"no git":                  {func(b *gitNode) { _ = os.Remove(b.real("/usr/bin/git")) }, func(b *gitNode) Item { return b.cloned() }, Differs, "the node does not have git; install it first (package[git]), and require that"},
		"no user":                 {nil, func(b *gitNode) Item { return b.cloned("user", "app") }, Differs, `user "app": no such user on the node; make it first, with require`},
		"no such repository":      {nil, func(b *gitNode) Item { return item(string(b.cloned().ID()), "source", "/git/none") }, Differs, "fatal: repository '/git/none' does not exist"},
		"no such revision":        {nil, func(b *gitNode) Item { return b.cloned("revision", "v9") }, Differs, `revision "v9": ` + "%s/git/app has neither a branch, a tag nor a commit of that name"},
		"no such commit":          {nil, func(b *gitNode) Item { return b.cloned("revision", strings.Repeat("0", 39)+"1") }, Differs, "nor a commit of that name: git fetch ended with status 128: fatal: "},
		"a password is asked":     {nil, func(b *gitNode) Item { return item(string(b.cloned().ID()), "source", asking.URL+"/app.git") }, Differs, "terminal prompts disabled"},
		"a protocol that runs":    {nil, func(b *gitNode) Item { return b.submodule("ext::touch% /tmp/x") }, Differs, "transport 'ext' not allowed"},
		"no directory":            {func(b *gitNode) { _ = os.RemoveAll(b.real("/srv")) }, func(b *gitNode) Item { return b.cloned() }, Differs, "the directory %s/srv is not there"},
		"something is there":      {func(b *gitNode) { b.put("/srv/app/x", "x") }, func(b *gitNode) Item { return b.cloned() }, Differs, "%[1]s/srv/app is there (directory) and no clone of %[1]s/git/app; set force = true to remove it, with everything in it"},
		"something is to be gone": {func(b *gitNode) { b.put("/srv/app/x", "x") }, func(b *gitNode) Item { return b.cloned("ensure", "absent") }, Differs, "%s/srv/app is not slipway's; set force = true"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newGitNode(t)
			if tt.before != nil {
				tt.before(b)
			}
			i := tt.i(b)
			before := b.tree()
			b.wantStatus(Check, i, tt.check)
			r := b.wantStatus(Apply, i, Failed)
			want := strings.NewReplacer("%s", b.dir, "%[1]s", b.dir).Replace(tt.want)
			if !strings.Contains(r.Message, want) {
				t.Errorf("%q, want %q", r.Message, want)
			}
			if name == "no git" {
				return // and no undo of what was never begun
			}
			b.tearDown()
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Errorf("not as before:\n%s", diff)
			}
		})
	}
}

// submodule gives the repository a submodule, and returns a clone of it.
func (b *gitNode) submodule(url string) Item {
	b.put("/git/app/.gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = "+url+"\n")
	b.git("/git/app", "update-index", "--add", "--cacheinfo", "160000,"+b.git("/git/app", "rev-parse", "HEAD")+",x")
	b.git("/git/app", "add", ".gitmodules")
	b.git("/git/app", "commit", "-q", "-m", "x")
	return b.cloned()
}

// A directory that is purged keeps a clone below it with everything in it.
func TestVcsrepoBelowPurged(t *testing.T) {
	b := newGitNode(t)
	b.put("/srv/stray", "x")
	purged := item("file["+b.real("/srv")+"]", "ensure", "directory", "recurse", true, "purge", true, "force", true)
	clone := b.cloned().requires(purged.ID())
	b.apply(purged, clone)
	for _, r := range b.apply(purged, clone) {
		if r.Status != Unchanged {
			t.Errorf("%s: %s %v", r.ID, r.Status, r.Differences)
		}
	}
	if b.there("/srv/stray") || !b.there("/srv/app/dir/b.txt") {
		t.Errorf("%v", b.tree())
	}
}

func TestVcsrepoSources(t *testing.T) {
	for source, valid := range map[string]bool{
		"https://git.example.com/app.git": true, "ssh://git@git.example.com:22/app.git": true, "git@git.example.com:app.git": true, "/srv/git/app": true, "git://h/x": true,
		"https://ann:secret@git.example.com/app.git": false, "https://token@git.example.com/app.git": false, "ssh://git:secret@h/x": false, "ext::sh -c id": false,
		"ext::id": false, "-uid": false, "https://-x": false, "git@-x:y": false, "app.git": false, "../app": false, "ftp://h/x": false, "x@y::z": false, "": false,
	} {
		r := resource.Resource{Type: "vcsrepo", Title: "/srv/app", Parameters: resource.Parameters{"source": source}}
		errs := types.All["vcsrepo"].Schema().Validate(r)
		if (len(errs) == 0) != valid {
			t.Errorf("%q: %v", source, errs)
		}
		if len(errs) > 0 && strings.Contains(errs[0].Message, "secret") {
			t.Errorf("%q is shown: %v", source, errs)
		}
	}
	for revision, valid := range map[string]bool{"main": true, "v1.2+b": true, "feature/x_1": true, "-f": false, "a..b": false, "a b": false, "HEAD@{1}": false, "x/": false, "": false} {
		r := resource.Resource{Type: "vcsrepo", Title: "/srv/app", Parameters: resource.Parameters{"source": "/x", "revision": revision}}
		if errs := types.All["vcsrepo"].Schema().Validate(r); (len(errs) == 0) != valid {
			t.Errorf("%q: %v", revision, errs)
		}
	}
}

// A password for the server is in the environment of git, and nowhere else; another server does not get it.
func TestVcsrepoLogsIn(t *testing.T) {
	b := newGitNode(t)
	b.git("/git/app", "update-server-info")
	var others []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		others = append(others, r.Header.Get("Authorization"))
		w.Header().Set("WWW-Authenticate", "Basic realm=x")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer other.Close()
	files := http.FileServer(http.Dir(b.real("/git/app/.git")))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ann" || password != secretOneText {
			w.Header().Set("WWW-Authenticate", "Basic realm=x")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	session := func(mode Mode, source, password string, more ...any) Result {
		i := item("vcsrepo[clone]", append(more, "path", b.dir+"/srv/app", "source", source, "basic_auth_username", "ann", "basic_auth_password", secretMark)...)
		var secrets map[string]string
		if password != "" {
			secrets = map[string]string{"s@1": password}
		}
		return b.of("one", Manifest{Mode: mode, Items: []Item{i}, Secrets: secrets})[0]
	}
	if r := session(Apply, server.URL+"/", "another password"); r.Status != Failed || strings.Contains(r.Message, "another password") {
		t.Errorf("with another password: %s: %s", r.Status, r.Message)
	}
	if r := session(Apply, server.URL+"/", secretOneText, "ensure", "latest"); r.Status != Changed {
		t.Fatalf("%s: %s", r.Status, r.Message)
	}
	if got := b.get("/srv/app/dir/b.txt"); got != "two\n" {
		t.Errorf("the file is %q", got)
	}
	if r := session(Check, server.URL+"/", "", "ensure", "latest"); r.Status != Unchanged {
		t.Errorf("without the password: %s: %s", r.Status, r.Message)
	}
	for _, c := range b.ran {
		if strings.Contains(strings.Join(c.Argv, " "), secretOneText) {
			t.Errorf("arguments: %q", c.Argv)
		}
	}
	for file, content := range b.tree() {
		if strings.Contains(content, secretOneText) {
			t.Errorf("%s has the password", file)
		}
	}
	b.git("/srv/app", "remote", "set-url", "origin", other.URL)
	g := system.Command{}
	for _, c := range b.ran {
		if strings.Contains(strings.Join(c.Argv, " "), " clone ") {
			g = c
		}
	}
	at := slices.Index(g.Argv, "clone")
	g.Argv = append(slices.Clone(g.Argv[:at]), "ls-remote", other.URL)
	if out, err := b.Execute(t.Context(), g); err != nil || out.Status == 0 || len(others) == 0 || strings.Join(others, "") != "" {
		t.Errorf("the other server got %q; %v %d %s", others, err, out.Status, out.Combined)
	}
}
