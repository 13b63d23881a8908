package resources_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// The text of a plan of 100 nodes with one template grows with what changes: the nodes whose content comes out
// differently, and no others.
func TestTextTemplateOfManyNodes(t *testing.T) {
	const nodes = 100
	s, c := newSandbox(t), newCommandLine(t)
	name := func(i int) string { return fmt.Sprintf("n%02d", i) }
	for i := range nodes {
		s.mkdir(name(i), "etc")
	}
	configure := func(template, seven string) {
		c.write("app.tftpl", template)
		c.configure(fmt.Sprintf(`
provider "slipway" { journal_directory = %q }
resource "terraform_data" "late" { input = "gold" }
resource "slipway_service" "app" {
  name          = "app"
  selectors     = []
  configuration = { file = { "/etc/app" = { template = file("${path.module}/app.tftpl") }, "/etc/b" = { content = "b\n" } } }
}
resource "slipway_deployment" "test" {
  site     = "lon1"
  services = [slipway_service.app]
  nodes = { for i in range(%d) : format("n%%02d", i) => { name = format("n%%02d", i),
    connect = { transport = "local", root = format("%s/n%%02d", i) },
    rack = "r${i %% 2}", labels = { tier = i == 7 ? %s : "tin" } } }
}
`, filepath.Join(s.dir, "journal"), nodes, s.dir, seven))
	}
	all := make([]string, nodes)
	for i := range all {
		all[i] = name(i)
	}
	first := "# ${site.name}\nname ${node.name}\n%{ if node.labels.tier == \"gold\" ~}\ngold\n%{ endif ~}\n"
	configure(first, `"tin"`)
	text := c.changes()
	c.shows(text, 1, []string{"default (critical): prepare 100 nodes (n00, n01, n02, n03, n04, n05, n06, n07 and 92 more)",
		"default (critical): node phase: 200 changes on 100 nodes: create file[/etc/app] on 100, file[/etc/b] on 100"}, all...)
	c.apply()
	c.empty()
	if got := s.content("n42", "etc/app"); got != "# lon1\nname n42\n" {
		t.Errorf("the file of n42 is %q", got)
	}

	// a label of one node
	configure(first, `"gold"`)
	text = c.changes()
	c.shows(text, 2, []string{"default (critical): prepare 1 node (n07)",
		"default (critical): node phase: 1 change on node n07: update file[/etc/app]"}, "n07")
	if lines := strings.Count(text, "\n"); lines > 60 {
		t.Errorf("the plan of one node has %d lines:\n%s", lines, text)
	}
	c.apply()
	if got := s.content("n07", "etc/app"); got != "# lon1\nname n07\ngold\n" {
		t.Errorf("the file of n07 is %q", got)
	}

	// a label that is not known: what reads it is open on that node, and nothing else is
	configure(first, "terraform_data.late.id")
	text = strings.ReplaceAll(c.changes("-replace=terraform_data.late"), "│ ", "")
	for _, want := range []string{`node "n07", labels.tier`, "What may be done besides",
		"node phase: 1 change on node n07: update file[/etc/app] (content known after apply)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if lines := strings.Count(text, "\n"); lines > 90 {
		t.Errorf("the plan of a label that is not known has %d lines:\n%s", lines, text)
	}
	if strings.Contains(text, "file[/etc/b]") || strings.Contains(text, "n42") {
		t.Errorf("the plan of a label that is not known names what does not read it:\n%s", text)
	}

	// the template itself
	configure(first+"more\n", `"gold"`)
	text = c.changes()
	c.shows(text, 3, []string{"default (critical): prepare 100 nodes (n00, n01, n02, n03, n04, n05, n06, n07 and 92 more)",
		"default (critical): node phase: 100 changes on 100 nodes: update file[/etc/app] on 100"}, all...)

	// a mistake in it is an error of the plan, at its line
	configure(first+"${upper(node.lables.tier)}\n", `"gold"`)
	flat := func(text string) string {
		return strings.Join(strings.Fields(strings.ReplaceAll(text, "│", " ")), " ")
	}
	for _, wrong := range []struct{ template, want string }{
		{"\n${upper(node.lables.tier)}\n", `template: node has no "lables"; did you mean "labels"? (line 2, column 14 of the template)`},
		{"\n\n${node.labels.tire}\n", `template: the map has no key "tire" (lookup(map, "tire", "default") reads one that may be missing) ` +
			`(on all 100 nodes); did you mean "tier"? (line 3, column 14 of the template)`},
	} {
		configure(wrong.template, `"gold"`)
		text = c.run(1, "plan", "-input=false", "-no-color")
		if !strings.Contains(flat(text), wrong.want) {
			t.Errorf("no %q in:\n%s", wrong.want, text)
		}
		if lines := strings.Count(text, "\n"); lines > 50 {
			t.Errorf("the error has %d lines:\n%s", lines, text)
		}
	}
}

