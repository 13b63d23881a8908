package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackages runs the tests for real nodes that other packages have: in every lab_test.go, those named TestLab..., each package on a node of
// its own. One of them that does not run is a failure.
func TestPackages(t *testing.T) {
	t.Parallel()
	const root = "../.."
	var packages []string
	err := filepath.WalkDir(filepath.Join(root, "planner"), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(path) == "lab_test.go" {
			packages = append(packages, filepath.Dir(path))
		}
		return err
	})
	if err != nil || len(packages) < 2 {
		t.Fatalf("packages with tests for real nodes: %v, error %v", packages, err)
	}
	for _, dir := range packages {
		t.Run(strings.TrimPrefix(dir, root+"/"), func(t *testing.T) {
			t.Parallel()
			node := nodes.Take(t, 1)[0]
			t.Cleanup(func() { node.Wipe(t) }) // these tests try sessions and leave what they applied
			binary := filepath.Join(t.TempDir(), "tests")
			build := exec.Command("go", "test", "-c", "-o", binary, ".")
			build.Dir = dir
			build.Env = append(os.Environ(), "GOPROXY=off", "GOTOOLCHAIN=local") // there is no network here; everything is there since this test was built
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", build.Args, err, out)
			}
			lent, err := node.Lend()
			if err != nil {
				t.Fatal(err)
			}
			out := &lines{t: t}
			cmd := exec.CommandContext(t.Context(), binary, "-test.run=^TestLab", "-test.v", "-test.timeout=5m")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), lent...)
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
			if all := out.all.String(); !strings.Contains(all, "--- PASS: TestLab") || strings.Contains(all, "--- SKIP") {
				t.Error("no test ran, or not all of them did")
			}
		})
	}
}

// lines shows output line by line, as it comes.
type lines struct {
	t    *testing.T
	all  bytes.Buffer
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.all.Write(p)
	l.rest = append(l.rest, p...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.t.Logf("%s", line)
		l.rest = rest
	}
}
