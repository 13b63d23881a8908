package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Messages that a person can act on, of sites that are almost right.
func TestMessages(t *testing.T) {
	file := func(parameters params) conf {
		parameters["content"] = "x"
		return conf{"file": titles{"/etc/a": parameters}, "package": titles{"tree": {}, "htop": {}}}
	}
	yes := true
	of := func(c conf) site.Site {
		return site.Site{Name: "s", Nodes: []site.Node{{Name: "n", Tags: []string{"web"}, Rack: "r1"},
			{Name: "m", Tags: []string{"db"}}}, Services: []site.Service{{Name: "a", Configuration: c}}}
	}
	overridden := func(c conf, options site.OverrideOptions) site.Site {
		s := of(file(params{}))
		s.Overrides = []site.Override{{Name: "o", Configuration: c, Options: options}}
		return s
	}
	apart := func(parameters params) site.Site {
		s := of(conf{"package": titles{"tree": {}}})
		s.Services[0].Selectors = site.Selectors{{NodeTags: []string{"web"}}}
		parameters["content"] = "x"
		s.Services = append(s.Services, site.Service{Name: "b",
			Configuration: conf{"file": titles{"/etc/long": parameters}},
			Selectors:     site.Selectors{{NodeTags: []string{"db"}}}})
		return s
	}
	const similar = "makes package[tre], which no service brings"
	for name, test := range map[string]struct {
		site       site.Site
		want, lack string
	}{
		"a reference as Terraform writes one": {of(file(params{"require": "package.tree"})),
			`"package.tree" is not a reference of the form type[title]; did you mean "package[tree]"?`, ""},
		"a dot in what is no type": {of(file(params{"require": "/etc/a.conf"})),
			`"/etc/a.conf" is not a reference of the form type[title], such as service[nginx]`, "did you mean"},
		"a title that is almost right": {of(file(params{"require": "package[tre]"})),
			"there is no package[tre] (on all 2 nodes); did you mean package[tree]?", ""},
		"a title of another type": {of(file(params{"require": "service[htop]"})),
			"there is no service[htop] (on all 2 nodes); did you mean package[htop]?", ""},
		"a title that is another one": {of(file(params{"require": "package[nginx]"})),
			"there is no package[nginx]; of the type package there are htop, tree",
			"did you mean"},
		"a title that is almost its own": {of(conf{"file": titles{"/etc/a": {"content": "x",
			"require": "file[/etc/b]"}}}),
			"there is no file[/etc/b] (on all 2 nodes)", "did you mean"},
		"a type that is almost right": {of(file(params{"require": "pakage[nginx]"})),
			"there is no pakage[nginx] (on all 2 nodes); did you mean package[nginx]?", ""},
		"a type and a title that are almost right": {of(file(params{"require": "pakage[tre]"})),
			"there is no pakage[tre] (on all 2 nodes); did you mean package[tree]?", ""},
		"a type that is almost right, on other nodes": {apart(params{"require": "pakage[tree]"}),
			"there is no pakage[tree] (on node m); did you mean package[tree], which is not on the same node, only on others: n?", ""},
		"a type like no other": {of(file(params{"require": "elephant[nginx]"})), "there is no elephant[nginx] (on all 2",
			"did you mean"},
		"a resource of other nodes": {apart(params{"require": "package[tree]"}),
			"there is no package[tree] on the same node, only on others: n (on node m)", "did you mean"},
		"a title that is almost one of other nodes": {apart(params{"require": "package[tre]"}),
			"there is no package[tre] (on node m); did you mean package[tree], which is not on the same node, only on others: n?", ""},
		"a group that is almost its own": {site.Site{Name: "s", Nodes: []site.Node{{Name: "n"}},
			Groups: []site.Group{{Name: "web1", DependsOn: []string{"web2"}}}},
			`there is no group "web2"`, "did you mean"},
		"a type of which there is none": {of(file(params{"require": "mount[/mnt]"})), "there is no mount[/mnt]",
			"of the type"},
		"an override that makes what is almost there": {overridden(conf{"package": titles{"tre": {"ensure": "absent"}}},
			site.OverrideOptions{}),
			similar + " (on all 2 nodes); did you mean \"tree\"? Where it is meant, write options = { create = true }",
			""},
		"an override that is to make it": {overridden(conf{"package": titles{"tre": {"ensure": "absent"}}},
			site.OverrideOptions{Create: &yes}), "", similar},
		"an override that makes one of several": {overridden(conf{"file": titles{"/etc/b": {"content": "x"},
			"/etc/a2": {"content": "x"}}}, site.OverrideOptions{}), "", "which no service brings"},
		"an override of what is there": {overridden(conf{"package": titles{"tree": {"ensure": "absent"}}},
			site.OverrideOptions{}), "", "which no service brings"},
	} {
		_, errs := planner.Make(test.site, nil, nil)
		got := errs.Error()
		if !strings.Contains(got, test.want) || test.lack != "" && strings.Contains(got, test.lack) {
			t.Errorf("%s: %q, want %q and not %q", name, got, test.want, test.lack)
		}
	}
}

// A selector that matches nothing says what there is.
func TestSelectorsThatSelectNothing(t *testing.T) {
	var nodes []site.Node
	for i := range 20 {
		nodes = append(nodes, site.Node{Name: fmt.Sprintf("node%02d", i), Rack: fmt.Sprintf("rack%d", i%2),
			Tags: []string{"web", fmt.Sprintf("t%d", i%3)}, Labels: map[string]string{"zone": fmt.Sprintf("z%d", i%2)}})
	}
	for name, test := range map[string]struct {
		selector site.Selector
		want     string
	}{
		"tags": {site.Selector{NodeTags: []string{"wbe"}},
			"no node has such tags; there are t0, t1, t2, web"},
		"racks": {site.Selector{RackNames: []string{"rack9"}},
			"no node is in such racks; there are rack0, rack1"},
		"labels": {site.Selector{NodeLabels: []string{"zone:z9"}},
			"no node has such labels; there are zone:z0, zone:z1"},
		"names": {site.Selector{NodeNames: []string{"x"}},
			"no node has such a name; there are node00, node01, node02, node03, node04, node05, node06, node07 and 12 more"},
		"both": {site.Selector{NodeTags: []string{"web"}, RackNames: []string{"rack9"}},
			"no node is in such racks; there are rack0, rack1"},
		"no node meets all": {site.Selector{NodeNames: []string{"node00"}, RackNames: []string{"rack1"}},
			"no node meets all criteria of one selector"},
	} {
		s := site.Site{Name: "s", Nodes: nodes, Groups: []site.Group{{Name: "g",
			Selectors: site.Selectors{test.selector}}, {Name: "all"}},
			Services: []site.Service{{Name: "a", Selectors: site.Selectors{test.selector},
				Configuration: conf{"file": titles{"/etc/a": {"content": "x"}}}}}}
		_, errs := planner.Make(s, nil, nil)
		got := errs.Error()
		for _, want := range []string{`group "g": selectors: no node is selected, so the group has nothing to do: ` +
			test.want, `service "a": selectors: no node is selected, so the service is placed nowhere: ` + test.want} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}
