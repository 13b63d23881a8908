package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	lifecycleFile      = "../../examples/documents/lifecycle.yaml"
	wrongLifecycleFile = "testdata/lifecycles-wrong.yaml"
	entitiesFile       = "testdata/lifecycles-catalog.yaml"
	beforeFile         = "testdata/lifecycles-before.yaml"
	afterFile          = "testdata/lifecycles-after.yaml"
	// made by Terraform of the site of afterFile; cut down to what the companion reads.
	lifecyclePlanFile = "testdata/lifecycles.json"
)

func TestLifecycleGolden(t *testing.T) {
	after := []string{"plan", afterFile, entitiesFile, lifecycleFile, "--applied", beforeFile, "--applied",
		entitiesFile, "--applied", lifecycleFile}
	tests := map[string]struct {
		args   []string
		status int
	}{
		"lifecycle-list":          {[]string{"lifecycle", "list"}, 0},
		"lifecycle-list.json":     {[]string{"lifecycle", "list", "-o", "json"}, 0},
		"lifecycle-lint":          {[]string{"lifecycle", "lint", lifecycleFile}, 0},
		"lifecycle-lint.md":       {[]string{"lifecycle", "lint", lifecycleFile, "-o", "markdown"}, 0},
		"lifecycle-wrong":         {[]string{"lifecycle", "lint", wrongLifecycleFile}, 1},
		"lifecycle-wrong.json":    {[]string{"lifecycle", "lint", wrongLifecycleFile, "-o", "json"}, 1},
		"lifecycle-wrong.md":      {[]string{"lifecycle", "lint", wrongLifecycleFile, "-o", "markdown"}, 1},
		"lifecycle-show":          {[]string{"lifecycle", "show", "slipway_default"}, 0},
		"lifecycle-show-old":      {[]string{"lifecycle", "show", "service_2020"}, 0},
		"lifecycle-show.json":     {[]string{"lifecycle", "show", "basic_optimized", "-o", "json"}, 0},
		"lifecycle-show.md":       {[]string{"lifecycle", "show", lifecycleFile, "-o", "markdown"}, 0},
		"lifecycle-graph.mermaid": {[]string{"lifecycle", "graph", lifecycleFile}, 0},
		"lifecycle-graph.dot":     {[]string{"lifecycle", "graph", "slipway_default", "--format", "dot"}, 0},
		"lifecycle-copy":          {[]string{"lifecycle", "copy", "slipway_default", "mine"}, 0},
		"lifecycle-help":          {[]string{"lifecycle", "--help"}, 0},
		"plan-services":           {after, 0},
		"plan-services.json":      {append(after, "-o", "json"), 0},
		"plan-services.md":        {append(after, "-o", "markdown"), 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, errOut, status := answer(t, "", tt.args...)
			if status != tt.status {
				t.Fatalf("status %d, want %d: %s", status, tt.status, errOut)
			}
			golden(t, name, got)
		})
	}
}

// A copy is a document that can be used; its place in the order of things is that of what was copied.
func TestLifecycleCopy(t *testing.T) {
	copied, errOut, status := answer(t, "", "lifecycle", "copy", lifecycleFile, "other")
	if status != 0 {
		t.Fatalf("status %d: %s", status, errOut)
	}
	several := copied + "---\nlifecycles: {brief: {initial: up, states: {up: {}, gone: {deleted: true}}, transfers: [{from: up, to: gone, trigger: on_delete}]}}\n"
	file := write(t, "own.yaml", several)
	if out, errOut, status := answer(t, "", "lifecycle", "lint", file); status != 0 ||
		strings.Count(out, "sound: ") != 2 {
		t.Errorf("status %d, %s%s", status, out, errOut)
	}
	out, errOut, status := answer(t, several, "lifecycle", "copy", "-", "other", "--name", "other")
	if d := cmp.Diff(copied, out); status != 0 || d != "" {
		t.Errorf("status %d, %s %s", status, errOut, d)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"lifecycle", "show", file},
			"own.yaml holds several lifecycles: choose one with --name: other, brief"},
		{[]string{"lifecycle", "show", file, "--name", "breif"},
			`own.yaml holds no lifecycle "breif"; did you mean "brief"?`},
		{[]string{"lifecycle", "graph", file, "--name", "brief", "--format", "svg"},
			`"svg" for "--format" flag: must be mermaid or dot`},
		{[]string{"lifecycle", "show", "simpel"},
			`there is no lifecycle "simpel", and no such file; did you mean "simple"?`},
		{[]string{"lifecycle", "show", "nothing/like/it.yaml"},
			`there is no lifecycle "nothing/like/it.yaml", and no such file; use one of basic_optimized, `},
		{[]string{"lifecycle", "show", "testdata"}, "is a directory"},
		{[]string{"lifecycle", "show", wrongLifecycleFile},
			`lifecycles-wrong.yaml:6:18: lifecycle "circle": states.b.label: there is no label "sucess"; did you mean "success"?`},
		{[]string{"lifecycle", "show"}, "name one lifecycle, or one file"},
		{[]string{"lifecycle", "graph", "simple", "service"}, "name one lifecycle, or one file"},
		{[]string{"lifecycle", "lint"}, "name at least one file"},
		{[]string{"lifecycle", "lint", "nothing.yaml"}, "nothing.yaml: no such file"},
		{[]string{"lifecycle", "copy", "simple"}, "name a lifecycle or a file, and the name that the copy gets"},
		{[]string{"lifecycle", "copy", "simple", "service"},
			`lifecycle "service": slipway brings a lifecycle of this name; give yours another one`},
		{[]string{"lifecycle", "copy", "simple", "a b"}, `"a b" is not a usable name`},
		{[]string{"lifecycle", "lnt"}, `lifecycle lnt: no such command; did you mean "lint"?`},
	} {
		out, errOut, status := answer(t, "", tt.args...)
		if status != statusInvalid || out != "" || !strings.Contains(errOut, tt.want) {
			t.Errorf("%q: status %d, output %q, error %q, want %q", tt.args, status, out, errOut, tt.want)
		}
	}
}

