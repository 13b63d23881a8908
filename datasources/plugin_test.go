package datasources_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
)

// net is a plugin's folder, as Fuel's plugin builder makes it.
var net = map[string]string{
	"metadata.yaml": "name: net\ntitle: Network\nversion: '1.0.0'\nfuel_version: ['6.1']\nreleases:\n- {os: ubuntu, version: 2014.2-6.1}\n",
	"tasks.yaml": `- role: ['primary-controller', controller]
  stage: post_deployment/100
  type: shell
  parameters: {cmd: ./deploy.sh, timeout: 42}
- role: '*'
  stage: pre_deployment
  type: puppet
  fail_on_error: false
  parameters: {puppet_manifest: puppet/site.pp, puppet_modules: puppet/modules, timeout: 360, retries: 2, interval: 5}
`,
	"deployment_tasks.yaml": `- {id: workers, type: group, role: [compute], parameters: {strategy: {type: parallel, amount: 2}}}
- {id: check, type: shell, groups: [workers], requires: [deploy_start], required_for: [deploy_end], parameters: {cmd: ./check.sh, timeout: 5}}
`,
	"deployment_scripts/deploy.sh":                            "#!/bin/sh\n",
	"deployment_scripts/check.sh":                             "",
	"deployment_scripts/puppet/site.pp":                       "include net\n",
	"deployment_scripts/puppet/modules/net/manifests/init.pp": "class net {}\n",
	"repositories/ubuntu/Packages":                            "not a part of what slipway takes",
}

// with is a folder with some files changed; an empty content takes one away.
func with(changes map[string]string) map[string]string {
	out := map[string]string{}
	for name, content := range net {
		out[name] = content
	}
	for name, content := range changes {
		if out[name] = content; content == "" {
			delete(out, name)
		}
	}
	return out
}

func source(dir string) string {
	return fmt.Sprintf("data \"slipway_plugin\" \"net\" { path = %q }\n", dir)
}

func TestPlugin(t *testing.T) {
	t.Parallel()
	const address = "data.slipway_plugin.net"
	run(t, resource.TestStep{Config: source(folder(t, net)), ConfigStateChecks: []statecheck.StateCheck{
		is(address, at("name"), exact("net")),
		is(address, at("version"), exact("1.0.0")),
		is(address, at("tasks"), knownvalue.ListSizeExact(2)),
		is(address, at("tasks", 0, "role"), list("primary-controller", "controller")),
		is(address, at("tasks", 0, "stage"), exact("post_deployment/100")),
		is(address, at("tasks", 0, "parameters"), knownvalue.ObjectExact(map[string]knownvalue.Check{
			"cmd": exact("./deploy.sh"), "timeout": knownvalue.Int64Exact(42), "retries": knownvalue.Null(), "interval": knownvalue.Null(), "cwd": knownvalue.Null(),
			"puppet_manifest": knownvalue.Null(), "puppet_modules": knownvalue.Null(),
		})),
		is(address, at("tasks", 0, "fail_on_error"), knownvalue.Bool(true)),
		is(address, at("tasks", 1, "fail_on_error"), knownvalue.Bool(false)),
		is(address, at("tasks", 1, "parameters", "puppet_modules"), exact("puppet/modules")),
		is(address, at("tasks", 1, "parameters", "retries"), knownvalue.Int64Exact(2)),
		is(address, at("graph_tasks", 0, "parameters", "strategy"), knownvalue.ObjectExact(map[string]knownvalue.Check{"type": exact("parallel"), "amount": knownvalue.Int64Exact(2)})),
		is(address, at("graph_tasks", 1, "required_for"), list("deploy_end")),
		is(address, at("files"), knownvalue.MapExact(map[string]knownvalue.Check{
			"deploy.sh": exact("IyEvYmluL3NoCg=="), "check.sh": exact(""), "puppet/site.pp": exact("aW5jbHVkZSBuZXQK"), "puppet/modules/net/manifests/init.pp": exact("Y2xhc3MgbmV0IHt9Cg=="),
		})),
	}})
}

func TestPluginWithoutMetadata(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lma")
	if err := os.Rename(folder(t, map[string]string{"tasks.yaml": "[]"}), dir); err != nil {
		t.Fatal(err)
	}
	const address = "data.slipway_plugin.net"
	run(t, resource.TestStep{Config: source(dir), ConfigStateChecks: []statecheck.StateCheck{
		is(address, at("name"), exact("lma")), is(address, at("version"), knownvalue.Null()), is(address, at("tasks"), knownvalue.ListSizeExact(0)),
		is(address, at("files"), knownvalue.MapSizeExact(0)),
	}})
}

