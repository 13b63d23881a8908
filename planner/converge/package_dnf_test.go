package converge

import (
	"slices"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// TestDnfFinishesWhatWasCutOff: a transaction that was cut off is repeated, which completes it, before anything else is asked.
func TestDnfFinishesWhatWasCutOff(t *testing.T) {
	const redo, sample = "dnf -y -q history redo last", "bash\t0\t5.2\t1\tx86_64\n"
	for name, info := range map[string]string{
		"dnf 4": "Transaction ID : 7\nReturn-Code    : ** Aborted **\nUser           : root\n",
		"dnf 5": "Transaction ID : 7\nStatus         : Started\nReleasever     : 40\n",
	} {
		r := &recorder{answers: map[string]system.Output{"rpm -qa": prints(sample), "dnf -y -q history info last": prints(info)}}
		s := wholeMachine(t, map[string]string{"/usr/bin/dnf": ""}, r.run)
		item := Item{Resource: resource.Resource{Type: "package", Title: "bash"}, Digest: "d"}
		interrupted(t, s, item, `{"name":"bash","provider":"dnf","install":true,"present":false}`)
		if results := runAll(t, s, item); results[0].Status != Changed {
			t.Errorf("%s: the outcome is %q, and something was changed", name, results[0].Status)
		}
		if !slices.Contains(r.ran, redo) {
			t.Errorf("%s: the transaction that was cut off is not completed: ran %q", name, r.ran)
		}
	}
}
