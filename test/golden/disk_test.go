package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Places of what is stored, in a workspace and below testdata.
var stored = map[string]string{
	"terraform.tfstate": "testdata/state.json",
	".slipway":          "testdata/journal",
	"nodes":             "testdata/nodes",
	"ledgers":           "testdata/ledgers", // of the machines, which no plan contacts
}

// modesFile lists directories, links and modes of the nodes, which a checkout does not keep.
const modesFile = "testdata/modes"

// workspace is a folder in which Terraform runs.
type workspace struct {
	t   testing.TB
	dir string
}

// newWorkspace returns an initialised workspace with the site's configuration.
func newWorkspace(t testing.TB) *workspace {
	t.Helper()
	if os.Getenv("SLIPWAY_MIRROR") == "" {
		if *update || *updatePlans {
			t.Fatal("nothing is written: SLIPWAY_MIRROR names no Terraform configuration that finds the provider; see `make mirror`")
		}
		t.Skip("NOT RUN: SLIPWAY_MIRROR names no Terraform configuration that finds the provider; use `make test`")
	}
	w := &workspace{t, t.TempDir()}
	w.must(os.CopyFS(w.dir, os.DirFS("testdata/site")))
	initialised.Do(func() {
		w.run(0, "init", "-input=false", "-no-color")
		lockFile = w.read(w.path(".terraform.lock.hcl"))
	})
	w.write(".terraform.lock.hcl", lockFile, 0o644)
	return w
}

// All workspaces share what init makes.
var (
	initialised sync.Once
	lockFile    []byte
)

// restored returns a workspace with state, journals and nodes as they are stored.
func restored(t testing.TB) *workspace {
	t.Helper()
	w := newWorkspace(t)
	w.write("terraform.tfstate", registry(w.read("testdata/state.json"), "registry.terraform.io", host()), 0o600)
	for _, name := range []string{"id_ed25519", "known_hosts"} {
		w.write(name, nil, 0o600) // nobody connects
	}
	w.must(os.Mkdir(w.path(".slipway"), 0o700))
	w.must(os.CopyFS(w.path(".slipway"), os.DirFS("testdata/journal")))
	for line := range strings.Lines(string(w.read(modesFile))) {
		var mode fs.FileMode
		var name, target string
		if _, err := fmt.Sscan(line, &mode, &name, &target); err != nil && target == "" && name == "" {
			t.Fatalf("%s: %q: %v", modesFile, line, err)
		}
		switch to := w.path(name); {
		case target != "":
			w.must(os.Symlink(target, to))
		case strings.HasSuffix(name, "/"):
			w.must(os.MkdirAll(to, 0o755))
			w.must(os.Chmod(to, mode))
		default:
			w.write(name, w.read(filepath.Join("testdata", name)), mode)
		}
	}
	return w
}

// store writes what is on disk in the workspace below testdata.
func (w *workspace) store() {
	w.t.Helper()
	for from, to := range stored {
		w.must(os.RemoveAll(to))
		if info, err := os.Stat(w.path(from)); err == nil && !info.IsDir() {
			w.must(os.WriteFile(to, w.read(w.path(from)), 0o644))
			continue
		}
		if from != "nodes" {
			w.must(os.CopyFS(to, os.DirFS(w.path(from))))
		}
	}
	w.must(os.RemoveAll("testdata/journal/.gitignore"))
	var modes strings.Builder
	for _, f := range w.tree() {
		fmt.Fprintln(&modes, strings.TrimSpace(fmt.Sprintf("%#o %s %s", f.mode, f.name, f.target)))
		if !strings.HasSuffix(f.name, "/") && f.target == "" {
			to := filepath.Join("testdata", f.name)
			w.must(os.MkdirAll(filepath.Dir(to), 0o755))
			w.must(os.WriteFile(to, []byte(f.content), 0o644))
		}
	}
	w.must(os.WriteFile(modesFile, []byte(modes.String()), 0o644))
}

// entry is a file, directory or link of a node. Its name begins with "nodes/", that of a directory ends with "/".
type entry struct {
	name    string
	mode    fs.FileMode
	target  string
	content string
}

