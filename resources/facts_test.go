package resources_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// facts returns node_facts of the state.
func (c *commandLine) facts() (out map[string]map[string]any) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(c.run(0, "output", "-no-color", "-json", "facts")), &out); err != nil {
		c.t.Fatal(err)
	}
	return out
}

// node_facts has what each node said: of a creation, of a node that an update adds, and what a refresh finds anew. No
// plan prints facts but those of a node that leaves.
func TestTextNodeFacts(t *testing.T) {
	s, c := newSandbox(t, "a", "b", "c"), newCommandLine(t)
	s.write("a", "etc/os-release", "ID=alpine\nVERSION_ID=3.20.1\n")
	configure := func(content string, nodes ...string) {
		c.configure(s.config(nodes, []string{"app"}, fmt.Sprintf(`
resource "slipway_service" "app" {
  name          = "app"
  selectors     = []
  configuration = { file = { "/etc/app" = { content = %q } } }
}
output "facts" { value = slipway_deployment.test.node_facts }
`, content), ""))
	}
	configure("one", "a", "b")
	if text := c.changes(); !strings.Contains(text, "node_facts") || strings.Count(text, "known after apply") > 40 {
		t.Errorf("the plan of a creation:\n%s", text)
	}
	c.apply()
	c.empty()
	facts := c.facts()
	want := map[string]any{"family": "Alpine", "name": "Alpine", "release": "3.20.1", "codename": nil}
	if diff := cmp.Diff(want, facts["a"]["os"]); diff != "" || len(facts) != 2 || facts["b"]["cpus"] == nil {
		t.Errorf("the facts are %v\n%s", facts, diff)
	}

	configure("one", "a", "b", "c")
	if text := c.changes(); strings.Contains(text, "memory_mib") || !strings.Contains(text, `"c" = (known after apply)`) {
		t.Errorf("the plan of another node:\n%s", text)
	}
	c.apply()
	c.empty()
	if facts = c.facts(); facts["c"]["memory_mib"] == nil {
		t.Errorf("the facts are %v", facts)
	}

	s.write("a", "etc/os-release", "ID=alpine\nVERSION_ID=3.21.0\n")
	configure("two", "a", "b")
	_, text, _ := strings.Cut(c.changes(), "will perform the following actions")
	text, _, _ = strings.Cut(text, "Changes to Outputs")
	if strings.Contains(text, "3.21.0") || strings.Count(text, "memory_mib") != 1 {
		t.Errorf("the plan without a node:\n%s", text)
	}
	c.apply()
	c.empty()
	if facts = c.facts(); len(facts) != 2 || facts["a"]["os"].(map[string]any)["release"] != "3.21.0" {
		t.Errorf("the facts are %v", facts)
	}
}

// A node that moves to another machine has the facts of that one once the run was there, and the plan prints no others.
func TestTextFactsOfAnotherMachine(t *testing.T) {
	s, c := newSandbox(t, "a", "b", "new"), newCommandLine(t)
	s.write("a", "etc/os-release", "ID=alpine\nVERSION_ID=3.20.1\n")
	s.write("new", "etc/os-release", "ID=alpine\nVERSION_ID=3.21.0\n")
	config := s.config([]string{"a", "b"}, []string{"app"}, `
resource "slipway_service" "app" {
  name          = "app"
  selectors     = []
  configuration = { file = { "/etc/app" = { content = "one" } } }
}
output "facts" { value = slipway_deployment.test.node_facts }
`, "")
	c.configure(config)
	c.apply()
	c.empty()
	moved := strings.Replace(config, fmt.Sprintf("%q", s.path("a", "")), fmt.Sprintf("%q", s.path("new", "")), 1)
	if moved == config {
		t.Fatalf("node a does not move:\n%s", config)
	}
	c.configure(moved)
	_, text, _ := strings.Cut(c.changes(), "will perform the following actions")
	text, _, _ = strings.Cut(text, "Changes to Outputs")
	if strings.Count(text, "memory_mib") != 1 || strings.Contains(text, `"b" =`) {
		t.Errorf("the plan of another machine:\n%s", text)
	}
	c.apply()
	if facts := c.facts(); len(facts) != 2 || facts["a"]["os"].(map[string]any)["release"] != "3.21.0" {
		t.Errorf("the facts are %v", facts)
	}
	c.empty()
}

