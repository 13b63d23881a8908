package resources_test

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

// ntpCatalog is a catalog of entities that make files, which every node can have.
const ntpCatalog = `
types:
  stratum: {extends: int, ge: 1, le: 15}
entities:
  timed:
    abstract: true
    attributes:
      mode: {type: string, default: "0644", modifier: rw+}
  ntp:
    description: Time from the site's own servers.
    extends: timed
    attributes:
      pool: {type: string, modifier: rw+}
      key: {type: 'string?', sensitive: true, modifier: rw+}
      secret: {type: stratum, default: 1, sensitive: true}
      address: {type: string, modifier: r}
    embedded:
      servers:
        modifier: rw+
        lower: 1
        upper: 4
        key: [address]
        attributes:
          address: ip_address
          stratum: {type: stratum, default: 3, modifier: rw+}
          id: {type: string, modifier: r}
    tasks:
    - name: configuration
      config:
        type: file
        title: /etc/chrony.conf
        parameters:
          mode: "${self.mode}"
          content: |
            pool ${self.pool}
            %{ for s in self.servers ~}
            server ${s.address} ${s.stratum}
            %{ endfor ~}
`

// catalogs is the configuration of a data source of documents.
func catalogs(documents ...string) string {
	var b strings.Builder
	b.WriteString("data \"slipway_catalog\" \"site\" {\n  documents = [\n")
	for _, d := range documents {
		d = strings.NewReplacer("${", "$${", "%{", "%%{").Replace(d)
		fmt.Fprintf(&b, "<<-EOT\n%s\nEOT\n,\n", strings.Trim(d, "\n"))
	}
	return b.String() + "  ]\n}\n"
}

// instance is a service of an entity.
func instance(name, entity, attributes string) string {
	return fmt.Sprintf("resource \"slipway_service\" %q {\n  name = %q\n  selectors = []\n  entity = data.slipway_catalog.site.entities.%s\n  attributes = %s\n}\n", name, name, entity, attributes)
}

func TestEntityServiceLife(t *testing.T) {
	const address = "slipway_service.test"
	service := func(name, attributes string) string {
		return catalogs(ntpCatalog) + "resource \"slipway_service\" \"test\" {\n  name = \"" + name + "\"\n  selectors = []\n  entity = data.slipway_catalog.site.entities.ntp\n  attributes = " + attributes + "\n}\n"
	}
	heldLife(t, address,
		service("time", `{ pool = "a", servers = [{ address = "10.0.0.1" }], mode = null, key = null }`),
		service("time", `{ pool = "b", servers = [{ address = "10.0.0.1" }, { address = "10.0.0.2", stratum = 4 }] }`),
		service("renamed", `merge({ pool = "b" }, { servers = tolist([{ address = "10.0.0.1" }]) })`),
		[]statecheck.StateCheck{
			statecheck.ExpectKnownValue(address, tfjsonpath.New("entity").AtMapKey("name"), knownvalue.StringExact("ntp")),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("attributes"), knownvalue.ObjectExact(map[string]knownvalue.Check{
				"pool": knownvalue.StringExact("a"), "mode": knownvalue.Null(), "key": knownvalue.Null(),
				"servers": knownvalue.TupleExact([]knownvalue.Check{knownvalue.ObjectExact(map[string]knownvalue.Check{"address": knownvalue.StringExact("10.0.0.1")})}),
			})),
		},
		[]statecheck.StateCheck{statecheck.ExpectKnownValue(address, tfjsonpath.New("configuration"), knownvalue.Null())})
}