// tree returns what is on the nodes, in order.
func (w *workspace) tree() []entry {
	w.t.Helper()
	var out []entry
	w.must(filepath.WalkDir(w.path("nodes"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(w.dir, path)
		e := entry{name: name, mode: info.Mode().Perm()}
		switch {
		case d.IsDir():
			e.name += "/"
		case info.Mode()&fs.ModeSymlink != 0:
			if e.target, err = os.Readlink(path); err != nil {
				return err
			}
		default:
			e.content = string(w.read(path))
		}
		out = append(out, e)
		return nil
	}))
	return out
}

// host is the registry that the Terraform binary looks for the provider in.
func host() string {
	if h := os.Getenv("TF_ACC_PROVIDER_HOST"); h != "" {
		return h
	}
	return "registry.terraform.io"
}

// registry puts one registry for another in a state.
func registry(state []byte, from, to string) []byte {
	return bytes.ReplaceAll(state, []byte(`["`+from+"/"), []byte(`["`+to+"/"))
}

func (w *workspace) path(name string) string { return filepath.Join(w.dir, name) }

func (w *workspace) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspace) read(file string) []byte {
	w.t.Helper()
	raw, err := os.ReadFile(file)
	w.must(err)
	return raw
}

// write writes a file of the workspace, with a mode whatever the umask is.
func (w *workspace) write(name string, content []byte, mode fs.FileMode) {
	w.t.Helper()
	w.must(os.WriteFile(w.path(name), content, mode))
	w.must(os.Chmod(w.path(name), mode))
}

// edit is a change of a file in the workspace: old gives way to new, wherever it stands.
type edit struct{ file, old, new string }

// edit makes changes; each must find what it changes.
func (w *workspace) edit(edits ...edit) {
	w.t.Helper()
	for _, e := range edits {
		content := string(w.read(w.path(e.file)))
		if !strings.Contains(content, e.old) {
			w.t.Fatalf("%s does not contain %q", e.file, e.old)
		}
		w.must(os.WriteFile(w.path(e.file), []byte(strings.ReplaceAll(content, e.old, e.new)), 0o644))
	}
}

// run runs a Terraform command, which must end with a status, and returns what it prints.
func (w *workspace) run(status int, args ...string) string {
	w.t.Helper()
	binary := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if binary == "" {
		binary = "terraform"
	}
	return w.start(status, exec.CommandContext(w.t.Context(), binary, args...))
}

// companion runs a command of the companion, which must succeed, and returns what it prints.
func (w *workspace) companion(args ...string) string {
	w.t.Helper()
	return w.start(0, exec.CommandContext(w.t.Context(), mirror("terraform-provider-slipway"), args...))
}

// mirror names a file beside the provider's mirror.
func mirror(name string) string {
	return filepath.Join(filepath.Dir(os.Getenv("SLIPWAY_MIRROR")), name)
}

func (w *workspace) start(status int, cmd *exec.Cmd) string {
	w.t.Helper()
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.Getenv("SLIPWAY_MIRROR"), "TF_DATA_DIR="+mirror("golden"),
		"TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1", "TZ=UTC")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != status {
		w.t.Fatalf("%s ended with status %d, want %d:\n%s%s", strings.Join(cmd.Args, " "), got, status, out.String(), errs.String())
	}
	return out.String() + errs.String()
}

// decode returns a JSON document as plain values.
func decode[T any](w *workspace, raw []byte) (v T) {
	w.t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	w.must(d.Decode(&v))
	return v
}

// golden compares a text with the stored one, or stores it.
func (w *workspace) golden(file, got string) {
	w.t.Helper()
	file = filepath.Join("testdata", file)
	if *update || *updatePlans {
		w.must(os.MkdirAll(filepath.Dir(file), 0o755))
		w.must(os.WriteFile(file, []byte(got), 0o644))
		return
	}
	compare(w.t, file, string(w.read(file)), got)
}

// compare compares texts line by line.
func compare(t testing.TB, what, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	t.Errorf("%s differs (-stored +now):\n%s", what, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
}
