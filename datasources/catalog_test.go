package datasources_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

const baseEntities = `
types: {stratum: {extends: int, ge: 1, le: 15}}
entities:
  base:
    abstract: true
    section: items
    attributes: {mode: {type: string, default: "<0644>", modifier: rw+, description: Mode of the file.}}
`

const ntpEntities = `
entities:
  ntp:
    description: Time.
    version: 3
    extends: base
    attributes:
      key: {type: 'string?', default: secret, sensitive: true}
      vni: {type: int, modifier: r}
    embedded:
      servers: {lower: 1, attributes: {address: ip_address}, embedded: {via: {upper: 1, attributes: {hop: {type: stratum, default: 3}}}}}
    relations:
      peers: {entity: ntp}
    tasks:
    - name: configuration
      config: {type: file, title: /etc/ntp.conf, parameters: {mode: "0644", content: "%{ for s in self.servers }${s.address}%{ endfor }"}}
`

// catalogs is the configuration of a data source of documents.
func catalogs(documents ...string) string {
	var b strings.Builder
	b.WriteString("data \"slipway_catalog\" \"site\" {\n  documents = [\n")
	for _, d := range documents {
		fmt.Fprintf(&b, "<<-EOT\n%s\nEOT\n,\n", strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strings.Trim(d, "\n")))
	}
	return b.String() + "  ]\n}\n"
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	const address = "data.slipway_catalog.site"
	entity := func(steps ...any) tfjsonpath.Path { return at(append([]any{"entities", "ntp"}, steps...)...) }
	attribute := func(name, typ, modifier string, required, sensitive bool, standard, description knownvalue.Check) knownvalue.Check {
		return knownvalue.ObjectExact(map[string]knownvalue.Check{
			"name": exact(name), "type": exact(typ), "modifier": exact(modifier), "required": knownvalue.Bool(required), "sensitive": knownvalue.Bool(sensitive),
			"default": standard, "description": description,
		})
	}
	null := knownvalue.Null()
	checks := []statecheck.StateCheck{
		is(address, at("entities"), knownvalue.MapSizeExact(2)),
		is(address, at("ordering"), null),
		is(address, at("entities", "base", "abstract"), knownvalue.Bool(true)),
		is(address, entity("name"), exact("ntp")),
		is(address, entity("description"), exact("Time.")),
		is(address, entity("version"), knownvalue.Int64Exact(3)),
		is(address, entity("abstract"), knownvalue.Bool(false)),
		is(address, entity("lifecycle"), exact("slipway_default")),
		is(address, entity("section"), exact("items")),
		is(address, entity("digest"), knownvalue.StringRegexp(told("^[0-9a-f]{64}$"))),
		is(address, entity("definition"), knownvalue.StringRegexp(told(`^\{"name":"ntp"`))),
		is(address, entity("attributes"), knownvalue.ListExact([]knownvalue.Check{
			attribute("mode", "string", "rw+", false, false, exact(`"<0644>"`), exact("Mode of the file.")),
			attribute("key", "string?", "rw", false, true, null, null),
			attribute("vni", "int", "r", false, false, null, null),
			attribute("servers", "object[]", "rw", true, false, null, null),
			attribute("servers.address", "ip_address", "rw", true, false, null, null),
			attribute("servers.via", "object", "rw", false, false, null, null),
			attribute("servers.via.hop", "stratum", "rw", false, false, exact("3"), null),
			attribute("peers", "service[]", "rw", false, false, null, null),
		})),
		statecheck.ExpectSensitiveValue(address, entity("definition")),
	}
	run(t,
		resource.TestStep{Config: catalogs(baseEntities, ntpEntities), ConfigStateChecks: checks},
		resource.TestStep{Config: catalogs(ntpEntities + "---\n" + baseEntities), ConfigStateChecks: checks[:len(checks)-1]},
	)
}

