package document

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

const lon1 = `site: lon1
nodes:
  - name: web1
    address: 192.0.2.1
    rack: r1
    tags: [web]
    labels: {zone: a}
    roles: [front]
    connect: {user: deploy, port: 2222, agent: true, connect_timeout: 5s, bastions: [{host: jump, port: 22}], sudo: true, sudo_password: "1", known_hosts: [], private_key: k}
  - {name: web2, connect: {transport: local, root: /srv/web2}}
groups:
  - name: web
    critical: true
    depends_on_groups: [db]
    selectors: [{node_tags: [web]}]
    success_criteria: {percent_successful_nodes: 50}
    rolling: {lock: drain, unlock: undrain, lock_new_nodes: false, node_order: [web1, "*"], batches: ["1", "10%"], approve: ["1"], health_check: {command: works, timeout: 5s, retries: 2, interval: 1s}, soak: 10m, on_failure: rollback}
    maintenance: {days: [sat], start: "22:00", end: "04:00", timezone: Europe/London}
    prepare_timeout: 10m
    deploy_timeout: 2h
  - {name: db, critical: false, selectors: []}
services:
  - name: motd
    selectors: []
    configuration:
      file:
        /etc/motd: {content: hello, mode: "0644", n: 3, f: 1.5, whole: 2.0, yes: true, list: [a, 1], map: {k: v}}
overrides:
  - name: tuning
    roles: [front]
    merge: title
    configuration: {file: {/etc/motd: {content: bye}}}
    options: {create: false, types_filter: [file], titles_filter: [x], types_create_exception: [host], titles_create_exception: [y], defaults: {file: {owner: root}}}
`

func yes() *bool {
	b := true
	return &b
}

func lon1Site() site.Site {
	no := false
	return site.Site{
		Name: "lon1",
		Nodes: []site.Node{
			{Name: "web1", Address: "192.0.2.1", Rack: "r1", Tags: []string{"web"},
				Labels: map[string]string{"zone": "a"}, Roles: []string{"front"},
				Connection: site.Connection{User: "deploy", Port: 2222, Agent: yes(), ConnectTimeout: 5 * time.Second,
					Sudo: yes(), SudoPassword: "1",
					Bastions: []site.Bastion{{Host: "jump", Port: 22}}, KnownHosts: []string{}, PrivateKey: "k"}},
			{Name: "web2", Connection: site.Connection{Transport: "local", Root: "/srv/web2"}},
		},
		Groups: []site.Group{
			{Name: "web", Critical: true, DependsOn: []string{"db"},
				Selectors:       site.Selectors{{NodeTags: []string{"web"}}},
				SuccessCriteria: &site.SuccessCriteria{PercentSuccessfulNodes: number(50)}, Rolling: &site.Rolling{
					MaxParallel: 1, Lock: "drain", Unlock: "undrain", SpareNew: true,
					NodeOrder: []string{"web1", "*"}, Batches: []string{"1", "10%"}, Approve: []string{"1"}, Soak: 10 * time.Minute, OnFailure: site.OnFailureRollback,
					HealthCheck: &site.HealthCheck{Command: "works", Timeout: 5 * time.Second, Retries: 2, Interval: time.Second}},
				PrepareTimeout: 10 * time.Minute, DeployTimeout: 2 * time.Hour,
				Maintenance: &site.Maintenance{Days: []string{"sat"}, Start: "22:00", End: "04:00", Timezone: "Europe/London"}},
			{Name: "db", Selectors: site.Selectors{}},
		},
		Services: []site.Service{{Name: "motd", Selectors: site.Selectors{},
			Configuration: resource.Configuration{"file": {"/etc/motd": {
				"content": "hello", "mode": "0644", "n": int64(3), "f": 1.5, "whole": int64(2), "yes": true, "list": []any{
					"a", int64(1)}, "map": map[string]any{"k": "v"}}}}}},
		Overrides: []site.Override{{Name: "tuning", Roles: []string{"front"}, Merge: "title",
			Configuration: resource.Configuration{"file": {"/etc/motd": {"content": "bye"}}},
			Options: site.OverrideOptions{Create: &no, TypesFilter: []string{"file"}, TitlesFilter: []string{"x"},
				TypesCreateException:  []string{"host"},
				TitlesCreateException: []string{"y"}, Defaults: map[string]map[string]any{"file": {"owner": "root"}}}}},
	}
}

