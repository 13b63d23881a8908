package enroll

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// airshipReader collects the documents of Drydock that describe machines: BaremetalNode and HostProfile.
type airshipReader struct {
	*reader
	nodes    []airshipDocument
	profiles map[string]airshipDocument
	used     map[string]bool // profiles of nodes
}

type airshipDocument struct {
	kind string // node or host profile
	name string
	at   position
	body *yaml.Node // data
}

const (
	baremetalNode = "drydock/BaremetalNode/v1"
	hostProfile   = "drydock/HostProfile/v1"
)

func (a *airshipReader) read(file string, documents []*yaml.Node) {
	passed := make(map[string]bool)
	for _, d := range documents {
		schema := text(member(d, "schema"))
		if schema != baremetalNode && schema != hostProfile {
			if !passed[schema] {
				passed[schema] = true
				a.warn(at(file, d), "", "", "", "", fmt.Sprintf("documents of the schema %q are left out; %s and %s are read", schema, baremetalNode, hostProfile))
			}
			continue
		}
		metadata := member(d, "metadata")
		kind := map[bool]string{true: "node", false: "host profile"}[schema == baremetalNode]
		doc := airshipDocument{kind, text(member(metadata, "name")), at(file, d), member(d, "data")}
		if doc.name == "" {
			a.report(doc.at, "", "", "metadata.name", "is missing; give the name of the %s", kind)
			continue
		}
		if doc.body == nil || doc.body.Kind != yaml.MappingNode {
			a.report(doc.at, kind, doc.name, "data", "must be a mapping with addressing and metadata")
			continue
		}
		if list := items(member(metadata, "substitutions")); len(list) > 0 {
			a.warn(at(file, list[0]), kind, doc.name, "metadata.substitutions", "", "are not carried out; give documents as Deckhand renders them")
		}
		if schema == baremetalNode {
			a.nodes = append(a.nodes, doc)
			continue
		}
		if a.profiles == nil {
			a.profiles, a.used = make(map[string]airshipDocument), make(map[string]bool)
		}
		if _, twice := a.profiles[doc.name]; twice {
			a.warn(doc.at, kind, doc.name, "metadata.name", "", "is also that of an earlier document; this one counts")
		}
		a.profiles[doc.name] = doc
	}
}

// inheritedKeys are those of data that are read of nodes and of host profiles, below metadata too.
var inheritedKeys = []string{"host_profile", "primary_network", "metadata", "oob"}

func (a *airshipReader) enroll() {
	for _, d := range a.nodes {
		a.unused(d, "addressing")
		chain := a.chain(d)
		n := site.Node{Name: d.name, Rack: inherited(chain, "metadata", "rack")}
		addTags(&n, a.tags(chain)...)
		owner := a.ownerData(chain)
		for _, key := range slices.Sorted(maps.Keys(owner)) {
			o := owner[key]
			reason := "is " + form(o.value) + ", which no label is; it is left out"
			switch {
			case secretName(key) || hasSecret(o.value):
				reason = "is a secret by its name or form, and is not written"
			case o.value.Kind == yaml.ScalarNode:
				reason = addLabel(&n, key, text(o.value))
			}
			if reason != "" {
				a.warn(at(o.of.at.file, o.key), o.of.kind, o.of.name, "data.metadata.owner_data."+key, "", reason)
			}
		}
		n.Address = a.address(d, chain)
		slices.Sort(n.Tags)
		a.add(n, d.at)
	}
}

// chain returns a node and its host profiles, the nearest first. It warns of what slipway does not use of the profiles.
func (a *airshipReader) chain(d airshipDocument) []airshipDocument {
	chain := []airshipDocument{d}
	for {
		of := member(d.body, "host_profile")
		name := text(of)
		next, ok := a.profiles[name]
		switch {
		case name == "":
			return chain
		case !ok:
			a.warn(at(d.at.file, of), d.kind, d.name, "data.host_profile", "",
				fmt.Sprintf("no document has the host profile %q, so nothing is inherited from it", name))
			return chain
		case len(chain) > maxDepth:
			a.report(at(d.at.file, of), d.kind, d.name, "data.host_profile",
				"inherits from itself, or through more than %d host profiles", maxDepth)
			return chain
		}
		if !a.used[name] {
			a.used[name] = true
			a.unused(next)
		}
		d, chain = next, append(chain, next)
	}
}

