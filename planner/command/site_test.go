package command

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	strategyFile = "../../examples/documents/strategy.yaml"
	siteFile     = "../../examples/documents/site.yaml"
	// made by Terraform: an update of a site of which a node drifted; cut down to what the companion reads.
	planFile = "testdata/plan.json"
)

// answer is what a command prints and how it ends.
func answer(t *testing.T, stdin string, args ...string) (out, errOut string, status int) {
	t.Helper()
	cmd := New("test", nil, "")
	var stdout, stderr bytes.Buffer
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		stderr.WriteString(err.Error())
		return stdout.String(), stderr.String(), ExitStatus(err)
	}
	return stdout.String(), stderr.String(), 0
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The three runs are those of seed 001, "Example Processing".
func TestGolden(t *testing.T) {
	second := []string{"--fail", "ntp01"}
	third := []string{"--fail", "cmp21:deploy", "--timeout", "cmp22"}
	tests := map[string]struct {
		args   []string
		status int
	}{
		"validate":       {[]string{"validate", strategyFile, siteFile}, 0},
		"plan":           {[]string{"plan", strategyFile, siteFile}, 0},
		"plan.json":      {[]string{"plan", strategyFile, siteFile, "-o", "json"}, 0},
		"plan.md":        {[]string{"plan", strategyFile, siteFile, "-o", "markdown"}, 0},
		"plan-first-run": {[]string{"plan", planFile}, 0},
		"plan-terraform": {[]string{"plan", planFile, "--applied", planFile}, 0},
		"plan-nothing": {[]string{"plan", strategyFile, siteFile, "--applied", strategyFile, "--applied",
			siteFile}, 0},
		"simulate-first":       {[]string{"simulate", strategyFile, siteFile}, 0},
		"simulate-second":      {append([]string{"simulate", strategyFile, siteFile}, second...), 1},
		"simulate-third":       {append([]string{"simulate", strategyFile, siteFile}, third...), 0},
		"simulate-second.json": {append([]string{"simulate", strategyFile, siteFile, "-o", "json"}, second...), 1},
		"simulate-third.md":    {append([]string{"simulate", strategyFile, siteFile, "-o", "markdown"}, third...), 0},
		"graph.mermaid":        {[]string{"graph", strategyFile, siteFile}, 0},
		"graph-strategy.dot":   {[]string{"graph", strategyFile, "--format", "dot"}, 0},
		"graph-first.dot":      {[]string{"graph", strategyFile, siteFile, "--format", "dot", "--simulate"}, 0},
		"graph-second.mermaid": {append([]string{"graph", strategyFile, siteFile}, second...), 0},
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

// golden compares an output with the file that keeps it.
// goldenDir has the golden files, wherever a test works.
var goldenDir, _ = filepath.Abs("testdata")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join(goldenDir, name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("the output differs from %s (-update rewrites it): %s", file, d)
	}
}

// TestDigestOfTerraform holds the companion to the provider: both plan the same run.
func TestDigestOfTerraform(t *testing.T) {
	data, err := os.ReadFile(planFile)
	if err != nil {
		t.Fatal(err)
	}
	out, errOut, status := answer(t, string(data), "plan", "-", "--applied", planFile, "-o", "json")
	var plan planJSON
	if status != 0 || json.Unmarshal([]byte(out), &plan) != nil {
		t.Fatalf("status %d: %s %s", status, out, errOut)
	}
	if !strings.Contains(string(data), `"digest":"`+plan.Digest+`"`) || plan.Note != "" || plan.Site != "demo" ||
		len(plan.ChangedNodes) != 5 {
		t.Errorf("got %+v", plan)
	}
	out, _, _ = answer(t, "", "plan", planFile, "-o", "json")
	if json.Unmarshal([]byte(out), &plan) != nil || !strings.Contains(plan.Note, "give the plan with --applied, too") {
		t.Errorf("note %q", plan.Note)
	}
	out, _, _ = answer(t, "", "plan", planFile, "--applied", strategyFile, "--applied", siteFile, "-o", "json")
	if json.Unmarshal([]byte(out), &plan) != nil ||
		!strings.Contains(plan.Note, "not all of what --applied describes") {
		t.Errorf("note %q", plan.Note)
	}
}

// TestAddress: the address counts for the files and for --applied, whichever of them Terraform has printed.
func TestAddress(t *testing.T) {
	const address = "module.site.slipway_deployment.this"
	for _, args := range [][]string{
		{"plan", planFile, "--address", address},
		{"plan", planFile, "--applied", siteFile, "--address", address},
		{"plan", strategyFile, siteFile, "--applied", planFile, "--address", address},
		{"validate", planFile, "--address", address},
	} {
		if _, errOut, status := answer(t, "", args...); status != 0 {
			t.Errorf("%v: status %d, %s", args, status, errOut)
		}
	}
}

func TestOutcomesFile(t *testing.T) {
	outcomes := write(t, "outcomes.yaml", "deploy: {cmp21: failure, cmp22: timeout, ctl1: failure}\n")
	fromFile, errOut, status := answer(t, "", "simulate", strategyFile, siteFile, "--outcomes", outcomes)
	fromFlags, _, _ := answer(t, "", "simulate", strategyFile, siteFile, "--fail", "cmp21:deploy", "--timeout", "cmp22",
		"--fail", "ctl1:deploy")
	if status != 1 || fromFile != fromFlags ||
		errOut != "the run would fail: critical groups that failed: control-nodes" {
		t.Errorf("status %d, %s: %s", status, errOut, cmp.Diff(fromFile, fromFlags))
	}
}

func TestValidateTellsEverything(t *testing.T) {
	form := write(t, "form.yaml", "nodes: [{name: a, rak: r}]\ngroup: []\n")
	out, errOut, status := answer(t, "", "validate", form)
	want := form + ":1:19: nodes[0]: unknown key \"rak\"; did you mean \"rack\"?\n" + form +
		":2:1: unknown key \"group\"; did you mean \"groups\"?\n"
	if status != 1 || out != want || errOut != "not valid: 2 errors" {
		t.Errorf("status %d, %s\n%s", status, errOut, cmp.Diff(want, out))
	}

	both := write(t, "both.yaml", "nodes: [{name: a, rak: r}]\nservices:\n- {name: s, selectors: [], configuration: {fiel: {/a: {}}}}\noverrides:\n- {name: o, configuration: {file: {/a: {modus: x}}}}\n")
	out, _, _ = answer(t, "", "validate", both)
	want = strings.ReplaceAll(`F:1:19: nodes[0]: unknown key "rak"; did you mean "rack"?
F:3:44: service "s": configuration.fiel: there is no configuration resource type "fiel"; did you mean "file"?
F:5:48: override "o": configuration.file["/a"].modus: the type file has no such parameter; did you mean "mode"?
`, "F", both)
	if d := cmp.Diff(want, out); d != "" {
		t.Error(d)
	}

	meaning := write(t, "meaning.yaml", `nodes: [{name: a, connect: {transport: ftp}}, {name: b}]
groups:
- {name: g, critical: false, depends_on: [h], selectors: [{node_names: [a, c]}]}
services:
- name: s
  selectors: []
  configuration:
    file:
      /a: {modus: "0644"}
`)
	out, errOut, status = answer(t, "", "validate", meaning)
	want = strings.ReplaceAll(`F:1:40: node "a": connect.transport: "ftp" is not a transport; use "ssh" or "local"
F:3:43: group "g": depends_on[0]: there is no group "h"
F:9:19: service "s": configuration.file["/a"].modus: the type file has no such parameter; did you mean "mode"?
F:2:1: warning: deployment: groups: node b is in no group, so it is not touched; select it in a group to roll services out there
F:3:76: warning: group "g": selectors[0].node_names[1]: there is no node "c", so it selects nothing
`, "F", meaning)
	if status != 1 {
		t.Errorf("status %d, %s", status, errOut)
	}
	if d := cmp.Diff(want, out); d != "" {
		t.Error(d)
	}

	out, _, status = answer(t, "", "validate", meaning, "-o", "json")
	var told struct {
		Valid    bool
		Problems []errorAtJSON
	}
	if status != 1 || json.Unmarshal([]byte(out), &told) != nil || told.Valid || len(told.Problems) != 5 {
		t.Fatalf("status %d: %s", status, out)
	}
	first := errorAtJSON{File: meaning, Line: 1, Column: 40, Path: `node "a": connect.transport`, Severity: "error",
		Code: "bad_value", Message: `"ftp" is not a transport; use "ssh" or "local"`}
	if d := cmp.Diff(first, told.Problems[0]); d != "" || told.Problems[4].Severity != "warning" {
		t.Error(d)
	}
	if out, _, status = answer(t, "", "validate", meaning, "-o", "markdown"); status != 1 ||
		!strings.Contains(out, `group "g": depends\_on\[0\]: there is no group "h"`) {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestValidateWithoutInventory(t *testing.T) {
	out, _, status := answer(t, "", "validate", strategyFile)
	want := "valid: site unnamed, 0 nodes, 5 groups, 0 services, 0 overrides\nno document holds nodes, so what is selected was not checked\n"
	if status != 0 || out != want {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestBadInput(t *testing.T) {
	wrong := write(t, "wrong.yaml", "nodes: 1\n")
	plugin := write(t, "tasks.yaml", "- {role: a}\n")
	layer := write(t, "layer.yaml", "configuration: {}\n")
	cycle := write(t, "cycle.yaml", "nodes: []\ngroups:\n- {name: a, critical: true, depends_on: [b], selectors: []}\n- {name: b, critical: true, depends_on: [a], selectors: []}\n")
	outcomes := write(t, "o.yaml", "prepare: {nobody: failure}\n")
	empty := write(t, "empty.json", "")
	const noAddress = "--address x: chooses the slipway_deployment of a plan or state that holds several, but no file is what"
	hidden := write(t, "hidden.yaml", "nodes: [{name: a, connect: {transport: local}}]\ngroups: [{name: \"web\u202efdp\", critical: true, selectors: []}]\n"+
		"services: [{name: \"s\u2066\", selectors: [], configuration: {file: {\"/a\u200b\": {content: x}}}}]\noverrides: [{name: \"o\ufeff\", configuration: {}}]\n")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"plan"}, "name at least one file"},
		{[]string{"validate", "no-such-file.yaml"}, "no-such-file.yaml: no such file"},
		{[]string{"plan", "testdata"}, "is a directory"},
		{[]string{"plan", "-", "-"}, "standard input is named twice"},
		{[]string{"plan", "-", "--applied", "-"}, "standard input is named twice"},
		{[]string{"simulate", strategyFile, "-", "--outcomes", "-"}, "standard input is named twice"},
		{[]string{"plan", plugin}, plugin + ":1:1: is the document of a plugin (it is a list); `order` takes it"},
		{[]string{"plan", layer}, layer + ":1:1: is a configuration or a layer (it has the key \"configuration\"); `override` takes it"},
		{[]string{"plan", wrong}, wrong + ":1:8: nodes: is a number, not a list"},
		{[]string{"simulate", wrong}, wrong + ":1:8: nodes"},
		{[]string{"graph", cycle}, cycle + ":3:42: group \"a\": depends_on[0]: "},
		{[]string{"plan", strategyFile}, "no document holds nodes"},
		{[]string{"simulate", strategyFile}, "no document holds nodes"},
		{[]string{"graph", strategyFile, "--simulate"}, "no document holds nodes"},
		{[]string{"plan", siteFile, "--applied", wrong}, wrong + ":1:8: nodes"},
		{[]string{"plan", siteFile, "--applied", cycle}, cycle + ":3:42: group"},
		{[]string{"plan", siteFile, "--adress", "x"}, "unknown flag: --adress"},
		{[]string{"plan", siteFile, "-o", "xml"}, "must be table, json or markdown"},
		{[]string{"plan", planFile, "--address", "x"},
			`holds no deployment with the address "x"; it holds module.site.slipway_deployment.this`},
		{[]string{"validate", strategyFile, siteFile, "--address", "x"}, noAddress},
		{[]string{"plan", strategyFile, siteFile, "--address", "x"}, noAddress},
		{[]string{"plan", strategyFile, siteFile, "--applied", siteFile, "--address", "x"}, noAddress},
		{[]string{"simulate", strategyFile, siteFile, "--address", "x"}, noAddress},
		{[]string{"graph", strategyFile, siteFile, "--address", "x"}, noAddress},
		{[]string{"plan", empty}, empty + ": is empty, so it describes no site; where a command wrote it, such as `terraform show -json`, look whether that command failed"},
		{[]string{"plan", siteFile, "--applied", empty}, empty + ": is empty"},
		{[]string{"simulate", siteFile, empty}, empty + ": is empty"},
		{[]string{"plan", hidden}, hidden + `:2:17: group "web\u202efdp": name: "web\u202efdp" contains U+202E, which is invisible`},
		{[]string{"plan", hidden}, hidden + `:3:19: service "s\u2066": name: "s\u2066" contains U+2066, which is invisible`},
		{[]string{"plan", hidden}, `configuration.file["/a\u200b"]`},
		{[]string{"plan", hidden}, `"/a\u200b" contains U+200B, which is invisible; leave it out`},
		{[]string{"plan", hidden}, hidden + `:4:20: override "o\ufeff": name: "o\ufeff" contains U+FEFF, which is invisible`},
		{[]string{"graph", siteFile, "--format", "png"}, `"png" for "--format" flag: must be mermaid or dot`},
		{[]string{"simulate", siteFile, "--fail", "ctl11"},
			`--fail ctl11: there is no node "ctl11"; did you mean "ctl1"?`},
		{[]string{"simulate", siteFile, "--timeout", "ctl1:run"},
			`--timeout ctl1:run: "run" is not a phase; write prepare, deploy, health_check or restore`},
		{[]string{"simulate", siteFile, "--fail", "ctl1:restore"}, "node \"ctl1\": restore: the run does not put the node back"},
		{[]string{"simulate", siteFile, "--outcomes", outcomes}, outcomes +
			`:1:11: prepare["nobody"]: there is no node "nobody"`},
		{[]string{"simulate", siteFile, "--outcomes", "none.yaml"}, "none.yaml: no such file"},
	} {
		out, errOut, status := answer(t, "nodes: []", tt.args...)
		if status != 2 || out != "" || !strings.Contains(errOut, tt.want) {
			t.Errorf("%v: status %d, output %q, error %q, want %q", tt.args, status, out, errOut, tt.want)
		}
	}
}

// A critical group that succeeds whatever its nodes do is a warning of validate and of plan.
func TestWarnsOfCriticalGroupWithoutCriteria(t *testing.T) {
	file := write(t, "site.yaml", "site: lon1\nnodes: [{name: a, connect: {transport: local}}]\ngroups:\n"+
		"- {name: web, critical: true, depends_on: [], selectors: []}\n")
	want := file + ":1:1: warning: deployment: group web is critical and has no success_criteria"
	for _, command := range []string{"validate", "plan"} {
		out, errOut, status := answer(t, "", command, file)
		if all := out + errOut; status != 0 || strings.Count(all, want) != 1 {
			t.Errorf("%s: status %d, no %q in\n%s", command, status, want, all)
		}
	}
}

func TestWarnings(t *testing.T) {
	spare := write(t, "spare.yaml", "nodes: [{name: spare_1, connect: {transport: local}}]\n")
	const warning = "node spare_1 is in no group"
	for _, command := range []string{"plan", "simulate", "graph"} {
		out, errOut, status := answer(t, "", command, strategyFile, siteFile, spare)
		told := out
		if command == "graph" {
			told = errOut // the output is the picture alone
		}
		if status != 0 || !strings.Contains(told, "warning: ") || !strings.Contains(told, warning) ||
			command == "graph" && strings.Contains(out, warning) {
			t.Errorf("%s: status %d\n%s\n%s", command, status, out, errOut)
		}
	}
	out, _, _ := answer(t, "", "plan", strategyFile, siteFile, spare, "-o", "markdown")
	if !strings.Contains(out, "## Warnings\n\n- ") || !strings.Contains(out, `spare\_1`) {
		t.Errorf("no warning in\n%s", out)
	}
}

// TestGuide holds the first two documents that the guide shows to what it says of them; those that follow are run by
// the tests of the guides.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile("../../templates/guides/companion.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(guide), "```yaml\n")
	if len(blocks) < 3 {
		t.Fatalf("%d documents in the guide, want a site and outcomes first", len(blocks)-1)
	}
	for i := range blocks {
		blocks[i], _, _ = strings.Cut(blocks[i], "```")
	}
	want := "valid: site lon1, 1 node, 1 group, 1 service, 1 override\n"
	if out, errOut, status := answer(t, blocks[1], "validate", "-"); status != 0 || out != want {
		t.Errorf("status %d: %s%s", status, out, errOut)
	}
	args := []string{"simulate", strategyFile, siteFile, "--outcomes", write(t, "o.yaml", blocks[2])}
	if out, errOut, status := answer(t, "", args...); status != 1 ||
		!strings.Contains(errOut, "ntp-node, control-nodes") {
		t.Errorf("status %d: %s%s", status, out, errOut)
	}
}

// What a plan or state has beside its deployments is rolled out nowhere. An attribute that no deployment has is null
// there; one that is not known yet may take what seems to be beside.
func TestValidateWarnsOfWhatIsInNoDeployment(t *testing.T) {
	held := func(typ, name string) string {
		return fmt.Sprintf(`{"address": "%s.%s", "mode": "managed", "type": %q, "values": {"name": %q}}`, typ, name,
			typ, name)
	}
	deployment := func(name, nodes, services string) string {
		return fmt.Sprintf(`{"address": "slipway_deployment.%s", "mode": "managed", "type": "slipway_deployment", "values": {"site": %q, "nodes": %s, "groups": null, "services": %s, "overrides": []}}`, name, name, nodes, services)
	}
	resources := fmt.Sprintf(
		`{"root_module": {"resources": [%s]}}`, strings.Join([]string{
			deployment("a", `{"x": {"name": "n1", "address": "10.0.0.1"}}`, `[]`), deployment("b",
				`[{"name": "n2", "address": "10.0.0.2"}]`, `[{"name": "motd", "selectors": [], "configuration": {}}]`),
			held("slipway_node", "n1"), held("slipway_node", "n2"), held("slipway_node",
				"spare"), held("slipway_service",
				"motd"), held("slipway_service", "ntp"), held("slipway_override", "loud"), held("slipway_group", "alone"),
			`{"address": "slipway_node.later", "mode": "managed", "type": "slipway_node", "values": {}}`, held(
				"other_node",
				"x"),
		}, ","))
	file := write(t, "state.json", `{"format_version": "1.0", "values": `+resources+`}`)
	out, _, status := answer(t, "", "validate", "--address", "slipway_deployment.a", file)
	want := strings.ReplaceAll(`F: warning: slipway_group.alone: is in the groups of no deployment, so it orders nothing; add it there, or take it away
F: warning: slipway_node.spare: is in the nodes of no deployment, so nothing is rolled out on it; add it there, or take it away
F: warning: slipway_override.loud: is in the overrides of no deployment, so it changes nothing; add it there, or take it away
F: warning: slipway_service.ntp: is in the services of no deployment, so it is rolled out nowhere; add it there, or take it away
valid: site a, 1 node, no groups, so the default strategy counts, 0 services, 0 overrides
`, "F", file)
	if d := cmp.Diff(want, out); d != "" || status != 0 {
		t.Errorf("status %d: %s", status, d)
	}
	plan := func(unknown string) string {
		return write(t, "plan.json", fmt.Sprintf(`{"format_version": "1.2", "planned_values": %s, "resource_changes": [
			{"address": "slipway_deployment.b", "change": {"actions": ["update"], "after_unknown": %s}}]}`, resources, unknown))
	}
	for unknown, warned := range map[string]bool{`{}`: true, `{"groups": true}`: false, `{"groups": [false, true]}`: false} {
		out, _, status := answer(t, "", "validate", "--address", "slipway_deployment.a", plan(unknown))
		if strings.Contains(out, "slipway_group.alone") != warned || status != 0 {
			t.Errorf("with %s, status %d, want a warning of the group to be %v: %s", unknown, status, warned, out)
		}
	}
}
