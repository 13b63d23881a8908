package rollout_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// A node on which no guard can be armed is not touched, when the plan did not know that: the run knows it from the
// session that prepares the node.
func TestANodeWithoutServiceManagerIsNotTouched(t *testing.T) {
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a", Address: "192.0.2.1"}}, Services: []site.Service{{Name: "s",
		Configuration: resource.Configuration{"file": {"/etc/f": {"content": "f"},
			"/etc/g": {"content": "g", "guard": true, "require": "file[/etc/f]"}}}}}}
	p, errs := planner.Make(s, nil, nil)
	if len(errs.Errors()) > 0 {
		t.Fatal(errs)
	}
	for provider, want := range map[string]string{
		resource.NoServiceProvider: `service "s": configuration.file["/etc/g"].guard: file[/etc/g] cannot be guarded on a node that neither systemd nor OpenRC runs`,
		"openrc":                   "",
	} {
		nodes := newFaulty()
		nodes.facts = &resource.Facts{ServiceProvider: provider}
		var report rollout.Report
		synctest.Test(t, func(t *testing.T) {
			var err error
			if report, err = rollout.Run(t.Context(), s, p, rollout.Options{Executor: nodes, Recorder: &diary{}, RunID: "r1",
				Machines: rollout.NewMachines(nil)}); err != nil {
				t.Fatal(err)
			}
		})
		touched := slices.Contains(nodes.sessions, "deploy a")
		if text := report.String(); touched != (want == "") || !strings.Contains(text, want) {
			t.Errorf("%s: sessions %q\n%s", provider, nodes.sessions, text)
		}
	}
}
