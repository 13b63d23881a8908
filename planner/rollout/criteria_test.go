package rollout

import (
	"reflect"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// TestEveryCriterion: each success criterion is enough for a group, is judged, is in the digest of the plan, and is
// shown before anything starts.
func TestEveryCriterion(t *testing.T) {
	digest := func(g site.Group) string {
		p, errs := planner.Make(site.Site{Name: "s", Nodes: []site.Node{{Name: "n", Address: "192.0.2.1"}},
			Groups: []site.Group{g}, Services: []site.Service{{Name: "a", Configuration: resource.Configuration{
				"group": {"crew": nil}}}}}, nil, nil)
		if p == nil {
			t.Fatal(errs)
		}
		return p.Digest
	}
	none := site.Group{Name: "g"}
	criteria := reflect.TypeFor[site.SuccessCriteria]()
	for i := range criteria.NumField() {
		key, _, _ := strings.Cut(criteria.Field(i).Tag.Get("key"), ",")
		unmet, digests := false, map[string]bool{}
		for _, limit := range []int{0, 100} { // at most none, at least all
			g := site.Group{Name: "g", SuccessCriteria: &site.SuccessCriteria{}}
			reflect.ValueOf(g.SuccessCriteria).Elem().Field(i).Set(reflect.ValueOf(&limit))
			if errs := g.Validate(); errs != nil {
				t.Errorf("%s = %d: %v", key, limit, errs)
			}
			for _, s := range strategy.Evaluate(g.SuccessCriteria, 10, 5) {
				unmet = unmet || s.Criterion == key
			}
			digests[digest(g)] = true
			if shown := outline(run.Program{Groups: []run.Group{{Group: g}}}, nil); !strings.Contains(shown, `"`+key+`":`) {
				t.Errorf("%s is not in the outline of the run: %s", key, shown)
			}
			if wanted(g) == wanted(none) {
				t.Errorf("what the journal says of the group has no %s: %q", key, wanted(g))
			}
		}
		if len(digests) < 2 {
			t.Errorf("the digest of the plan does not depend on %s", key)
		}
		if !unmet {
			t.Errorf("no group falls short of %s", key)
		}
	}
}
