package converge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// archiveAt returns an archive below /opt/b and puts it on the node.
func (b *sandbox) archiveAt(version string, members ...member) Item {
	b.put("/srv/"+version, tarOf(b.t, members...))
	return item("archive[app]", "source", "/srv/"+version, "checksum", resource.SHA256(b.get("/srv/"+version)), "extract", true,
		"extract_path", "/opt/b")
}

// TestAFileTakesThePlaceOfADirectoryOfAnArchive: a directory that an archive made and its next version does not have
// goes before a file or link of its path is made.
func TestAFileTakesThePlaceOfADirectoryOfAnArchive(t *testing.T) {
	needRoot(t)
	for name, css := range map[string]Item{
		"file": item("file[/opt/b/css]", "content", "now a file"),
		"link": item("file[css]", "path", "/opt/b/css", "ensure", "link", "target", "/srv"),
	} {
		t.Run(name, func(t *testing.T) {
			b := nodeOf(t, map[string]string{"/srv/": "", "/opt/": ""})
			first := b.archiveAt("1", member{name: "index", content: "1"}, member{name: "css/deep/a", content: "a"})
			second := b.archiveAt("2", member{name: "index", content: "2"})
			before := b.tree()
			b.wantAll("first", Changed, b.apply(first))
			b.wantAll("second", Changed, b.apply(second, css))
			b.wantAll("once more", Unchanged, b.apply(second, css))
			b.tearDown()
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Errorf("not as before:\n%s", diff)
			}
		})
	}
}

// TestADirectoryOfAnArchiveWithAResource: a directory that an archive made and a file resource looks after stays as long
// as that does, and goes with it; what was there before either stays.
func TestADirectoryOfAnArchiveWithAResource(t *testing.T) {
	needRoot(t)
	css := item("file[/opt/b/css]", "ensure", "directory", "mode", "0700")
	for name, there := range map[string]bool{"made by the archive": false, "there before": true} {
		for _, together := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				b := nodeOf(t, map[string]string{"/srv/": "", "/opt/b/": ""})
				if there {
					b.mkdir("/opt/b/css")
				}
				app := b.archiveAt("1", member{name: "index", content: "1"}, member{name: "css/", mode: 0o755})
				before := b.tree()
				if !together {
					b.wantStatus(Apply, app, Changed)
				}
				b.apply(app, css)
				b.apply(removal("archive[app]"), css)
				if !b.there("/opt/b/css") {
					t.Fatal("the directory is gone, and its resource is not")
				}
				b.apply(removal("file[/opt/b/css]"))
				b.tearDown()
				if diff := cmp.Diff(before, b.tree()); diff != "" {
					t.Errorf("not as before:\n%s", diff)
				}
			})
		}
	}
}
