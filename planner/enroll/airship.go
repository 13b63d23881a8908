package enroll

import (
	"fmt"
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
}

type airshipDocument struct {
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
		doc := airshipDocument{text(member(metadata, "name")), at(file, d), member(d, "data")}
		if doc.name == "" {
			a.report(doc.at, "", "", "metadata.name", "is missing; give the name of the machine")
			continue
		}
		if doc.body == nil || doc.body.Kind != yaml.MappingNode {
			a.report(doc.at, "node", doc.name, "data", "must be a mapping with addressing and metadata")
			continue
		}
		if list := items(member(metadata, "substitutions")); len(list) > 0 {
			a.warn(at(file, list[0]), "node", doc.name, "metadata.substitutions", "", "are not carried out; give documents as Deckhand renders them")
		}
		if schema == baremetalNode {
			a.nodes = append(a.nodes, doc)
			continue
		}
		if a.profiles == nil {
			a.profiles = make(map[string]airshipDocument)
		}
		a.profiles[doc.name] = doc
	}
}

// usedKeys are those of data that are read, below metadata too.
var usedKeys = []string{"addressing", "host_profile", "primary_network", "metadata", "oob"}

func (a *airshipReader) enroll() {
	for _, d := range a.nodes {
		n := site.Node{Name: d.name}
		metadata := member(d.body, "metadata")
		for _, tag := range items(member(metadata, "tags")) {
			addTags(&n, text(tag))
		}
		n.Rack = text(member(metadata, "rack"))
		if owner := member(metadata, "owner_data"); owner != nil {
			for i := 0; i+1 < len(owner.Content) && owner.Kind == yaml.MappingNode; i += 2 {
				key, value := owner.Content[i], owner.Content[i+1]
				reason := "is " + form(value) + ", which no label is; it is left out"
				switch {
				case secretName(key.Value) || hasSecret(value):
					reason = "is a secret by its name or form, and is not written"
				case follow(value).Kind == yaml.ScalarNode:
					reason = addLabel(&n, key.Value, text(value))
				}
				if reason != "" {
					a.warn(at(d.at.file, key), "node", d.name, "data.metadata.owner_data."+key.Value, "", reason)
				}
			}
		}
		a.unusedIn(d, metadata, "data.metadata.", []string{"tags", "rack", "owner_data"})
		a.unusedIn(d, d.body, "data.", usedKeys)
		a.unusedIn(d, member(d.body, "oob"), "data.oob.", []string{"network", "type"})
		n.Address = a.address(d)
		slices.Sort(n.Tags)
		a.add(n, d.at)
	}
}

// unusedIn warns of the keys of a mapping that are not read.
func (a *airshipReader) unusedIn(d airshipDocument, n *yaml.Node, prefix string, used []string) {
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case slices.Contains(used, key.Value):
		case secretName(key.Value) || hasSecret(n.Content[i+1]):
			a.warn(at(d.at.file, key), "node", d.name, prefix+key.Value, "", "is a secret by its name or form, and is not written")
		default:
			a.warn(at(d.at.file, key), "node", d.name, prefix+key.Value, "", "slipway has no use for it; it is left out")
		}
	}
}

// inherited returns a value of a node, or of its host profiles.
func (a *airshipReader) inherited(d airshipDocument, keys ...string) string {
	for range maxDepth {
		n := d.body
		for _, key := range keys {
			n = member(n, key)
		}
		if s := text(n); s != "" {
			return s
		}
		next, ok := a.profiles[text(member(d.body, "host_profile"))]
		if !ok {
			return ""
		}
		d = next
	}
	return ""
}

// address returns the address of a node: that in the wanted network, else in the primary one, else the first outside of
// the network of the management controller.
func (a *airshipReader) address(d airshipDocument) string {
	wanted := a.options.Network
	if wanted == "" {
		wanted = a.inherited(d, "primary_network")
	}
	oob := a.inherited(d, "oob", "network")
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
