package systemtest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// Folder is a sandbox with what a test puts into it.
func Folder(t testing.TB, files map[string]string) *system.System {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(file, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := system.New(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Machine is a sandbox that passes for a whole machine, with commands that do what run says.
func Machine(t testing.TB, files map[string]string, run func(system.Command) (system.Output, error)) *system.System {
	t.Helper()
	s := Folder(t, files)
	s.Commands = func(_ context.Context, c system.Command) (system.Output, error) { return run(c) }
	return s
}

// Inventory lists everything in a sandbox but slipway's own directory: path -> mode and content.
func Inventory(t testing.TB, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path := "/" + strings.TrimPrefix(strings.TrimPrefix(name, root), "/")
		if path == system.Home {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out[path] = info.Mode().String()
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			out[path] += fmt.Sprintf(" %q", content)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
