package engine

import (
	"sync"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Cache is a [planner.Cache] of one site, for use by several operations at once. It saves work only: check, plan and apply
// of one process, and the passes of a run, refine a service once as long as nothing of it changes. The zero value is ready
// for use.
type Cache struct {
	mu    sync.Mutex
	cache planner.Cache
}

// Make is that of [planner.Cache].
func (c *Cache) Make(s site.Site, applied planner.Applied, drift planner.Drift) (*planner.Plan, site.Problems) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cache.Make(s, applied, drift)
}

// MakeFor is that of [planner.Cache].
func (c *Cache) MakeFor(s site.Site, applied planner.Applied, services map[string]bool, before planner.Owners) (*planner.Plan,
	site.Problems) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cache.MakeFor(s, applied, services, before)
}

// Desired is that of [planner.Cache].
func (c *Cache) Desired(s site.Site) (map[string][]task.Task, site.Problems) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cache.Desired(s)
}

// OwnersOf is that of [planner.Cache].
func (c *Cache) OwnersOf(s site.Site) (planner.Owners, site.Problems) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cache.OwnersOf(s)
}

// OverriddenBy is that of [planner.Cache].
func (c *Cache) OverriddenBy(s site.Site) (planner.Overridden, site.Problems) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cache.OverriddenBy(s)
}