func TestPluginsThatAreWrong(t *testing.T) {
	t.Parallel()
	link := func(to string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Symlink(to, filepath.Join(dir, "deployment_scripts", "link")); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		files  map[string]string
		change func(t *testing.T, dir string)
		want   string
	}{
		"no such folder": {net, func(t *testing.T, dir string) {
			t.Helper()
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}, "cannot be opened"},
		"no tasks":                  {with(map[string]string{"tasks.yaml": "", "deployment_tasks.yaml": ""}), nil, "is no plugin: it holds neither tasks.yaml nor deployment_tasks.yaml"},
		"a stage, with its place":   {with(map[string]string{"tasks.yaml": "- role: '*'\n  stage: pre_deploymnet/5\n  type: shell\n  parameters: {cmd: x, timeout: 1}\n"}), nil, `tasks\.yaml:2:10: \[0\]\.stage: "pre_deploymnet/5" is not a stage: did you mean pre_deployment\?`},
		"metadata, with its place":  {with(map[string]string{"metadata.yaml": "version: [1]\n"}), nil, `metadata\.yaml:1:1: the key "name" is missing`},
		"metadata that are no YAML": {with(map[string]string{"metadata.yaml": "name: [\n"}), nil, `metadata\.yaml:\d+:\d+: not well formed`},
		"a wrong value":             {with(map[string]string{"deployment_tasks.yaml": "- {id: x, type: skipped, parameters: [1]}\n"}), nil, `deployment_tasks\.yaml:1:38: \[0\]\.parameters: is a list, not a mapping`},
		"too large":                 {with(map[string]string{"deployment_scripts/big": strings.Repeat("x", 1<<20)}), nil, `deployment_scripts/\S+: with it the files of the plugin are larger than 1048576 bytes together`},
		"a link that leads out":     {net, link("/etc/passwd"), "deployment_scripts/link is a link that leads out of the plugin's folder"},
		"a link to the parent":      {net, link("../../secret"), "deployment_scripts/link is a link that leads out of the plugin's folder"},
		"a link to a folder":        {net, link("puppet"), "deployment_scripts/link is a link to a folder"},
		"a large document":          {with(map[string]string{"metadata.yaml": "name: x\n#" + strings.Repeat("x", 9<<20)}), nil, `metadata\.yaml is larger than 9437184 bytes`},
		"scripts that are elsewhere": {net, func(t *testing.T, dir string) {
			t.Helper()
			scripts := filepath.Join(dir, "deployment_scripts")
			if err := errors.Join(os.RemoveAll(scripts), os.Symlink("/etc", scripts)); err != nil {
				t.Fatal(err)
			}
		}, "deployment_scripts is a link that leads out of the plugin's folder"},
		"a name that is no text": {net, func(t *testing.T, dir string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, "deployment_scripts", "a\xff"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "the path is not UTF-8 text"},
		"a pipe": {net, func(t *testing.T, dir string) {
			t.Helper()
			if err := syscall.Mkfifo(filepath.Join(dir, "deployment_scripts", "pipe"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "deployment_scripts/pipe is a pipe"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, tt.files)
			if tt.change != nil {
				tt.change(t, dir)
			}
			refused(t, source(dir), tt.want)
		})
	}
}

func TestALinkWithinThePluginIsFollowed(t *testing.T) {
	t.Parallel()
	dir := folder(t, net)
	if err := os.Symlink("../metadata.yaml", filepath.Join(dir, "deployment_scripts", "link")); err != nil {
		t.Fatal(err)
	}
	run(t, resource.TestStep{Config: source(dir), ConfigStateChecks: []statecheck.StateCheck{is("data.slipway_plugin.net", at("files"), knownvalue.MapSizeExact(5))}})
}

// A deployment takes the plugin whole, from the data source and from a document alike.
func TestDeploymentTakesPlugins(t *testing.T) {
	t.Parallel()
	site := func(plugins string) string {
		return `
resource "slipway_node" "web1" {
  name    = "web1"
  address = "192.0.2.1"
  roles   = ["controller", "compute"]
}
resource "slipway_deployment" "lon1" {
  site    = "lon1"
  nodes   = [slipway_node.web1]
  plugins = ` + plugins + "\n}\n"
	}
	steps := func(name string) []plancheck.PlanCheck {
		return []plancheck.PlanCheck{plancheck.ExpectKnownValue("slipway_deployment.lon1", at("steps"), list(
			"1.1 default (critical): prepare 1 node (web1)",
			"1.2 default (critical): pre_node: run puppet "+name+"/2 on node web1; a failure is a warning",
			"1.3 default (critical): cluster: run shell "+name+"/check on node web1",
			"1.4 post_cluster: run shell "+name+"/1 on node web1",
		))}
	}
	dir := folder(t, net)
	for label, tt := range map[string]struct{ config, name string }{
		"data source": {source(dir) + site("[data.slipway_plugin.net]"), "net-1.0.0"},
		"map":         {source(dir) + site("{ net = data.slipway_plugin.net }"), "net-1.0.0"},
		"documents": {site(fmt.Sprintf(`[{
    name        = "lma"
    tasks       = yamldecode(file("%[1]s/tasks.yaml"))
    graph_tasks = yamldecode(file("%[1]s/deployment_tasks.yaml"))
    files       = { for f in fileset("%[1]s/deployment_scripts", "**") : f => filebase64("%[1]s/deployment_scripts/${f}") }
  }]`, dir)), "lma"},
	} {
		t.Run(label, func(t *testing.T) {
			run(t, resource.TestStep{Config: tt.config, PlanOnly: true, ExpectNonEmptyPlan: true, ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: steps(tt.name)}})
		})
	}
	refused(t, site("data.slipway_nodes.x")+`data "slipway_nodes" "x" {
  nodes     = []
  selectors = []
}`, "plugins")
	refused(t, site(`[{ name = "lma", tasks = [{ role = "*", stage = "post_deployment:5", type = "shell", parameters = { cmd = "x", timeout = "5" } }] }]`),
		`plugin "lma", tasks\[0\]\.stage: "post_deployment:5" is not a stage: the number comes after a slash`)
	refused(t, site(`[{ name = "lma", tsaks = [] }]`), `plugin "lma", tsaks: there is no such attribute; did you mean "tasks"\?`)
	refused(t, source(dir)+site("data.slipway_plugin.net"), `is one plugin; put it into a list: plugins = \[data\.slipway_plugin\.example\]`)
}
