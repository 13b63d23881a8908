package converge

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// cutOffDnf4 is what dnf 4.14 said of a transaction in which it was killed.
const cutOffDnf4 = `Transaction ID : 18
Begin time     : Fri Nov 27 18:49:11 2026
Begin rpmdb    : 163453d7945959a96e75feaeaa82c9b0826e789b13f209fd36f1984677c3ed13
End time       : Thu Jan  1 00:00:00 1970 (-1795805351 seconds)
End rpmdb      :  **
User           : root <root>
Return-Code    : Failure: 1
Releasever     : 
Command Line   : -y -q install bash lab-daemon
Comment        : 
Packages Altered:
 ** Install bash-5.2-1.x86_64       @lab
 ** Install lab-lib-1:3.0-1.noarch  @lab
 ** Upgrade lab-slow-1-1.noarch     @lab
`

// TestDnfFinishesWhatWasCutOff: a transaction that was cut off is repeated, which completes it, before anything else is
// asked.
func TestDnfFinishesWhatWasCutOff(t *testing.T) {
	const sample = "bash\t0\t5.2\t1\tx86_64\n"
	redo := []string{"dnf -y -q history redo last"}
	for name, tt := range map[string]struct {
		info string
		want []string
	}{
		"dnf 4":                  {cutOffDnf4, append(redo, "dnf -y -q mark remove -- lab-lib.noarch")},
		"dnf 5":                  {"Transaction ID : 7\nStatus         : Started\nReleasever     : 40\n", redo},
		"dnf 4, a script failed": {strings.NewReplacer("End rpmdb      :  **", "End rpmdb      : e02875ba", "1970", "2026").Replace(cutOffDnf4), nil},
	} {
		r := &recorder{Answers: map[string]system.Output{"rpm -qa": systemtest.Prints(sample), "dnf -y -q history info last": systemtest.Prints(tt.info)}}
		s := wholeMachine(t, map[string]string{"/usr/bin/dnf": ""}, r.Run)
		item := Item{Resource: resource.Resource{Type: "package", Title: "bash"}, Digest: "d"}
		interrupted(t, s, item, `{"name":"bash","provider":"dnf","install":true,"present":false}`)
		if results := runAll(t, s, item); (results[0].Status == Changed) != (tt.want != nil) {
			t.Errorf("%s: the outcome is %q", name, results[0].Status)
		}
		changes := slices.DeleteFunc(slices.Clone(r.Ran), func(c string) bool { return !strings.HasPrefix(c, redo[0]) && !strings.Contains(c, " mark ") })
		if !slices.Equal(changes, tt.want) {
			t.Errorf("%s: ran %q, want %q among them", name, r.Ran, tt.want)
		}
	}
}
