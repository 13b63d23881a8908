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
	"slices"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Engine works on sites. All fields are required, but for GiveUp, Log and Handing.
type Engine struct {
	Journals Journals
	Executor func() rollout.Executor // a new one, for one operation
	Caller   rollout.Caller
	Now      func() time.Time
	GiveUp   <-chan struct{} // closed when running sessions are to be given up at once
	// Log takes lines about runs, with pairs of names and values; nil: nobody reads them. They contain no secret.
	Log     func(ctx context.Context, line string, about ...any)
	Handing *Handing // nil: runs are executed in this process
}

// Journals opens the journals of sites, which have their leases.
type Journals interface {
	// Open opens the journal of a site, and creates it where there is none.
	Open(ctx context.Context, site string) (*journal.Store, error)
	// OpenExisting opens the journal of a site. The error matches [journal.ErrNoJournal] when there is none.
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

// linesShown bounds a list in a message.
const linesShown = 20

// FirstLines returns the first lines of a list, and how many more there are.
func FirstLines(lines []string) []string {
	if len(lines) <= linesShown {
		return lines
	}
	return append(slices.Clone(lines[:linesShown]), fmt.Sprintf("and %d more", len(lines)-linesShown))
}

// Cache is a [planner.Cache] of one site, for use by several operations at once. It saves work only: check, plan and
// apply of one process, and the passes of a run, refine a service once as long as nothing of it changes. The zero value
// is ready for use; a nil Cache caches nothing.
type Cache struct {
	mu    sync.Mutex
	cache planner.Cache
}

// lock returns what is cached, nil for a nil Cache, and what unlocks it again.
func (c *Cache) lock() (cache *planner.Cache, unlock func()) {
	if c == nil {
		return nil, func() {}
	}
	c.mu.Lock()
	return &c.cache, c.mu.Unlock
}

func (c *Cache) plan(s site.Site, applied planner.Applied, drift planner.Drift) (*planner.Plan, invalid.Errors) {
	cache, unlock := c.lock()
	defer unlock()
	if cache == nil {
		return planner.Make(s, applied, drift)
	}
	return cache.Make(s, applied, drift)
}

func (c *Cache) planFor(s site.Site, applied, formerly planner.Applied, services map[string]bool,
	before planner.Owners) (*planner.Plan, invalid.Errors) {
	cache, unlock := c.lock()
	defer unlock()
	return cache.MakeFor(s, applied, formerly, services, before)
}

func (c *Cache) desired(s site.Site) (map[string][]task.Task, invalid.Errors) {
	cache, unlock := c.lock()
	defer unlock()
	return cache.Desired(s)
}

func (c *Cache) ownersOf(s site.Site) (planner.Owners, invalid.Errors) {
	cache, unlock := c.lock()
	defer unlock()
	return cache.OwnersOf(s)
}

func (c *Cache) formerOf(s site.Site) (planner.Former, invalid.Errors) {
	cache, unlock := c.lock()
	defer unlock()
	return cache.FormerOf(s)
}
