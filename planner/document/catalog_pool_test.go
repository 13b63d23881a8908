package document_test

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
)

func TestPools(t *testing.T) {
	parsed, err := document.ParseCatalog([]document.Source{{Name: "pools.yaml",
		Data: []byte(
			"pools: {vlans: {integer: {from: -5, to: 20, excluded: [1, 10-19, \"-3\"]}, description: of the site}}\n")},
		{Name: "catalog.yaml", Data: []byte(`
entities:
  port:
    attributes:
      name: string
      vlan: {type: int, modifier: r, allocate: {pool: vlans, per: [name]}}
    embedded:
      units:
        key: [slot]
        attributes: {slot: int, address: {type: "ip_interface?", modifier: r, default: null, allocate: {address: {networks: [10.0.0.0/24], excluded: [10.0.0.1], whole: true}, pick: derived}}}
  uplink: {extends: port, attributes: {net: {type: string, modifier: r, allocate: {prefix: {networks: [fd00::/8], length: 64, excluded: [fd00::-fd00::ff]}}}}}
`)}})
	if err != nil {
		t.Fatal(err)
	}
	e, _ := parsed.Catalog.Entity("uplink")
	vlan, _ := e.Attribute("vlan")
	if p := vlan.Allocate; p.Pool != "vlans" || p.Own.Integer.From != -5 || len(p.Own.Integer.Excluded) != 3 ||
		p.Own.Description != "of the site" || p.Per[0] != "name" {
		t.Errorf("%+v", p)
	}
	if reserved, err := vlan.Allocate.Own.Integer.Reserved(); err != nil || reserved[1] != [2]int64{10, 19} ||
		reserved[2] != [2]int64{-3, -3} {
		t.Error(reserved, err)
	}
	// A pool of its own is shared by all that extend the entity.
	address, _ := e.Embedded[0].Attribute("address")
	if p := address.Allocate; p.Pool != "port.units.address" || !p.Own.Address.Whole || p.Own.Pick != catalog.Derived {
		t.Errorf("%+v", p)
	}
	if net, _ := e.Attribute("net"); net.Allocate.Pool != "uplink.net" || net.Allocate.Own.Prefix.Length != 64 {
		t.Errorf("%+v", net.Allocate)
	}
	text, err := e.Definition()
	if err != nil {
		t.Fatal(err)
	}
	again, errs := catalog.ParseDefinition(text)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if second, err := again.Definition(); err != nil || second != text {
		t.Errorf("%v\n%s\n%s", err, text, second)
	}
	for _, broken := range []string{strings.Replace(text, `"from":-5`, `"from":50`, 1),
		strings.Replace(text, `"pool":"vlans",`, "", 1), strings.Replace(text, "10.0.0.0/24", "10.0.0.9/24", 1)} {
		if _, errs := catalog.ParseDefinition(broken); len(errs) == 0 || broken == text {
			t.Error(broken)
		}
	}
}