func parseOne(text string) (*Site, error) {
	return ParseSite([]Source{{"s.yaml", []byte(text)}}, Options{})
}

func TestParseSite(t *testing.T) {
	split := strings.SplitAfter(lon1, "\n")
	at := func(key string) int { return slices.Index(split, key+":\n") }
	tests := map[string][]Source{
		"one document":      {{"s.yaml", []byte(lon1)}},
		"several documents": {{"s.yaml", []byte(strings.ReplaceAll(lon1, "services:", "---\nservices:"))}},
		"several files": {{"a.yaml", []byte(strings.Join(split[:at("services")], ""))},
			{"b.yaml", []byte("site: lon1\n" + strings.Join(split[at("services"):], ""))}},
		"airship's word": {{"s.yaml", []byte(strings.ReplaceAll(lon1, "depends_on_groups", "depends_on"))}},
		"another schema": {{"s.yaml", []byte("schema: pegleg/Site/v1\ndata: 1\n---\n" + lon1)}},
	}
	for name, sources := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := ParseSite(sources, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(lon1Site(), s.Site); d != "" || !s.Inventory {
				t.Errorf("inventory %v, %s", s.Inventory, d)
			}
		})
	}
}

func TestParseSiteTakesAStrategy(t *testing.T) {
	s, err := ParseSite([]Source{{"strategy.yaml", []byte(whole)}, {"nodes.yaml", []byte("nodes: [{name: n}]")}},
		Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Site.Name != Unnamed || len(s.Site.Groups) != 2 || s.Site.Groups[0].DependsOn[0] != "ntp-node" ||
		len(s.Site.Nodes) != 1 {
		t.Errorf("got %+v", s.Site)
	}
	alone, err := parseOne(whole)
	if err != nil || alone.Inventory || len(alone.Site.Groups) != 2 {
		t.Errorf("got %+v, %v", alone, err)
	}
}

func TestParseSiteRefuses(t *testing.T) {
	node := func(s string) string { return "nodes:\n- {name: n, " + s + "}\n" }
	parameter := func(s string) string {
		return "services: [{name: s, selectors: [], configuration: {file: {/a: {mode: " + s + "}}}}]\n"
	}
	const at = `s.yaml:1:71: services[0].configuration.file["/a"].mode: `
	tests := []struct {
		name, text string
		want       []string
	}{
		{"empty", "",
			[]string{
				"s.yaml: is empty, so it describes no site; where a command wrote it, such as `terraform show -json`, look whether that command failed"}},
		{"blank lines only", " \n\r\n",
			[]string{
				"s.yaml: is empty, so it describes no site; where a command wrote it, such as `terraform show -json`, look whether that command failed"}},
		{"comments only", "# nothing\n---\n", []string{
			"s.yaml: is empty, so it describes no site; where a command wrote it, such as `terraform show -json`, look whether that command failed"}},
		{"another schema only", "schema: a/b/v1\n", []string{
			`s.yaml: holds neither a site (keys site, nodes, groups, services, overrides, plugins) nor a document with the schema "shipyard/DeploymentStrategy/v1"`}},
		{"mistyped schema", "schema: shipyard/DeploymentStrategy/v2\ndata: {groups: []}\n",
			[]string{
				`s.yaml:1:9: schema: is "shipyard/DeploymentStrategy/v2", not "shipyard/DeploymentStrategy/v1"; did you mean that?`}},
		{"terraform's own plan file", "PK\x03\x04rest",
			[]string{"s.yaml: is a plan file as Terraform writes it; give what `terraform show -json` prints of it"}},
		{"tab", "site: a\n\tnodes: []\n",
			[]string{`s.yaml:2:1: not well formed: a tab; YAML indents with spaces only`}},
		{"unknown keys", "sites: a\nnodes: [{name: n, tag: [a]}]\n", []string{
			`s.yaml:1:1: unknown key "sites"; did you mean "site"?`,
			`s.yaml:2:19: nodes[0]: unknown key "tag"; did you mean "tags"?`,
		}},
		{"duplicate key", "nodes: []\nnodes: []\n", []string{
			`s.yaml:2:1: key "nodes" is there twice, first at line 1; keep one`}},
		{"two names", "site: a\n---\nsite: b\n", []string{
			`s.yaml:3:7: site: is "b", but another document says "a"; name one site`}},
		{"no name", "site: \"\"\nnodes: [{address: a}]\n", []string{
			`s.yaml:1:7: site: is empty; give the site a name, or leave it out`,
			`s.yaml:2:9: nodes[0]: the key "name" is missing`,
		}},
		{"not a list", "nodes: {a: {name: a}}\n", []string{`s.yaml:1:8: nodes: is a mapping, not a list`}},
		{"a port", node("connect: {port: 0, sudo: maybe}"), []string{
			`s.yaml:2:29: nodes[0].connect.port: 0 is not a port; give a number from 1 to 65535, or leave it out`,
			`s.yaml:2:38: nodes[0].connect.sudo: is text, not true or false`,
		}},
		{"a secret is not repeated", node("connect: {passphrase: 12345}"),
			[]string{`s.yaml:2:35: nodes[0].connect.passphrase: is a number, not text; write it in quotes`}},
		{"nor one of the credentials", node("connect: {credentials: {passphrase: 12345}}"),
			[]string{
				`s.yaml:2:49: nodes[0].connect.credentials.passphrase: is a number, not text; write it in quotes`}},
		{"secrets twice",
			node(
				"connect: {private_key: a, credentials: {private_key: b}, bastions: [{host: h, credentials: {private_key: b}, private_key: a}]}"), []string{
				`s.yaml:2:66: nodes[0].connect.credentials.private_key: stands beside credentials and in it; keep one`,
				`s.yaml:2:118: nodes[0].connect.bastions[0].credentials.private_key: stands beside credentials and in it; keep one`,
			}},
		{"unknown credentials", node("connect: {credentials: {user: a}}"),
			[]string{
				`s.yaml:2:37: nodes[0].connect.credentials: unknown key "user"; known are private_key, passphrase, sudo_password`}},
		{"labels", node("labels: {a: true, b: [1]}"), []string{
			`s.yaml:2:25: nodes[0].labels["a"]: is true or false, not text; write it in quotes, "true", if that is meant`,
			`s.yaml:2:34: nodes[0].labels["b"]: is a list, not text`,
		}},
		{"group",
			"groups: [{name: g, depends_on: [], depends_on_groups: [], rolling: {max_parallel: -1}, prepare_timeout: 5, deploy_timeout: 0s}]\n", []string{
				`s.yaml:1:10: groups[0]: the key "critical" is missing`,
				`s.yaml:1:10: groups[0]: the key "selectors" is missing`,
				`s.yaml:1:32: groups[0].depends_on: stands beside depends_on_groups, which means the same; keep one`,
				`s.yaml:1:83: groups[0].rolling.max_parallel: -1 is not a whole number, 0 or more`,
				`s.yaml:1:105: groups[0].prepare_timeout: is a number, not text; write it in quotes, "5", if that is meant`,
				`s.yaml:1:124: groups[0].deploy_timeout: "0s" is not above zero; leave it out for the default`,
			}},
		{"an octal number", parameter("0644"), []string{at +
			"is a number that YAML does not read as it is written (0644 is 420); write it in quotes"}},
		{"a large number", parameter("99999999999999999999"),
			[]string{at + "is a whole number of more than 64 bits; write it in quotes if text is meant"}},
		{"infinity", parameter(".inf"), []string{at + "is not a finite number"}},
		{"null", parameter("null"), []string{at + "is nothing (null); give a value, or leave it out"}},
		{"a date", parameter("2020-01-01"), []string{at +
			"is a date, not a value that a parameter takes; write it in quotes if text is meant"}},
		{"a list that holds itself", parameter("&a [*a]"),
			[]string{`s.yaml:1:75: services[0].configuration.file["/a"].mode` + strings.Repeat("[0]", 33) +
				`: lists and mappings are more than 32 levels deep, or one holds itself`}},
		{"no parameters", "services: [{name: s, selectors: [], configuration: {file: {/a: }, host: 1}}]\n", []string{
			`s.yaml:1:64: services[0].configuration.file["/a"]: is nothing (null), not a mapping`,
			`s.yaml:1:73: services[0].configuration.host: is a number, not a mapping`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := parseOne(tt.text)
			var errs invalid.Errors
			if !errors.As(err, &errs) || s != nil {
				t.Fatalf("got %+v, %v, want problems", s, err)
			}
			if d := cmp.Diff(strings.Join(tt.want, "\n"), errs.Error()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestLocate(t *testing.T) {
	const text = `site: "bad name"
nodes:
  - {name: web1, tags: [""], connect: {user: u}}
  - &b
    name: web1
groups:
  - name: web
    critical: true
    depends_on: [db]
    selectors:
      - node_labels:
          - nolabel
  - {<<: &g {critical: true, selectors: []}, name: web}
services:
  - name: motd
    selectors: []
    configuration:
      file:
        "/etc/a \"b\"":
          modus: x
      pakage:
        x: {ensure: installed}
`
	s, err := ParseSite([]Source{{"first.yaml", []byte("overrides: []")}, {"s.yaml", []byte(text)}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		wrong invalid.Error
		want  string
	}{
		{invalid.Error{Object: "deployment", Name: "bad name", Attribute: "site", Message: "m"},
			"s.yaml:1:7: deployment: site: m"},
		{invalid.Error{Object: "node", Name: "web1", Attribute: "tags[0]", Message: "m"},
			`s.yaml:3:25: node "web1": tags[0]: m`},
		{invalid.Error{Object: "node", Name: "web1", Attribute: "name", Code: invalid.Duplicate, Message: "m"},
			`s.yaml:5:11: node "web1": name: m`},
		{invalid.Error{Object: "node", Name: "web1", Attribute: "address", Message: "m"},
			`s.yaml:3:5: node "web1": address: m`},
		{invalid.Error{Object: "group", Name: "web", Attribute: "depends_on_groups[0]", Message: "m"},
			`s.yaml:9:18: group "web": depends_on[0]: m`},
		{invalid.Error{Object: "group", Name: "web", Attribute: "selectors[0].node_labels[0]", Message: "m"},
			`s.yaml:12:13: group "web": selectors[0].node_labels[0]: m`},
		{invalid.Error{Object: "group", Name: "web", Attribute: "critical", Code: invalid.DuplicateGroup, Message: "m"},
			`s.yaml:13:24: group "web": critical: m`},
		{invalid.Error{Object: "service", Name: "motd", Attribute: `configuration.file["/etc/a \"b\""].modus`,
			Message: "m"}, `s.yaml:20:18: service "motd": configuration.file["/etc/a \"b\""].modus: m`},
		{invalid.Error{Object: "service", Name: "motd", Attribute: "configuration.pakage", Message: "m", Warning: true},
			`s.yaml:21:7: warning: service "motd": configuration.pakage: m`},
		{invalid.Error{Object: "service", Name: "motd", Attribute: `configuration.pakage["x"].ensure[3][`, Message: "m"},
			`s.yaml:22:21: service "motd": configuration.pakage["x"].ensure[3][: m`},
		{invalid.Error{Object: "node", Name: "web1", Attribute: "connection.port", Message: "m"},
			`s.yaml:3:30: node "web1": connect.port: m`},
		{invalid.Error{Object: "override", Name: "none", Message: "m"}, `first.yaml:1:1: override "none": m`},
	}
	for _, tt := range tests {
		if got := s.Locate(tt.wrong).Error(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestSiteBombs(t *testing.T) {
	bomb := "a: &a [x]\n"
	for _, c := range "bcdefghij" {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 20) + "]\n"
	}
	bomb += "services: [{name: s, selectors: [], configuration: {file: {/a: {x: *j}}}}]\n"
	start := time.Now()
	_, err := parseOne(bomb)
	if err == nil || !strings.Contains(err.Error(), "stand for more than") {
		t.Errorf("got %.300v", err)
	}
	if _, err = parseOne(strings.Repeat("#", 50<<20)); err == nil ||
		!strings.Contains(err.Error(), "16777216 is the most") {
		t.Errorf("got %.300v", err)
	}
	_, err = parseOne("nodes: [" + strings.Repeat("1, ", 100_000) + "]\n")
	var errs invalid.Errors
	if !errors.As(err, &errs) || len(errs) != maxErrors+1 {
		t.Errorf("got %.300v", err)
	}
	if spent := time.Since(start); spent > time.Minute {
		t.Errorf("it took %s", spent)
	}
}

func FuzzParseSite(f *testing.F) {
	f.Add([]byte(lon1))
	f.Add([]byte(whole + "---\nsite: x\nnodes: [{name: a}]\n"))
	f.Add([]byte("nodes: &n [*n]\ngroups: [{<<: *n}]"))
	f.Add([]byte("services: [{name: s, selectors: [], configuration: {file: &f {/a: &p {x: [*p]}}}}]"))
	f.Add(
		[]byte(
			`{"format_version":"1.0","values":{"root_module":{"resources":[{"address":"a","mode":"managed","type":"slipway_deployment","values":{"site":"x","nodes":{"b":{"name":"b"}}}}]}}}`))
	f.Add(
		[]byte(
			`{"format_version":"1.2","planned_values":{},"resource_changes":[{"address":"a","change":{"after_unknown":{"nodes":true}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSite([]Source{{"f.yaml", data}}, Options{})
		if (err == nil) != (s != nil) {
			t.Fatalf("site %v with error %v", s, err)
		}
		if err != nil {
			var errs invalid.Errors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("an error that is not problems: %v", err)
			}
			for _, p := range errs {
				if p.Message == "" || p.Code == "" || p.File != "f.yaml" {
					t.Fatalf("an error that says nothing: %+v", p)
				}
			}
			return
		}
		for _, p := range s.Site.Validate() {
			if located := s.Locate(p); located.File == "" || located.Line == 0 {
				t.Fatalf("%v has no place: %v", p, located)
			}
		}
	})
}

// BenchmarkParseSite reads a site of 1,000 nodes, 50 groups and 20 services of 20 resources, and an error on every
// hundredth line.
func BenchmarkParseSite(b *testing.B) {
	var sound, wrong strings.Builder
	line := func(format string, args ...any) {
		fmt.Fprintf(&sound, format+"\n", args...)
		if wrong.Len()%100 == 0 {
			format = strings.Replace(format, "name:", "nmae:", 1)
		}
		fmt.Fprintf(&wrong, format+"\n", args...)
	}
	line("site: lon1\nnodes:")
	for i := range 1000 {
		line(
			"- {name: n%[1]d, address: 192.0.2.%[2]d, rack: r%[2]d, tags: [web, t%[3]d], labels: {zone: a}, roles: [front]}", i, i%250, i%50)
	}
	line("groups:")
	for i := range 50 {
		line("- {name: g%[1]d, critical: true, depends_on_groups: [], selectors: [{node_tags: [t%[1]d]}]}", i)
	}
	line("services:")
	for i := range 20 {
		line("- name: s%d\n  selectors: []\n  configuration:\n    file:", i)
		for j := range 20 {
			line("      /etc/s%d/f%d: {content: \"x\", mode: \"0644\", owner: root}", i, j)
		}
	}
	for name, text := range map[string]string{"sound": sound.String(), "mistakes": wrong.String()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseSite([]Source{{"site.yaml", []byte(text)}},
					Options{}); (err == nil) != (name == "sound") {
					b.Fatal(err)
				}
			}
		})
	}
}
