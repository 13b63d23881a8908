package converge

import (
	"os"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

func TestMain(m *testing.M) {
	system.Supervise()
	os.Exit(m.Run())
}
