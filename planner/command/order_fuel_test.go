package command

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/document"
)

// fuelPlugin is the folder of a plugin as Fuel has them: its tasks lean on those of Fuel's library, and have keys that
// only Fuel uses.
func fuelPlugin(t *testing.T) string {
	t.Helper()
	return folderOf(t, map[string]string{
		"proxy/metadata.yaml":           "name: proxy\nversion: 2.0.1\npackage_version: 4.0.0\ntitle: Proxy\nreleases: [{os: ubuntu, mode: [ha]}]\n",
		"proxy/environment_config.yaml": "attributes: {port: {type: text, weight: 10, value: '80', label: Port}}\n",
		"proxy/node_roles.yaml":         "proxy: {name: Proxy, weight: 500}\n",
		"proxy/network_roles.yaml":      "[]\n",
		"proxy/volumes.yaml":            "",
		"proxy/tasks.yaml":              "# no tasks here; see deployment_tasks.yaml\n",
		"proxy/deployment_tasks.yaml": `- id: proxy
  type: group
  role: [proxy]
  version: 2.1.0
  fault_tolerance: 10%
  tasks: [hiera, netconfig]
  requires: [deploy_start]
  required_for: [deploy_end]
  parameters: {strategy: {type: one_by_one}}
- id: proxy-keys
  type: copy_files
  version: 2.1.0
  role: [proxy, '/controller$/']
  required_for: [pre_deployment_end]
  requires: [pre_deployment_start]
  parameters:
    files: [{src: '/var/lib/keys/{CLUSTER_ID}/a', dst: /etc/proxy/a}]
    permissions: '0600'
- id: proxy-install
  type: puppet
  version: 2.1.0
  groups: [proxy]
  requires: [netconfig]
  requires: [proxy-repository]
  cross-depends:
  - {name: '/^(primary-)?proxy-database$/', role: self}
  - {name: {yaql_exp: $.x}}
  reexecute_on: [deploy_changes]
  refresh_on: [proxy_config]
  condition: {yaql_exp: changedAny($.network_scheme)}
  parameters: {puppet_manifest: install.pp, puppet_modules: modules, strategy: {type: parallel, amount: 2}, debug: true}
  test_pre: {cmd: ruby pre.rb}
- id: proxy-repository
  type: shell
  role: '*'
  condition: settings:proxy.metadata.enabled == true
  requires:
  parameters: {cmd: 'add {MASTER_IP}', timeout: '60'}
- id: proxy-database
  type: shell
  groups: primary-controller
  cross_depended_by: [{name: proxy-check, role: [proxy]}]
  parameters: {cmd: ./db}
- id: proxy-check
  type: shell
  groups: [proxy]
  skipped: true
  require: [proxy-install]
  parameters: {cmd: ./check, timeout: 5}
- id: proxy-database
  type: shell
  groups: primary-controller
  cross-depended-by: [{name: proxy-check}, {name: upload_cirros}]
  parameters: {cmd: ./database}
- id: proxy-wait
  type: shell
  groups: [proxy]
  requires: [proxy]
  parameters: {cmd: ./wait}
`,
	})
}

