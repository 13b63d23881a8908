// Package engine plans, applies, checks and destroys sites, on plain types: the one way in for Terraform resources and
// for the commands of the companion. It knows neither Terraform nor documents; its callers translate.
//
//   - [Plan] is pure: what a run does follows from what is remembered of the site ([Prior]) and what is desired.
//   - [Engine.Apply] plans again, runs the plan and returns what to remember ([Outcome]).
//   - [Engine.Check] compares nodes with what is applied on them, and changes nothing.
//   - [Engine.Destroy] undoes on every node what slipway did there.
package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
)

// Engine works on sites. All fields are required, but for GiveUp.
type Engine struct {
	Journals Journals
	Executor func() rollout.Executor // a new one, for one operation
	Caller   rollout.Caller
	Now      func() time.Time
	GiveUp   <-chan struct{} // closed when running sessions are to be given up at once
}

// Journals opens the journals of sites, which have their leases.
type Journals interface {
	// Open opens the journal of a site, and creates it where there is none.
	Open(ctx context.Context, site string) (*journal.Store, error)
	// OpenExisting opens the journal of a site. The error matches [io/fs.ErrNotExist] when there is none.
	OpenExisting(ctx context.Context, site string) (*journal.Store, error)
}

// TimeLimitError is the cause with which the context of an operation ends that took longer than it may.
type TimeLimitError struct {
	Setting string // as users write it
	Limit   time.Duration
}

func (e *TimeLimitError) Error() string {
	return fmt.Sprintf("The limit of %s, %s, is over", e.Setting, e.Limit)
}
