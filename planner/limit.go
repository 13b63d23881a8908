package planner

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// limitTo limits the plan to the nodes that the site's limit names, and those of its groups. A node that left the site
// and has something applied can be named, too.
func (d *desired) limitTo(applied Applied) (errs invalid.Errors) {
	left := slices.DeleteFunc(slices.Collect(maps.Keys(applied)), func(node string) bool { return node == Controller })
	d.within, errs = WithinLimit(d.site, d.groups, left)
	d.limit = d.within
	return errs
}

// WithinLimit returns the nodes that the limit of a site names, and those of the groups that it names; nil: the site
// has no limit. Others than the nodes of the site may be named, too.
func WithinLimit(s site.Site, groups []Group, others []string) (within map[string]bool, errs invalid.Errors) {
	l := s.Limit
	if l == nil {
		return nil, nil
	}
	names, known := site.NamesOf(groups, func(g Group) string { return g.Name }), make(map[string]bool, len(s.Nodes))
	for _, n := range s.Nodes {
		known[n.Name] = true
	}
	for _, n := range others {
		known[n] = true
	}
	nodes := slices.Sorted(maps.Keys(known))
	within = map[string]bool{}
	wrong := func(kind string, code invalid.Code, i int, name string, names []string) {
		errs = append(errs, invalid.Error{Object: "deployment", Name: s.Name, Code: code,
			Attribute: fmt.Sprintf("limit.%ss[%d]", kind, i),
			Message:   fmt.Sprintf("there is no %s %q%s", kind, name, resource.Choices(name, names))})
	}
	for i, name := range l.Nodes {
		if within[name] = true; !known[name] {
			wrong("node", invalid.UnknownNode, i, name, nodes)
		}
	}
	for i, name := range l.Groups {
		at := slices.Index(names, name)
		if at < 0 {
			wrong("group", invalid.UnknownGroup, i, name, names)
			continue
		}
		for _, node := range groups[at].Members {
			within[node] = true
		}
	}
	return within, errs
}

// covers reports whether the plan may have tasks for a node.
func (d *desired) covers(node string) bool { return d.limit == nil || d.limit[node] }

// coversService reports whether a service has anything on a node that the plan covers.
func (d *desired) coversService(service string) bool {
	if d.limit == nil {
		return true
	}
	for node := range d.limit {
		if l := d.wanted[node]; l != nil {
			for _, t := range l.tasks {
				if t.OwnedBy(service) {
					return true
				}
			}
		}
	}
	return false
}

// postpones reports whether a task of a node that the plan covers waits because it comes after the last batch, of its
// group or of all. One whose digest is recorded runs only because of other changes of the node, with them.
func (d *desired) postpones(node string, t task.Task, recorded string) bool {
	if d.held == nil || !d.covers(node) || recorded == t.Digest && t.Kind != task.Config {
		return false
	}
	return t.Group == task.PostCluster || t.Group == task.Cluster && d.held[d.owner[node]]
}

// Outside reports whether a node lies outside of the limit of the site.
func (p *Plan) Outside(node string) bool { return p.Within != nil && !p.Within[node] }