// The life of a file from a template: it is made, repaired, changed by an override of a role, and what was there before
// comes back.
func TestTextLifeOfATemplate(t *testing.T) {
	s, c := newSandbox(t, "a", "b"), newCommandLine(t)
	s.write("a", "etc/app", "before\n")
	configure := func(content, more string) {
		c.configure(fmt.Sprintf(`
provider "slipway" { journal_directory = %q }
resource "slipway_node" "this" {
  for_each = { a = ["db"], b = [] }
  name     = each.key
  roles    = each.value
  address  = "10.0.0.${length(each.value)}"
  connect  = { transport = "local", root = "%s/${each.key}" }
}
resource "slipway_service" "app" {
  name          = "app"
  selectors     = []
  configuration = { file = { "/etc/app" = { mode = "0640", %s } } }
}
resource "slipway_override" "db" {
  name          = "db"
  roles         = ["db"]
  configuration = { file = { "/etc/app" = { template = "db $${node.address}\n" } } }
}
resource "slipway_deployment" "test" {
  site     = "lon1"
  nodes    = slipway_node.this
  services = [slipway_service.app]
  %s
}
`, filepath.Join(s.dir, "journal"), s.dir, content, more))
	}
	holds := func(a, b string) {
		t.Helper()
		for node, want := range map[string]string{"a": a, "b": b} {
			if got := s.content(node, "etc/app"); got != want {
				t.Errorf("the file of %s is %q, want %q", node, got, want)
			}
		}
	}
	configure(`template = "I am $${node.name}\n"`, "")
	c.apply()
	c.empty()
	holds("I am a\n", "I am b\n")

	s.write("b", "etc/app", "by hand\n")
	c.shows(c.changes(), 2, []string{"default (critical): prepare 1 node (b)",
		"default (critical): node phase: 1 change on node b: repair file[/etc/app]"}, "b")
	c.apply()
	holds("I am a\n", "I am b\n")

	configure(`template = "I am $${node.name}\n"`, "overrides = [slipway_override.db]")
	c.shows(c.changes(), 3, []string{"default (critical): prepare 1 node (a)",
		"default (critical): node phase: 1 change on node a: update file[/etc/app] (by override db)"}, "a")
	c.apply()
	c.empty()
	holds("db 10.0.0.1\n", "I am b\n")

	// content with the same text is the same file
	configure(`content = "I am b\n"`, "")
	c.shows(c.changes(), 4, []string{"default (critical): prepare 1 node (a)",
		"default (critical): node phase: 1 change on node a: update file[/etc/app] (no longer by override db)"}, "a")

	c.run(0, "destroy", "-input=false", "-no-color", "-auto-approve")
	holds("before\n", "-")
}

// A template names secrets by themselves: the file has their content, and nothing else does.
func TestTextSecretInATemplate(t *testing.T) {
	c, s := newCommandLine(t), &sandbox{t: t, dir: t.TempDir(), name: "lon1"}
	s.mkdir("a", "etc")
	t.Setenv("TF_VAR_password", secretOne)
	configure := func(template string, version int) {
		c.write("db.tftpl", template)
		given := `template = file("${path.module}/db.tftpl")`
		if version > 1 { // the other form of the same
			given = `content = { ` + given + ` }`
		}
		c.configure("variable \"password\" {\n  type = string\n  ephemeral = true\n}\n" + s.config([]string{"a"}, []string{"db"}, `
resource "slipway_service" "db" {
  name          = "db"
  selectors     = []
  configuration = { file = { "/etc/db" = { `+given+`, mode = "0600" } } }
}
`, fmt.Sprintf("secrets_wo = { db_password = var.password }\n  secrets_version = %d\n", version)))
	}
	for version, template := range []string{"${node.name}: ${secrets.db_password}\n", "${node.name}=${secrets.db_password}\n"} {
		configure(template, version+1)
		c.write("printed.plan", c.changes())
		c.write("printed.apply", c.apply())
		c.empty()
		want := "a" + strings.TrimPrefix(strings.Replace(template, "${secrets.db_password}", secretOne, 1), "${node.name}")
		if got := s.content("a", "etc/db"); got != want {
			t.Errorf("the file is %q, want %q", got, want)
		}
		if err := errors.Join(secretsIn(s.dir, []string{s.path("a", "etc/db")}, secretOne), secretsIn(c.dir, nil, secretOne)); err != nil {
			t.Error(err)
		}
	}
	s.write("a", "etc/db", "by hand\n")
	if text := c.changes(); !strings.Contains(text, "repair file[/etc/db]") {
		t.Errorf("drift is not repaired:\n%s", text)
	}
	for template, want := range map[string]string{
		"${upper(secrets.db_password)}": "a secret can only stand by itself, as ${secrets.name}",
		"${secrets.db_pasword}":         `refers to the secret "db_pasword", which secrets_wo does not have; did you mean "db_password"`,
	} {
		configure(template, 2)
		text := strings.Join(strings.Fields(strings.ReplaceAll(c.run(1, "plan", "-input=false", "-no-color"), "│", " ")), " ")
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}
