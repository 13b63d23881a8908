package rollout

import "github.com/slipway/terraform-provider-slipway/planner/converge/remote"

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
