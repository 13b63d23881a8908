package rollout

import (
	"github.com/slipway/terraform-provider-slipway/planner/converge/remote"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// WithHelpers is NewInProcess that sends these helpers to nodes instead of those that the build carries.
func WithHelpers(h remote.Helpers) *InProcess {
	e := NewInProcess()
	e.Helpers = func() (remote.Helpers, error) { return h, nil }
	return e
}

// WithDial is NewInProcess that connects by dial.
func WithDial(dial Dial) *InProcess {
	e := NewInProcess()
	e.dial = dial
	return e
}

// WithSystem is NewInProcess that opens the systems of local nodes by open.
func WithSystem(open func(root string) (*system.System, error)) *InProcess {
	e := NewInProcess()
	e.system = open
	return e
}
