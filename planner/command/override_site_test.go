package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const overridesFile = "testdata/overrides.yaml"

func TestOverridesOfASite(t *testing.T) {
	for name, args := range map[string][]string{
		"override-site":           {overridesFile},
		"override-site.json":      {overridesFile, "-o", "json"},
		"override-site.md":        {overridesFile, "-o", "markdown"},
		"override-terraform":      {planFile},
		"override-terraform.json": {planFile, "-o", "json", "--address", "module.site.slipway_deployment.this"},
		"override-documents":      {strategyFile, siteFile},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, status := answer(t, "", append([]string{"override"}, args...)...)
			if status != 0 {
				t.Fatalf("status %d: %s", status, errOut)
			}
			for _, secret := range []string{"secret", "t0p"} {
				if strings.Contains(out, secret) {
					t.Errorf("a secret is shown: %s", secret)
				}
			}
			golden(t, name, out)
		})
	}
}

// TestOverridesAreThoseOfThePlan: what the command tells is what `plan` has, node by node.
func TestOverridesAreThoseOfThePlan(t *testing.T) {
	type change struct{ Node, Resource, Service, Overrides string }
	for _, files := range [][]string{{overridesFile}, {planFile}, {strategyFile, siteFile}} {
		var plan planJSON
		var told overridesJSON
		for command, into := range map[string]any{"plan": &plan, "override": &told} {
			out, errOut, status := answer(t, "", append([]string{command, "-o", "json"}, files...)...)
			if status != 0 || json.Unmarshal([]byte(out), into) != nil {
				t.Fatalf("%v: status %d, %s", files, status, errOut)
			}
		}
		want, got := make(map[change]int), make(map[change]int)
		for _, phase := range plan.Phases {
			for _, task := range phase.Tasks {
				if task.Action == "create" {
					want[change{task.Node, task.Resource, task.Service, strings.Join(task.Overrides, ",")}]++
				}
			}
		}
		for _, l := range told.Resources {
			for _, node := range l.Nodes {
				got[change{node, l.Resource, l.Service, strings.Join(l.Overrides, ",")}]++
			}
		}
		if d := cmp.Diff(want, got); d != "" || len(want) == 0 {
			t.Errorf("%v: %s", files, d)
		}
		if d := cmp.Diff(plan.Warnings, told.Warnings); d != "" {
			t.Errorf("%v: %s", files, d)
		}
	}
}

// TestTerraformsSecrets: what Terraform marks as sensitive is not shown, wherever it comes from.
func TestTerraformsSecrets(t *testing.T) {
	data, err := os.ReadFile(planFile)
	if err != nil {
		t.Fatal(err)
	}
	const overrideMarks, serviceMarks = `"overrides":[{"configuration":{"file":{"/etc/motd":{}}}`, `"services":[{"configuration":{"file":{"/etc/motd":{}}}`
	for name, marks := range map[string][2]string{
		"override":      {overrideMarks, strings.Replace(overrideMarks, "{}", `{"content":true}`, 1)},
		"service":       {serviceMarks, strings.Replace(serviceMarks, "{}", `{"content":true}`, 1)},
		"whole service": {serviceMarks, strings.Replace(serviceMarks, `{"file":{"/etc/motd":{}}}`, "true", 1)},
	} {
		text := strings.Replace(string(data), marks[0], marks[1], 1) // planned_values come first
		if text == string(data) {
			t.Fatalf("%s: the plan file has no such marks", name)
		}
		for _, format := range []string{"table", "json", "markdown"} {
			out, errOut, status := answer(t, text, "override", "-", "-o", format)
			if status != 0 || !strings.Contains(out, hidden) || strings.Contains(out, "runs workloads of all kinds") {
				t.Errorf("%s: status %d, %s%s", name, status, errOut, out)
			}
			if name != "override" && strings.Contains(out, "belongs to demo") {
				t.Errorf("%s: the service's value is shown: %s", name, out)
			}
		}
	}
}

func TestNoOverrides(t *testing.T) {
	const site = "nodes: [{name: a, address: 192.0.2.1}]\nservices: [{name: s, selectors: [], configuration: {package: {mc: {ensure: present}}}}]\n"
	out, errOut, status := answer(t, site, "override", "-")
	if want := "site unnamed\n\nthe site has no overrides\n"; status != 0 || out != want {
		t.Errorf("status %d, %s%s", status, out, errOut)
	}
	out, errOut, status = answer(t, site+"overrides: [{name: o, configuration: {package: {mc: {ensure: present}}}}]\n",
		"override", "-", "-o", "markdown")
	if want := "# Overrides of site unnamed\n\nno override changes a resource\n\nunchanged: 1 resource\n\n## Warnings\n\n- "; status != 0 || !strings.HasPrefix(out, want) {
		t.Errorf("status %d, %s%s", status, out, errOut)
	}
	out, errOut, status = answer(t, "nodes: []\n", "override", "-", "-o", "json")
	if status != 0 || !strings.Contains(out, `"resources": []`) {
		t.Errorf("status %d, %s%s", status, out, errOut)
	}
}

