package resources

import (
	"sync"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// siteMemory is the planner's memory of one site in this process, for use by several operations at once. It saves work
// only: refresh, plan and apply of one process, and the passes of a run, refine a service once as long as nothing of it
// changes.
type siteMemory struct {
	mu     sync.Mutex
	memory planner.Cache
}

// memory returns the memory of a site; a new one where nothing is shared.
func (r *Runs) memory(site string) *siteMemory {
	if r == nil {
		return &siteMemory{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.memories == nil {
		r.memories = make(map[string]*siteMemory)
	}
	if r.memories[site] == nil {
		r.memories[site] = &siteMemory{}
	}
	return r.memories[site]
}

func (m *siteMemory) Make(s site.Site, applied planner.Applied, drift planner.Drift) (*planner.Plan, site.Problems) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.memory.Make(s, applied, drift)
}

func (m *siteMemory) MakeFor(s site.Site, applied planner.Applied, services map[string]bool, before planner.Owners) (*planner.Plan, site.Problems) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.memory.MakeFor(s, applied, services, before)
}

func (m *siteMemory) Desired(s site.Site) (map[string][]task.Task, site.Problems) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.memory.Desired(s)
}

func (m *siteMemory) OwnersOf(s site.Site) (planner.Owners, site.Problems) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.memory.OwnersOf(s)
}

func (m *siteMemory) OverriddenBy(s site.Site) (planner.Overridden, site.Problems) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.memory.OverriddenBy(s)
}
