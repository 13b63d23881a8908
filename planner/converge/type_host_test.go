package converge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// A later form of the resource is undone to what was there before the first one, and leaves nothing of the forms before it.
func TestHostUndoAfterAnUpdate(t *testing.T) {
	s := folder(t, map[string]string{"etc/hosts": systemtest.DebianHosts})
	was := systemtest.Inventory(t, s.Root)
	for i, form := range []struct {
		parameters resource.Parameters
		want       string
	}{
		{resource.Parameters{"ip": "10.0.0.2"}, strings.Replace(systemtest.DebianHosts, "10.0.0.1  db db.example # primary", "10.0.0.2\tdb\tdb.example\t# primary", 1)},
		{resource.Parameters{"ensure": "absent"}, strings.Replace(systemtest.DebianHosts, "10.0.0.1  db db.example # primary\n", "", 1)},
		{resource.Parameters{"ip": "fe80::1", "comment": "v6"}, strings.Replace(systemtest.DebianHosts, "10.0.0.1  db db.example # primary", "fe80::1\tdb\tdb.example\t# v6", 1)},
		{resource.Parameters{"ip": "10.0.0.3"}, strings.Replace(systemtest.DebianHosts, "10.0.0.1  db db.example # primary", "10.0.0.3\tdb\tdb.example\t# primary", 1)},
	} {
		r := res(t, types.All["host"], "db", form.parameters)
		if got := runAll(t, s, Item{Resource: r, Digest: fmt.Sprint(i)}); got[0].Status != Changed {
			t.Fatalf("%+v", got)
		}
		if content, err := s.ReadFile("/etc/hosts"); err != nil || string(content) != form.want {
			t.Fatalf("%v: %q, %v, want %q", form.parameters, content, err, form.want)
		}
	}
	runAll(t, s)
	now := systemtest.Inventory(t, s.Root)
	delete(was, "/var")
	delete(now, "/var")
	delete(now, "/var/lib")
	if diff := cmp.Diff(was, now); diff != "" {
		t.Error(diff)
	}
}
