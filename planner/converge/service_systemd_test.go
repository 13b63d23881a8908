package converge

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// TestQuestionsAreNoOutput: what the service manager answers is not what happened to a service.
func TestQuestionsAreNoOutput(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{"systemctl show": systemtest.Prints(systemtest.Shown("a", "loaded", "inactive", "dead", "disabled"))}}
	r.Effects = map[string]func(){"systemctl start": func() {
		r.Answers["systemctl show"] = systemtest.Prints(systemtest.Shown("a", "loaded", "active", "running", "disabled"))
	}}
	r.Answers["systemctl start"] = system.Output{Combined: "Starting a.\n"}
	s := systemdNode(t, r)
	a := Item{Resource: res(t, types.All["service"], "a", resource.Parameters{"ensure": "running"})}
	for _, want := range []string{"Starting a.\n", ""} {
		Run(t.Context(), s.System, Manifest{Protocol: Protocol, Site: "one", Run: "r", Mode: Apply, Items: []Item{a}}, func(got Result) {
			if got.Output != want || got.Status == Failed {
				t.Errorf("%+v, want output %q", got, want)
			}
		})
	}
}
