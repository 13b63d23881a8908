package converge

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

// apply runs items of real types in mode Apply and returns the results.
func (b *sandbox) apply(items ...Item) []Result {
	b.t.Helper()
	return b.inMode(Apply, items...)
}

func (b *sandbox) inMode(mode Mode, items ...Item) []Result {
	b.t.Helper()
	var results []Result
	s := Run(b.t.Context(), b.System, Manifest{Protocol: Protocol, Site: "one", Run: "r", Mode: mode, Items: items}, func(r Result) { results = append(results, r) })
	if s.Error != nil {
		b.t.Fatal(s.Error)
	}
	return results
}

func (b *sandbox) tearDown() {
	b.t.Helper()
	s := Run(b.t.Context(), b.System, Manifest{Protocol: Protocol, Site: "one", Run: "r", Mode: Apply, TearDown: true}, func(r Result) {
		if r.Status == Failed {
			b.t.Errorf("%s: %s", r.ID, r.Message)
		}
	})
	if s.Error != nil {
		b.t.Error(s.Error)
	}
}

// nodeOf prepares a node: names that end in / are directories, contents that start with -> are links.
func nodeOf(t *testing.T, files map[string]string) *sandbox {
	b := newSandbox(t)
	for name, content := range files {
		switch target, isLink := strings.CutPrefix(content, "->"); {
		case strings.HasSuffix(name, "/"):
			b.mkdir(name)
		case isLink:
			b.link(name, target)
		default:
			b.put(name, content)
		}
	}
	return b
}

