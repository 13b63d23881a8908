package engine

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// The title of the warning says that steps are missing of what is left out only.
func TestTitleOfWhatIsLacking(t *testing.T) {
	none := map[resource.ID]bool{}
	one := map[resource.ID]bool{"file[/etc/c]": true}
	for want, l := range map[string]site.Lacking{
		"1 of 3 resources of the services and 1 of 1 overrides are not known yet": {
			Resources: site.Share{Lacks: 1, Of: 3}, Overrides: site.Share{Lacks: 1, Of: 1}, Brings: site.Brings{IDs: none}},
		"1 of 3 nodes is not known yet: its steps are missing":    {Nodes: site.Share{Lacks: 1, Of: 3}},
		"2 of 3 nodes are not known yet: their steps are missing": {Nodes: site.Share{Lacks: 2, Of: 3}},
		"1 of 3 nodes is not known yet: its steps are missing. 1 of 3 resources of the services and 1 of 1 overrides " +
			"are known in part": {Nodes: site.Share{Lacks: 1, Of: 3}, Resources: site.Share{Lacks: 1, Of: 3}, Overrides: site.Share{Lacks: 1, Of: 1}},
		"1 of 3 resources of the services is not known yet: its steps are missing. 1 of 3 resources of the services is " +
			"known in part": {Resources: site.Share{Lacks: 2, Of: 3}, Brings: site.Brings{IDs: one}},
		"Resources of the services are not known yet: their steps are missing": {Brings: site.Brings{Types: map[string]bool{"file": true}}},
		"secrets_version is not known yet":                                     {Places: []string{"secrets_version"}, Nodes: site.Share{Of: 3}},
	} {
		if got := summary(l); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}
