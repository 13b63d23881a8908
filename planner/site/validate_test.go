package site

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func TestSiteValidate(t *testing.T) {
	valid := func() Site {
		return Site{
			Name: "lon1",
			Nodes: []Node{{Name: "n1", Roles: []string{"compute"}, Tags: []string{"a"},
				Labels: map[string]string{"k": "v"}}, {Name: "n2"}},
			Groups:   []Group{{Name: "all", Selectors: Selectors{{}}}},
			Services: []Service{{Name: "motd", Configuration: resource.Configuration{}}},
			Overrides: []Override{
				{Name: "tuning", Groups: []string{"all"}}, {Name: "roles", Roles: []string{"/comp/"}, Merge: "title"},
			},
		}
	}
	if errs := valid().Validate(); len(errs) > 0 {
		t.Fatalf("a valid site has problems:\n%v", errs)
	}
	tests := map[string]struct {
		change  func(s *Site)
		object  string
		name    string
		attr    string
		code    invalid.Code
		warning bool
		text    string // part of the message
	}{
		"site without a name": {func(s *Site) { s.Name = "" }, "deployment", "", "site", invalid.BadName, false,
			"needed"},
		"site name that is a path": {func(s *Site) { s.Name = "a/b" }, "deployment", "a/b", "site", invalid.BadName, false,
			"letters"},
		"node name that goes up": {func(s *Site) { s.Nodes[1].Name = ".." }, "node", "..", "name", invalid.BadName, false,
			"begin with"},
		"node name too long": {func(s *Site) { s.Nodes[1].Name = strings.Repeat("n", 254) }, "node",
			strings.Repeat("n", 254), "name", invalid.BadName, false, "at most 253"},
		"zone that is a path": {func(s *Site) { s.Nodes[1].Zone = "a/b" }, "node", "n2", "zone", invalid.BadName, false,
			"letters"},
		"duplicate node": {func(s *Site) { s.Nodes[1].Name = "n1" }, "node", "n1", "name", invalid.Duplicate,
			false, "more than one node"},
		"duplicate group": {func(s *Site) { s.Groups = append(s.Groups, s.Groups[0]) }, "group", "all",
			"name", invalid.DuplicateGroup, false, ""},
		"duplicate service": {func(s *Site) { s.Services = append(s.Services, s.Services[0]) }, "service",
			"motd", "name", invalid.Duplicate, false, "more than one service"},
		"duplicate override": {func(s *Site) { s.Overrides[1].Name = "tuning" }, "override", "tuning", "name",
			invalid.Duplicate, false, "more than one override"},
		"service name with a newline": {func(s *Site) { s.Services[0].Name = "a\nb" }, "service", "a\nb", "name",
			invalid.BadName, false, "control"},
		"service name that turns back": {func(s *Site) { s.Services[0].Name = "web\u2066fdp" }, "service",
			"web\u2066fdp", "name", invalid.BadName, false, `"web\u2066fdp" contains U+2066`},
		"override name with a joiner": {func(s *Site) { s.Overrides[0].Name = "x\u200d" }, "override", "x\u200d",
			"name", invalid.BadName, false, `"x\u200d" contains U+200D`},
		"override name with space": {func(s *Site) { s.Overrides[0].Name = " x" }, "override", " x", "name",
			invalid.BadName, false, `write "x"`},
		"empty tag": {func(s *Site) { s.Nodes[0].Tags[0] = " " }, "node", "n1", "tags[0]", invalid.BadValue,
			false, "empty"},
		"empty role": {func(s *Site) { s.Nodes[0].Roles = []string{"compute", ""} }, "node", "n1",
			"roles[1]", invalid.BadValue, false, "empty"},
		"label value with a colon": {func(s *Site) { s.Nodes[0].Labels = map[string]string{"k": "a:b"} }, "node",
			"n1", `labels["k"]`, invalid.BadLabel, false, "colon"},
		"label key with white space": {func(s *Site) { s.Nodes[0].Labels = map[string]string{"k ": "v"} }, "node",
			"n1", `labels["k "]`, invalid.BadLabel, false, `write "k"`},
		"label without value": {func(s *Site) { s.Nodes[0].Labels = map[string]string{"k": ""} }, "node", "n1",
			`labels["k"]`, invalid.BadLabel, false, "value is empty"},
		"unknown transport": {func(s *Site) { s.Nodes[0].Connection.Transport = "telnet" }, "node", "n1",
			"connection.transport", invalid.BadValue, false, `"ssh"`},
		"ssh without address": {func(s *Site) { s.Nodes[0].Connection.Transport = "ssh" }, "node", "n1",
			"address", invalid.MissingField, false, "needed"},
		"root of a remote node": {func(s *Site) {
			s.Nodes[0].Connection = Connection{Transport: "ssh", Root: "/r"}
		}, "node", "n1", "connection.root", invalid.BadValue, false, "local"},
		"port out of range": {func(s *Site) { s.Nodes[0].Connection.Port = 65536 }, "node", "n1",
			"connection.port", invalid.BadValue, false, "65535"},
		"unknown host key policy": {func(s *Site) { s.Nodes[0].Connection.HostKeyPolicy = "no" }, "node", "n1",
			"connection.host_key_policy", invalid.BadValue, false, "strict"},
		"negative timeout": {func(s *Site) { s.Nodes[0].Connection.ConnectTimeout = -time.Second }, "node",
			"n1", "connection.connect_timeout", invalid.BadValue, false, "negative"},
		"bastion without host": {func(s *Site) { s.Nodes[0].Connection.Bastions = []Bastion{{}} }, "node", "n1",
			"connection.bastions[0].host", invalid.MissingField, false, ""},
		"bastion port": {func(s *Site) {
			s.Nodes[0].Connection.Bastions = []Bastion{{Host: "b",
				Port: -1}}
		}, "node", "n1", "connection.bastions[0].port", invalid.BadValue, false, ""},
		"unknown group depended on": {func(s *Site) { s.Groups[0].DependsOn = []string{"al"} }, "group", "all",
			"depends_on_groups[0]", invalid.UnknownDependency, false, ""},
		"group that needs itself": {func(s *Site) { s.Groups[0].DependsOn = []string{"all"} }, "group", "all",
			"depends_on_groups[0]", invalid.Cycle, false, ""},
		"malformed label of a service": {func(
			s *Site) {
			s.Services[0].Selectors = Selectors{{NodeLabels: []string{"k=v"}}}
		},
			"service", "motd", "selectors[0].node_labels[0]", invalid.BadLabel, false, "colon"},
		"service of nothing": {func(s *Site) { s.Services[0].Configuration = nil }, "service", "motd", "", invalid.BadStructure,
			false, "neither an entity nor configuration"},
		"service of both": {func(s *Site) { s.Services[0].Entity = &catalog.Entity{} }, "service", "motd",
			"configuration", invalid.BadStructure, false,
			"does not go with an entity"},
		"attributes without entity": {func(s *Site) { s.Services[0].Attributes = map[string]any{} }, "service", "motd",
			"attributes", invalid.BadStructure, false,
			"give the entity too"},
		"service on no node": {func(s *Site) { s.Services[0].Selectors = Selectors{{NodeTags: []string{"none"}}} },
			"service", "motd", "selectors", invalid.NoNodes, true, "placed nowhere"},
		"override of unknown group": {func(s *Site) { s.Overrides[0].Groups[0] = "al" }, "override", "tuning",
			"groups[0]", invalid.UnknownGroup, false, `did you mean "all"`},
		"override of unknown node": {func(s *Site) {
			s.Overrides[1] = Override{Name: "o",
				Nodes: []string{"n1", "n3"}}
		},
			"override", "o", "nodes[1]", invalid.UnknownNode, false, `no node "n3"`},
		"override of a role that no node has": {func(s *Site) { s.Overrides[1].Roles[0] = "compite" }, "override",
			"roles", "roles[0]", invalid.UnknownRole, true, `did you mean "compute"`},
		"override with a bad pattern": {func(s *Site) { s.Overrides[1].Roles[0] = "/(/" }, "override", "roles",
			"roles[0]", invalid.BadValue, false, "regular expression"},
		"override with two scopes": {func(s *Site) { s.Overrides[1].Groups = []string{"all"} }, "override",
			"roles", "roles", invalid.BadStructure, false, "groups and roles exclude each other"},
		"unknown way to merge": {func(s *Site) { s.Overrides[1].Merge = "deep" }, "override", "roles",
			"merge", invalid.BadValue, false, `"parameter"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := valid()
			tt.change(&s)
			errs := s.Validate()
			for _, p := range errs {
				if p.Object == tt.object && p.Name == tt.name && p.Attribute == tt.attr && p.Code == tt.code &&
					p.Warning == tt.warning && strings.Contains(p.Message, tt.text) {
					return
				}
			}
			t.Errorf("got:\n%v\nwant %s %q %s with code %s (warning %t) and the text %q",
				errs, tt.object, tt.name, tt.attr, tt.code, tt.warning, tt.text)
		})
	}
}

func TestErrorsSort(t *testing.T) {
	ps := invalid.Errors{
		{Object: "override", Name: "a"}, {Object: "node", Name: "b"}, {Object: "deployment", Warning: true},
		{Object: "node", Name: "a", Attribute: "z"}, {Object: "node", Name: "a", Attribute: "b"},
	}
	ps.Sort()
	var got []string
	for _, p := range ps {
		got = append(got, p.Object+p.Name+p.Attribute)
	}
	if want := "nodeab nodeaz nodeb overridea deployment"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestRolePattern(t *testing.T) {
	tests := []struct {
		pattern, role string
		want          bool
	}{
		{"controller", "controller", true},
		{"controller", "primary-controller", false},
		{"/.*controller/", "primary-controller", true},
		{"/control/", "controller", true}, // anchored at the start only
		{"/roller/", "controller", false},
		{"/", "/", true},
		{"/a|b/", "xb", false},
	}
	for _, tt := range tests {
		p, err := ParseRolePattern(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Matches(tt.role); got != tt.want {
			t.Errorf("%s matches %s: got %t, want %t", tt.pattern, tt.role, got, tt.want)
		}
	}
	if _, err := ParseRolePattern("/(/"); err == nil {
		t.Error("a malformed expression passes")
	}
}
