package site

import (
	"strings"
	"testing"
)

func TestPlace(t *testing.T) {
	gate := []Bastion{{Host: "Gate.example"}, {Host: "inner", Port: 2200, User: "x"}}
	for _, tt := range []struct {
		node Node
		want string
	}{
		{Node{Address: "10.0.0.1"}, "10.0.0.1:22"},
		{Node{Address: "10.0.0.1", Connection: Connection{Transport: "ssh", Port: 22, User: "other"}}, "10.0.0.1:22"},
		{Node{Address: "Web1.example.", Connection: Connection{Port: 2222}}, "web1.example:2222"},
		{Node{Address: "2001:DB8:0::1"}, "[2001:db8::1]:22"},
		{Node{Address: "web1", Connection: Connection{Bastions: gate}}, "web1:22 through gate.example:22, inner:2200"},
		{Node{Connection: Connection{Transport: "local"}}, "this machine"},
		{Node{Connection: Connection{Transport: "local", Root: "/"}}, "this machine"},
		{Node{Connection: Connection{Transport: "local", Root: "/srv/a/../b/"}}, "the folder /srv/b"},
	} {
		if got := tt.node.Place(); got != tt.want {
			t.Errorf("%+v is at %q, want %q", tt.node, got, tt.want)
		}
	}
}

func TestValidatePlaces(t *testing.T) {
	local := func(name, root string) Node {
		return Node{Name: name, Connection: Connection{Transport: "local", Root: root}}
	}
	for name, tt := range map[string]struct {
		nodes []Node
		want  string // the one error; empty: none
	}{
		"places of their own": {[]Node{{Name: "a", Address: "h1"}, {Name: "b", Address: "h2"}, local("c", "/c"),
			local("d", "/d"), local("e", "")}, ""},
		"behind jump hosts an address may come twice": {[]Node{{Name: "a", Address: "10.0.0.1"},
			{Name: "b", Address: "10.0.0.1", Connection: Connection{Bastions: []Bastion{{Host: "gate"}}}}}, ""},
		"one name twice is another mistake": {[]Node{{Name: "a", Address: "h"}, {Name: "a", Address: "h"}}, ""},
		"one address": {[]Node{{Name: "b", Address: "H"}, {Name: "a", Address: "h", Connection: Connection{Port: 22}}},
			`node "b": address: is h:22, and so is the node "a"`},
		"one folder": {[]Node{local("a", "/x"), local("b", "/x/")},
			`node "b": connection.root: is the folder /x, and so is the node "a"`},
		"one machine": {[]Node{local("a", ""), local("b", "/")},
			`node "b": connection.root: is this machine, and so is the node "a"`},
		"no address": {[]Node{{Name: "a"}, {Name: "b", Address: "h"}}, `node "a": address: is needed`},
		"root without word": {[]Node{{Name: "a", Connection: Connection{Root: "/x"}}},
			`node "a": connection.root: only a local node has a root`},
		// Site.Validate tells these.
		"ssh by name, no address": {[]Node{{Name: "a", Connection: Connection{Transport: "ssh"}},
			{Name: "b", Connection: Connection{Transport: "ssh"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			errs := ValidatePlaces(tt.nodes)
			switch {
			case tt.want == "" && len(errs) > 0:
				t.Errorf("got %v, want none", errs)
			case tt.want != "" && (len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tt.want)):
				t.Errorf("got %v, want %s", errs, tt.want)
			}
		})
	}
}