// A site with lifecycles is the same site in documents and in Terraform: it has the same plan, down to the digest.
func TestPlanOfServices(t *testing.T) {
	documents := []string{afterFile, entitiesFile, lifecycleFile}
	fromDocuments, errOut, status := answer(t, "", append([]string{"plan"}, documents...)...)
	if status != 0 || !strings.Contains(fromDocuments,
		"service probe: create (version 2, creating)\nservice web: create (version 3, creating)\n1. ") {
		t.Errorf("status %d, %s%s", status, fromDocuments, errOut)
	}
	fromTerraform, errOut, status := answer(t, "", "plan", lifecyclePlanFile)
	if d := cmp.Diff(fromDocuments, fromTerraform); status != 0 || d != "" {
		t.Errorf("status %d, %s%s", status, errOut, d)
	}
	// What is applied has come to rest, so nothing is left to do.
	applied := []string{"plan", lifecyclePlanFile}
	for _, file := range documents {
		applied = append(applied, "--applied", file)
	}
	out, errOut, status := answer(t, "", applied...)
	if status != 0 || !strings.Contains(out, "nothing to do\n") ||
		!strings.Contains(out, "Terraform planned another run") {
		t.Errorf("status %d, %s%s", status, out, errOut)
	}
	out, errOut, status = answer(t, "", append(applied, "-o", "json")...)
	var plan planJSON
	if status != 0 || json.Unmarshal([]byte(out), &plan) != nil || len(plan.Services) != 0 || plan.Services == nil ||
		len(plan.Steps) != 0 {
		t.Errorf("status %d, %s%s", status, out, errOut)
	}
	for _, args := range [][]string{{"graph"}, {"simulate"}, {"order", "../../examples/documents/none.yaml"}} {
		if args[0] == "order" {
			args[1] = write(t, "plugin.yaml",
				"name: p\nversion: '1'\ntasks: [{role: '*', stage: pre_deployment, type: shell, parameters: {cmd: 'true', timeout: 1}}]\n")
			args = append(args, "--nodes", strings.Join(documents, ","))
		} else {
			args = append(args, documents...)
		}
		if out, errOut, status := answer(t, "", args...); status != 0 {
			t.Errorf("%q: status %d, %s%s", args, status, out, errOut)
		}
	}
	out, errOut, status = answer(t, "", append([]string{"validate"}, documents...)...)
	if status != 0 || !strings.Contains(out, "catalog: 2 entities, 1 lifecycle\n") {
		t.Errorf("status %d, %s%s", status, out, errOut)
	}
}

