package engine

import (
	"sync"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

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

func (c *Cache) planFor(s site.Site, applied planner.Applied, services map[string]bool, before planner.Owners) (
	*planner.Plan, invalid.Errors) {
	cache, unlock := c.lock()
	defer unlock()
	return cache.MakeFor(s, applied, services, before)
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

func (c *Cache) overriddenBy(s site.Site) (planner.Overridden, invalid.Errors) {
	cache, unlock := c.lock()
	defer unlock()
	return cache.OverriddenBy(s)
}