// Every row is applied, checked, applied again without a change, and torn down to what was there before.
func TestFile(t *testing.T) {
	for name, test := range map[string]struct {
		before map[string]string
		item   Item
		diffs  []types.Difference
		want   map[string]string // what is at the paths then: mode and content, as in tree; empty is nothing
	}{
		"new":                       {item: item("file[/f]", "content", "x"), diffs: []types.Difference{{Parameter: "ensure", Is: "absent", Should: "file"}}, want: map[string]string{"/f": "-rw-r--r-- x"}},
		"new with mode":             {item: item("file[/f]", "content", "x", "mode", "4750"), diffs: []types.Difference{{Parameter: "ensure", Is: "absent", Should: "file"}}, want: map[string]string{"/f": "urwxr-x--- x"}},
		"new and empty":             {item: item("file[/f]", "ensure", "present"), diffs: []types.Difference{{Parameter: "ensure", Is: "absent", Should: "file"}}, want: map[string]string{"/f": "-rw-r--r-- "}},
		"path":                      {item: item("file[message]", "path", "/f", "content", "x"), diffs: []types.Difference{{Parameter: "ensure", Is: "absent", Should: "file"}}, want: map[string]string{"/f": "-rw-r--r-- x"}},
		"content":                   {before: map[string]string{"/f": "old"}, item: item("file[/f]", "content", "x"), diffs: []types.Difference{{Parameter: "content", Is: "{sha256}cba06b57", Should: "{sha256}2d711642"}}, want: map[string]string{"/f": "-rw-r--r-- x"}},
		"empty content":             {before: map[string]string{"/f": "old"}, item: item("file[/f]", "content", ""), diffs: []types.Difference{{Parameter: "content", Is: "{sha256}cba06b57", Should: "{sha256}e3b0c442"}}, want: map[string]string{"/f": "-rw-r--r-- "}},
		"mode":                      {before: map[string]string{"/f": "old"}, item: item("file[/f]", "mode", "600"), diffs: []types.Difference{{Parameter: "mode", Is: "0644", Should: "0600"}}, want: map[string]string{"/f": "-rw------- old"}},
		"source":                    {before: map[string]string{"/s": "here", "/f": "old"}, item: item("file[/f]", "source", "/s"), diffs: []types.Difference{{Parameter: "content", Is: "{sha256}cba06b57", Should: "{sha256}fcec9150"}}, want: map[string]string{"/f": "-rw-r--r-- here"}},
		"directory":                 {item: item("file[/d]", "ensure", "directory", "mode", "0700"), diffs: []types.Difference{{Parameter: "ensure", Is: "absent", Should: "directory"}}, want: map[string]string{"/d": "drwx------"}},
		"directory mode":            {before: map[string]string{"/d/x": "x"}, item: item("file[/d]", "ensure", "directory", "mode", "1777"), diffs: []types.Difference{{Parameter: "mode", Is: "0755", Should: "1777"}}, want: map[string]string{"/d": "dtrwxrwxrwx", "/d/x": "-rw-r--r-- x"}},
		"link":                      {item: item("file[/l]", "target", "/etc"), diffs: []types.Difference{{Parameter: "ensure", Is: "absent", Should: "link"}}, want: map[string]string{"/l": "Lrwxrwxrwx /etc"}},
		"other target":              {before: map[string]string{"/l": "->a"}, item: item("file[/l]", "ensure", "link", "target", "b"), diffs: []types.Difference{{Parameter: "target", Is: "a", Should: "b"}}, want: map[string]string{"/l": "Lrwxrwxrwx b"}},
		"absent":                    {before: map[string]string{"/f": "old"}, item: item("file[/f]", "ensure", "absent"), diffs: []types.Difference{{Parameter: "ensure", Is: "file", Should: "absent"}}, want: map[string]string{"/f": ""}},
		"absent link":               {before: map[string]string{"/d/x": "x", "/l": "->/d"}, item: item("file[/l]", "ensure", "absent"), diffs: []types.Difference{{Parameter: "ensure", Is: "link", Should: "absent"}}, want: map[string]string{"/l": "", "/d/x": "-rw-r--r-- x"}},
		"file for link":             {before: map[string]string{"/t": "theirs", "/l": "->/t"}, item: item("file[/l]", "content", "x"), diffs: []types.Difference{{Parameter: "ensure", Is: "link", Should: "file"}}, want: map[string]string{"/l": "-rw-r--r-- x", "/t": "-rw-r--r-- theirs"}},
		"link for file":             {before: map[string]string{"/f": "old"}, item: item("file[/f]", "target", "t"), diffs: []types.Difference{{Parameter: "ensure", Is: "file", Should: "link"}}, want: map[string]string{"/f": "Lrwxrwxrwx t"}},
		"dir for file":              {before: map[string]string{"/f": "old"}, item: item("file[/f]", "ensure", "directory"), diffs: []types.Difference{{Parameter: "ensure", Is: "file", Should: "directory"}}, want: map[string]string{"/f": "drwxr-xr-x"}},
		"file for dir":              {before: map[string]string{"/d/": ""}, item: item("file[/d]", "content", "x", "force", true), diffs: []types.Difference{{Parameter: "ensure", Is: "directory", Should: "file"}}, want: map[string]string{"/d": "-rw-r--r-- x"}},
		"absent dir":                {before: map[string]string{"/d/": ""}, item: item("file[/d]", "ensure", "absent", "force", true), diffs: []types.Difference{{Parameter: "ensure", Is: "directory", Should: "absent"}}, want: map[string]string{"/d": ""}},
		"through a link":            {before: map[string]string{"/d/": "", "/l": "->/d"}, item: item("file[/l/f]", "content", "x"), diffs: []types.Difference{{Parameter: "ensure", Is: "absent", Should: "file"}}, want: map[string]string{"/d/f": "-rw-r--r-- x"}},
		"present is a dir":          {before: map[string]string{"/d/": ""}, item: item("file[/d]", "ensure", "present", "mode", "0700"), diffs: []types.Difference{{Parameter: "mode", Is: "0755", Should: "0700"}}, want: map[string]string{"/d": "drwx------"}},
		"content for link":          {before: map[string]string{"/t": "theirs", "/l": "->/t"}, item: item("file[/l]", "ensure", "present", "content", "x"), diffs: []types.Difference{{Parameter: "ensure", Is: "link", Should: "file"}}, want: map[string]string{"/l": "-rw-r--r-- x", "/t": "-rw-r--r-- theirs"}},
		"sensitive":                 {before: map[string]string{"/f": "old"}, item: item("file[/f]", "content", "x", "sensitive", true), diffs: []types.Difference{{Parameter: "content", Is: types.Hidden, Should: types.Hidden}}, want: map[string]string{"/f": "-rw-r--r-- x"}},
		"attributes of nothing":     {item: item("file[/f]", "mode", "0600", "owner", "0"), want: map[string]string{"/f": ""}},
		"attributes of a directory": {before: map[string]string{"/d/x": "x"}, item: item("file[/d]", "mode", "0700"), diffs: []types.Difference{{Parameter: "mode", Is: "0755", Should: "0700"}}, want: map[string]string{"/d": "drwx------", "/d/x": "-rw-r--r-- x"}},
		"attributes of a link":      {before: map[string]string{"/t": "theirs", "/l": "->/t"}, item: item("file[/l]", "mode", "0600"), want: map[string]string{"/l": "Lrwxrwxrwx /t", "/t": "-rw-r--r-- theirs"}},
		"mode of a new link":        {before: map[string]string{"/t": "theirs"}, item: item("file[/l]", "ensure", "link", "target", "/t", "mode", "0600"), diffs: []types.Difference{{Parameter: "ensure", Is: "absent", Should: "link"}}, want: map[string]string{"/l": "Lrwxrwxrwx /t", "/t": "-rw-r--r-- theirs"}},
		"directory, x where r is":   {item: item("file[/d]", "ensure", "directory", "mode", "0640"), diffs: []types.Difference{{Parameter: "ensure", Is: "absent", Should: "directory"}}, want: map[string]string{"/d": "drwxr-x---"}},
		"directory is so already":   {before: map[string]string{"/d/": ""}, item: item("file[/d]", "ensure", "directory", "mode", "0644"), want: map[string]string{"/d": "drwxr-xr-x"}},
		"symbolic, new":             {item: item("file[/f]", "content", "x", "mode", "u=rwx,g=r,o="), diffs: []types.Difference{{Parameter: "ensure", Is: "absent", Should: "file"}}, want: map[string]string{"/f": "-rwxr----- x"}},
		"symbolic, new directory":   {item: item("file[/d]", "ensure", "directory", "mode", "go-rx,+t"), diffs: []types.Difference{{Parameter: "ensure", Is: "absent", Should: "directory"}}, want: map[string]string{"/d": "dtrwx------"}},
		"symbolic, there":           {before: map[string]string{"/f": "old"}, item: item("file[/f]", "mode", "g+w,u+x"), diffs: []types.Difference{{Parameter: "mode", Is: "0644", Should: "0764"}}, want: map[string]string{"/f": "-rwxrw-r-- old"}},
		"symbolic, new content":     {before: map[string]string{"/f": "old"}, item: item("file[/f]", "content", "x", "mode", "g+w"), diffs: []types.Difference{{Parameter: "content", Is: "{sha256}cba06b57", Should: "{sha256}2d711642"}, {Parameter: "mode", Is: "0644", Should: "0664"}}, want: map[string]string{"/f": "-rw-rw-r-- x"}},
		"symbolic, X of a file":     {before: map[string]string{"/f": "old"}, item: item("file[/f]", "mode", "a+X"), want: map[string]string{"/f": "-rw-r--r-- old"}},
		"symbolic, = and X of a file": {before: map[string]string{"/f": "old"}, item: item("file[/f]", "mode", "u=rwX,go=X"),
			diffs: []types.Difference{{Parameter: "mode", Is: "0644", Should: "0600"}}, want: map[string]string{"/f": "-rw------- old"}},
		"symbolic, = and X of a directory": {item: item("file[/f]", "ensure", "directory", "mode", "u=rwX,go=X"),
			diffs: []types.Difference{{Parameter: "ensure", Is: "absent", Should: "directory"}}, want: map[string]string{"/f": "drwx--x--x"}},
		"symbolic, X later": {before: map[string]string{"/f": "old"}, item: item("file[/f]", "mode", "g+X,u+x"), diffs: []types.Difference{{Parameter: "mode", Is: "0644", Should: "0754"}}, want: map[string]string{"/f": "-rwxr-xr-- old"}},
		"base64":            {before: map[string]string{"/f": "old"}, item: item("file[/f]", "content_base64", "eA=="), diffs: []types.Difference{{Parameter: "content", Is: "{sha256}cba06b57", Should: "{sha256}2d711642"}}, want: map[string]string{"/f": "-rw-r--r-- x"}},
		"base64, so":        {before: map[string]string{"/f": "x"}, item: item("file[/f]", "content_base64", "eA=="), want: map[string]string{"/f": "-rw-r--r-- x"}},
		"replace, new":      {item: item("file[/f]", "content", "x", "replace", false), diffs: []types.Difference{{Parameter: "ensure", Is: "absent", Should: "file"}}, want: map[string]string{"/f": "-rw-r--r-- x"}},
		"replace, there":    {before: map[string]string{"/f": "old"}, item: item("file[/f]", "content", "x", "replace", false, "mode", "0600"), diffs: []types.Difference{{Parameter: "mode", Is: "0644", Should: "0600"}}, want: map[string]string{"/f": "-rw------- old"}},
		"replace, for link": {before: map[string]string{"/t": "theirs", "/l": "->/t"}, item: item("file[/l]", "content", "x", "replace", false), diffs: []types.Difference{{Parameter: "ensure", Is: "link", Should: "file"}}, want: map[string]string{"/l": "-rw-r--r-- x", "/t": "-rw-r--r-- theirs"}},
		"already so":        {before: map[string]string{"/f": "x"}, item: item("file[/f]", "content", "x", "mode", "0644"), want: map[string]string{"/f": "-rw-r--r-- x"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := nodeOf(t, test.before)
			before := b.tree()
			status := [3]Status{Differs, Changed, Unchanged}
			if test.diffs == nil {
				status = [3]Status{Unchanged, Unchanged, Unchanged}
			}
			for i, mode := range []Mode{Check, Apply, Apply} {
				r := b.inMode(mode, test.item)[0]
				diffs := test.diffs
				if i == 2 {
					diffs = nil
				}
				if r.Status != status[i] || !cmp.Equal(r.Differences, diffs) {
					t.Errorf("%s: %s %v %s; want %s %v", mode, r.Status, r.Differences, r.Message, status[i], diffs)
				}
			}
			after := b.tree()
			for path, want := range test.want {
				if after[path] != want {
					t.Errorf("%s is %q, want %q", path, after[path], want)
				}
			}
			b.tearDown()
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Errorf("not as before:\n%s", diff)
			}
		})
	}
}

