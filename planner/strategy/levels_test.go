package strategy

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func TestLevels(t *testing.T) {
	group := func(name string, dependsOn ...string) site.Group { return site.Group{Name: name, DependsOn: dependsOn} }
	tests := map[string]struct {
		groups []site.Group
		want   [][]string
	}{
		"none": {nil, [][]string{}},
		"the seed's": {[]site.Group{group("control", "ntp"), group("compute1", "control"),
			group("compute2", "control"), group("monitoring"), group("ntp")},
			[][]string{{"monitoring", "ntp"}, {"control"}, {"compute1", "compute2"}}},
		"the longest way": {[]site.Group{group("d", "a", "c"), group("c", "b"), group("b", "a"), group("a")},
			[][]string{{"a"}, {"b"}, {"c"}, {"d"}}},
		"in the order of run": {[]site.Group{group("z", "b"), group("y", "a"), group("a"), group("b")},
			[][]string{{"a", "b"}, {"y", "z"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Levels(tt.groups)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	var errs invalid.Errors
	if _, err := Levels([]site.Group{group("a", "b")}); !errors.As(err, &errs) ||
		errs[0].Code != invalid.UnknownDependency {
		t.Errorf("got %v", err)
	}
}
