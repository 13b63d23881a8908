package document

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// ntpCatalog is the example of the guide.
const ntpCatalog = `types:
  stratum:
    extends: int
    description: Distance from a reference clock.
    ge: 1
    le: 15

entities:
  managed_package:
    abstract: true
    section: items
    attributes:
      package: {type: string, default: chrony}
      ensure: {type: string, enum: [installed, latest], default: installed, modifier: rw+}
    tasks:
    - name: package
      config: {type: package, title: "${self.package}", parameters: {ensure: "${self.ensure}"}}

  ntp:
    extends: managed_package
    description: Time from the site's own servers.
    identity: name
    attributes:
      name: string
      key: {type: 'string?', default: null, sensitive: true, modifier: rw+}
      serial: {type: 'string?', default: null, modifier: r}
    embedded:
      servers:
        modifier: rw+
        lower: 1
        upper: 4
        key: [address]
        attributes:
          address: ip_address
          stratum: {type: stratum, default: 3, modifier: rw+}
          prefer: {type: bool, default: false, modifier: rw+}
    tasks:
    - name: configuration
      requires: [{task: package}]
      notify: [daemon]
      config:
        type: file
        title: /etc/chrony/chrony.conf
        parameters:
          mode: "0644"
          content: |
            # ${service.name} on ${node.name}
            %{ for s in self.servers ~}
            server ${s.address} iburst%{ if s.prefer } prefer%{ endif }
            %{ endfor ~}
    - name: key
      when: "${self.key != null}"
      config: {type: file, title: /etc/chrony/chrony.keys, parameters: {mode: "0600", content: "1 ${self.key}"}}
    - name: daemon
      config: {type: service, title: chrony, parameters: {ensure: running, enable: true}}
    - name: sync
      requires: [{task: daemon}]
      remote: {type: shell, limit: 2, parameters: {command: "chronyc waitsync 10", timeout: 120}}

ordering:
  classes: [{name: network, tasks: {sections: [network_interfaces]}}]
  waits: [{tasks: {types: [package]}, for: {types: [yumrepo]}}]
  unordered: [package]
`

func parseCatalog(texts ...string) (*Catalog, error) {
	sources := make([]Source, len(texts))
	for i, text := range texts {
		sources[i] = Source{Name: string(rune('a'+i)) + ".yaml", Data: []byte(text)}
	}
	return ParseCatalog(sources)
}

func TestParseCatalog(t *testing.T) {
	got, err := parseCatalog(ntpCatalog)
	if err != nil {
		t.Fatal(err)
	}
	ntp, ok := got.Catalog.Entity("ntp")
	if !ok {
		t.Fatal("no entity ntp")
	}
	if d := cmp.Diff([]string{"package", "ensure", "name", "key", "serial", "servers"}, ntp.Names()); d != "" {
		t.Error(d)
	}
	if !ntp.Is("managed_package") || ntp.Section != catalog.Items || ntp.Lifecycle != catalog.DefaultLifecycle ||
		ntp.Loose {
		t.Errorf("inherits wrongly: %+v", ntp)
	}
	names := make([]string, len(ntp.Tasks))
	for i, task := range ntp.Tasks {
		names[i] = task.Name
	}
	if d := cmp.Diff([]string{"package", "configuration", "key", "daemon", "sync"}, names); d != "" {
		t.Error(d)
	}
	stratum := ntp.Embedded[0].Attributes[1].Type
	want := catalog.Type{Name: "stratum", Kind: catalog.Int,
		Rules: []catalog.Rule{{Name: "ge", Argument: int64(1)}, {Name: "le", Argument: int64(15)}}}
	if d := cmp.Diff(want, stratum); d != "" {
		t.Error(d)
	}
	if origin := got.Catalog.Origin("ntp", 0); origin != (catalog.Origin{Entity: "managed_package", Task: 0}) {
		t.Errorf("task 0 comes from %v", origin)
	}
	if d := cmp.Diff([]string{"package"}, got.Catalog.Ordering.Unordered); d != "" ||
		len(got.Catalog.Ordering.Waits) != 1 {
		t.Errorf("ordering: %s", d)
	}
	rules, err := got.Catalog.Ordering.Definition()
	if want := `{"classes":[{"name":"network","tasks":{"sections":["network_interfaces"]}}],"waits":[{"tasks":{"types":["package"]},"for":{"types":["yumrepo"]}}],"unordered":["package"]}`; err != nil || rules != want {
		t.Errorf("the ordering is %s (%v), want %s", rules, err, want)
	}
	// An error of a service at an inherited task is reported where the task is written.
	p, ok := got.Locate("ntp", invalid.Error{Object: "service", Name: "x",
		Attribute: "entity.tasks[0].config.parameters.ensure", Message: "m"})
	if !ok || p.Line != 17 || p.Column != 78 ||
		p.Path() != `entity "managed_package": tasks[0].config.parameters.ensure` {
		t.Errorf("located at %+v", p)
	}
	// Its way through Terraform's state changes nothing.
	text, err := ntp.Definition()
	if err != nil {
		t.Fatal(err)
	}
	back, wrong := catalog.ParseDefinition(text)
	if wrong != nil {
		t.Fatal(wrong)
	}
	if again, err := back.Definition(); err != nil || again != text {
		t.Errorf("comes back as %s (%v), was %s", again, err, text)
	}
}