func TestPoolErrors(t *testing.T) {
	attribute := func(text string) string {
		return "entities:\n  e:\n    attributes:\n      name: string\n      other: {type: int, modifier: r}\n      a: " + text + "\n"
	}
	for _, c := range []struct{ text, want string }{
		{"pools:\n  vlans: {integer: {from: 1, to: 2}}\n" +
			attribute("{type: int, modifier: r, allocate: {pool: vlan}}"),
			`catalog.yaml:8:52: entity "e": attributes.a.allocate.pool: there is no pool "vlan"; did you mean "vlans"?`},
		{attribute("{type: int, allocate: {integer: {from: 1, to: 2}}}"),
			`catalog.yaml:6:22: entity "e": attributes.a.allocate: is for attributes that slipway sets; this one has the modifier rw: give it r`},
		{attribute("{type: int, modifier: r, allocate: {}}"),
			`attributes.a.allocate: is without a pool; name one under pool, or give integer, address or prefix`},
		{attribute("{type: int, modifier: r, allocate: {pool: x, integer: {from: 1, to: 2}}}"),
			`attributes.a.allocate: has a pool of its own and names "x"; give one of them`},
		{attribute("{type: int, modifier: r, allocate: {pick: first}}"),
			`attributes.a.allocate: has 0 of integer, address and prefix; give exactly one`},
		{attribute("{type: int, modifier: r, allocate: {integer: {from: 1, to: 2}, pick: last}}"),
			`attributes.a.allocate.pick: there is no way to pick "last"`},
		{attribute("{type: int, modifier: r, allocate: {integer: {from: 3, to: 2}}}"),
			`attributes.a.allocate.integer.to: 2 is less than from, which is 3`},
		{attribute("{type: int, modifier: r, allocate: {integer: {from: 1}}}"), `to`},
		{attribute("{type: int, modifier: r, allocate: {integer: {form: 1, to: 2}}}"), `did you mean "from"?`},
		{attribute("{type: int, modifier: r, allocate: {integer: {from: x, to: 2}}}"), `a whole number`},
		{attribute("{type: int, modifier: r, allocate: {integer: {from: 1, to: 2, excluded: [x]}}}"),
			`excluded: "x" is neither a number nor a range such as 10-19`},
		{attribute("{type: int, modifier: r, allocate: {integer: {from: 1, to: 2, excluded: [5-2]}}}"),
			`excluded: "5-2" is no range`},
		{attribute("{type: string, modifier: r, allocate: {integer: {from: 1, to: 2}}}"),
			`attributes.a.allocate: gives values of the kind int, and the type is string`},
		{attribute("{type: int, modifier: r, allocate: {address: {networks: [10.0.0.0/24]}}}"),
			`gives values of the kind string, and the type is int`},
		{attribute("{type: 'int[]', modifier: r, allocate: {integer: {from: 1, to: 2}}}"),
			`gives one value, and int[] is a list; leave [] out`},
		{attribute("{type: int, lt: 4096, modifier: r, allocate: {integer: {from: 1, to: 4096}}}"),
			`does not fit the type int: the number 4096 is not valid: must be less than 4096`},
		{attribute("{type: ipv4_address, modifier: r, allocate: {address: {networks: [10.0.0.0/24, 'fd00::/64']}}}"),
			`does not fit the type ipv4_address`},
		{attribute("{type: string, modifier: r, allocate: {address: {networks: []}}}"),
			`networks: there are 0; give 1 to 1000`},
		{attribute("{type: string, modifier: r, allocate: {address: {networks: [10.0.0.1/24]}}}"),
			`networks[0]: "10.0.0.1/24" has host bits; write 10.0.0.0/24`},
		{attribute("{type: string, modifier: r, allocate: {address: {networks: [10.0.0.0/24, 10.0.0.128/25]}}}"),
			`networks[1]: 10.0.0.128/25 overlaps 10.0.0.0/24, element 0; leave one out`},
		{attribute(
			"{type: string, modifier: r, allocate: {address: {networks: [10.0.0.0/24], excluded: [10.0.0.9-10.0.0.1]}}}"), `excluded: "10.0.0.9-10.0.0.1" is no range`},
		{attribute("{type: string, modifier: r, allocate: {prefix: {networks: [10.0.0.0/24], length: 23}}}"),
			`length: 23 does not fit 10.0.0.0/24; give 24 to 32`},
		{attribute("{type: int, modifier: r, default: 5, allocate: {integer: {from: 1, to: 9}}}"),
			`default: an attribute that is allocated has no default but null; leave it out`},
		{attribute("{type: int, modifier: r, allocate: {integer: {from: 1, to: 9}, per: [nam]}}"),
			`per[0]: there is no attribute or relation beside this one "nam"; did you mean "name"?`},
		{attribute("{type: int, modifier: r, allocate: {integer: {from: 1, to: 9}, per: [a]}}"),
			`per[0]: there is no attribute or relation beside this one "a"`},
		{attribute("{type: int, modifier: r, allocate: {integer: {from: 1, to: 9}, per: [other]}}"),
			`per[0]: "other" is set by slipway itself; name attributes that users set`},
		{"entities: {e: {embedded: {l: {attributes: {a: {type: int, modifier: r, allocate: {integer: {from: 1, to: 9}, pick: derived}}}}}}}", `nothing distinguishes the children of this list`},
		{"pools: {p: {integer: {from: 2, to: 1}}}", `pool "p": integer.to: 1 is less than from`},
		{"pools: {p-q: {integer: {from: 1, to: 2}}}", `pool "p-q": "p-q" is not a usable name`},
		{"pools: {p: {}}", `catalog.yaml:1:9: pool "p": has 0 of integer, address and prefix; give exactly one`},
		{"pools: {p: {integer: {from: 1, to: 2}, pool: p}}", `pool`},
		{"pools: {p: {integer: {from: 1, to: 2}}}\n---\npools: {p: {integer: {from: 1, to: 2}}}",
			`catalog.yaml:3:9: pool "p": there is another pool of this name; give each a name of its own, or leave one out; the first one is at catalog.yaml:1`},
		{attribute("{type: int, modifier: r, allocate: {integer: {from: 1, to: 2}}}") +
			"    tasks: [{name: t, callback: {type: command, parameters: {command: x}, returns: {a: x}}}]\n", `"a" is allocated from a pool; leave that, or this, out`},
		{"entities: {e: {identity: a, attributes: {a: {type: string, sensitive: true}}}}",
			`identity: "a" is sensitive, and an identity names the service in plans and logs`},
		{"entities: {e: {embedded: {l: {key: [a], attributes: {a: {type: string, sensitive: true}}}}}}",
			`key[0]: "a" is sensitive`},
		{"entities: {e: {embedded: {l: {key: [a], attributes: {a: {type: string, modifier: r}}}}}}",
			`key[0]: "a" is set by slipway, but users make the children`},
		{"entities: {e: {embedded: {l: {modifier: r, embedded: {m: {modifier: rw+}}}}}}",
			`embedded.l.embedded.m: has the modifier rw+, but only slipway fills the embedded entity`},
		{"entities: {e: {embedded: {l: {modifier: r, relations: {m: {entity: e}}}}}}",
			`embedded.l.relations.m: has the modifier rw, but only slipway fills the embedded entity`},
	} {
		_, err := document.ParseCatalog([]document.Source{{Name: "catalog.yaml", Data: []byte(c.text)}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}
