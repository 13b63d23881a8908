package datasources

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// A site without a journal has nothing to show; a database whose socket is missing cannot be read.
func TestADatabaseThatIsAwayIsNoMissingJournal(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		at   journal.Location
		want string
	}{
		{journal.Location{Path: missing}, ""},
		{journal.Location{URL: "postgres:///d?host=" + missing}, missing},
	} {
		j := journals{location: c.at}
		var said string
		for _, d := range j.read(t.Context(), "The services", types.StringValue("lon1"), false, nil) {
			said += d.Summary() + ": " + d.Detail()
		}
		if !strings.Contains(said, c.want) || (said == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q in it", c.at, said, c.want)
		}
	}
}
