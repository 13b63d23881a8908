package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	catalogFile     = "../../examples/catalog/catalog.yaml"
	catalogSiteFile = "../../examples/catalog/site.yaml"
	// made by Terraform of the same example; cut down to what the companion reads.
	catalogPlanFile = "testdata/catalog.json"
)

// A site with a catalog is the same site in documents and in Terraform: it has the same plan, down to the digest.
func TestCatalogs(t *testing.T) {
	const steps = "service time: create (version 2, creating)\n1. default (critical): prepare 3 nodes (compute1, compute2, control1)\n" +
		"2. default (critical): node phase: 15 changes on 3 nodes: create host[time-10-0-0-1] on 3, host[time-10-0-0-2] on 3, package[chrony] on 3, file[/etc/chrony/chrony.conf] on 3, service[chrony] on 3\n"
	documents, errOut, status := answer(t, "", "plan", catalogSiteFile, catalogFile)
	if status != 0 || !strings.Contains(documents, steps) {
		t.Errorf("status %d, %s%s", status, documents, errOut)
	}
	terraform, errOut, status := answer(t, "", "plan", catalogPlanFile)
	if d := cmp.Diff(documents, terraform); status != 0 || d != "" {
		t.Errorf("status %d, %s%s", status, errOut, d)
	}
	applied, errOut, status := answer(t, "", "plan", catalogPlanFile, "--applied", catalogFile, "--applied",
		catalogSiteFile)
	if status != 0 || !strings.Contains(applied, "nothing to do") {
		t.Errorf("status %d, %s%s", status, applied, errOut)
	}
	for _, args := range [][]string{{"graph", catalogSiteFile, catalogFile},
		{"simulate", catalogSiteFile, catalogFile}} {
		if out, errOut, status := answer(t, "", args...); status != 0 {
			t.Errorf("%q: status %d, %s%s", args, status, out, errOut)
		}
	}
	out, errOut, status := answer(t, "", "validate", catalogSiteFile, catalogFile)
	if want := "valid: site lon1, 3 nodes, no groups, so the default strategy counts, 1 service, 0 overrides\ncatalog: 2 entities, 1 of them abstract\n"; status != 0 || out != want {
		t.Errorf("status %d, %s%s", status, out, errOut)
	}
}

// The rules of a catalog count in every command that plans.
func TestCatalogsWithOrdering(t *testing.T) {
	s := write(t, "s.yaml", "site: lon1\nnodes: [{name: a}, {name: b}]\ngroups: [{name: a, critical: false, selectors: [{node_names: [a]}]}, {name: b, critical: false, selectors: [{node_names: [b]}]}]\n"+
		"services:\n- {name: s, selectors: [], configuration: {file: {/a: {content: x}}, package: {p: {ensure: installed}}}}\n- {name: c, selectors: [], entity: call}\n")
	entities := "entities: {call: {tasks: [{name: t, tag: cluster, callback: {type: command, parameters: {argv: [x]}}}]}}\n"
	c := write(t, "c.yaml", entities+"ordering:\n  classes: [{name: p, tasks: {types: [package]}}]\n")
	out, errOut, status := answer(t, "", "plan", s, c)
	const steps = "1. a: prepare 1 node (a)\n2. a: node phase: 1 change on node a: create package[p]\n3. a: node phase: 1 change on node a: create file[/a]\n"
	if status != 0 || !strings.Contains(out, steps) {
		t.Errorf("status %d, %s%s", status, out, errOut)
	}
	if out, errOut, status = answer(t, "", "plan", s, c, "--output", "json"); status != 0 ||
		!strings.Contains(strings.Join(strings.Fields(out), " "), `"after": [ "a" ]`) ||
		// the callback belongs to no node
		!strings.Contains(strings.Join(strings.Fields(out), " "), `{ "node": "", "action":`) {
		t.Errorf("status %d, %s%s", status, out, errOut)
	}
	wrong := write(t, "w.yaml", entities+"ordering:\n  waits:\n  - {tasks: {types: [package]}, for: {types: [file]}}\n  - {tasks: {types: [file]}, for: {types: [package]}}\n  unordered: [packages]\n")
	for _, command := range []string{"plan", "validate", "simulate"} {
		out, errOut, status := answer(t, "", command, s, wrong)
		for _, want := range []string{`w.yaml:5:5: ordering.waits[1]: resources wait for each other: file[/a] requires package[p] requires file[/a]`, `w.yaml:6:15: ordering.unordered[0]: there is no type "packages" of tasks; did you mean "package"?`} {
			if status == 0 || !strings.Contains(out+errOut, want) {
				t.Errorf("%s: status %d, %s%s, want %q", command, status, out, errOut, want)
			}
		}
	}
}

func TestCatalogsThatAreWrong(t *testing.T) {
	const entities = `entities:
  base: {abstract: true}
  time:
    attributes: {pool: string, port: port, key: {type: string, sensitive: true, default: x}, id: {type: int, modifier: r}}
    tasks:
    - name: file
      config: {type: file, title: /etc/time, parameters: {content: "${self.pool}", mode: "${self.pool}"}}
    - {name: other, config: {type: file, title: relative, parameters: {}}}
`
	file := write(t, "c.yaml", entities)
	for text, want := range map[string][]string{
		"{pool: a, prot: 1, id: 5, key: 4711}": {
			`s.yaml:5:38: service "a": attributes.id: is set by slipway; leave it out`,
			`s.yaml:5:46: service "a": attributes.key: is a number, not a string`,
			`service "a": attributes.port: is required; is "prot" meant to be it?`,
			`s.yaml:5:31: service "a": attributes.prot: there is no such attribute; did you mean "port"?`,
		},
		"{pool: a, port: 0}": {`s.yaml:5:31: service "a": attributes.port: the number 0 is not valid: must be at least 1`},
		"{pool: a, port: 1}": {
			`s.yaml:5:22: service "a": attributes.pool:`,
			`c.yaml:8:59: entity "time": tasks[1].config.parameters.path:`,
		},
	} {
		site := write(t, "s.yaml", "nodes: [{name: n, address: 192.0.2.1}]\nservices:\n- name: a\n  selectors: []\n  attributes: "+text+"\n  entity: time\n")
		out, errOut, status := answer(t, "", "validate", site, file)
		if status != statusFailed {
			t.Errorf("%s: status %d, %s%s", text, status, out, errOut)
		}
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s: no %s in\n%s", text, w, out)
			}
		}
		if strings.Contains(out, "4711") {
			t.Errorf("a secret is told: %s", out)
		}
	}
}
