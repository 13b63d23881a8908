package resource_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Facts come from a node that may be hostile: what is left of them is short, and means nothing to shells, terminals and
// templates.
func TestFactsAreBounded(t *testing.T) {
	for _, bad := range []string{"$(reboot)", "`id`", "a'b", `a"b`, "a\nb", "\x1b[31m", "${node.name}", "%{if}", "a;b", "a|b", "a\\b",
		"\xff\xfe", "ü", strings.Repeat("a", resource.FactLimit+1), "<b>", "a/b", "{}", "*"} {
		f := (&resource.Facts{OS: resource.OS{Family: bad, Name: bad, Release: bad, Codename: bad}, Architecture: bad, Hostname: bad,
			FQDN: bad, Virtualization: bad, ServiceProvider: bad, DefaultInterface: bad, DefaultAddress: bad, CPUs: -1, MemoryMiB: -1,
			Interfaces: map[string]resource.Interface{bad: {}, "eth0": {MAC: bad, Addresses: []string{bad, "10.0.0.1"}}}}).Bounded()
		want := &resource.Facts{Interfaces: map[string]resource.Interface{"eth0": {Addresses: []string{"10.0.0.1"}}}}
		if diff := cmp.Diff(want, f); diff != "" {
			t.Errorf("%q:\n%s", bad, diff)
		}
	}
	many := &resource.Facts{Interfaces: map[string]resource.Interface{}}
	for i := range 1000 {
		var addresses []string
		for j := range 100 {
			addresses = append(addresses, fmt.Sprintf("10.0.%d.%d", i%250, 99-j), "fe80::1%eth0", "2001:0db8:0000:0000:0000:0000:0000:0001")
		}
		many.Interfaces[fmt.Sprintf("eth%03d", i)] = resource.Interface{Addresses: addresses}
	}
	f := many.Bounded()
	if len(f.Interfaces) != resource.MostInterfaces || len(f.Interfaces["eth031"].Addresses) != resource.MostAddresses ||
		f.Interfaces["eth031"].Addresses[0] != "10.0.31.0" {
		t.Errorf("%d interfaces are left, of them one with %v", len(f.Interfaces), f.Interfaces["eth031"].Addresses)
	}
	if diff := cmp.Diff(f, f.Bounded()); diff != "" {
		t.Errorf("what is bounded is not:\n%s", diff)
	}
	if nobody := (*resource.Facts)(nil).Bounded(); nobody != nil {
		t.Errorf("unknown facts are %+v", nobody)
	}
}
