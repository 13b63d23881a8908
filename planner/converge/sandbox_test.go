package converge

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

// sandbox is a node in a folder of its own.
type sandbox struct {
	*types.Session
	dir string
	t   *testing.T
}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	dir := t.TempDir()
	s, err := system.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.LockWait = 50 * time.Millisecond
	return &sandbox{Session: &types.Session{System: s}, dir: dir, t: t}
}

// real returns where a path of the node is on this machine.
func (b *sandbox) real(path string) string { return filepath.Join(b.dir, path) }

func (b *sandbox) mkdir(paths ...string) {
	b.t.Helper()
	for _, p := range paths {
		if err := os.MkdirAll(b.real(p), 0o755); err != nil {
			b.t.Fatal(err)
		}
	}
}

// put writes a file, with the directories above it.
func (b *sandbox) put(path, content string) {
	b.t.Helper()
	b.mkdir(filepath.Dir(path))
	if err := os.WriteFile(b.real(path), []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *sandbox) link(path, target string) {
	b.t.Helper()
	b.mkdir(filepath.Dir(path))
	if err := os.Symlink(target, b.real(path)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *sandbox) get(path string) string {
	b.t.Helper()
	content, err := os.ReadFile(b.real(path))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(content)
}

func (b *sandbox) there(path string) bool {
	_, err := os.Lstat(b.real(path))
	return err == nil
}

// tree lists all that is in the sandbox: path, mode, and content or target.
func (b *sandbox) tree() map[string]string {
	b.t.Helper()
	out := map[string]string{}
	err := filepath.Walk(b.dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || path == b.dir {
			return err
		}
		name, text := path[len(b.dir):], info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(content)
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " " + target
		}
		out[name] = text
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// needRoot skips, loudly, what only root can try.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: this needs root, to make files of other users and to run as them")
	}
}

func pointer[T any](v T) *T { return &v }
