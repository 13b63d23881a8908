package types

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// folder is a sandbox with what a test puts into it.
func folder(t testing.TB, files map[string]string) *Session {
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
	return &Session{System: s}
}

// wholeMachine is a sandbox that passes for a whole machine, with commands that do what run says.
func wholeMachine(t testing.TB, files map[string]string, run func(system.Command) (system.Output, error)) *Session {
	t.Helper()
	s := folder(t, files)
	s.Commands = func(_ context.Context, c system.Command) (system.Output, error) { return run(c) }
	return s
}

// inventory lists everything in a sandbox but slipway's own directory: path -> mode and content.
func inventory(t testing.TB, s *Session) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(s.Root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path := "/" + strings.TrimPrefix(strings.TrimPrefix(name, s.Root), "/")
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

// res returns a resource as the engine would give it to a type: valid and normalised.
func res(t testing.TB, typ Type, title string, parameters resource.Parameters) resource.Resource {
	t.Helper()
	schema := typ.Schema()
	r := resource.Resource{Type: schema.Type, Title: title, Parameters: parameters}
	if errs := schema.Validate(r); len(errs) > 0 {
		t.Fatalf("%s: %v", r.ID(), errs)
	}
	return schema.Normalize(r)
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }
