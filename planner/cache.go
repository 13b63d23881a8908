package planner

import (
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Cache plans a site several times and refines only the services of entities whose inputs changed in between (lsm.md
// 15). Its plans equal those of [Make]. The zero value is ready for use; a nil Cache caches nothing. It is not safe for
// concurrent use.
type Cache struct {
	memo refine.Memo
}

// Refined returns how many services of entities were refined, over all plans.
func (c *Cache) Refined() int { return c.memo.Refined }

// refined returns the services of entities that were refined before; nil for a nil Cache.
func (c *Cache) refined() *refine.Memo {
	if c == nil {
		return nil
	}
	return &c.memo
}

// Make is [Make].
func (c *Cache) Make(s site.Site, applied Applied, drift Drift) (*Plan, invalid.Errors) {
	return c.make(s, applied, drift, nil)
}

// Desired is [Desired].
func (c *Cache) Desired(s site.Site) (map[string][]task.Task, invalid.Errors) {
	d, errs := c.desire(s, nil)
	if len(errs.Errors()) > 0 {
		return nil, errs
	}
	out := make(map[string][]task.Task, len(d.wanted))
	for node, l := range d.wanted {
		tasks := make([]task.Task, 0, len(l.tasks))
		for _, t := range l.tasks {
			if l.details != nil && (!l.drifts(t) || len(t.Pending) > 0) {
				continue
			}
			t.Node = node
			tasks = append(tasks, t)
		}
		out[node] = tasks
	}
	return out, errs
}