func TestEntityServiceErrors(t *testing.T) {
	service := func(attributes string) string {
		return "name = \"s\"\nselectors = []\nentity = data.slipway_catalog.site.entities.ntp\nattributes = " + attributes
	}
	const beside = "resource \"terraform_data\" \"x\" { input = \"x\" }\n"
	errs(t, "slipway_service", "", map[string]wrong{ // reported without a catalog, by terraform validate
		"no_entity":      {"name = \"s\"\nselectors = []\nattributes = {}", `entity: is required: attributes are those of an entity`},
		"nothing":        {"name = \"s\"\nselectors = []", `The service brings nothing; give entity, with attributes, or configuration`},
		"both":           {"name = \"s\"\nselectors = []\nentity = { definition = \"\" }\nconfiguration = {}", `configuration: stands beside entity`},
		"attributes_too": {"name = \"s\"\nselectors = []\nconfiguration = {}\nattributes = {}", `attributes: stands beside configuration`},
		"gates_too":      {"name = \"s\"\nselectors = []\nconfiguration = {}\ngates = {}", `gates: stands beside configuration; only a service of an entity has a lifecycle`},
		"rollback_too":   {"name = \"s\"\nselectors = []\nconfiguration = {}\nrollback_on_failure = true", `rollback_on_failure: stands beside configuration`},
		"state_too":      {"name = \"s\"\nselectors = []\nconfiguration = {}\ntarget_state = \"up\"", `target_state: stands beside configuration`},
		"lifecycle_too":  {"name = \"s\"\nselectors = []\nconfiguration = {}\nservice_lifecycle = \"simple\"", `service_lifecycle: stands beside configuration`},
		"no_definition":  {"name = \"s\"\nselectors = []\nentity = { definition = \"{}\" }\nattributes = {}", `entity\.definition: name: a name is needed`},
	})
	errs(t, "slipway_service", beside+catalogs(ntpCatalog), map[string]wrong{
		"unknown":    {service(`{ pool = "a", severs = [], servers = [{ address = "10.0.0.1" }] }`), `Unknown attribute(?s:.*)attributes\.severs: there is no such attribute; did you mean "servers"\?`},
		"missing":    {service(`{ servers = [{ address = "10.0.0.1" }] }`), `Missing attribute(?s:.*)attributes\.pool: is required`},
		"none":       {service(`null`), `attributes\.servers: is required: from 1 to 4`},
		"type":       {service(`{ pool = 5, servers = [{ address = "10.0.0.1" }] }`), `Value of the wrong type(?s:.*)attributes\.pool: is the number 5, not a string`},
		"rule":       {service(`{ pool = "a", servers = [{ address = "10.0.0.1" }, { address = "10.0.0.2", stratum = 16 }] }`), `attributes\.servers\[1\]\.stratum: the number 16 is not valid`},
		"limit":      {service(`{ pool = "a", servers = [] }`), `attributes\.servers: has 0; there must be from 1 to 4`},
		"key":        {service(`{ pool = "a", servers = [{ address = "10.0.0.1" }, { address = "10.0.0.1" }] }`), `attributes\.servers: elements 0 and 1 have the same address`},
		"set":        {service(`{ pool = "a", servers = [{ address = "10.0.0.1" }], address = "10.9.9.9" }`), `Attribute that slipway sets(?s:.*)attributes\.address: is set by slipway; leave it out`},
		"set_inside": {service(`{ pool = "a", servers = [{ address = "10.0.0.1", id = "x" }] }`), `attributes\.servers\[0\]\.id: is set by slipway`},
		"secret":     {service(`{ pool = "a", servers = [{ address = "10.0.0.1" }], secret = 4711 }`), `attributes\.secret: is not valid|attributes\.secret: must be`},
		"no_object":  {service(`["a"]`), `attributes: is a list; write an object of attributes`},
		"beside_an_unknown": {service(`{ pool = terraform_data.x.output, severs = terraform_data.x.output, servers = [{ address = terraform_data.x.output, stratum = 16 }] }`),
			`attributes\.servers\[0\]\.stratum: the number 16 is not valid`},
		"abstract":           {"name = \"s\"\nselectors = []\nentity = data.slipway_catalog.site.entities.timed", `entity: "timed" is abstract`},
		"another_digest":     {"name = \"s\"\nselectors = []\nentity = { digest = \"x\", definition = data.slipway_catalog.site.entities.ntp.definition }\nattributes = {}", `entity\.digest: is not that of the definition`},
		"another_definition": {"name = \"s\"\nselectors = []\nentity = { name = \"dns\", definition = data.slipway_catalog.site.entities.ntp.definition }\nattributes = {}", `entity\.name: is "dns", but the definition is that of "ntp"`},
	})
}

// What is wrong with one attribute is reported once, and a secret never.
func TestEntityServiceErrorsAreReportedOnce(t *testing.T) {
	const secret = 4711
	attributes := fmt.Sprintf(`{ pool = 5, severs = [], secret = %d, address = "x", servers = [{ address = "10.0.0.1" }] }`, secret)
	report := ""
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps:                    []resource.TestStep{{Config: catalogs(ntpCatalog) + instance("time", "ntp", attributes), PlanOnly: true}},
		ErrorCheck:               func(err error) error { report = err.Error(); return nil },
	})
	for _, place := range []string{"attributes.pool:", "attributes.severs:", "attributes.secret:", "attributes.address:"} {
		if n := strings.Count(report, place); n != 1 {
			t.Errorf("%s is reported %d times", place, n)
		}
	}
	if n := strings.Count(report, "Error: "); n != 4 {
		t.Errorf("%d errors", n)
	}
	if n := strings.Count(report, ":   attributes = {"); n != 4 {
		t.Errorf("%d errors show the line", n)
	}
	// Terraform itself shows the line of the configuration, with what is written there.
	for line := range strings.Lines(report) {
		if strings.Contains(line, "attributes.secret:") && strings.Contains(line, fmt.Sprint(secret)) {
			t.Error("the secret is shown")
		}
	}
	if t.Failed() {
		t.Log(report)
	}
}

func TestEntityServiceUnknownsPass(t *testing.T) {
	t.Parallel()
	for name, attributes := range map[string]string{
		"attribute":  `{ pool = terraform_data.x.output, servers = [{ address = "10.0.0.1" }] }`,
		"child":      `{ pool = "a", servers = [{ address = terraform_data.x.output == "x" ? "10.0.0.1" : "10.0.0.2" }, { address = terraform_data.x.output == "x" ? "10.0.0.3" : "10.0.0.2" }] }`,
		"children":   `{ pool = "a", servers = [for a in [terraform_data.x.output] : { address = "10.0.0.1" }] }`,
		"list":       `{ pool = "a", servers = terraform_data.x.output == "x" ? [{ address = "10.0.0.1" }] : [] }`,
		"everything": `terraform_data.x.output == "x" ? { pool = "a", servers = [{ address = "10.0.0.1" }] } : null`,
	} {
		t.Run(name, func(t *testing.T) {
			resource.UnitTest(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps: []resource.TestStep{{
					Config:           "resource \"terraform_data\" \"x\" { input = \"x\" }\n" + catalogs(ntpCatalog) + instance("time", "ntp", attributes),
					ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction("slipway_service.time", plancheck.ResourceActionCreate)}},
				}},
			})
		})
	}
	t.Run("an unknown that turns out wrong", func(t *testing.T) {
		resource.UnitTest(t, resource.TestCase{
			ProtoV6ProviderFactories: factories(),
			Steps: []resource.TestStep{{
				Config:      "resource \"terraform_data\" \"x\" { input = \"x\" }\n" + catalogs(ntpCatalog) + instance("time", "ntp", `{ pool = "a", servers = [{ address = terraform_data.x.output }] }`),
				ExpectError: wrapped(`attributes\.servers\[0\]\.address: the string "x" is not valid`),
			}},
		})
	})
}
