package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const orderFile = "testdata/order.yaml"

func TestOrderOfASite(t *testing.T) {
	for name, args := range map[string][]string{
		"order-site":      {orderFile},
		"order-site.json": {orderFile, "-o", "json"},
		"order-site.md":   {orderFile, "-o", "markdown"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, status := answer(t, "", append([]string{"order"}, args...)...)
			if status != 0 {
				t.Fatalf("status %d: %s", status, errOut)
			}
			golden(t, name, out)
		})
	}
}

// withPlugins is the plan file of Terraform with the plugins of a site document in it, as Terraform has them.
func withPlugins(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(planFile)
	if err != nil {
		t.Fatal(err)
	}
	const plugin = `[{"path":"/plugins/lma","name":"lma","version":"1.0.0","files":null,"graph_tasks":null,"tasks":[{"role":["compute"],"stage":"post_deployment/8100",` +
		`"type":"shell","fail_on_error":true,"parameters":{"cmd":"./deploy.sh","timeout":"42","retries":null}}]}]`
	text := strings.Replace(string(data), `"plugins":null`, `"plugins":`+plugin, 1)
	if text == string(data) {
		t.Fatal("the plan file has no place for plugins")
	}
	// Its nodes are folders, which run no commands.
	folder := regexp.MustCompile(`"address":null,("connect":\{[^}]*"root":)"/srv/demo/nodes/(\w+)"([^}]*"transport":)"local"`)
	text = folder.ReplaceAllString(text, `"address":"$2",${1}null${3}null`)
	return write(t, "plan.json", text)
}

func TestOrderOfATerraformPlan(t *testing.T) {
	plan := withPlugins(t)
	for _, more := range [][]string{nil, {"--address", "module.site.slipway_deployment.this"}} {
		out, errOut, status := answer(t, "", append([]string{"order", plan}, more...)...)
		want := "site demo\n\npost_deployment\n#  PRIORITY  TASK          TYPE   NODES\n1  8100      lma-1.0.0[0]  shell  cmp11, cmp12, cmp21, cmp22\n"
		if status != 0 || out != want {
			t.Errorf("status %d, %s: %s", status, errOut, cmp.Diff(want, out))
		}
	}
	data, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	if out, errOut, status := answer(t, string(data), "order", "-", "-o", "json"); status != 0 ||
		!strings.Contains(out, `"site": "demo"`) {
		t.Errorf("status %d, %s%s", status, out, errOut)
	}
}

// TestOrderWithoutPlugins: a site that has no plugins says so.
func TestOrderWithoutPlugins(t *testing.T) {
	for _, args := range [][]string{{planFile}, {strategyFile, siteFile}, {strategyFile, siteFile, "-o", "markdown"}} {
		out, errOut, status := answer(t, "", append([]string{"order"}, args...)...)
		if status != 0 || !strings.HasSuffix(out, "\n\nthe site has no plugins\n") {
			t.Errorf("%v: status %d, %s%s", args, status, out, errOut)
		}
	}
	out, _, status := answer(t, "", "order", planFile, "-o", "json")
	var told orderJSON
	if status != 0 || json.Unmarshal([]byte(out), &told) != nil || told.Site != "demo" || len(told.Stages) != 2 ||
		len(told.Stages[0].Tasks) != 0 || strings.Contains(out, "null") {
		t.Errorf("status %d: %s", status, out)
	}
	none := write(t, "none.yaml", "nodes: [{name: a, address: 192.0.2.1}]\nplugins: [{name: idle}]\n")
	if out, _, status := answer(t, "", "order", none); status != 0 || out != "site unnamed\n\nno tasks\n" {
		t.Errorf("status %d: %s", status, out)
	}
}

// TestOrderOfASiteAndPlugins: documents of plugins count beside the plugins of a site; tasks of both may name each
// other.
func TestOrderOfASiteAndPlugins(t *testing.T) {
	dir := folderOf(t, map[string]string{
		"lma.yaml":   "graph_tasks:\n- {id: later, type: shell, role: compute, requires: [bridges], parameters: {cmd: x, timeout: 1}}\ntasks:\n" + stageTask("post_deployment/9000", "[compute, nobody]") + stageTask("pre_deployment", "nobody"),
		"net.yaml":   "version: 1.0.0\ntasks:\n" + stageTask("pre_deployment", "compute"),
		"twice.yaml": "name: net\nversion: 1.0.0\ntasks:\n" + stageTask("pre_deployment", "compute"),
		"loose.yaml": "plugins:\n- name: a\n  graph_tasks: [{id: x, type: skipped, requires: [y]}]\n",
		"tie.yaml":   "graph_tasks: [{id: y, type: skipped}]\ntasks:\n" + stageTask("pre_deployment", "compute"),
	})
	file := func(name string) string { return filepath.Join(dir, name) }
	out, errOut, status := answer(t, "", "order", file("lma.yaml"), orderFile)
	for _, want := range []string{"3  9000      lma[0]        shell  cmp1\n", "4  later    shell  bridges\n",
		file("lma.yaml") + ":5:10: warning: tasks[1].role: no node has the role nobody"} {
		if !strings.Contains(out, want) {
			t.Errorf("status %d, %s: no %q in\n%s", status, errOut, want, out)
		}
	}
	if strings.Count(out, "role nobody") != 1 {
		t.Errorf("a warning is told twice:\n%s", out)
	}
	// Without an inventory there are roles, and nothing is said of nodes.
	want := "site unnamed\n\npre_deployment\n#  PRIORITY  TASK    TYPE   ROLE\n1  0         tie[0]  shell  compute\n\ngraph\n#  TASK  TYPE     AFTER\n1  y     skipped\n2  x     skipped  y\n"
	if out, errOut, status = answer(t, "", "order", file("loose.yaml"), file("tie.yaml")); status != 0 || out != want {
		t.Errorf("status %d, %s: %s", status, errOut, cmp.Diff(want, out))
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{file("net.yaml"), orderFile}, file("net.yaml") + ":1:1: name: the plugin is there twice"},
		{[]string{orderFile, file("twice.yaml")}, file("twice.yaml") + ":1:7: name: the plugin is there twice"},
		{[]string{file("loose.yaml")}, file("loose.yaml") +
			`:3:51: plugin "a": graph_tasks[0].requires[0]: the task "x" requires "y", which does not exist`},
	} {
		if out, errOut, status := answer(t, "", append([]string{"order"}, tt.args...)...); status != statusInvalid ||
			out != "" || !strings.Contains(errOut, tt.want) {
			t.Errorf("%v: status %d, %s%s, want %s", tt.args, status, out, errOut, tt.want)
		}
	}
}

