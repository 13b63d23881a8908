package planner_test

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// TestAnotherTitleRemovesNothing: what another title of the same object takes over is not removed, and does not count.
func TestAnotherTitleRemovesNothing(t *testing.T) {
	type parameters = resource.Parameters
	of := func(c resource.Configuration) site.Site {
		return site.Site{Name: "lon1", Nodes: []site.Node{{Name: "n"}},
			Services: []site.Service{{Name: "s", Configuration: c}}}
	}
	setting := parameters{"path": "/etc/a", "setting": "k", "value": "v"}
	for name, tt := range map[string]struct {
		before, now resource.Configuration
		removes     int
		unfinished  bool
	}{
		"path":            {resource.Configuration{"file": {"/etc/p": {"content": "x"}}}, resource.Configuration{"file": {"p": {"path": "/etc/p", "content": "y"}}}, 0, false},
		"title of choice": {resource.Configuration{"ini_setting": {"one": setting}}, resource.Configuration{"ini_setting": {"two": setting}}, 0, false},
		"package":         {resource.Configuration{"package": {"tree": {}}}, resource.Configuration{"package": {"t": {"name": "tree"}}}, 0, false},
		"another object":  {resource.Configuration{"ini_setting": {"one": setting}}, resource.Configuration{"ini_setting": {"two": {"path": "/etc/b", "setting": "k", "value": "v"}}}, 1, false},
		"another type":    {resource.Configuration{"file": {"/etc/p": {"content": "x"}}}, resource.Configuration{"file_line": {"p": {"path": "/etc/p", "line": "y"}}}, 1, false},
		"nothing else":    {resource.Configuration{"ini_setting": {"one": setting}}, resource.Configuration{}, 1, false},
		"only looked at":  {resource.Configuration{"ini_setting": {"one": setting}}, resource.Configuration{"ini_setting": {"two": {"path": "/etc/a", "setting": "k", "value": "v", "noop": true}}}, 1, false},
		"not finished":    {resource.Configuration{"ini_setting": {"one": setting}}, resource.Configuration{"ini_setting": {"two": setting}}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			applied, errs := planner.AppliedAfter(of(tt.before))
			if len(errs.Errors()) > 0 {
				t.Fatal(errs)
			}
			if tt.unfinished {
				applied = applied.Unfinished()
			}
			plan, errs := planner.Make(of(tt.now), applied, nil)
			if len(errs.Errors()) > 0 {
				t.Fatal(errs)
			}
			former, errs := (*planner.Cache)(nil).FormerOf(of(tt.before))
			if len(errs.Errors()) > 0 {
				t.Fatal(errs)
			}
			plan.Since(former, applied)
			if got := len(plan.Losses(applied, nil).Removed["n"]); got != tt.removes {
				t.Errorf("removes %d, want %d", got, tt.removes)
			}
			steps := strings.Join(plan.Steps(), "\n")
			if strings.Contains(steps, "another title takes it over") != (tt.removes == 0) {
				t.Errorf("removes %d: %s", tt.removes, steps)
			}
		})
	}
}