func TestFileFails(t *testing.T) {
	for name, test := range map[string]struct {
		before map[string]string
		item   Item
		want   string
	}{
		"no parent":     {item: item("file[/a/b/f]", "content", "x"), want: `the directory /a/b is not there; make it first, as a file resource with ensure = "directory", or name what makes it in require`},
		"no owner":      {item: item("file[/f]", "content", "x", "owner", "app"), want: `owner "app": no such user`},
		"no group":      {item: item("file[/f]", "content", "x", "group", "app"), want: `group "app": no such group`},
		"no source":     {item: item("file[/f]", "source", "/s"), want: "source: lstat /s: no such file"},
		"directory":     {before: map[string]string{"/d/": ""}, item: item("file[/d]", "content", "x"), want: "set force = true"},
		"full":          {before: map[string]string{"/d/x": "x"}, item: item("file[/d]", "content", "x"), want: "set force = true to remove it, with everything in it"},
		"absent full":   {before: map[string]string{"/d/x": "x"}, item: item("file[/d]", "ensure", "absent"), want: "set force = true"},
		"title":         {item: item("file[motd]", "content", "x"), want: "path: must be given"},
		"path":          {item: item("file[x]", "path", "/a/../b"), want: `"/a/../b" must be written "/b"`},
		"mode":          {item: item("file[/f]", "mode", "0999"), want: `"0999" must be 3 or 4 octal digits`},
		"mode number":   {item: item("file[/f]", "mode", int64(644)), want: `mode: must be a string, in quotes: "0644", not 644`},
		"mode words":    {item: item("file[/f]", "mode", "u+q"), want: `"u+q" must be 3 or 4 octal digits, like "0644", or changes like "u=rw,g+w"`},
		"mode swaps":    {item: item("file[/f]", "mode", "u=g,g=o,o=u"), want: `"u=g,g=o,o=u" gives another mode each time`},
		"rel. source":   {item: item("file[/f]", "source", "files/motd"), want: `source: "files/motd" must be an absolute path on the node; send a file of the controller with content = file("files/motd")`},
		"two contents":  {item: item("file[/f]", "content", "x", "source", "/s"), want: "excludes content"},
		"two forms":     {item: item("file[/f]", "content", "x", "content_base64", "eA=="), want: "content_base64: excludes content; give one of them"},
		"no base64":     {item: item("file[/f]", "content_base64", "x y"), want: `content_base64: is not base64; write filebase64("...")`},
		"link content":  {item: item("file[/f]", "target", "x", "content", "x"), want: `content: does not go with ensure = "link"`},
		"link, nowhere": {item: item("file[/f]", "ensure", "link"), want: "a link needs one"},
		"absent mode":   {item: item("file[/f]", "ensure", "absent", "mode", "0644"), want: `mode: does not go`},
		"replace what":  {item: item("file[/f]", "mode", "0600", "replace", false), want: "replace: goes with content, content_base64, template, source or source_file"},
		"validate what": {item: item("file[/f]", "content", "x", "validate_cmd", "true"), want: "validate_cmd: must contain %"},
		"in a sandbox":  {item: item("file[/f]", "content", "x", "validate_cmd", "true %"), want: "validate_cmd: "},
		"read by shell": {item: item("file[/f;x]", "content", "x", "validate_cmd", "true %"), want: "write the command as a list"},
		"ensure":        {item: item("file[/f]", "ensure", "dir"), want: "must be one of"},
	} {
		t.Run(name, func(t *testing.T) {
			b := nodeOf(t, test.before)
			before := b.tree()
			r := b.apply(test.item)[0]
			if r.Status != Failed || !strings.Contains(r.Message, test.want) {
				t.Errorf("%s %q, want %q", r.Status, r.Message, test.want)
			}
			b.tearDown()
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Errorf("not as before:\n%s", diff)
			}
		})
	}
}

