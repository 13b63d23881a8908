package planner

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// limitTo limits the plan to the nodes that the site's limit names, and those of its groups. A node that left the site
// and has something applied can be named, too.
func (d *desired) limitTo(applied Applied) (errs invalid.Errors) {
	l := d.site.Limit
	if l == nil {
		return nil
	}
	known := make(map[string]bool, len(d.nodes))
	for _, n := range d.nodes {
		known[n.Name] = true
	}
	for node := range applied {
		known[node] = known[node] || node != Controller
	}
	delete(known, Controller)
	nodes, groups := slices.Sorted(maps.Keys(known)), d.groupNames()
	d.limit = map[string]bool{}
	wrong := func(kind string, i int, name string, names []string) {
		errs = append(errs, invalid.Error{Object: "deployment", Name: d.site.Name, Code: invalid.UnknownNode,
			Attribute: fmt.Sprintf("limit.%ss[%d]", kind, i), Message: fmt.Sprintf("there is no %s %q%s; known are %s", kind,
				name, resource.DidYouMean(name, names), list(names))})
	}
	for i, name := range l.Nodes {
		if d.limit[name] = true; !known[name] {
			wrong("node", i, name, nodes)
		}
	}
	for i, name := range l.Groups {
		at := slices.Index(groups, name)
		if at < 0 {
			wrong("group", i, name, groups)
			continue
		}
		for _, node := range d.groups[at].Members {
			d.limit[node] = true
		}
	}
	return errs
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
				if t.Service == service {
					return true
				}
			}
		}
	}
	return false
}

// warnLimited says what a limited plan covers, and what waits.
func (p *Plan) warnLimited() (errs invalid.Errors) {
	if p.Limited == nil {
		return nil
	}
	message := "the plan covers only " + onNodes(slices.Sorted(maps.Keys(p.Limited)))
	if n := len(p.Waiting); n > 0 {
		message += fmt.Sprintf("; %s with work or to be torn down outside of the limit: %s. They stay as they are until "+
			"a plan covers them", count(n, "node"), list(p.Waiting))
	}
	return invalid.Errors{{Object: "deployment", Name: p.Site, Attribute: "limit", Code: invalid.Limited, Warning: true,
		Message: message}}
}