func TestSeveralCatalogDocuments(t *testing.T) {
	_, err := parseCatalog("entities: {b: {extends: a, attributes: {y: small}}}",
		"entities: {a: {attributes: {x: string}}}\n---\ntypes: {small: {extends: int, le: 3}}")
	if err != nil {
		t.Error(err)
	}
}

func TestCatalogErrors(t *testing.T) {
	one := func(attribute string) string { return "entities:\n  e:\n    attributes:\n      x: " + attribute + "\n" }
	task := func(body string) string {
		return "entities:\n  e:\n    attributes: {servers: 'string[]', vni: {type: 'int?', modifier: r, default: null}, host: string}\n    tasks:\n    - " + body + "\n"
	}
	tests := map[string]struct {
		texts []string
		want  string
	}{
		"unknown key":         {[]string{"entitys: {}"}, `a.yaml:1:1: unknown key "entitys"; did you mean "entities"?`},
		"empty":               {[]string{""}, "a.yaml: the document is empty"},
		"not a mapping":       {[]string{"entities: [a]"}, "a.yaml:1:11: entities: is a list, not a mapping"},
		"a type needs a base": {[]string{"types:\n  t: {le: 3}"}, `a.yaml:2:6: types.t: the key "extends" is missing`},
		"types in a circle": {[]string{"types:\n  a: {extends: b}\n  b: {extends: a}"},
			`a.yaml:2:16: type "a": extends: types extend each other: a -> b -> a`},
		"a rule for others": {[]string{"types:\n  t: {extends: bool, le: 3}"},
			`a.yaml:2:26: type "t": le: is not for the type bool`},
		"a bad expression": {[]string{"types:\n  t: {extends: string, regex: '(?=a)'}"},
			"must be a regular expression in RE2 syntax"},
		"a kind redefined": {[]string{"types:\n  int: {extends: string}"},
			"a.yaml:2:3: type \"int\": is a type that every catalog has"},
		"two places": {[]string{"entities:\n  e: {}", "entities:\n  e: {}"},
			`b.yaml:2:3: entity "e": there is another entity of this name; give each a name of its own, or leave one out; the first one is at a.yaml:2`},
		"lists are written": {[]string{one("list(string)")},
			`a.yaml:4:10: entity "e": attributes.x.type: there is no type "list(string)"; a list has [] behind the type of its elements, as in "string[]"`},
		"another word": {[]string{one("boolean")},
			`a.yaml:4:10: entity "e": attributes.x.type: there is no type "boolean"; use "bool"`},
		"a list of lists": {[]string{one("\"int[][]\"")},
			`a.yaml:4:10: entity "e": attributes.x.type: there are no lists of lists, so no type "int[][]"; use an embedded entity`},
		"the name of a file": {[]string{"catalog.yaml"},
			`a.yaml:1:1: is text, not a mapping; give what the file holds`},
		"unknown type": {[]string{one("strin")},
			`a.yaml:4:10: entity "e": attributes.x.type: there is no type "strin"; did you mean "string"?`},
		"a wrong default": {[]string{one("{type: int, default: two}")},
			`a.yaml:4:31: entity "e": attributes.x.default: is the string "two", not a whole number`},
		"a forbidden default": {[]string{one("{type: int, default: 9, le: 3}")},
			"the number 9 is not valid: must be at most 3"},
		"null default": {[]string{one("{type: int, default: null}")}, "is null; give a whole number"},
		"a wrong modifier": {[]string{one("{type: int, modifier: wr}")},
			`a.yaml:4:32: entity "e": attributes.x.modifier: there is no modifier "wr"; did you mean "r"?`},
		"no validation": {[]string{one("{type: int, validation_type: pydantic.conin}")},
			`did you mean "pydantic.conint"?`},
		"unknown parent": {[]string{"entities:\n  e: {extends: ntq}\n  ntp: {}"},
			`a.yaml:2:16: entity "e": extends: there is no entity "ntq"; did you mean "ntp"?`},
		"entities in circle": {[]string{"entities:\n  a: {extends: b}\n  b: {extends: a}"},
			"entities build on each other: a -> b -> a"},
		"embeds itself": {[]string{"entities:\n  a: {embedded: {c: {of: a}}}"},
			"entities build on each other: a -> a"},
		"redefined": {
			[]string{
				"entities:\n  a: {attributes: {x: int}}\n  b:\n    extends: a\n    attributes:\n      x: string"}, `a.yaml:6:10: entity "b": attributes.x: "b" has this element already`},
		"embedded again": {
			[]string{
				"entities:\n  a: {attributes: {x: int}, relations: {r: {entity: a}}}\n  b: {embedded: {m: {of: a, attributes: {r: int}}}}"}, `a.yaml:3:45: entity "b": embedded.m.attributes.r: the entity "a" has this element already`},
		"embedded otherwise": {
			[]string{
				"entities:\n  a: {attributes: {x: int}}\n  b: {embedded: {m: {of: a, relations: {x: {entity: a}}}}}"}, `a.yaml:3:41: entity "b": embedded.m.relations.x: the entity "a" has this element already`},
		"a task redefined": {[]string{task("{name: t, config: {type: file, title: /a}}") +
			"  f:\n    extends: e\n    tasks:\n    - {name: t, config: {type: file, title: /b}}"}, `a.yaml:9:14: entity "f": tasks[0].name: "t" is the name of another task`},
		"no kind": {[]string{task("name: t")},
			"has 0 of config, remote, callback and steps; give exactly one"},
		"unknown task": {[]string{task("{name: t, config: {type: file, title: /a}, requires: [{task: u}]}")},
			`a.yaml:5:68: entity "e": tasks[0].requires[0].task: there is no task of the entity "u"`},
		"tasks in a circle": {
			[]string{
				task(
					"{name: t, config: {type: file, title: /a}, requires: [{task: u}]}\n    - {name: u, config: {type: file, title: /b}, requires: [{task: t}]}")}, "tasks require each other: t -> u -> t"},
		"bad tag": {[]string{task("{name: t, tag: nod, config: {type: file, title: /a}}")},
			`there is no task group "nod"; did you mean "node"?`},
		"a return to rw": {[]string{task("{name: t, callback: {type: http, returns: {host: h}}}")},
			`"host" has the modifier rw; slipway sets attributes with the modifier r only`},
		"limits": {[]string{"entities:\n  e:\n    embedded: {c: {lower: 3, upper: 2}}"},
			"a.yaml:3:37: entity \"e\": embedded.c.upper: 2 is less than lower, which is 3"},
		"a bad key": {[]string{"entities:\n  e:\n    embedded: {c: {key: [a], attributes: {b: string}}}"},
			`embedded.c.key[0]: there is no attribute "a"`},
		"identity": {[]string{"entities:\n  e: {identity: x, attributes: {x: 'int?'}}"},
			"an identity is a string or an int, and never null"},
		"section": {[]string{"entities:\n  e: {section: route}"},
			`there is no section "route"; did you mean "routes"?`},
		"unknown entity": {
			[]string{
				"entities: {ntp: {}}\nordering:\n  waits:\n  - {tasks: {entities: [ntpd]}, for: {types: [file]}}"}, `a.yaml:4:25: ordering.waits[0].tasks.entities[0]: there is no entity "ntpd"; did you mean "ntp"?`},
		"no entity at all": {[]string{"ordering:\n  waits:\n  - {tasks: {entities: [ntpd]}, for: {types: [file]}}"},
			`a.yaml:3:25: ordering.waits[0].tasks.entities[0]: there is no entity "ntpd"; nothing of this kind is defined: define "ntpd", or remove what refers to it`},
		"unknown section": {[]string{"ordering:\n  counts_as:\n  - {tasks: {sections: [os, o]}, section: oss}"},
			`a.yaml:3:43: ordering.counts_as[0].section: there is no section "oss"; did you mean "os"?`},
		"rule of another doc": {[]string{"ordering: {waits: [{tasks: {types: [file]}, for: {types: [file]}}]}",
			"ordering:\n  waits:\n  - {tasks: {types: [file]}, for: {}}"}, `b.yaml:3:30: ordering.waits[1].for: selects nothing`},
		"class without name": {[]string{"ordering: {classes: [{name: '', tasks: {types: [file]}}]}"},
			`a.yaml:1:29: ordering.classes[0].name: a name is needed`},
		"class again": {
			[]string{
				"ordering: {classes: [{name: a, tasks: {types: [file]}}, {name: a, tasks: {types: [file]}}]}"}, `a.yaml:1:64: ordering.classes[1].name: another class has the name "a"`},
		"too many rules": {[]string{"ordering: {unordered: [" + strings.Repeat("file, ", 1001) + "]}"},
			`a.yaml:1:11: ordering: has 1001 rules; 1000 is the most`},
		"empty selector": {[]string{"ordering:\n  classes:\n  - {name: n, tasks: {}}"},
			"a.yaml:3:15: ordering.classes[0].tasks: selects nothing"},

		"template, quoted": {[]string{task(`{name: t, config: {type: file, title: "a ${self.server}"}}`)},
			`a.yaml:5:55: entity "e": tasks[0].config.title: self has no "server"; did you mean "servers"?`},
		"template, literal": {
			[]string{
				task(
					"name: t\n      config:\n        type: file\n        title: /a\n        parameters:\n          content: |\n            one\n            two ${self.nope} x")}, `a.yaml:12:24: entity "e": tasks[0].config.parameters.content: self has no "nope"`},
		"template, folded": {
			[]string{
				task(
					"name: t\n      config:\n        type: file\n        title: /a\n        parameters:\n          content: >\n            one\n            two ${self.nope} x")}, `(line 1, column 16 of the template)`},
		"template, syntax": {[]string{task(`{name: t, config: {type: file, title: "${uper(self.host)}"}}`)},
			`there is no function "uper"; did you mean "upper"?`},
		"template, no self": {[]string{task(`{name: t, config: {type: file, title: "${host}"}}`)},
			"an attribute of the service is self.host"},
		"template, each": {[]string{task(`{name: t, config: {type: file, title: "${each.key}"}}`)},
			"each is there only in a task with for_each"},
		"template, a list": {[]string{task(`{name: t, config: {type: file, title: "${self.servers}"}}`)},
			"gives list of string, not text"},
		"template, no node": {
			[]string{
				task(
					`{name: t, callback: {type: http, parameters: {url: "http://${node.name}/"}}}`)}, "belongs to no node"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parseCatalog(tt.texts...)
			var errs invalid.Errors
			if !errors.As(err, &errs) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got:\n%v\nwant %q in it", err, tt.want)
			}
		})
	}
}