// TestOverrideAcrossReferences: a service may require what an override creates.
func TestOverrideAcrossReferences(t *testing.T) {
	out, errOut, status := answer(t, `nodes: [{name: a, address: 192.0.2.1}]
services: [{name: s, selectors: [], configuration: {file: {/a: {content: x, require: ["package[mc]"]}}}}]
overrides: [{name: o, configuration: {package: {mc: {ensure: present}}}}]
`, "override", "-")
	want := "site unnamed\n\nRESOURCE     CHANGE   BY  SERVICE  NODES\npackage[mc]  created  o            a\n\nunchanged: 1 resource\n\npackage[mc] on a\n  + ensure: \"present\"\n"
	if status != 0 || out != want {
		t.Errorf("status %d, %s: %s", status, errOut, cmp.Diff(want, out))
	}
}

func TestLayersInMarkdown(t *testing.T) {
	dir := layers(t)
	out, errOut, status := answer(t, "", "override", filepath.Join(dir, "base.yaml"), filepath.Join(dir, "seed.yaml"),
		filepath.Join(dir, "node.yaml"), "-o", "markdown")
	if status != 0 || strings.Contains(out, "secret") {
		t.Fatalf("status %d, %s%s", status, errOut, out)
	}
	golden(t, "override-layers.md", strings.ReplaceAll(out, dir+"/", ""))
	out, _, _ = answer(t, "", "override", filepath.Join(dir, "base.yaml"), filepath.Join(dir, "seed.yaml"), "-o",
		"json")
	var told map[string]json.RawMessage
	if json.Unmarshal([]byte(out), &told) != nil || len(told) != 2 || string(told["warnings"]) != "[]" {
		t.Errorf("got %s", out)
	}
}

func TestOverrideRefuses(t *testing.T) {
	dir := layers(t)
	base, seed := filepath.Join(dir, "base.yaml"), filepath.Join(dir, "seed.yaml")
	plugin := write(t, "plugin.yaml", stageTask("pre_deployment", "web"))
	other := write(t, "other.yaml", "prepare: {}\n")
	malformed := write(t, "malformed.yaml", "nodes: [\n")
	broken := write(t, "broken.yaml", "nodes: [{name: a, address: 192.0.2.1}]\nservices: [{name: s, selectors: [], configuration: {}}]\noverrides: [{name: o, configuration: {packge: {mc: {}}}}]\n")
	const takes = "; override takes a configuration and layers (the keys configuration and configuration_options), or what describes a site (site documents"
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{base, overridesFile, seed}, base +
			`: is a configuration or a layer (it has the key "configuration"); but testdata/overrides.yaml is a site document (it has the key "site"): name either`},
		{[]string{base, overridesFile, seed}, seed + ": is a configuration or a layer"},
		{[]string{base, plugin}, plugin + ": is the document of a plugin (it is a list)" + takes},
		{[]string{overridesFile, other}, other + `: has the key "prepare"` + takes},
		{[]string{strategyFile}, "no document holds nodes; name the inventory, too: a document with the key \"nodes\" beside " + strategyFile},
		{[]string{malformed}, malformed + ":2:1: not well formed"},
		{[]string{base, malformed}, malformed + ":2:1: not well formed"},
		{[]string{broken}, broken + `:3:39: override "o": configuration.packge: there is no configuration resource type "packge"; did you mean "package"?`},
		{[]string{overridesFile, "--create=false", "--types-filter", "file"},
			"--create, --types-filter: only for layers over a configuration"},
		{[]string{overridesFile, "--address", "x"}, "--address x: chooses"},
		{[]string{base, seed, "--address", "x"}, "--address x: chooses"},
		{[]string{planFile, "--address", "x"}, `holds no deployment with the address "x"`},
		{[]string{overridesFile, overridesFile}, overridesFile + " is named twice"},
		{[]string{"-", "-"}, "standard input is named twice"},
		{[]string{base, seed, "-o", "xml"}, "must be table, json or markdown"},
		{nil, "name at least one file"},
	} {
		out, errOut, status := answer(t, "nodes: []", append([]string{"override"}, tt.args...)...)
		if status != statusInvalid || out != "" || !strings.Contains(errOut, tt.want) {
			t.Errorf("%v: status %d, output %q, error %q, want %q", tt.args, status, out, errOut, tt.want)
		}
	}
}
