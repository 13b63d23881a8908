package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// A step lists what it does in the order of execution, and cuts only what is of a kind that it shows.
func TestStepsAreInOrder(t *testing.T) {
	files := titles{}
	for i := range 14 {
		files[fmt.Sprintf("/srv/%02d", i)] = params{"content": "x"}
	}
	files["/a"] = params{"content": "x", "require": []any{"user[zed]"}}
	s := site.Site{
		Name: "s", Nodes: []site.Node{{Name: "a"}, {Name: "b", Tags: []string{"t"}}},
		Services: []site.Service{
			{Name: "files", Configuration: conf{"file": files,
				"user":    titles{"zed": {"require": []any{"package[tree]"}}},
				"package": titles{"tree": {"ensure": "installed"}}}},
			{Name: "last", Selectors: site.Selectors{{NodeTags: []string{"t"}}}, Configuration: conf{
				"sysctl": titles{"vm.swappiness": {"value": "1", "require": []any{"file[/a]"}}},
				"host":   titles{"db": {"ip": "192.0.2.7", "require": []any{"sysctl[vm.swappiness]"}}},
			}},
		},
	}
	p := mustMake(t, s, nil, nil)
	want := "2. default (critical): node phase: 36 changes on 2 nodes: create file[/srv/00] on 2, file[/srv/01] on 2, file[/srv/02] on 2, file[/srv/03] on 2, file[/srv/04] on 2, " +
		"file[/srv/05] on 2, file[/srv/06] on 2, file[/srv/07] on 2, file[/srv/08] on 2, file[/srv/09] on 2, file[/srv/10] on 2, file[/srv/11] on 2, " +
		"package[tree] on 2, user[zed] on 2, sysctl[vm.swappiness] on b, host[db] on b and 3 more (create 3 file)"
	if d := cmp.Diff(want, p.Steps()[1]); d != "" {
		t.Error(d)
	}
}

// A rolling group shows the order of its nodes, those that need no lock last. Only an order changes the digest.
func TestStepsShowTheOrderOfNodes(t *testing.T) {
	s := site.Site{
		Name: "s", Nodes: []site.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		Services: []site.Service{{Name: "files", Configuration: conf{"file": titles{"/a": params{"content": "x"}}}}},
	}
	applied := planner.Applied{"a": {"file[/a]": "old"}, "b": {"file[/a]": "old"}}
	digests := make(map[string]bool)
	for order, want := range map[string]string{
		"":      "1 node at a time between lock and unlock, 1 new node (c) without: 3",
		"b * a": "1 node at a time between lock and unlock, 1 new node (c) without, in the order b, a, c: 3",
		"c a b": "1 node at a time between lock and unlock, 1 new node (c) without, in the order a, b, c: 3",
	} {
		s.Groups = []site.Group{{Name: "g", Rolling: &site.Rolling{MaxParallel: 1, Lock: "l", Unlock: "u", SpareNew: true,
			NodeOrder: strings.Fields(order)}}}
		p := mustMake(t, s, applied, nil)
		if !strings.HasPrefix(p.Steps()[1], "2. g: node phase, "+want) {
			t.Errorf("%q: got %s", order, p.Steps()[1])
		}
		digests[p.Digest] = true
	}
	if len(digests) != 3 {
		t.Errorf("got %d digests", len(digests))
	}
}