func TestDirectoryIsRemovedWithAllInIt(t *testing.T) {
	b := nodeOf(t, map[string]string{"/d/e/f": "x", "/d/l": "->/keep", "/keep/x": "x"})
	r := b.apply(item("file[/d]", "ensure", "absent", "force", true))[0]
	if r.Status != Changed || b.there("/d") || !b.there("/keep/x") {
		t.Errorf("%+v, %v", r, b.tree())
	}
}

func TestFileOwner(t *testing.T) {
	needRoot(t)
	b := nodeOf(t, map[string]string{"/etc/passwd": "app:x:900:901:::\nold:x:800:800:::\n", "/etc/group": "app:x:901:\n", "/f": "x"})
	if err := os.Chown(b.real("/f"), 800, 777); err != nil {
		t.Fatal(err)
	}
	before := b.tree()
	r := b.apply(item("file[/f]", "content", "y", "owner", "app", "group", "app"))[0]
	want := []types.Difference{{Parameter: "content", Is: "{sha256}2d711642", Should: "{sha256}a1fce436"}, {Parameter: "owner", Is: "old", Should: "app"}, {Parameter: "group", Is: "777", Should: "app"}}
	info, err := b.Lstat("/f")
	if err != nil || !cmp.Equal(r.Differences, want) || info.UID != 900 || info.GID != 901 {
		t.Errorf("%+v, %+v, %v", r, info, err)
	}
	if r := b.apply(item("file[/f]", "content", "y", "owner", "900", "group", int64(901)))[0]; r.Status != Unchanged {
		t.Errorf("by number: %+v", r)
	}
	b.tearDown()
	if info, err := b.Lstat("/f"); err != nil || info.UID != 800 || info.GID != 777 || !cmp.Equal(before, b.tree()) {
		t.Errorf("not as before: %+v, %v", info, err)
	}
}

