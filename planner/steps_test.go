package planner_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

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
