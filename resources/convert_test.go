package resources_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/command"
)

// slipway runs the companion and returns what it prints.
func (c *commandLine) slipway(stdin string, args ...string) (out, notes string) {
	c.t.Helper()
	cmd := command.New("test", nil, "")
	var stdout, stderr bytes.Buffer
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(c.t.Context()); err != nil {
		c.t.Fatal(args, err)
	}
	return stdout.String(), stderr.String()
}

// What convert writes passes `terraform validate`, and is planned in the order of the documents.
func TestTextConvert(t *testing.T) {
	s := newSandbox(t, "c1", "c2", "w1")
	c := newCommandLine(t)
	folder := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		s.must(os.MkdirAll(filepath.Dir(path), 0o700))
		s.must(os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	strategy := file("strategy.yaml", `schema: shipyard/DeploymentStrategy/v1
metadata: {schema: metadata/Document/v1, name: s}
data:
  groups:
  - {name: web.nodes, critical: false, depends_on: [9-control], selectors: [{node_tags: [web]}], success_criteria: {percent_successful_nodes: 50}}
  - {name: 9-control, critical: true, depends_on: [], selectors: [{node_names: [c1, c2]}]}
`)
	override := file("tuning.yaml", "configuration: {package: {mc: {ensure: absent, status: ~}}}\nconfiguration_options: {create: false, types_filter: [package]}\n")
	file("proxy/metadata.yaml", "name: proxy\nversion: 1.0.0\n")
	file("proxy/deployment_scripts/check.sh", "echo '${HOME}' \"%{x}\"\n")
	file("proxy/tasks.yaml", "- {role: [web], stage: post_deployment/100, type: shell, parameters: {cmd: 'sh check.sh \"${HOME}\"', timeout: 5}}\n"+
		"- {role: '*', stage: post_deployment/-1, type: shell, parameters: {cmd: 'true', timeout: 5}}\n")
	file("proxy/deployment_tasks.yaml", `- {id: last, type: shell, role: [web], requires: [first, hiera], parameters: {cmd: last, timeout: 1, strategy: {type: parallel, amount: 2}}}
- {id: first, type: shell, groups: [control], condition: 'x', parameters: {cmd: first}}
`)
	plugin := filepath.Join(folder, "proxy")
	nodes := file("nodes.yaml", "site: site\nnodes:\n- {name: c1, address: 192.0.2.1, roles: [control]}\n- {name: c2, address: 192.0.2.2, roles: [control]}\n- {name: w1, address: 192.0.2.3, roles: [web], tags: [web]}\n")

	config, notes := c.slipway("", "convert", strategy, override, plugin)
	if !strings.Contains(notes, "slipway does not evaluate the condition") {
		t.Error("no warnings:", notes)
	}
	s.must(os.Remove(filepath.Join(c.dir, "versions.tf")))
	c.configure(config)
	c.write("site.auto.tfvars.json", `{"nodes": [{"name": "c1", "address": "192.0.2.1", "roles": ["control"]}, {"name": "c2", "address": "192.0.2.2", "roles": ["control"]}, {"name": "w1", "address": "192.0.2.3", "roles": ["web"], "tags": ["web"]}]}`)
	c.run(0, "fmt", "-check", "-no-color")
	c.run(0, "validate", "-no-color")
	c.run(2, "plan", "-input=false", "-no-color", "-detailed-exitcode", "-out=plan.bin")
	plan := c.run(0, "show", "-json", "plan.bin")

	for _, name := range []string{"order", "graph"} {
		want, _ := c.slipway("", name, strategy, nodes)
		got, _ := c.slipway(plan, name, "-")
		if name == "order" {
			want, _ = c.slipway("", name, strategy, nodes, plugin)
		}
		want, _, _ = strings.Cut(want, folder) // the warnings
		got, _, _ = strings.Cut(got, "\nplugin ")
		got, _, _ = strings.Cut(got, "\nstandard input")
		if strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s of the plan:\n%s\nof the documents:\n%s\n%s", name, got, want, config)
		}
	}

	// The folder itself is planned the same, with what slipway does not do as warnings.
	c.configure(strings.Replace(config, config[strings.Index(config, "  plugins = "):],
		"  plugins = [data.slipway_plugin.proxy]\n}\ndata \"slipway_plugin\" \"proxy\" {\n  path = \""+plugin+"\"\n}\n", 1))
	out := c.run(2, "plan", "-input=false", "-no-color", "-detailed-exitcode", "-out=plan.bin")
	said := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{"slipway does not evaluate the condition of a task, so these tasks always run: \"first\"",
		`no plugin brings the task "hiera"; what names it orders nothing: requires of "last"`} {
		if !strings.Contains(said, want) {
			t.Errorf("the plan does not say %s:\n%s", want, out)
		}
	}
	fromFolder, _ := c.slipway(c.run(0, "show", "-json", "plan.bin"), "order", "-")
	fromFolder, _, _ = strings.Cut(fromFolder, "\nstandard input")
	got, _ := c.slipway(plan, "order", "-")
	if got, _, _ = strings.Cut(got, "\nstandard input"); got != fromFolder {
		t.Errorf("order of the folder:\n%s\nof what convert wrote:\n%s", fromFolder, got)
	}
}

// The files of a plugin that is named by a relative path are those beside the configuration, also where that is a module.
func TestTextConvertIntoModule(t *testing.T) {
	c := newCommandLine(t)
	file := func(name, content string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	module := filepath.Join(c.dir, "m")
	plugin := filepath.Join(module, "plugins", "a b")
	file(filepath.Join(plugin, "metadata.yaml"), "name: p\n")
	file(filepath.Join(plugin, "tasks.yaml"), "- {role: [web], stage: post_deployment, type: shell, parameters: {cmd: ./check.sh, timeout: 5}}\n")
	file(filepath.Join(plugin, "deployment_scripts", "check.sh"), "date\n")
	t.Chdir(module)
	config, _ := c.slipway("", "convert", "./plugins/a b")
	file("main.tf", config)
	c.configure("module \"m\" {\n  source = \"./m\"\n  nodes = [{ name = \"a\", address = \"192.0.2.1\", roles = [\"web\"] }]\n}\n")
	c.run(0, "get", "-no-color")
	c.run(0, "fmt", "-check", "-no-color", "m")
	c.run(2, "plan", "-input=false", "-no-color", "-detailed-exitcode", "-out=plan.bin")
	if plan := c.run(0, "show", "-json", "plan.bin"); !strings.Contains(plan, `"files":{"check.sh":"ZGF0ZQo="}`) {
		t.Errorf("the plan has no check.sh:\n%s\n%s", config, plan)
	}
}
