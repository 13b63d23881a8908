package converge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// TestModeComesBack gives a file a mode, then makes it another thing, with or without another title: when all is undone, it has the mode of before.
func TestModeComesBack(t *testing.T) {
	f := func(title string, p resource.Parameters) Item {
		return Item{Resource: resource.Resource{Type: "file", Title: title, Parameters: p}}
	}
	mode := f("/f", resource.Parameters{"path": "/f", "mode": "0600", "force": true})
	absent := f("/f", resource.Parameters{"path": "/f", "ensure": "absent", "force": true})
	link := f("/f", resource.Parameters{"path": "/f", "target": "/b", "force": true})
	directory := f("/f", resource.Parameters{"path": "/f", "ensure": "directory", "mode": "0755"})
	content := f("/f", resource.Parameters{"path": "/f", "content": "", "force": true})
	other := f("file-1", resource.Parameters{"path": "/f", "content": "", "force": true})
	for name, steps := range map[string][][]Item{
		"mode":              {{mode}, {removal("file[/f]")}},
		"mode absent":       {{mode}, {absent}, {removal("file[/f]")}},
		"mode link":         {{mode}, {link}, {removal("file[/f]")}},
		"mode absent link":  {{mode}, {absent}, {link}, {removal("file[/f]")}},
		"mode absent other": {{mode}, {absent}, {removal("file[/f]"), other}},
		"directory content": {{directory}, {content}, {removal("file[/f]")}},
		"content mode link": {{content}, {mode}, {content}, {link}, {removal("file[/f]")}},
		"all":               {{mode}, {absent}, {absent}, {link}, {removal("file[/f]")}, {other}},
	} {
		t.Run(name, func(t *testing.T) {
			b := nodeOf(t, map[string]string{"/f": "old", "/l": "->f"})
			before := b.tree()
			for _, items := range steps {
				b.apply(items...)
			}
			b.tearDown()
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