func TestOrderRefuses(t *testing.T) {
	layer := write(t, "layer.yaml", "configuration: {}\n")
	other := write(t, "other.yaml", "prepare: {}\ndeploy: {}\n")
	empty := write(t, "empty.json", "")
	wrong := write(t, "wrong.yaml", "nodes: 1\n")
	broken := write(t, "broken.yaml", "nodes: [{name: a, address: 192.0.2.1, connect: {transport: ftp}}]\n")
	misspelt := write(t, "task.yaml", "task: []\n")
	site := write(t, "nodes.yaml", "nodes: [{name: a, address: 192.0.2.1}]\n")
	plugin := write(t, "plugin.yaml", stageTask("pre_deployment", "web"))
	const takes = "; order takes documents of plugins (a list of tasks, or the keys tasks and graph_tasks) and what describes a site (site documents"
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{layer, other}, layer + `: is a configuration or a layer (it has the key "configuration")` + takes},
		{[]string{layer, other}, other + `: has the keys "prepare", "deploy"` + takes},
		{[]string{empty}, empty + ": is empty; where a command wrote it, look whether that command failed" + takes},
		{[]string{wrong}, wrong + ":1:8: nodes: is a number, not a list"},
		{[]string{broken}, broken + `:1:60: node "a": connect.transport: "ftp" is not a transport`},
		{[]string{misspelt}, misspelt + `:1:1: unknown key "task"; did you mean "tasks"?`},
		{[]string{plugin, site, site}, site + " is named twice"},
		{[]string{plugin, site, "--nodes", siteFile}, "--nodes " + siteFile +
			": gives documents of plugins their nodes, but " + site +
			` is a site document (it has the key "nodes"); name all files`},
		{[]string{plugin, "--address", "x"}, "--address x: chooses the slipway_deployment of a plan or state"},
		{[]string{plugin, "--nodes", site, "--address", "x"},
			"--address x: chooses the slipway_deployment of a plan or state"},
		{[]string{site, "--address", "x"}, "--address x: chooses the slipway_deployment of a plan or state"},
		{[]string{planFile, "--address", "x"}, `holds no deployment with the address "x"`},
		{[]string{plugin, "--nodes", planFile, "--address", "x"}, `holds no deployment with the address "x"`},
		{[]string{"-", "--nodes", "-"}, "standard input is named twice"},
		{[]string{plugin, "-o", "xml"}, "must be table, json or markdown"},
	} {
		out, errOut, status := answer(t, "nodes: []", append([]string{"order"}, tt.args...)...)
		if status != statusInvalid || out != "" || !strings.Contains(errOut, tt.want) {
			t.Errorf("%v: status %d, output %q, error %q, want %q", tt.args, status, out, errOut, tt.want)
		}
	}
}

// TestOrderOfPluginsInMarkdown: without a site, documents of plugins have no name of one.
func TestOrderOfPluginsInMarkdown(t *testing.T) {
	dir := plugins(t)
	out, errOut, status := answer(t, "", "order", filepath.Join(dir, "mon.yaml"), "--nodes",
		filepath.Join(dir, "site.yaml"), "-o", "markdown")
	want := "# Tasks of plugins\n\n## post\\_deployment\n\n| \\# | priority | task | type | nodes |\n|---|---|---|---|---|\n| 1 | -1.5 | mon-1.0.0\\[1\\] | shell | p1 |\n\n## Warnings\n\n- "
	if status != 0 || !strings.HasPrefix(out, want) {
		t.Errorf("status %d, %s: %s", status, errOut, cmp.Diff(want, out))
	}
	out, _, _ = answer(t, "", "order", filepath.Join(dir, "mon.yaml"), "-o", "json")
	if strings.Contains(out, `"site"`) {
		t.Errorf("a site in %s", out)
	}
}
