package e2e

import (
	"cmp"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// nodes are lent to one test after the other; the tests run at the same time. SLIPWAY_LAB names another lab, so that
// two checkouts can be tested at once.
var nodes = lab.NewPool(lab.Lab{Name: cmp.Or(os.Getenv("SLIPWAY_LAB"), "e2e"), Nodes: 20, Parallel: 8, Packages: []string{"fontconfig-config", "git", "mc", "puppet-agent", "python3-pip", "ruby"}, Kinds: []string{"openrc", "dnf"}})

func TestMain(m *testing.M) {
	// Who starts the tests with nohup ignores SIGHUP, and so would Terraform, which these tests send one: processes
	// inherit what is ignored, and not what is caught.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	nodes.Main(m)
}
