package system

import (
	"os"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/supervisor"
)

func TestMain(m *testing.M) {
	supervisor.Main()
	os.Exit(m.Run())
}
