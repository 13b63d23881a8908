package resources

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
)

// A service that is written by hand may leave configuration out; it stays as it is when it is known.
func TestLackingTakesAServiceWithoutConfiguration(t *testing.T) {
	service := objectOf(map[string]tftypes.Value{
		"name":   tftypes.NewValue(tftypes.String, "ntp"),
		"entity": objectOf(map[string]tftypes.Value{"definition": tftypes.NewValue(tftypes.String, "{}")}),
	})
	var l lacking
	known, ok := l.service(t.Context(), entry{"services[0]", service})
	if !ok || !known.Equal(service) || l.services != (share{0, 1}) || !l.brings.none() {
		t.Errorf("got %s, %v, %+v", known, ok, l)
	}
}

// The title of the warning says that steps are missing of what is left out only.
func TestTitleOfWhatIsLacking(t *testing.T) {
	none := map[planresource.ID]bool{}
	one := map[planresource.ID]bool{"file[/etc/c]": true}
	for want, l := range map[string]lacking{
		"1 of 3 resources of the services and 1 of 1 overrides are not known yet": {
			resources: share{1, 3}, overrides: share{1, 1}, brings: brings{ids: none}},
		"1 of 3 nodes is not known yet: its steps are missing":    {nodes: share{1, 3}},
		"2 of 3 nodes are not known yet: their steps are missing": {nodes: share{2, 3}},
		"1 of 3 nodes is not known yet: its steps are missing. 1 of 3 resources of the services and 1 of 1 overrides " +
			"are known in part": {nodes: share{1, 3}, resources: share{1, 3}, overrides: share{1, 1}},
		"1 of 3 resources of the services is not known yet: its steps are missing. 1 of 3 resources of the services is " +
			"known in part": {resources: share{2, 3}, brings: brings{ids: one}},
		"Resources of the services are not known yet: their steps are missing": {brings: brings{types: map[string]bool{"file": true}}},
	} {
		if got := l.summary(); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}
