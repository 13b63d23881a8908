package document

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

const sitePlugins = `
site: lon1
nodes: [{name: web1, address: 192.0.2.1, roles: [web]}]
plugins:
- name: net
  version: 1.0.0
  files: {deploy.sh: IyEvYmluL3NoCg==}
  tasks:
  - role: web
    stage: post_deployment/100
    type: shell
    parameters: {cmd: ./deploy.sh, timeout: 42}
  graph_tasks:
  - {id: x, type: shell, role: ['*'], requires: [deploy_end], parameters: {cmd: x, timeout: 1}, fail_on_error: false}
`

var netPlugin = site.Plugin{
	Name: "net", Version: "1.0.0", Files: map[string]string{"deploy.sh": "IyEvYmluL3NoCg=="},
	Tasks: []site.Task{{Role: []string{"web"}, Stage: "post_deployment/100", Type: "shell",
		Parameters: site.Parameters{"cmd": "./deploy.sh", "timeout": int64(42)}, FailOnError: true}},
	GraphTasks: []site.GraphTask{{ID: "x", Type: "shell", Role: []string{"*"}, Requires: []string{"deploy_end"},
		Parameters: site.Parameters{"cmd": "x", "timeout": int64(1)}}},
}

func TestPluginsOfASite(t *testing.T) {
	s, err := ParseSite([]Source{{"s.yaml", []byte(sitePlugins)}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]site.Plugin{netPlugin}, s.Site.Plugins); d != "" {
		t.Error(d)
	}
	for attribute, want := range map[string]string{
		"tasks[0].stage":              `s.yaml:10:12: plugin "net": tasks[0].stage: m`,
		"tasks[0].parameters.timeout": `s.yaml:12:45: plugin "net": tasks[0].parameters.timeout: m`,
		"graph_tasks[0].requires[0]":  `s.yaml:14:50: plugin "net": graph_tasks[0].requires[0]: m`,
		`files["deploy.sh"]`:          `s.yaml:7:22: plugin "net": files["deploy.sh"]: m`,
	} {
		if got := s.Locate(invalid.Error{Object: "plugin", Name: "net", Attribute: attribute,
			Message: "m"}).Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestPluginsOfASiteThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"plugins: {}":                          "s.yaml:1:10: plugins: is a mapping, not a list",
		"plugins: [{}]":                        `s.yaml:1:11: plugins[0]: the key "name" is missing`,
		"plugins: [{name: a, path: /x}]":       `s.yaml:1:21: plugins[0]: unknown key "path"`,
		"plugins: [{name: a, tasks: [{}]}]":    `s.yaml:1:29: plugins[0].tasks[0]: the key "role" is missing`,
		"plugins: [{name: a, files: [x]}]":     "s.yaml:1:28: plugins[0].files: is a list, not a mapping",
		"plugins: [{name: a, graph_tasks: 1}]": "s.yaml:1:34: plugins[0].graph_tasks: is a number, not a list",
	} {
		if _, err := ParseSite([]Source{{"s.yaml", []byte(text)}}, Options{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// A plan of Terraform shows what the data source gave: nulls where the documents had nothing, and the folder.
func TestShowPlugins(t *testing.T) {
	const values = `{"path": "/plugins/net", "name": "net", "version": "1.0.0", "files": {"deploy.sh": "IyEvYmluL3NoCg=="},
  "tasks": [{"role": ["web"], "stage": "post_deployment/100", "type": "shell", "fail_on_error": "true", "parameters": {"cmd": "./deploy.sh", "timeout": "42", "retries": null, "puppet_manifest": null}}],
  "graph_tasks": [{"id": "x", "type": "shell", "role": ["*"], "groups": null, "requires": ["deploy_end"], "required_for": null, "tasks": null, "fail_on_error": false,
    "parameters": {"cmd": "x", "timeout": 1, "strategy": null}}]}`
	text := strings.Replace(deploymentJSON("slipway_deployment.a", "lon1"), `"services": null`,
		`"services": null, "plugins": [`+values+`]`, 1)
	s, err := parseShow(planJSON(text, "", ""), Options{})
	if err != nil {
		t.Fatal(err)
	}
	fromFolder := netPlugin
	fromFolder.AllowUnknownTasks = true // as Fuel has it, whose plugins name tasks of others
	if d := cmp.Diff([]site.Plugin{fromFolder}, s.Site.Plugins); d != "" {
		t.Error(d)
	}
	p, known, errs := NewValues(false).Plugins([]any{fromJSON(t, values)})
	if !known || len(errs) > 0 {
		t.Fatal(errs)
	}
	if d := cmp.Diff([]site.Plugin{fromFolder}, p); d != "" {
		t.Error(d)
	}
	unknown := `{"address": "slipway_deployment.a", "change": {"actions": ["create"], "after_unknown": {"plugins": true}}}`
	if _, err := parseShow(planJSON(text, "", unknown), Options{}); err == nil ||
		!strings.Contains(err.Error(), "plugins: is not known before apply") {
		t.Errorf("got %v", err)
	}
}

func TestPluginMetadata(t *testing.T) {
	for text, want := range map[string]any{
		"name: net\nversion: 1.0.0\ntitle: x\nreleases: [{os: ubuntu}]": site.Plugin{Name: "net", Version: "1.0.0"},
		"name: net":             site.Plugin{Name: "net"},
		"version: 1.0.0":        `m/metadata.yaml:1:1: the key "name" is missing`,
		"name: [a]":             "m/metadata.yaml:1:7: name: is a list, not text",
		"version: 1.0\nname: n": `m/metadata.yaml:1:10: version: is a number, not text; write it in quotes, "1.0", if that is meant`,
		"":                      "m/metadata.yaml: the document is empty",
		"- name: a":             "m/metadata.yaml:1:1: is a list, not a mapping",
	} {
		got, err := ParsePlugin([]Source{{"m/metadata.yaml", []byte(text)}}, "m")
		switch want := want.(type) {
		case site.Plugin:
			if err != nil || cmp.Diff(got.Plugin, want) != "" {
				t.Errorf("%q: got %v, %v", text, got, err)
			}
		case string:
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: got %v, want %s", text, err, want)
			}
		}
	}
}

// fromJSON returns a plain value.
func fromJSON(t *testing.T, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&v); err != nil {
		t.Skip(err)
	}
	return v
}

func FuzzPluginValue(f *testing.F) {
	f.Add(
		`{"name": "net", "tasks": [{"role": "web", "stage": "pre_deployment", "type": "shell", "parameters": {"cmd": 1, "timeout": "2"}}]}`)
	f.Add(
		`{"graph_tasks": [{"id": "x", "type": "group", "parameters": {"strategy": {"type": "parallel", "amount": 0}}}], "files": {"a": null}}`)
	f.Add("[")
	f.Fuzz(func(t *testing.T, text string) {
		_, _, errs := NewValues(false).Plugins([]any{fromJSON(t, text)})
		for _, p := range errs {
			if p.Message == "" {
				t.Fatal("an error without a text")
			}
		}
	})
}

func FuzzPluginMetadata(f *testing.F) {
	f.Add("name: net\nversion: 1.0.0\npackage_version: 1.0.0")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePlugin([]Source{{"metadata.yaml", []byte(text)}}, "")
		if err == nil && p.Plugin.Name == "" {
			t.Error("a plugin without a name")
		}
	})
}
