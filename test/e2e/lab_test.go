package e2e

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// nodes are lent to one test after the other; the tests run at the same time.
var nodes = lab.NewPool(lab.Lab{Name: "e2e", Nodes: 20, Parallel: 8, Packages: []string{"fontconfig-config", "mc", "puppet-agent"}})

func TestMain(m *testing.M) { nodes.Main(m) }