// unused warns of what is not read of a document; more are keys that only its kind has.
func (a *airshipReader) unused(d airshipDocument, more ...string) {
	metadata := member(d.body, "metadata")
	a.unusedIn(d, metadata, "data.metadata.", []string{"tags", "rack", "owner_data"})
	a.unusedIn(d, d.body, "data.", append(more, inheritedKeys...))
	a.unusedIn(d, member(d.body, "oob"), "data.oob.", []string{"network", "type"})
	for _, want := range []struct {
		key, form string
		kind      yaml.Kind
	}{{"tags", "a list", yaml.SequenceNode}, {"owner_data", "a mapping", yaml.MappingNode}, {"rack", "text", yaml.ScalarNode}} {
		if n := member(metadata, want.key); n != nil && n.Kind != want.kind && n.ShortTag() != "!!null" {
			a.warn(at(d.at.file, n), d.kind, d.name, "data.metadata."+want.key, "", "is not "+want.form+"; it is left out")
		}
	}
}

// unusedIn warns of the keys of a mapping that are not read.
func (a *airshipReader) unusedIn(d airshipDocument, n *yaml.Node, prefix string, used []string) {
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case slices.Contains(used, key.Value):
		case secretName(key.Value) || hasSecret(n.Content[i+1]):
			a.warn(at(d.at.file, key), d.kind, d.name, prefix+key.Value, "", "is a secret by its name or form, and is not written")
		default:
			a.warn(at(d.at.file, key), d.kind, d.name, prefix+key.Value, "", "slipway has no use for it; it is left out")
		}
	}
}

// without, before a tag or a key of owner_data, takes that of host profiles away, and as a value what they have.
const without = "!"

// inherited returns the value that the nearest document of a chain has.
func inherited(chain []airshipDocument, keys ...string) string {
	for _, d := range chain {
		n := d.body
		for _, key := range keys {
			n = member(n, key)
		}
		switch s := text(n); s {
		case "":
		case without:
			return ""
		default:
			return s
		}
	}
	return ""
}

// tags returns the tags of all documents of a chain.
func (a *airshipReader) tags(chain []airshipDocument) (tags []string) {
	for _, d := range slices.Backward(chain) {
		for _, item := range items(member(member(d.body, "metadata"), "tags")) {
			tag := text(item)
			switch taken, takes := strings.CutPrefix(tag, without); {
			case takes:
				tags = slices.DeleteFunc(tags, func(t string) bool { return t == taken })
			case tag == "":
				a.warn(at(d.at.file, item), d.kind, d.name, "data.metadata.tags", "", "a tag is "+form(item)+"; it is left out")
			default:
				tags = append(tags, tag)
			}
		}
	}
	return tags
}

// owned is a member of owner_data.
type owned struct {
	of         airshipDocument
	key, value *yaml.Node
}

// ownerData returns owner_data of all documents of a chain, where that of the nearest one counts.
func (a *airshipReader) ownerData(chain []airshipDocument) map[string]owned {
	out := make(map[string]owned)
	for _, d := range slices.Backward(chain) {
		data := member(member(d.body, "metadata"), "owner_data")
		for i := 0; data != nil && data.Kind == yaml.MappingNode && i+1 < len(data.Content); i += 2 {
			key, value := data.Content[i], follow(data.Content[i+1])
			if taken, takes := strings.CutPrefix(key.Value, without); takes {
				delete(out, taken)
			} else {
				out[key.Value] = owned{d, key, value}
			}
		}
	}
	return out
}

// address returns the address of a node: that in the wanted network, else in the primary one, else the first outside of
// the network of the management controller.
func (a *airshipReader) address(d airshipDocument, chain []airshipDocument) string {
	wanted := a.options.Network
	if wanted == "" {
		wanted = inherited(chain, "primary_network")
	}
	oob := inherited(chain, "oob", "network")
	var networks, addresses []string
	for _, item := range items(member(d.body, "addressing")) {
		network, address := text(member(item, "network")), text(member(item, "address"))
		switch {
		case address == "" || network == "":
			a.report(at(d.at.file, item), "node", d.name, "data.addressing", "needs network and address")
		case address == "dhcp":
			a.warn(at(d.at.file, item), "node", d.name, "data.addressing", "", "the address in the network "+network+" comes from DHCP; it is not known")
		case network == wanted:
			return address
		case network != oob:
			networks, addresses = append(networks, network), append(addresses, address)
		}
	}
	known := strings.Join(networks, ", ")
	switch {
	case wanted != "":
		a.report(d.at, "node", d.name, "data.addressing", "has no address in the network %q; known are %s", wanted, known)
	case len(addresses) == 0:
		a.report(d.at, "node", d.name, "data.addressing", "has no address outside of the network of the management controller; add one")
	case len(addresses) > 1:
		a.warn(d.at, "node", d.name, "data.addressing", "", "has addresses in several networks ("+known+"), and no primary_network is known: the first one is taken; choose with --network")
	}
	if len(addresses) == 0 {
		return ""
	}
	return addresses[0]
}
