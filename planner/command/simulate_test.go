package command

import (
	"strings"
	"testing"
)

func TestSimulationOfSomeNodesOnly(t *testing.T) {
	for args, want := range map[string]string{
		"--only ctl1,cmp11 --fail ctl1": "target-group  FAILED  yes       2",
		"--only ctl1 --fail cmp11":      "target-group  DEPLOYED  yes       1",
		"--only ctl1,cmp99":             `--only ctl1,cmp99: there is no node "cmp99"`,
		"--only=":                       "name at least one node",
	} {
		out, errOut, _ := answer(t, "", append([]string{"simulate", strategyFile, siteFile},
			strings.Fields(args)...)...)
		if !strings.Contains(out+errOut, want) {
			t.Errorf("%s: got %s%s, want %s", args, out, errOut, want)
		}
	}
}
