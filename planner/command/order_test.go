package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// folderOf puts files into a folder and returns it.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func stageTask(stage, role string) string {
	return "- {role: " + role + ", stage: " + stage + ", type: shell, parameters: {cmd: ./deploy.sh, timeout: 42}}\n"
}

// plugins are a network and a monitoring plugin that do not know each other, as seed 003 has it, and an inventory.
func plugins(t *testing.T) string {
	return folderOf(t, map[string]string{
		"net/tasks.yaml": stageTask("post_deployment/4100", "[controller, compute]") +
			stageTask("pre_deployment", "'*'"),
		"net/deployment_tasks.yaml": "- {id: ctl, type: group, role: [controller], parameters: {strategy: {type: one_by_one}}}\n- {id: cmp, type: group, role: compute, requires: [ctl]}\n",
		"mon.yaml": "version: 1.0.0\ntasks:\n" + stageTask("post_deployment/8100", "mongo") +
			stageTask("post_deployment/-1.5", "compute"),
		"site.yaml":  "nodes: [{name: c1, roles: [controller]}, {name: c2, roles: [controller]}, {name: p1, roles: [compute]}, {name: idle}]\n",
		"bad.yaml":   "- {role: web, stage: pre_deploymnet, type: shell, parameters: {cmd: c, timeout: 1}}\n",
		"ghost.yaml": "graph_tasks:\n- id: a\n  type: skipped\n  requires: [ghost]\n",
	})
}

func TestOrderOfAPart(t *testing.T) {
	graph := write(t, "net.yaml", "graph_tasks:\n- {id: a, type: skipped}\n- {id: b, type: skipped, requires: [a]}\n- {id: c, type: skipped, requires: [b]}\n- {id: d, type: skipped}\n")
	for args, want := range map[string]string{"--from b": "b c", "--to b": "a b", "--from b --to b": "b",
		"--from c --to a": ""} {
		out, err := run(t, append([]string{"order", graph, "-o", "json"}, strings.Fields(args)...)...)
		var told orderJSON
		if err != nil || json.Unmarshal([]byte(out), &told) != nil {
			t.Fatal(err, out)
		}
		var got []string
		for _, task := range told.Graph {
			got = append(got, task.Task)
		}
		if strings.Join(got, " ") != want || len(told.Stages) != 0 {
			t.Errorf("%s: got %v, want %s", args, got, want)
		}
	}
	_, errOut, status := answer(t, "", "order", graph, "--from", "bb")
	if want := `--from, --to: there is no task "bb"; did you mean "b"?`; status != 2 ||
		!strings.Contains(errOut, want) {
		t.Errorf("status %d: %s, want %s", status, errOut, want)
	}
}

func TestOrderTable(t *testing.T) {
	dir := plugins(t)
	out, err := run(t, "order", filepath.Join(dir, "net/tasks.yaml"), filepath.Join(dir, "mon.yaml"),
		filepath.Join(dir, "net/deployment_tasks.yaml"), "--nodes", filepath.Join(dir, "site.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := `pre_deployment
#  PRIORITY  TASK    TYPE   NODES
1  0         net[1]  shell  c1, c2, p1

post_deployment
#  PRIORITY  TASK          TYPE   NODES
1  -1.5      mon-1.0.0[1]  shell  p1
2  4100      net[0]        shell  c1, c2, p1

graph
#  TASK  TYPE   AFTER
1  ctl   group
2  cmp   group  ctl

groups
STEP  GROUP  NODES
1     ctl    c1
2     ctl    c2
3     cmp    p1

` + dir + `/mon.yaml:3:10: warning: tasks[0].role: no node has the role mongo, so the task is left out
`
	if d := cmp.Diff(want, out); d != "" {
		t.Error(d)
	}
	out, err = run(t, "order", filepath.Join(dir, "mon.yaml"))
	if err != nil || !strings.Contains(out, "2  8100      mon-1.0.0[0]  shell  mongo\n") ||
		!strings.Contains(out, "ROLE") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// Which tasks run nowhere shows without nodes, too.
func TestOrderOfTasksThatRunNowhere(t *testing.T) {
	file := write(t, "p.yaml", "- {role: a, stage: pre_deployment, type: shel, parameters: {cmd: x, timeout: 1}}\n- {role: 7, stage: pre_deployment, type: shell, parameters: {cmd: x, timeout: 1}}\n")
	out, err := run(t, "order", file)
	for _, want := range []string{
		file + `:1:42: warning: [0].type: the task is left out: there is no task type "shel"; did you mean "shell"?`,
		file + `:2:10: warning: [1].role: is neither the name of a role nor a list of names, so the task is left out`,
	} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v, no %q in\n%s", err, want, out)
		}
	}
}

func TestOrderJSON(t *testing.T) {
	dir := plugins(t)
	out, err := run(t, "order", filepath.Join(dir, "net/tasks.yaml"), filepath.Join(dir, "mon.yaml"), "--nodes",
		filepath.Join(dir, "site.yaml"), "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var got orderJSON
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	nodes := map[string][]string{"c1": {"net[1]", "net[0]"}, "c2": {"net[1]", "net[0]"},
		"p1": {"net[1]", "mon-1.0.0[1]", "net[0]"}}
	if d := cmp.Diff(nodes, got.Nodes); d != "" {
		t.Error(d)
	}
	task := stageTaskJSON{Task: "mon-1.0.0[1]", Plugin: "mon", Version: "1.0.0", Index: 1, Priority: -1.5,
		Type: "shell", Role: []string{"compute"}, Nodes: []string{"p1"},
		TimeoutSeconds: 42, Retries: 3, IntervalSeconds: 1, FailOnError: true}
	if d := cmp.Diff(task, got.Stages[1].Tasks[0]); d != "" {
		t.Error(d)
	}
	if len(got.Warnings) != 1 || got.Warnings[0].Code != "no_nodes" || got.Warnings[0].Line != 3 {
		t.Errorf("warnings %+v", got.Warnings)
	}
}

func TestOrderErrors(t *testing.T) {
	dir := plugins(t)
	mon := filepath.Join(dir, "mon.yaml")
	copied := filepath.Join(folderOf(t, map[string]string{"mon.yaml": "version: 1.0.0\n"}), "mon.yaml")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"bad.yaml"}, `bad.yaml:1:22: [0].stage: "pre_deploymnet" is not a stage: did you mean pre_deployment?`},
		{[]string{"ghost.yaml"}, `ghost.yaml:4:14: graph_tasks[0].requires[0]: the task "a" requires "ghost", which does not exist`},
		{[]string{"mon.yaml", copied}, `mon.yaml:1:1: name: the plugin is there twice`},
		{[]string{"mon.yaml", mon}, `is named twice`},
		{[]string{"none.yaml"}, `none.yaml: no such file`},
		{[]string{"mon.yaml", "--nodes", mon}, mon +
			":1:1: is the document of a plugin (it has the key \"version\"); `order` takes it"},
		{nil, "name at least one file"},
	} {
		args := []string{"order"}
		for _, a := range tt.args {
			if strings.HasSuffix(a, ".yaml") && !filepath.IsAbs(a) {
				a = filepath.Join(dir, a)
			}
			args = append(args, a)
		}
		if _, err := run(t, args...); err == nil || !strings.Contains(err.Error(), tt.want) ||
			ExitStatus(err) != statusInvalid {
			t.Errorf("%v: got %v (status %d), want %s", tt.args, err, ExitStatus(err), tt.want)
		}
	}
}
