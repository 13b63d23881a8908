package converge

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// olderLedger is a ledger as a slipway wrote it that did not know the families of addresses: it says nothing of the aim.
const olderLedger = `{"version":1,"id":"X","generation":7,"entries":[{"site":"s","type":"host","title":"h","object":"h","digest":"former",
"before":{"in":"/etc/hosts","file":true,"former":[{"lines":["BEFORE"],"line":0}],"fields":["host_aliases","comment"]},"run":"1"}]}`

// TestHostsOfAnOlderLedger: a host with an IPv6 address, or to be absent, is not put back and applied once more because the ledger of
// an earlier slipway does not say so. The one whose address has another family by now is.
func TestHostsOfAnOlderLedger(t *testing.T) {
	for name, tt := range map[string]struct {
		is         string // the line in /etc/hosts
		parameters resource.Parameters
		moved      bool
	}{
		"IPv6, changed":     {"fd00::1 h", resource.Parameters{"ip": "fd00::2"}, false},
		"IPv4, changed":     {"10.0.0.1 h", resource.Parameters{"ip": "10.0.0.2"}, false},
		"absent, unchanged": {"", resource.Parameters{"ensure": "absent"}, false},
		"IPv4, now IPv6":    {"10.0.0.1 h", resource.Parameters{"ip": "fd00::2"}, true},
		"IPv6, now IPv4":    {"fd00::1 h", resource.Parameters{"ip": "10.0.0.2"}, true},
		"IPv6, now absent":  {"fd00::1 h", resource.Parameters{"ensure": "absent"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := "fd00::9 h"
			if strings.HasPrefix(tt.is, "10") {
				before = "10.0.0.9 h"
			}
			s := folder(t, map[string]string{"/etc/hosts": tt.is + "\n"})
			if _, err := s.MakeHome(); err != nil {
				t.Fatal(err)
			}
			private := system.Attributes{Mode: pointer[fs.FileMode](0o600)}
			if err := s.WriteFile(ledger.Path, []byte(strings.Replace(olderLedger, "BEFORE", before, 1)), private); err != nil {
				t.Fatal(err)
			}
			i := managed(t, "host", "h", tt.parameters)
			got := runAll(t, s, i)[0]
			moved := len(got.Differences) > 0 && got.Differences[0].Parameter == "object"
			if got.Status == Failed || moved != tt.moved {
				t.Errorf("%s: %s %v", got.Status, got.Message, got.Differences)
			}
			if again := runAll(t, s, i)[0]; again.Status != Unchanged {
				t.Errorf("once more: %s %v", again.Status, again.Differences)
			}
			runAll(t, s)
			if is, err := s.ReadFile("/etc/hosts"); err != nil || !strings.Contains(string(is), before) {
				t.Errorf("undone: %q, %v", is, err)
			}
		})
	}
}