func TestCatalogReportsAllErrors(t *testing.T) {
	_, err := parseCatalog(
		"entities:\n  e:\n    section: x\n    attributes: {a: foo, b: bar}\n    tasks: [{name: t}]\n  f: {extends: g}")
	var errs invalid.Errors
	if !errors.As(err, &errs) || len(errs) != 5 {
		t.Errorf("got %v, want 5 problems", err)
	}
}

func FuzzParseCatalog(f *testing.F) {
	f.Add([]byte(ntpCatalog))
	f.Add([]byte("types: {a: {extends: string, validation_type: pydantic.constr, validation_parameters: {regex: a}}}"))
	f.Add([]byte("entities: &e\n  a: {embedded: *e}\n"))
	f.Add(
		[]byte(
			"entities: {a: {}}\nordering: &o\n  classes: [{name: c, tasks: &s {entities: [a], types: [file]}}]\n  waits: [{tasks: *s, for: {sections: [os]}}, *o]\n  counts_as: [{tasks: *s, section: os}]\n  unordered: [a, a]\n"))
	f.Add([]byte("ordering: {waits: [{tasks: {}, for: {sections: [x]}}]}\n---\nordering: {unordered: [x]}\n"))
	f.Add([]byte("entities:\n  a:\n    tasks: &t\n    - {name: s, steps: *t}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := ParseCatalog([]Source{{"a.yaml", data}})
		if err != nil {
			var errs invalid.Errors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("not problems: %v", err)
			}
			return
		}
		rules, err := got.Catalog.Ordering.Definition()
		if err != nil {
			t.Fatal(err)
		}
		back, wrong := catalog.ParseOrdering(rules)
		if wrong != nil {
			t.Fatalf("%v in %s", wrong, rules)
		}
		if again, err := back.Definition(); err != nil || again != rules {
			t.Fatalf("%s comes back as %s (%v)", rules, again, err)
		}
		for _, e := range got.Catalog.Entities {
			text, err := e.Definition()
			if err != nil {
				t.Fatal(err)
			}
			back, wrong := catalog.ParseDefinition(text)
			if wrong != nil {
				t.Fatalf("%v in %s", wrong, text)
			}
			if again, err := back.Definition(); err != nil || again != text {
				t.Fatalf("%s comes back as %s (%v)", text, again, err)
			}
		}
	})
}

func TestTheGuidesExampleIsACatalog(t *testing.T) {
	guide, err := os.ReadFile("../../templates/guides/catalog.md")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, block := range strings.Split(string(guide), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if !strings.HasPrefix(text, "types:") && !strings.HasPrefix(text, "ordering:") {
			continue
		}
		read++
		if _, err := parseCatalog(text); err != nil {
			t.Error(err)
		}
	}
	if read != 2 {
		t.Errorf("%d examples are catalogs, want 2", read)
	}
}
