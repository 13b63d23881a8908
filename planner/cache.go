package planner

import (
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
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
func (m *Cache) Refined() int { return m.memo.Refined }

// Make is [Make].
func (m *Cache) Make(s site.Site, applied Applied, drift Drift) (*Plan, site.Problems) {
	return m.model(s, applied).make(applied, drift)
}

// Desired is [Desired].
func (m *Cache) Desired(s site.Site) (map[string][]task.Task, site.Problems) {
	return m.model(s, nil).desired()
}

func (m *Cache) model(s site.Site, applied Applied) *model {
	if m == nil {
		return newModel(schema.Types(), s, applied, nil)
	}
	return newModel(schema.Types(), s, applied, &m.memo)
}