func TestOrderFuelPlugin(t *testing.T) {
	dir := fuelPlugin(t)
	out, err := run(t, "order", filepath.Join(dir, "proxy"))
	if err != nil {
		t.Fatal(err)
	}
	out = strings.ReplaceAll(out, dir+"/proxy/", "")
	const want = `graph
#  TASK              TYPE        AFTER
1  proxy-repository  shell
2  proxy-database    shell
3  proxy-install     puppet      proxy-repository, proxy-database
4  proxy-check       skipped     proxy-database
5  proxy-wait        shell
6  proxy-keys        copy_files  pre_deployment_start
7  proxy             group       proxy-install, proxy-check, proxy-wait, deploy_start
`
	if got, _, _ := strings.Cut(out, "\n\n"); got+"\n" != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, want := range []string{
		`environment_config.yaml: warning: is not used`,
		`deployment_tasks.yaml:5:20: warning: [0].fault_tolerance: fault_tolerance is not used: the success criteria of slipway's groups decide how many nodes may fail: "proxy"`,
		`deployment_tasks.yaml:6:11: warning: [0].tasks[0]: no plugin brings the task "hiera"; what names it orders nothing: tasks of "proxy"`,
		`deployment_tasks.yaml:11:9: warning: [1].type: the task "proxy-keys" has the type copy_files, which slipway does not carry out: it only keeps its place in the order`,
		`deployment_tasks.yaml:24:3: warning: key "requires" is there twice, first at line 23; this one counts`,
		`deployment_tasks.yaml:27:12: warning: [2].cross-depends[1].name: slipway does not evaluate YAQL, so this relation falls away: "proxy-install"`,
		`deployment_tasks.yaml:28:17: warning: [2].reexecute_on: reexecute_on is not used`,
		`deployment_tasks.yaml:29:15: warning: [2].refresh_on: refresh_on is not used`,
		`deployment_tasks.yaml:30:14: warning: [2].condition: slipway does not evaluate the condition of a task, so these tasks always run: "proxy-install", "proxy-repository"`,
		`deployment_tasks.yaml:31:109: warning: [2].parameters.debug: tasks of the type puppet have no parameter "debug", so it is not used: "proxy-install"`,
		`deployment_tasks.yaml:32:13: warning: [2].test_pre: test_pre is not used`,
		`deployment_tasks.yaml:38:21: warning: [3].parameters.cmd: slipway does not replace {MASTER_IP}, so it stays in the text: "proxy-repository"`,
		`deployment_tasks.yaml:48:3: warning: [5]: unknown key "require", which does nothing in Fuel either; did you mean "requires"?`,
		`deployment_tasks.yaml:50:3: warning: [6].id: another task has the id "proxy-database", at `,
		`deployment_tasks.yaml:52:11: warning: [6].groups[0]: no plugin brings the group "primary-controller"; it stands for the nodes with that role: groups of "proxy-database"`,
		`deployment_tasks.yaml:50:3: warning: [6].required_for[1]: no plugin brings the task "upload_cirros"; what names it orders nothing: required_for of "proxy-database"`,
		`deployment_tasks.yaml:58:14: warning: [7].requires[0]: what the task "proxy-wait" says of a group would make tasks wait for each other: it orders nothing, as in Fuel since version 9`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("missing: %s", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// Package version 1 is from a time when the primary controller was a controller.
func TestOrderPackageVersions(t *testing.T) {
	for version, want := range map[string]string{"1.0.0": "controller, primary-controller", "2.0.0": "controller", "5.0.0": "controller"} {
		dir := folderOf(t, map[string]string{
			"p/metadata.yaml": "name: lma\nversion: 1.2.3\npackage_version: " + version + "\n",
			"p/tasks.yaml":    stageTask("post_deployment", "[controller]"),
		})
		out, err := run(t, "order", filepath.Join(dir, "p"))
		if err != nil || !strings.Contains(out, "lma-1.2.3[0]  shell  "+want+"\n") {
			t.Errorf("%s: %v\n%s", version, err, out)
		}
	}
}

// TestCorpora reads a folder of real documents, SLIPWAY_CORPORA: it orders the documents of Fuel plugins there, each by
// itself and all of a folder together, and validates and draws what describes a site. It prints what is accepted, with
// the warnings, and why what is refused is; 90 % of the documents of plugins must be accepted.
func TestCorpora(t *testing.T) {
	root := os.Getenv("SLIPWAY_CORPORA")
	if root == "" {
		t.Skip("SLIPWAY_CORPORA is not set: name a folder with documents of Fuel plugins and of Airship")
	}
	try := func(args ...string) (accepted bool) {
		out, err := run(t, args...)
		if err != nil {
			t.Logf("refused: %s: %s%v", args, out, err)
			return false
		}
		t.Logf("accepted: %s, %d warnings", args, strings.Count(out, ": warning: "))
		for line := range strings.Lines(out) {
			if strings.Contains(line, ": warning: ") {
				t.Log("    ", strings.TrimSpace(line))
			}
		}
		return true
	}
	folders := map[string]bool{}
	accepted, all := 0, 0
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(file) //nolint:gosec // a file of the corpus
		if err != nil {
			return err
		}
		kind, is := document.KindOf(document.Source{Name: file, Data: data})
		switch kind {
		case document.OfPlugin, document.Unclear:
			folders[filepath.Dir(file)] = true
			all++
			if try("order", file) {
				accepted++
			}
		case document.OfSite:
			for _, command := range []string{"validate", "graph", "order"} {
				try(command, file)
			}
		default:
			t.Logf("passed over: %s %s", file, is)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		try("order", folder)
	}
	t.Logf("%d of %d documents of plugins accepted", accepted, all)
	if all == 0 || 10*accepted < 9*all {
		t.Error("these are fewer than 90 %")
	}
}

func TestConvertErrors(t *testing.T) {
	dir := folderOf(t, map[string]string{
		"site.yaml":               "nodes: []\n",
		"broken.yaml":             "configuration: [\n",
		"empty.yaml":              "",
		"null.yaml":               "configuration: {package: ~}\n",
		"groups.yaml":             "schema: shipyard/DeploymentStrategy/v1\ndata: {groups: [{name: a, critical: true, depends_on: [b], selectors: []}]}\n",
		"p/tasks.yaml":            "- {role: web, stage: never, type: shell, parameters: {cmd: c, timeout: 1}}\n",
		"nothing/x":               "",
		"q/tasks.yaml":            "tasks: x\n",
		"r/metadata.yaml":         "name: 5\n",
		"s/deployment_tasks.yaml": "- {id: a, type: skipped, requires: [b]}\n- {id: b, type: skipped, requires: [a]}\n",
		"a{b}/metadata.yaml":      "name: a\n", "a{b}/tasks.yaml": "[]\n", "a{b}/deployment_scripts/x": "",
	})
	for name, want := range map[string]string{
		"site.yaml":   `cannot be converted: it is a site document (it has the key "nodes"); convert takes`,
		"broken.yaml": "broken.yaml:2:1: not well formed",
		"empty.yaml":  "cannot be converted: it is empty",
		"null.yaml":   "null.yaml:1:26: configuration.package: is nothing (null)",
		"groups.yaml": `groups.yaml:2:56: group "a": depends_on[0]: there is no group "b"`,
		"p":           `tasks.yaml:1:22: [0].stage: "never" is not a stage`,
		"nothing":     "is a folder without any document of a plugin",
		"q":           "tasks.yaml:1:8: tasks: is text, not a list",
		"r":           "metadata.yaml:1:7: name: is a number, not text",
		"s":           "tasks wait for each other",
		"a{b}":        "takes *, ?, [, { and \\ in the path of a folder as a pattern, and would find no file; rename the folder",
	} {
		out, err := run(t, "convert", filepath.Join(dir, name))
		if err == nil || ExitStatus(err) != statusInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s\n%s", name, err, want, out)
		}
	}
}

// A plugin without the files that its tasks name cannot be planned, and convert says which these are. Files on the node,
// and those of a folder, are there.
func TestConvertWithoutFiles(t *testing.T) {
	task := func(parameters string) string {
		return "- {role: [web], stage: post_deployment/1, type: puppet, parameters: {" + parameters + ", timeout: 1}}\n"
	}
	dir := folderOf(t, map[string]string{
		"mon.yaml": "name: mon\ntasks:\n" + task("puppet_manifest: mon.pp, puppet_modules: 'modules:/etc/puppet'") +
			task("puppet_manifest: mon.pp, puppet_modules: /m") + "graph_tasks:\n- {id: a, type: shell, role: [web], parameters: {cmd: x, cwd: run, timeout: 1}}\n",
		"there.yaml":                      "name: there\ntasks:\n" + task("puppet_manifest: /etc/mon.pp, puppet_modules: /m"),
		"whole/metadata.yaml":             "name: whole\n",
		"whole/tasks.yaml":                task("puppet_manifest: mon.pp, puppet_modules: /m"),
		"whole/deployment_scripts/mon.pp": "",
	})
	for name, want := range map[string]string{
		"mon.yaml": `files: have no file "mon.pp", folder "modules", folder "run", which tasks need, so the configuration ` +
			"cannot be planned; put what they need below deployment_scripts/ of the plugin's folder, and convert the folder",
		"there.yaml": "", "whole": "",
	} {
		out, err := run(t, "convert", filepath.Join(dir, name))
		if err != nil || !strings.Contains(out, want) || want == "" && strings.Contains(out, "cannot be planned") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// Beside a site, a Fuel plugin has the files of its folder; without that folder it is ordered all the same.
func TestOrderTriesFuelPlugins(t *testing.T) {
	const site = "site: x\nnodes: [{name: a, address: 192.0.2.1, roles: [web]}]\n"
	const tasks = "- {id: pp, type: puppet, role: [web], parameters: {puppet_manifest: ./puppet/a.pp, puppet_modules: 'puppet:puppet/modules'}}\n" +
		"- {id: sh, type: shell, role: [web], requires: [pp], parameters: {cmd: ./x, cwd: puppet, timeout: 1}}\n"
	dir := folderOf(t, map[string]string{
		"site.yaml":                                     site,
		"whole/deployment_tasks.yaml":                   tasks,
		"whole/deployment_scripts/puppet/a.pp":          "",
		"whole/deployment_scripts/puppet/modules/x/y":   "",
		"bare/deployment_tasks.yaml":                    tasks,
		"partly/deployment_tasks.yaml":                  tasks,
		"partly/deployment_scripts/puppet/modules/x":    "",
		"outside/deployment_tasks.yaml":                 strings.Replace(tasks, "./puppet/a.pp", "../a.pp", 1),
		"large/deployment_tasks.yaml":                   tasks,
		"large/deployment_scripts/puppet/modules/large": strings.Repeat("x", 1<<20+1),
	})
	for name, want := range map[string]struct {
		fails bool
		says  string
	}{
		"whole":                       {false, ""},
		"whole/deployment_tasks.yaml": {false, ""},
		"bare": {false, `files: have no file "./puppet/a.pp", folder "puppet", folder "puppet/modules", which tasks need, so the site cannot be planned with it; ` +
			"put what they need below deployment_scripts/ of the plugin's folder, and give the folder"},
		"partly":  {true, `deployment_tasks.yaml:1:69: [0].parameters.puppet_manifest: there is no file "./puppet/a.pp" in files`},
		"outside": {true, `"../a.pp" leads out of the files`},
		"large":   {true, "large: deployment_scripts/puppet/modules/large: with it the files of the plugin are larger"},
	} {
		out, err := run(t, "order", filepath.Join(dir, "site.yaml"), filepath.Join(dir, name))
		ordered := strings.Contains(out, "1  pp    puppet\n2  sh    shell   pp\n")
		switch {
		case want.fails && (err == nil || ExitStatus(err) != statusInvalid || !strings.Contains(err.Error(), want.says)):
			t.Errorf("%s: got %v, want %s", name, err, want.says)
		case !want.fails && (err != nil || !ordered || !strings.Contains(out, want.says)),
			want.says == "" && strings.Contains(out, "warning"):
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