// Without ensure, content, source and target, a resource looks after the attributes of what is there, as in Puppet.
func TestFileAttributesOfWhatIsThere(t *testing.T) {
	own := func(b *sandbox, uid int, paths ...string) {
		t.Helper()
		for _, path := range paths {
			if err := os.Lchown(b.real(path), uid, uid); err != nil {
				t.Fatal(err)
			}
		}
	}
	owner := func(b *sandbox, path string) int {
		t.Helper()
		info, err := b.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.UID
	}
	t.Run("owner of links", func(t *testing.T) {
		needRoot(t)
		b := nodeOf(t, map[string]string{"/zone": "Rome", "/localtime": "->/zone", "/dangling": "->/nowhere"})
		own(b, 800, "/localtime", "/dangling")
		before := b.tree()
		items := []Item{item("file[/localtime]", "owner", "900"), item("file[/dangling]", "owner", "900"), item("file[/made]", "target", "x", "owner", "900")}
		for _, r := range b.apply(items...) {
			if r.Status != Changed {
				t.Errorf("%+v", r)
			}
		}
		for _, path := range []string{"/localtime", "/dangling", "/made"} {
			if info, err := b.Lstat(path); err != nil || !info.IsLink() || info.UID != 900 {
				t.Errorf("%s is %+v, %v", path, info, err)
			}
		}
		if got := owner(b, "/zone"); got != 0 {
			t.Errorf("the target went to %d", got)
		}
		own(b, 7, "/localtime")
		if r := b.inMode(Check, items...)[0]; r.Status != Differs || !cmp.Equal(r.Differences, []types.Difference{{Parameter: "owner", Is: "7", Should: "900"}}) {
			t.Errorf("drift: %+v", r)
		}
		b.apply(items...)
		b.tearDown()
		if l, d := owner(b, "/localtime"), owner(b, "/dangling"); l != 800 || d != 800 || !cmp.Equal(before, b.tree()) {
			t.Errorf("not as before: %d, %d, %v", l, d, b.tree())
		}
	})
	t.Run("a link that gave way returns with its owner", func(t *testing.T) {
		needRoot(t)
		b := nodeOf(t, map[string]string{"/l": "->x"})
		own(b, 800, "/l")
		b.apply(item("file[/l]", "content", "x"))
		b.tearDown()
		if got := owner(b, "/l"); got != 800 {
			t.Errorf("it belongs to %d", got)
		}
	})
	t.Run("what comes later", func(t *testing.T) {
		b := nodeOf(t, nil)
		i := item("file[/f]", "mode", "0600")
		b.apply(i)
		b.put("/f", "theirs")
		before := b.tree()["/f"]
		if r := b.apply(i)[0]; r.Status != Changed || b.tree()["/f"] != "-rw------- theirs" {
			t.Errorf("%+v, now %q", r, b.tree()["/f"])
		}
		b.tearDown()
		if got := b.tree()["/f"]; got != before {
			t.Errorf("now %q", got)
		}
	})
	t.Run("the mode of a link is said to be ignored", func(t *testing.T) {
		b := nodeOf(t, map[string]string{"/l": "->x"})
		want := "/l is a link, and links have no mode of their own; mode is ignored"
		if r := b.apply(item("file[/l]", "mode", "0600"))[0]; r.Notice != want || r.Output != "" {
			t.Errorf("%+v", r)
		}
	})
}

