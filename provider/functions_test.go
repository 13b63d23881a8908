package provider

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// call calls a function with plain values as Terraform does, and returns the result as a plain value.
func call(t *testing.T, f function.Function, arguments ...any) (any, *function.FuncError) {
	t.Helper()
	var definition function.DefinitionResponse
	f.Definition(t.Context(), function.DefinitionRequest{}, &definition)
	given := make([]attr.Value, len(arguments))
	for i, a := range arguments {
		v, err := valueOf(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := v.(types.Dynamic); ok {
			given[i] = d
		} else {
			given[i] = types.DynamicValue(v)
		}
	}
	empty, ferr := definition.Definition.Return.NewResultData(t.Context())
	if ferr != nil {
		t.Fatal(ferr)
	}
	resp := function.RunResponse{Result: empty}
	f.Run(t.Context(), function.RunRequest{Arguments: function.NewArgumentsData(given)}, &resp)
	if resp.Error != nil {
		return nil, resp.Error
	}
	raw, err := resp.Result.Value().ToTerraformValue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := values.Known(raw)
	if err != nil {
		t.Fatal(err)
	}
	return out, nil
}

type (
	object = map[string]any
	tuple  = []any
)

func group(name string, dependsOn ...any) object {
	return object{"name": name, "critical": true, "selectors": tuple{}, "depends_on_groups": append(tuple{}, dependsOn...)}
}

func stageTask(stage string) object {
	return object{"role": "*", "stage": stage, "type": "shell", "parameters": object{"cmd": "./deploy.sh", "timeout": int64(42)}}
}

func TestFunctions(t *testing.T) {
	nodes := object{
		"a": object{"name": "web1", "tags": tuple{"web"}, "labels": object{"zone": "north"}, "roles": tuple{"web"}, "rack": nil},
		"b": object{"name": "db1", "tags": tuple{"db"}, "rack": "r1", "roles": tuple{"db"}},
	}
	plugins := tuple{
		object{"name": "plugin2", "version": "1.0.0", "tasks": tuple{stageTask("pre_deployment/100.0"), stageTask("pre_deployment/-101"), stageTask("post_deployment")}},
		object{"name": "plugin1", "version": nil, "tasks": tuple{stageTask("pre_deployment/100")}},
	}
	task := func(plugin string, index int64, priority any, extra object) object {
		out := object{"plugin": plugin, "index": index, "priority": priority, "type": "shell", "role": tuple{"*"}, "fail_on_error": true,
			"parameters": object{"cmd": "./deploy.sh", "timeout": "42"}}
		for key, value := range extra {
			out[key] = value
		}
		return out
	}
	version := object{"version": "1.0.0"}
	tests := map[string]struct {
		f         function.Function
		arguments tuple
		want      any
	}{
		"select_nodes: any of them":   {newSelectNodes(), tuple{nodes, tuple{object{"node_tags": tuple{"web"}}, object{"rack_names": tuple{"r1"}, "node_names": nil}}}, tuple{"db1", "web1"}},
		"select_nodes: labels":        {newSelectNodes(), tuple{nodes, tuple{object{"node_labels": tuple{"zone : north"}}}}, tuple{"web1"}},
		"select_nodes: all":           {newSelectNodes(), tuple{nodes, tuple{}}, tuple{"db1", "web1"}},
		"select_nodes: unknown names": {newSelectNodes(), tuple{nodes, tuple{object{"node_names": tuple{"ghost"}}}}, tuple{}},
		"deployment_strategy": {newDeploymentStrategy(), tuple{tuple{group("control", "ntp"), group("compute", "control"), group("monitoring"), group("ntp")}},
			object{"order": tuple{"monitoring", "ntp", "control", "compute"}, "levels": tuple{tuple{"monitoring", "ntp"}, tuple{"control"}, tuple{"compute"}}}},
		"merge_overrides": {newMergeOverrides(), tuple{tuple{
			object{"name": "site", "configuration": object{"package": object{"mc": object{"ensure": "absent", "provider": "apt"}}}, "options": object{"create": true, "types_filter": tuple{"package"}}},
			object{"name": "node", "nodes": tuple{"n1"}, "configuration": object{"package": object{"mc": object{"ensure": "latest"}}, "sysctl": object{"vm.swappiness": object{"value": int64(10)}}},
				"options": object{"create": false, "defaults": object{"package": object{"ensure": "present"}}}},
		}}, object{
			"configuration": object{"package": object{"mc": object{"ensure": "latest", "provider": "apt"}}, "sysctl": object{"vm.swappiness": object{"value": int64(10)}}},
			"options":       object{"create": false, "types_filter": tuple{"package"}, "defaults": object{"package": object{"ensure": "present"}}},
		}},
		"merge_overrides: a title whole": {newMergeOverrides(), tuple{tuple{
			object{"name": "site", "configuration": object{"file": object{"/etc/motd": object{"content": "a", "mode": "0600"}}}},
			object{"name": "node", "merge": "title", "configuration": object{"file": object{"/etc/motd": object{"content": "b"}}}},
		}}, object{"configuration": object{"file": object{"/etc/motd": object{"content": "b"}}}, "options": object{}}},
		"stage_order": {newStageOrder(), tuple{plugins, nil}, object{
			"pre_deployment":  tuple{task("plugin2", 1, int64(-101), version), task("plugin1", 0, int64(100), nil), task("plugin2", 0, int64(100), version)},
			"post_deployment": tuple{task("plugin2", 2, int64(0), version)},
		}},
		"stage_order: on nodes": {newStageOrder(), tuple{tuple{object{"name": "p", "tasks": tuple{
			object{"role": "db", "stage": "pre_deployment/0.5", "type": "shell", "parameters": object{"cmd": "./deploy.sh", "timeout": int64(42)}},
			object{"role": tuple{"mongo"}, "stage": "pre_deployment", "type": "reboot", "parameters": object{"timeout": int64(42)}},
		}}}, nodes}, object{
			"pre_deployment":  tuple{task("p", 0, 0.5, object{"role": tuple{"db"}, "nodes": tuple{"db1"}})},
			"post_deployment": tuple{},
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ferr := call(t, tt.f, tt.arguments...)
			if ferr != nil {
				t.Fatal(ferr)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFunctionErrors(t *testing.T) {
	good := tuple{object{"name": "a"}}
	override := func(merge string) tuple {
		return tuple{object{"name": "o", "merge": merge, "configuration": object{}}}
	}
	tests := map[string]struct {
		f         function.Function
		arguments tuple
		argument  int64
		want      string
	}{
		"nodes":               {newSelectNodes(), tuple{tuple{object{"rack": "r"}}, tuple{}}, 0, "nodes[0].name: is required"},
		"one name twice":      {newSelectNodes(), tuple{tuple{object{"name": "a", "rack": "r1"}, object{"name": "a", "rack": "r2"}}, tuple{}}, 0, `node "a", name: there is more than one node of this name`},
		"name of a node":      {newSelectNodes(), tuple{tuple{object{"name": "a b"}}, tuple{}}, 0, `"a b" is not a usable name`},
		"names on stages":     {newStageOrder(), tuple{tuple{}, tuple{object{"name": "a"}, object{"name": "a"}}}, 1, "there is more than one node of this name"},
		"no list of nodes":    {newSelectNodes(), tuple{"a", tuple{}}, 0, "write a list or map of slipway_node objects"},
		"selectors":           {newSelectNodes(), tuple{good, tuple{object{"node_tag": tuple{"x"}}}}, 1, `selectors: [0]: unknown key "node_tag"; did you mean "node_tags"?`},
		"an empty selector":   {newSelectNodes(), tuple{good, tuple{object{"node_tags": nil}}}, 1, "is empty; a selector must have at least one of"},
		"a null selector":     {newSelectNodes(), tuple{good, tuple{nil}}, 1, "[0]: is nothing (null), not a mapping"},
		"label":               {newSelectNodes(), tuple{good, tuple{object{"node_labels": tuple{"zone"}}}}, 1, `selectors[0].node_labels[0]: label "zone" has no colon`},
		"cycle":               {newDeploymentStrategy(), tuple{tuple{group("a", "b"), group("b", "a")}}, 0, `"a" depends on "b" depends on "a"`},
		"unknown group":       {newDeploymentStrategy(), tuple{tuple{group("a", "b")}}, 0, `there is no group "b"`},
		"group by itself":     {newDeploymentStrategy(), tuple{tuple{group("a ")}}, 0, "begins or ends with white space"},
		"not a group":         {newDeploymentStrategy(), tuple{tuple{object{"name": "a"}}}, 0, `group "a", critical: is required`},
		"not an override":     {newMergeOverrides(), tuple{tuple{object{"name": "o"}}}, 0, `override "o", configuration: is required`},
		"way to merge":        {newMergeOverrides(), tuple{override("deep")}, 0, `override "o": merge: "deep" is not a way to merge`},
		"no list of plugins":  {newStageOrder(), tuple{object{}, nil}, 0, "must be a list of plugins"},
		"stage":               {newStageOrder(), tuple{tuple{object{"name": "p", "tasks": tuple{stageTask("pre_deployment:5")}}}, nil}, 0, `plugins[0]: tasks[0].stage: "pre_deployment:5" is not a stage`},
		"name":                {newStageOrder(), tuple{tuple{tuple{stageTask("pre_deployment")}}, nil}, 0, "plugins[0]: name: a name is needed"},
		"null plugin":         {newStageOrder(), tuple{tuple{nil}, nil}, 0, "plugins[0]: the document is empty"},
		"every plugin's":      {newStageOrder(), tuple{tuple{object{"name": "p", "taks": tuple{}}, object{"name": "q", "verion": "1"}}, nil}, 0, `plugins[1]: unknown key "verion"`},
		"plugins together":    {newStageOrder(), tuple{tuple{object{"name": "p"}, object{"name": "p"}}, nil}, 0, "the plugin is there twice"},
		"nodes of the stages": {newStageOrder(), tuple{tuple{}, tuple{object{}}}, 1, "nodes[0].name: is required"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ferr := call(t, tt.f, tt.arguments...)
			if ferr == nil {
				t.Fatalf("got %v", got)
			}
			if !strings.Contains(ferr.Text, tt.want) || ferr.FunctionArgument == nil || *ferr.FunctionArgument != tt.argument {
				t.Errorf("got %v, want %q at argument %d", ferr, tt.want, tt.argument)
			}
		})
	}
}

// The registry's documentation of the functions comes from their definitions.
func TestFunctionsAreDescribed(t *testing.T) {
	server, err := NewServer(t.Context(), "test", &engine.Runs{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := server.GetFunctions(t.Context(), &tfprotov6.GetFunctionsRequest{})
	if err != nil || len(got.Diagnostics) > 0 {
		t.Fatal(err, got.Diagnostics)
	}
	for _, name := range []string{"select_nodes", "deployment_strategy", "merge_overrides", "stage_order"} {
		f, ok := got.Functions[name]
		if !ok {
			t.Errorf("%s is not there", name)
			continue
		}
		if f.Summary == "" || f.Description == "" {
			t.Errorf("%s has no summary or description", name)
		}
		for _, p := range f.Parameters {
			if p.Name == "" || p.Description == "" {
				t.Errorf("%s: the parameter %q has no description", name, p.Name)
			}
		}
	}
}

func TestPlainValues(t *testing.T) {
	want := object{"s": "ü\x7f\n", "b": false, "i": int64(-1 << 62), "f": 0.25, "l": tuple{nil, "a", tuple{}}, "m": object{"": int64(1)}}
	v, err := valueOf(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := v.ToTerraformValue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := values.Known(raw)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, err := valueOf(t.Context(), struct{}{}); err == nil {
		t.Error("a struct is a value")
	}
	if _, err := values.Known(tftypes.NewValue(tftypes.String, tftypes.UnknownValue)); err == nil {
		t.Error("an unknown value is plain")
	}
}

// factories starts the provider inside the test.
func factories() map[string]func() (tfprotov6.ProviderServer, error) {
	return map[string]func() (tfprotov6.ProviderServer, error){
		"slipway": func() (tfprotov6.ProviderServer, error) {
			return NewServer(context.Background(), "test", &engine.Runs{})
		},
	}
}

const terraformBlock = `
terraform {
  required_providers {
    slipway = { source = "hashicorp/slipway" }
  }
}
`

// Through Terraform, with whole resources and with a document as it is.
func TestFunctionsInTerraform(t *testing.T) {
	config := terraformBlock + `
resource "slipway_node" "web" {
  name    = "web1"
  tags    = ["web"]
  roles   = ["web"]
  connect = { transport = "local", root = "/nowhere" }
}

resource "slipway_node" "db" {
  name  = "db1"
  roles = ["db"]
}

resource "slipway_group" "a" {
  name              = "a"
  critical          = false
  selectors         = []
  depends_on_groups = ["b"]
}

resource "slipway_group" "b" {
  name      = "b"
  critical  = true
  selectors = [{ node_tags = ["web"] }]
}

resource "slipway_override" "site" {
  name          = "site"
  configuration = { package = { mc = { ensure = "absent" } } }
}

resource "slipway_override" "node" {
  name          = "node"
  nodes         = ["web1"]
  configuration = { package = { mc = { ensure = "latest" } } }
}

resource "slipway_override" "merged" {
  name          = "merged"
  configuration = local.merged.configuration
  options       = local.merged.options
}

locals {
  merged = provider::slipway::merge_overrides([slipway_override.site, slipway_override.node])
  order = provider::slipway::stage_order([{
    name  = "lma"
    tasks = yamldecode(<<-EOT
      - role: [web]
        stage: post_deployment/100
        type: shell
        parameters: {cmd: ./deploy.sh, timeout: 42}
      - role: "*"
        stage: post_deployment/50
        type: reboot
        parameters: {timeout: 42}
      EOT
    )
  }], [slipway_node.web, slipway_node.db])
}

output "nodes" { value = nonsensitive(provider::slipway::select_nodes({ w = slipway_node.web, d = slipway_node.db }, [{ node_tags = ["web"] }])) }
output "levels" { value = provider::slipway::deployment_strategy([slipway_group.a, slipway_group.b]).levels }
output "merged" { value = slipway_override.merged.configuration.package.mc.ensure }
output "tasks" { value = nonsensitive([for t in local.order.post_deployment : "${t.plugin}[${t.index}] ${join(",", t.nodes)}"]) }
`
	list := func(texts ...string) knownvalue.Check {
		checks := make([]knownvalue.Check, len(texts))
		for i, text := range texts {
			checks[i] = knownvalue.StringExact(text)
		}
		return knownvalue.ListExact(checks)
	}
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{Config: config, ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownOutputValue("nodes", list("web1")),
			statecheck.ExpectKnownOutputValue("levels", knownvalue.ListExact([]knownvalue.Check{list("b"), list("a")})),
			statecheck.ExpectKnownOutputValue("merged", knownvalue.StringExact("latest")),
			statecheck.ExpectKnownOutputValue("tasks", list("lma[1] db1,web1", "lma[0] web1")),
		}}},
	})
}

func TestFunctionErrorsInTerraform(t *testing.T) {
	for call, want := range map[string]string{
		`select_nodes([{ name = "a" }], [{ tags = ["x"] }])`:                                                `unknown key "tags"`,
		`deployment_strategy([{ name = "a", critical = true, selectors = [], depends_on_groups = ["b"] }])`: `there is no group "b"`,
		`merge_overrides([{ configuration = {} }])`:                                                         `name: is required`,
		`stage_order([{ name = "p", tasks = [{ role = "*", stage = "deploy/5", type = "shell" }] }], [])`:   `parameters" is missing`, // OpenTofu 1.12 takes a bare null for unknown and does not call

	} {
		resource.UnitTest(t, resource.TestCase{
			ProtoV6ProviderFactories: factories(),
			Steps: []resource.TestStep{{
				Config:      terraformBlock + "output \"o\" {\n  value = provider::slipway::" + call + "\n}\n",
				ExpectError: regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(want), " ", `\s+`)),
			}},
		})
	}
}
