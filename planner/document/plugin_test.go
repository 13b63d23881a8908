package document

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// seedTasks is the example of seed 003 for its plugin A.
const seedTasks = `- role: ['primary-controller', 'controller']
  stage: post_deployment/100
  type: shell
  parameters:
    cmd: ./deploy.sh
    timeout: 42
`

const wholePlugin = `
name: lma
version: 1.0.0
tasks:
- {role: "*", stage: pre_deployment/-5, type: puppet, fail_on_error: false, parameters: {puppet_manifest: site.pp, puppet_modules: modules, timeout: 60, retries: 2}}
graph_tasks:
- {id: lma, type: group, role: [lma], parameters: {strategy: {type: parallel, amount: 2}}}
- {id: install, type: shell, groups: [lma], requires: [], required_for: [other], parameters: {cmd: ./install, timeout: 5}}
- {id: other, type: skipped}
`

func parsePlugin(texts ...string) (*Plugin, error) {
	sources := make([]Source, len(texts))
	for i, text := range texts {
		sources[i] = Source{Name: string(rune('a'+i)) + ".yaml", Data: []byte(text)}
	}
	return ParsePlugin(sources, "fallback")
}

func TestParsePlugin(t *testing.T) {
	seed := site.Task{Role: []string{"primary-controller", "controller"}, Stage: "post_deployment/100", Type: "shell",
		FailOnError: true,
		Parameters:  site.Parameters{"cmd": "./deploy.sh", "timeout": int64(42)}}
	tests := map[string]struct {
		texts []string
		want  site.Plugin
	}{
		"a list, as the seed has it": {[]string{seedTasks}, site.Plugin{Name: "fallback", Tasks: []site.Task{seed}}},
		"both files of a Fuel plugin": {[]string{seedTasks, "- {id: x, type: skipped}"},
			site.Plugin{Name: "fallback", Tasks: []site.Task{seed},
				GraphTasks: []site.GraphTask{{ID: "x", Type: "skipped", FailOnError: true}}, AllowUnknownTasks: true}},
		"a mapping": {[]string{wholePlugin}, site.Plugin{Name: "lma", Version: "1.0.0",
			Tasks: []site.Task{{Role: []string{"*"}, Stage: "pre_deployment/-5", Type: "puppet",
				Parameters: site.Parameters{"puppet_manifest": "site.pp", "puppet_modules": "modules",
					"timeout": int64(60), "retries": int64(2)}}},
			GraphTasks: []site.GraphTask{
				{ID: "lma", Type: "group", Role: []string{"lma"}, Strategy: site.Strategy{Amount: 2},
					Parameters: site.Parameters{}, FailOnError: true},
				{ID: "install", Type: "shell", Groups: []string{"lma"}, Requires: []string{},
					RequiredFor: []string{"other"},
					Parameters:  site.Parameters{"cmd": "./install", "timeout": int64(5)}, FailOnError: true},
				{ID: "other", Type: "skipped", FailOnError: true},
			}}},
		"nothing to do": {[]string{"[]"}, site.Plugin{Name: "fallback"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parsePlugin(tt.texts...)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got.Plugin); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParsePluginErrors(t *testing.T) {
	task := func(keys string) string {
		return "- role: web\n  stage: pre_deployment\n  type: shell\n  parameters: {cmd: c, timeout: 1}\n  " + keys +
			"\n"
	}
	tests := map[string]struct{ text, want string }{
		"stage, where it stands": {strings.Replace(seedTasks, "/100", "/x", 1),
			`a.yaml:2:10: [0].stage: "post_deployment/x" is not a stage: "x" is not a number such as 100, -5 or 99.9`},
		"stage that YAML misreads": {strings.Replace(seedTasks, "post_deployment/100", "post_deployment: 50", 1),
			`a.yaml:2:25: not well formed: a second ` + "`: `" +
				` on one line; write the value in quotes if it is text`},
		"stage in a mapping": {"tasks:\n" + strings.Replace(seedTasks, "/100", ":100", 1),
			`a.yaml:3:10: tasks[0].stage: "post_deployment:100" is not a stage: the number comes after a slash, post_deployment/100`},
		"unknown key": {task("fail_on_eror: true"),
			`a.yaml:5:3: [0]: unknown key "fail_on_eror"; did you mean "fail_on_error"?`},
		"another task, too": {task("fail_on_eror: true") +
			"- {role: web, stage: pre_deploymnt, type: reboot, parameters: {timeout: 1}}\n",
			"a.yaml:5:3: [0]: unknown key \"fail_on_eror\"; did you mean \"fail_on_error\"?\na.yaml:6:22: [1].stage: \"pre_deploymnt\" is not a stage"},
		"the same task once": {"- {role: web, stage: pre_deploymnt, type: reboot, parameter: {timeout: 1}}\n",
			"a.yaml:1:3: [0]: the key \"parameters\" is missing; is \"parameter\" meant to be it?\na.yaml:1:51: [0]: unknown key \"parameter\"; did you mean \"parameters\"?"},
		"missing keys": {"- {stage: pre_deployment, type: reboot}",
			"a.yaml:1:3: [0]: the key \"role\" is missing\na.yaml:1:3: [0]: the key \"parameters\" is missing"},
		"missing parameter": {strings.Replace(seedTasks, "cmd: ./deploy.sh\n    ", "", 1),
			`a.yaml:4:3: [0].parameters.cmd: is required by the type shell`},
		"unknown parameter": {strings.Replace(seedTasks, "cmd:", "cmd: x\n    cmdd:", 1),
			`a.yaml:6:11: [0].parameters.cmdd: there is no parameter of the type shell "cmdd"; did you mean "cmd"?`},
		"kind of parameter": {strings.Replace(seedTasks, "42", "[42]", 1),
			`a.yaml:6:14: [0].parameters.timeout: must be text or a whole number`},
		"role": {strings.Replace(task(""), "role: web", "role: [5]", 1),
			`a.yaml:1:10: [0].role[0]: is a number, not text; write it in quotes, "5", if that is meant`},
		"role of a graph task": {"- {id: a, type: skipped, role: 5}",
			`a.yaml:1:32: [0].role: is a number, not a role, or a list of roles`},
		"regular expression": {strings.Replace(task(""), "role: web", "role: [x, /(/]", 1),
			`a.yaml:1:3: [0].role: "/(/" is not a regular expression`},
		"stage of a graph task": {"- {id: a, type: skipped, stage: pre_deployment}",
			`a.yaml:1:33: [0].stage: a task with an id has no stage`},
		"strategy": {"- {id: a, type: group, parameters: {strategy: {type: all, amount: 0}}}",
			"a.yaml:1:54: [0].parameters.strategy.type: \"all\" is not a strategy; use parallel or one_by_one\na.yaml:1:67: [0].parameters.strategy.amount: is 0"},
		"not a list": {"tasks: {}", `a.yaml:1:8: tasks: is a mapping, not a list`},
		"empty": {"",
			`a.yaml: the document is empty; a plugin is a list of tasks, or has the key "tasks"`},
		"two documents": {"[]\n---\n[]", `a.yaml:3:1: is a second document; keep one in a file`},
		"name":          {"name: a b", `a.yaml:1:7: name: "a b" is not a usable name`},
		"tab": {"tasks:\n\t- x",
			`a.yaml:2:1: not well formed: a tab; YAML indents with spaces only`},
		"a list that holds itself": {"- &a [*a]", `a.yaml:1:3: [0]: is a list, not a mapping`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parsePlugin(tt.text)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// An error that shows only among plugins is reported where it stands.
func TestLocateInPlugin(t *testing.T) {
	p, err := parsePlugin("- {id: x, type: skipped}", "- id: y\n  type: skipped\n  requires:\n  - x\n  - ghost\n")
	if err != nil {
		t.Fatal(err)
	}
	_, errs := plugin.NewGraph([]site.Plugin{p.Plugin})
	if len(errs) != 1 {
		t.Fatal(errs)
	}
	if got := p.Locate(errs[0]).Error(); !strings.HasPrefix(got,
		`b.yaml:5:5: warning: [0].requires[1]: no plugin brings the task "ghost"; what names it orders nothing: requires of "y"`) {
		t.Error(got)
	}
}

func FuzzParsePlugin(f *testing.F) {
	f.Add([]byte(seedTasks))
	f.Add([]byte(wholePlugin))
	f.Add([]byte("- &a {id: a, type: group, <<: *a, groups: [/(/, a]}"))
	f.Add([]byte("- {id: a, type: group, tasks: [x]}\n- {id: b, id: c, type: puppet, groups: a, cross-depends: [{name: /a/}], condition: {yaql_exp: x}}"))
	f.Add([]byte("- {id: a, type: copy_files, skipped: true, requires: , parameters: {files: [{src: '{MASTER_IP}'}]}}"))
	f.Add([]byte("- {role: [], stage: pre_deployment/1, type: shell, parameters: {cmd: ~, timeout: 1.5}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range PluginFiles() {
			_, _ = ParsePlugin([]Source{{Name: name, Data: data}}, "p")
		}
		p, err := ParsePlugin([]Source{{Name: "f.yaml", Data: data}}, "p")
		if err != nil {
			var errs invalid.Errors
			if !errors.As(err, &errs) || len(errs) == 0 || p != nil {
				t.Fatalf("%v with error %v", p, err)
			}
			for _, wrong := range errs {
				if wrong.Message == "" || wrong.Code == "" || wrong.File != "f.yaml" {
					t.Fatalf("an error that says nothing: %+v", wrong)
				}
			}
			return
		}
		all := []site.Plugin{p.Plugin}
		sequences, errs := plugin.Order(all)
		if len(errs) > 0 {
			t.Fatalf("a valid document has no order: %v", errs)
		}
		n := 0
		for _, s := range sequences {
			n += len(s.Tasks)
		}
		if n != len(p.Plugin.Tasks) {
			t.Fatalf("%d of %d tasks are in order", n, len(p.Plugin.Tasks))
		}
		g, errs := plugin.NewGraph(all)
		if (g == nil) != (len(errs.Errors()) > 0) {
			t.Fatalf("graph %v with %v", g, errs)
		}
		for _, wrong := range errs {
			if p.Locate(wrong).Line == 0 {
				t.Fatalf("%v has no place", wrong)
			}
		}
		if g != nil && len(g.Tasks()) != len(p.Plugin.GraphTasks) {
			t.Fatalf("%d of %d graph tasks are in order", len(g.Tasks()), len(p.Plugin.GraphTasks))
		}
	})
}