func TestFileUndo(t *testing.T) {
	t.Run("without backup the file stays as it is", func(t *testing.T) {
		b := nodeOf(t, map[string]string{"/f": "old"})
		b.apply(item("file[/f]", "content", "x", "backup", false))
		b.tearDown()
		if b.get("/f") != "x" {
			t.Errorf("now %q", b.get("/f"))
		}
	})
	t.Run("a directory that others use stays", func(t *testing.T) {
		b := nodeOf(t, nil)
		b.apply(item("file[/d]", "ensure", "directory"))
		b.put("/d/theirs", "x")
		b.tearDown()
		if !b.there("/d/theirs") {
			t.Error("a file of others went with the directory")
		}
	})
	t.Run("what was first there comes back after several forms", func(t *testing.T) {
		b := nodeOf(t, map[string]string{"/f": "old"})
		for _, i := range []Item{item("file[/f]", "content", "1"), item("file[/f]", "target", "t"), item("file[/f]", "ensure", "absent"), item("file[/f]", "ensure", "directory")} {
			if r := b.apply(i)[0]; r.Status != Changed {
				t.Errorf("%+v", r)
			}
		}
		b.tearDown()
		if b.get("/f") != "old" {
			t.Errorf("now %q", b.get("/f"))
		}
	})
	t.Run("moved to another path", func(t *testing.T) {
		b := nodeOf(t, map[string]string{"/f": "old", "/g": "older"})
		before := b.tree()
		b.apply(item("file[conf]", "path", "/f", "content", "x"))
		b.apply(item("file[conf]", "path", "/g", "content", "x"))
		if b.get("/f") != "old" || b.get("/g") != "x" {
			t.Errorf("f %q, g %q", b.get("/f"), b.get("/g"))
		}
		b.tearDown()
		if diff := cmp.Diff(before, b.tree()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("content that is not slipway's stays", func(t *testing.T) {
		b := nodeOf(t, map[string]string{"/f": "old"})
		b.apply(item("file[/f]", "mode", "0600"))
		b.put("/f", "theirs")
		b.tearDown()
		if got := b.tree()["/f"]; got != "-rw-r--r-- theirs" {
			t.Errorf("now %q", got)
		}
	})
	t.Run("what is said later is brought back as it was by then", func(t *testing.T) {
		b := nodeOf(t, map[string]string{"/f": "old", "/g": "old"})
		b.apply(item("file[/f]", "content", "x"), item("file[/g]", "mode", "0600"))
		if err := os.Chmod(b.real("/f"), 0o711); err != nil {
			t.Fatal(err)
		}
		b.put("/g", "theirs")
		b.apply(item("file[/f]", "content", "x", "mode", "0640"), item("file[/g]", "mode", "0600", "content", "x"))
		b.apply(item("file[/f]", "content", "y", "mode", "0644"), item("file[/g]", "mode", "0640", "content", "y"))
		b.tearDown()
		if f, g := b.tree()["/f"], b.tree()["/g"]; f != "-rwx--x--x old" || g != "-rw-r--r-- theirs" {
			t.Errorf("now %q, %q", f, g)
		}
	})
	t.Run("what others took away or put there is not slipway's", func(t *testing.T) {
		b := nodeOf(t, map[string]string{"/f": "old", "/d/": "", "/l": "->x"})
		b.apply(item("file[/f]", "mode", "0600"), item("file[/d]", "ensure", "directory", "mode", "0700"),
			item("file[/l]", "ensure", "present"), item("file[/a]", "ensure", "absent"))
		for _, path := range []string{"/f", "/d", "/l"} {
			if err := os.Remove(b.real(path)); err != nil {
				t.Fatal(err)
			}
		}
		b.put("/a", "theirs")
		b.tearDown()
		if b.there("/f") || b.there("/d") || b.there("/l") || !b.there("/a") {
			t.Errorf("now %v", b.tree())
		}
	})
	t.Run("a planted ledger entry is refused", func(t *testing.T) {
		b := nodeOf(t, map[string]string{"/f": "old"})
		for _, before := range []string{`{"path":"../f","kind":"absent"}`, `{"path":"/f","kind":"file","kept":"../../etc/shadow"}`, `{"path":"/f","kind":"pipe","said":["content"]}`, `{`} {
			if err := types.All["file"].Undo(t.Context(), b.Session, "/f", []byte(before)); err == nil {
				t.Errorf("%s was undone", before)
			}
		}
		if b.get("/f") != "old" {
			t.Error("the file changed")
		}
	})
}

// A large content costs Terraform and the provider many times its size, so it is refused in the plan.
func TestFileContentIsBounded(t *testing.T) {
	for size, want := range map[int]int{8 << 20: 0, 8<<20 + 1: 1} {
		r := item("file[/a]", "content", strings.Repeat("x", size)).Resource
		wrong := types.All["file"].Schema().Validate(r)
		if len(wrong) != want || want > 0 && !strings.Contains(wrong[0].Error(), "content: has more than 8 MiB") {
			t.Errorf("%d bytes: %.300v", size, wrong)
		}
	}
}
