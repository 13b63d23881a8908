package resources_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// plainSite is a site whose objects are all plain: a map of nodes from YAML, and lists. %s is a folder.
const plainSite = `locals {
  site = yamldecode(<<-EOT
    nodes:
      a: {tags: [web], roles: [front]}
      b: {tags: [web]}
      c: {tags: [db]}
    groups:
    - {name: db, critical: true, selectors: [{node_tags: [db]}]}
    - {name: web, critical: false, depends_on_groups: [db], selectors: [{node_tags: [web]}], success_criteria: {percent_successful_nodes: 50}}
    services:
    - name: motd
      selectors: []
      configuration: {file: {/etc/motd: {content: "hello\n"}}}
    overrides:
    - {name: front, roles: [front], configuration: {file: {/etc/motd: {content: "front\n"}}}}
  EOT
  )
}

resource "slipway_deployment" "test" {
  site      = "lon1"
  nodes     = { for name, n in local.site.nodes : name => merge(n, { name = name, connect = { transport = "local", root = "%s/${name}" } }) }
  groups    = local.site.groups
  services  = local.site.services
  overrides = local.site.overrides
}
`

// Plain objects are planned, applied and found again as resources are.
func TestTextPlainObjects(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	c := newCommandLine(t)
	config := fmt.Sprintf("provider \"slipway\" {\n  journal_directory = %q\n}\n", filepath.Join(s.dir, "journal")) + fmt.Sprintf(plainSite, s.dir)
	c.configure(config)
	plan := c.changes()
	for _, want := range []string{`"1.1 db (critical): prepare 1 node (c)"`,
		`web: node phase: 2 changes on 2 nodes: create file[/etc/motd] (by override front) on a, file[/etc/motd] on b"`} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan has no %s:\n%s", want, plan)
		}
	}
	c.run(0, "apply", "-auto-approve", "-input=false", "-no-color")
	for node, want := range map[string]string{"a": "front\n", "b": "hello\n", "c": "hello\n"} {
		if err := s.has(node, "etc/motd", want)(nil); err != nil {
			t.Error(err)
		}
	}
	c.empty()

	for name, tt := range map[string]struct{ old, new, want string }{
		"node":     {"roles: [front]}\n", "role: [front]}\n", `node "a", role: there is no such attribute; did you mean "roles"?`},
		"group":    {"depends_on_groups", "depend_on_groups", `group "web", depend_on_groups: there is no such attribute; did you mean "depends_on_groups"?`},
		"criteria": {"percent_successful_nodes", "percent_sucessful_nodes", `success_criteria.percent_sucessful_nodes: there is no such attribute; did you mean "percent_successful_nodes"?`},
		"service":  {"      configuration:", "      configuratoin:", `configuratoin: there is no such attribute; did you mean "configuration"?`},
		"override": {"roles: [front], c", "rolse: [front], c", `rolse: there is no such attribute; did you mean "roles"?`},
		"value":    {"critical: true", "critical: often", `group "db", critical: is a string; write true or false`},
		"missing":  {"{name: db, critical", "{critical", `groups[0].name: is required`},
	} {
		c.configure(strings.Replace(config, tt.old, tt.new, 1))
		out := strings.Join(strings.Fields(strings.ReplaceAll(c.run(1, "plan", "-input=false", "-no-color"), "│", " ")), " ")
		if !strings.Contains(out, tt.want) {
			t.Errorf("%s: want %s in\n%s", name, tt.want, out)
		}
	}
}