// What services say about each other, about pools and about their lifecycles is checked by every command that takes a
// site.
func TestServicesThatAreWrong(t *testing.T) {
	const header = "site: lon1\nnodes: [{name: n1, address: 192.0.2.1}]\nservices:\n"
	for service, want := range map[string]string{
		"{name: p, selectors: [], entity: probe, attributes: {of: nowhere}}":                                                                `s.yaml:4:60: service "p": attributes.of: `,
		"{name: a, selectors: [], entity: web, attributes: {name: x}}\n- {name: b, selectors: [], entity: web, attributes: {name: x}}":      `s.yaml:5:60: service "b": attributes.name: `,
		"{name: a, selectors: [], entity: web, attributes: {name: x, port: 8000}}":                                                          `s.yaml:4:69: service "a": attributes.port: is set by slipway`,
		"{name: a, selectors: [], entity: web, attributes: {name: x}, gates: {auto_rolback: true}}":                                         `s.yaml:4:86: service "a": gates["auto_rolback"]: `,
		"{name: a, selectors: [], entity: web, attributes: {name: x}, target_state: mantenance}":                                            `s.yaml:4:78: service "a": target_state: the lifecycle "slipway_default" has no state "mantenance"`,
		"{name: a, selectors: [], entity: web, attributes: {name: x}}\n- {name: a, selectors: [], entity: web, attributes: {name: y}}":      `s.yaml:5:10: service "a": name: `,
		"{name: a, selectors: [], entity: web, attributes: {name: x}}\n- {name: b, selectors: [], configuration: {fiel: {/a: {x: y}}}}":     `service "b": configuration.fiel: `,
		"{name: a, selectors: [], entity: web, attributes: {name: 1}}\n- {name: b, selectors: [], configuration: {fiel: {/a: {x: y}}}}":     `service "b": configuration.fiel: `,
		"{name: a, selectors: [{node_names: [n2]}], entity: web, attributes: {name: x}, lifecycle: service, gates: {auto_creating: false}}": `s.yaml:4:39: warning: service "a": selectors[0].node_names[0]: there is no node "n2"`,
	} {
		s := write(t, "s.yaml", header+"- "+service+"\n")
		out, _, status := answer(t, "", "validate", s, entitiesFile, lifecycleFile)
		warning := strings.Contains(want, "warning")
		if (status == 0) != warning || !strings.Contains(out, want) {
			t.Errorf("%s: status %d, %s, want %s", service, status, out, want)
		}
		for _, command := range []string{"plan", "simulate", "graph"} {
			if out, errOut, status := answer(t, "", command, s, entitiesFile, lifecycleFile); !warning &&
				status != statusInvalid || !strings.Contains(out+errOut, want) {
				t.Errorf("%s of %s: status %d, %s%s, want %s", command, service, status, out, errOut, want)
			}
		}
		if out, errOut, status := answer(t, "", "plan", beforeFile, entitiesFile, lifecycleFile, "--applied", s,
			"--applied", entitiesFile, "--applied", lifecycleFile); !warning &&
			(status != statusInvalid || !strings.Contains(errOut, want)) {
			t.Errorf("applied %s: status %d, %s%s, want %s", service, status, out, errOut, want)
		}
	}
}

// TestLifecycleGuide holds the guide to what it says: the lifecycle that it shows is sound.
func TestLifecycleGuide(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile("../../templates/guides/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	_, after, ok := strings.Cut(read("services.md"), "\n## Lifecycles\n")
	_, shown, found := strings.Cut(after, "```yaml\n")
	if !ok || !found {
		t.Fatal("the guide shows no lifecycle")
	}
	shown, _, _ = strings.Cut(shown, "```")
	out, errOut, status := answer(t, shown, "lifecycle", "lint", "-")
	if want := "sound: lifecycle brief, 6 states, 8 transfers, gates: none\n"; status != 0 || out != want {
		t.Errorf("status %d, %s%s", status, out, errOut)
	}
	// It deploys, and refuses updates.
	brief := write(t, "brief.yaml", shown)
	site := func(size string) string {
		return write(t, "s.yaml", "site: s\nnodes: [{name: n1, address: 192.0.2.1}]\nservices: [{name: a, selectors: [], entity: web, lifecycle: brief, attributes: {name: a, size: "+size+"}}]\n")
	}
	was := site("1")
	now := site("2")
	if out, errOut, status := answer(t, "", "plan", was, entitiesFile, brief, lifecycleFile); status != 0 ||
		!strings.Contains(out, "service a: create (version 2, up)") {
		t.Errorf("status %d, %s%s", status, out, errOut)
	}
	if out, errOut, status := answer(t, "", "plan", now, entitiesFile, brief, lifecycleFile, "--applied", was,
		"--applied", entitiesFile, "--applied", brief, "--applied", lifecycleFile); status != statusInvalid ||
		!strings.Contains(errOut, `service "a"`) {
		t.Errorf("status %d, %s%s", status, out, errOut)
	}
}
