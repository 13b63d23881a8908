package converge

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

// TestPackagesWaitForWhatTheyMayNeed: what changes the package manager's own configuration, or may do anything, comes
// before the packages that come after it, though they do not require it.
func TestPackagesWaitForWhatTheyMayNeed(t *testing.T) {
	for _, between := range []Item{
		item("file[/etc/apt/preferences.d/mc]", "content", "x"), item("file[/x]", "ensure", "directory"),
		item("file[mc]", "path", "/etc/apt", "mode", "0755"), item("ini_setting[dnf]", "path", "/etc/dnf/dnf.conf", "setting", "a", "value", "b"),
		item("exec[true]"), item("user[mc]"), item("host[mirror]", "ip", "10.0.0.1"),
	} {
		if (types.All["package"]).(types.Batcher).Overtakes(between.Resource) {
			t.Errorf("a package overtakes %s", between.ID())
		}
	}
}
