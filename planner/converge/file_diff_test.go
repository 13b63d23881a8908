package converge

import (
	"os"
	"testing"
)

// Who may not read a file on the node does not read it in a diff either.
func TestFileDiffOfClosedFiles(t *testing.T) {
	for name, test := range map[string]struct {
		file, dir os.FileMode
		item      Item
		shown     bool
	}{
		"open":             {0o644, 0o755, item("file[/d/f]", "content", "new\n"), true},
		"closed":           {0o640, 0o755, item("file[/d/f]", "content", "new\n"), false},
		"to be closed":     {0o644, 0o755, item("file[/d/f]", "content", "new\n", "mode", "0640"), false},
		"to be opened":     {0o640, 0o755, item("file[/d/f]", "content", "new\n", "mode", "0644"), false},
		"closed directory": {0o644, 0o750, item("file[/d/f]", "content", "new\n"), false},
		"sensitive":        {0o644, 0o755, item("file[/d/f]", "content", "new\n", "sensitive", true), false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSandbox(t)
			b.mkdir("/d/")
			b.put("/d/f", "old\x1b[2J\n")
			for path, mode := range map[string]os.FileMode{"/d/f": test.file, "/d": test.dir} {
				if err := os.Chmod(b.real(path), mode); err != nil {
					t.Fatal(err)
				}
			}
			want := ""
			if test.shown {
				want = "@@ -1,1 +1,1 @@\n-old[2J\n+new\n"
			}
			if got := b.apply(test.item)[0].Diff; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
