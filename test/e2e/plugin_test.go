package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// diary is where note.sh writes on a node what ran there, and when.
const diary = "/var/log/slipway-test"

// note is a script of plugins: it writes the beginning and the end of a task into the diary.
const note = `echo "$1 begun $(date +%s.%N)" >>` + diary + `
sleep 0.1
echo "$1 ended $(date +%s.%N)" >>` + diary + `
`

// pluginSite is a site with the plugins in the folder plugins that the variable plugins names. roles are those of the nodes, in their order.
func pluginSite(t *testing.T, c config, roles ...[]string) *workspace {
	t.Helper()
	of := map[string][]string{}
	for i, n := range c.nodes {
		of[n.Name] = roles[i]
	}
	c.node += fmt.Sprintf("\nroles = %s[each.key]\n", asJSON(t, of))
	c.services += `
variable "plugins" { type = set(string) }
data "slipway_plugin" "this" {
  for_each = var.plugins
  path     = "${path.module}/plugins/${each.key}"
}
`
	c.extra += "\nplugins = data.slipway_plugin.this\n"
	return newWorkspace(t, c.hcl(t))
}

// plugin writes a plugin's folder, or files of it anew.
func (w *workspace) plugin(name string, files map[string]string) {
	w.t.Helper()
	for path, content := range files {
		file := filepath.Join(w.dir, "plugins", name, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// pluginFiles are those of a plugin with the given tasks, whose scripts are note.sh and others.
func pluginFiles(name, tasks string, scripts map[string]string) map[string]string {
	files := map[string]string{
		"metadata.yaml":              "name: " + name + "\nversion: 1.0.0\n",
		"tasks.yaml":                 tasks,
		"deployment_scripts/note.sh": note,
	}
	for path, content := range scripts {
		files["deployment_scripts/"+path] = content
	}
	return files
}

// takeForDiary takes nodes for a test, and removes what note.sh writes on them.
func takeForDiary(t *testing.T, count int) []lab.Node {
	t.Helper()
	taken := nodes.Take(t, count)
	t.Cleanup(func() { onEach(t, taken, "rm -f "+diary) })
	return taken
}

// onEach runs a command on several nodes at once and returns what each printed.
func onEach(t *testing.T, machines []lab.Node, command string) []string {
	t.Helper()
	out := make([]string, len(machines))
	errs := make([]error, len(machines))
	var running sync.WaitGroup
	for i, n := range machines {
		running.Go(func() {
			raw, err := n.Command(command).CombinedOutput()
			if out[i] = string(raw); err != nil {
				errs[i] = fmt.Errorf("%s: %s: %w\n%s", n.Name, command, err, raw)
			}
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return out
}