func TestCatalogsThatAreWrong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ config, want string }{
		"none":               {`data "slipway_catalog" "site" { documents = [] }`, "at least 1 elements"},
		"empty":              {catalogs("#"), `documents\[0\]: the document is empty`},
		"a key":              {catalogs(baseEntities, "entitys: {}"), `documents\[1\]:1:1: unknown key "entitys"; did you mean "entities"\?`},
		"a type":             {catalogs("entities:\n  a:\n    attributes: {x: strign}"), `documents\[0\]:3:\d+: entity "a": attributes\.x\S* there is no type "strign"; did you mean "string"`},
		"twice":              {catalogs("entities: {a: {}}", "entities: {a: {}}"), `documents\[1\]:1:12: entity "a": there is another entity of this name`},
		"a template":         {catalogs("entities:\n  a:\n    tasks:\n    - {name: x, config: {type: file, title: '${self.b}', parameters: {}}}"), `documents\[0\]:4:\d+: entity "a": tasks\[0\]\.config\.title: self has no "b"`},
		"what it extends":    {catalogs("entities: {a: {extends: b}}"), `there is no entity "b"`},
		"its lifecycle":      {catalogs("entities: {a: {lifecycle: simpel}}"), `there is no lifecycle "simpel"; did you mean "simple"\?(?s:.*)service_lifecycle`},
		"not YAML":           {catalogs("entities: ["), `documents\[0\]:\d+:\d+: not well formed`},
		"a site":             {catalogs("nodes: []"), `unknown key "nodes"`},
		"an abstract entity": {catalogs(baseEntities) + service("base", "{}"), `entity: "base" is abstract`},
		"an unknown entity":  {catalogs(baseEntities) + service("ntp", "{}"), `(?i)unsupported attribute|does not have an element with the key`},
	} {
		t.Run(name, func(t *testing.T) { refused(t, tt.config, tt.want) })
	}
}

func service(entity, attributes string) string {
	return fmt.Sprintf(`
resource "slipway_service" "time" {
  name       = "time"
  selectors  = []
  entity     = data.slipway_catalog.site.entities.%s
  attributes = %s
}
`, entity, attributes)
}

// The plan of a site takes services of entities as the deployment does.
func TestPlanOfAnEntity(t *testing.T) {
	t.Parallel()
	run(t, resource.TestStep{Config: catalogs(baseEntities, ntpEntities) + `
data "slipway_plan" "site" {
  site     = "lon1"
  nodes    = [{ name = "web1", address = "192.0.2.1" }]
  services = [{ name = "time", selectors = [], entity = data.slipway_catalog.site.entities.ntp, attributes = { servers = [{ address = "10.0.0.1" }] } }]
}
`, ConfigStateChecks: []statecheck.StateCheck{
		is("data.slipway_plan.site", at("steps"), list(
			"service time: create (version 2, creating)",
			"1. default (critical): prepare 1 node (web1)",
			"2. default (critical): node phase: 1 change on node web1: create file[/etc/ntp.conf]")),
	}})
}

// The rules of all documents are one ordering, which a plan takes as the deployment does.
func TestOrderingOfACatalog(t *testing.T) {
	t.Parallel()
	site := func(ordering string) string {
		return `
data "slipway_plan" "site" {
  site     = "lon1"
  nodes    = [{ name = "web1", address = "192.0.2.1" }]
  services = [{ name = "s", selectors = [], configuration = { file = { "/a" = { content = "x" } }, package = { p = { ensure = "installed" } } } }]
  ordering = ` + ordering + `
}
`
	}
	const unordered, waits = `ordering: {unordered: [sysctl]}`, `ordering: {waits: [{tasks: {types: [file]}, for: {types: [package]}}]}`
	run(t, resource.TestStep{Config: catalogs(unordered, waits) + site("data.slipway_catalog.site.ordering"), ConfigStateChecks: []statecheck.StateCheck{
		is("data.slipway_catalog.site", at("ordering"), exact(`{"waits":[{"tasks":{"types":["file"]},"for":{"types":["package"]}}],"unordered":["sysctl"]}`)),
		is("data.slipway_plan.site", at("phases", 1, "tasks", 0, "resource"), exact("package[p]")),
	}})
	refused(t, catalogs(unordered)+site(`"{"`), `ordering: is not the ordering of a catalog`)
	refused(t, catalogs(unordered)+site(`jsonencode({ unordered = ["nothing"] })`), `ordering\.unordered\[0\]: there is no type "nothing" of tasks`)
}

// What the catalog knows only after apply leaves everything open until then.
func TestCatalogThatIsNotKnown(t *testing.T) {
	t.Parallel()
	run(t, resource.TestStep{
		Config: "resource \"terraform_data\" \"x\" { input = \"entities: {ntp: {attributes: {pool: string}}}\" }\n" +
			"data \"slipway_catalog\" \"site\" { documents = [terraform_data.x.output] }\n" + service("ntp", `{ pool = "a" }`),
		ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectUnknownValue("slipway_service.time", at("entity"))}},
		ConfigStateChecks: []statecheck.StateCheck{
			is("slipway_service.time", at("entity", "name"), exact("ntp")),
		},
	})
}