// A template reads facts of nodes that nobody has seen: the plan says that the run makes the content, the next plan is
// empty, a fact that changes plans an update of the file, and one that changes between plan and apply fails its node.
func TestTextTemplateOfFacts(t *testing.T) {
	s, c := newSandbox(t, "a", "b"), newCommandLine(t)
	release := func(node, version string) { s.write(node, "etc/os-release", "ID=alpine\nVERSION_ID="+version+"\n") }
	release("a", "3.20")
	release("b", "3.20")
	s.write("a", "etc/app", "before\n")
	configure := func(template string) {
		c.write("app.tftpl", template)
		c.configure(s.config([]string{"a", "b"}, []string{"app"}, `
resource "slipway_service" "app" {
  name          = "app"
  selectors     = []
  configuration = { file = { "/etc/app" = { template = file("${path.module}/app.tftpl") } } }
}
`, ""))
	}
	holds := func(node, want string) {
		t.Helper()
		if got := s.content(node, "etc/app"); got != want {
			t.Errorf("the file of %s is %q, want %q", node, got, want)
		}
	}
	configure("${node.name} has ${facts.os.name} ${facts.os.release} and ${facts.cpus > 0}\n")
	c.shows(c.changes(), 1, []string{"default (critical): prepare 2 nodes (a, b)", "default (critical): node phase: 2 changes on " +
		"2 nodes: create file[/etc/app] (content known in the run, from facts.cpus, facts.os.name, facts.os.release of the node) on 2"},
		"a", "b")
	c.apply()
	holds("a", "a has Alpine 3.20 and true\n")
	holds("b", "b has Alpine 3.20 and true\n")
	c.empty()

	release("b", "3.21")
	c.shows(c.changes(), 2, []string{"default (critical): prepare 1 node (b)",
		"default (critical): node phase: 1 change on node b: update file[/etc/app]"}, "b")
	c.run(0, "plan", "-input=false", "-no-color", "-out=saved")
	release("b", "3.22")
	text := unwrapped(c.run(1, "apply", "-input=false", "-no-color", "saved"))
	want := `file[/etc/app]: facts changed since the plan: node "b": facts.os.release was "3.21" and is "3.22", and the content is ` +
		`made from it; plan again`
	if !strings.Contains(text, want) {
		t.Errorf("no %q in:\n%s", want, text)
	}
	holds("b", "b has Alpine 3.20 and true\n")
	c.apply()
	holds("b", "b has Alpine 3.22 and true\n")
	c.empty()

	configure("${facts.os.relaese}\n")
	if text := unwrapped(c.run(1, "plan", "-input=false", "-no-color")); !strings.Contains(text,
		`template: there is no "relaese" here; did you mean "release"? (line 1, column`) {
		t.Errorf("the error is:\n%s", text)
	}
	configure("x\n")
	c.run(0, "destroy", "-input=false", "-no-color", "-auto-approve")
	holds("a", "before\n")
	holds("b", "-")
}

// A parameter of any type may be a template that reads facts: the first plan says which are known in the run, the next
// one is empty, drift and a changed fact are repaired, and undo brings back what was there before.
func TestTextTemplatesOfParameters(t *testing.T) {
	s, c := newSandbox(t, "a", "b"), newCommandLine(t)
	release := func(node, version string) { s.write(node, "etc/os-release", "ID=alpine\nVERSION_ID="+version+"\n") }
	release("a", "3.20")
	release("b", "3.21")
	s.write("a", "etc/hosts", "192.0.2.1\tdb\n")
	configure := func(ip string) {
		c.configure(s.config([]string{"a", "b"}, []string{"app"}, fmt.Sprintf(`
resource "slipway_service" "app" {
  name          = "app"
  selectors     = []
  configuration = { host = { db = { ip = { template = %q }, host_aliases = ["x", { template = "db-$${node.name}" }] } } }
}
`, ip), ""))
	}
	configure(`$${facts.os.release == "3.20" ? "192.0.2.20" : "192.0.2.21"}`)
	c.shows(c.changes(), 1, []string{"default (critical): prepare 2 nodes (a, b)", "default (critical): node phase: 2 changes on " +
		"2 nodes: create host[db] (ip known in the run, from facts.os.release of the node) on 2"}, "a", "b")
	c.apply()
	hosts := func(node, want string) {
		t.Helper()
		if got := s.content(node, "etc/hosts"); got != want {
			t.Errorf("the hosts of %s are %q, want %q", node, got, want)
		}
	}
	hosts("a", "192.0.2.20\tdb\tx db-a\n")
	hosts("b", "192.0.2.21\tdb\tx db-b\n")
	c.empty()

	s.write("b", "etc/hosts", "192.0.2.99\tdb\tx db-b\n")
	c.shows(c.changes(), 2, []string{"default (critical): prepare 1 node (b)",
		"default (critical): node phase: 1 change on node b: repair host[db]"}, "b")
	c.apply()
	hosts("b", "192.0.2.21\tdb\tx db-b\n")

	release("b", "3.20")
	c.shows(c.changes(), 3, []string{"default (critical): prepare 1 node (b)",
		"default (critical): node phase: 1 change on node b: update host[db]"}, "b")
	c.run(0, "plan", "-input=false", "-no-color", "-out=saved")
	release("b", "3.22")
	if text := unwrapped(c.run(1, "apply", "-input=false", "-no-color", "saved")); !strings.Contains(text, `host[db]: facts changed `+
		`since the plan: node "b": facts.os.release was "3.20" and is "3.22", and the ip is made from it; plan again`) {
		t.Errorf("the error is:\n%s", text)
	}
	hosts("b", "192.0.2.21\tdb\tx db-b\n")
	c.apply()
	c.empty()

	for template, want := range map[string]string{
		"$${facts.os.relaese}": `ip: there is no "relaese" here; did you mean "release"?`,
		"$${node.name}":        `ip: its template gives what is not allowed: "a" is not an IPv4 or IPv6 address`,
	} {
		configure(template)
		if text := unwrapped(c.run(1, "plan", "-input=false", "-no-color")); !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	configure("192.0.2.1")
	c.run(0, "destroy", "-input=false", "-no-color", "-auto-approve")
	hosts("a", "192.0.2.1\tdb\n")
	hosts("b", "-")
}
