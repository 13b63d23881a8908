package resources

import (
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/passthrough"
)

// replaced is a tainted deployment, as Delete saw it. The Create that follows in the same apply gets no prior state,
// and learns from it which nodes the failed creation worked on.
type replaced struct {
	nodes []site.Node
	value passthrough.Value // the same as they stand in the state
}

// replace remembers a tainted deployment of a site.
func (r *Runs) replace(site string, old replaced) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.replaced == nil {
		r.replaced = map[string]replaced{}
	}
	r.replaced[site] = old
}

// replacedBy returns the tainted deployment that a new one of a site replaces, once.
func (r *Runs) replacedBy(site string) replaced {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.replaced[site]
	delete(r.replaced, site)
	return old
}
