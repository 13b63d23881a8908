package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// holdBack limits the plan to what comes before the first pause of each group that is not approved, where the run ends
// there. It reports whether any node with changes waits.
func (d *desired) holdBack(c *changes) (holds bool, errs invalid.Errors) {
	busy := make(map[string]bool, len(c.changed))
	for _, n := range c.changed {
		busy[n.node] = true
	}
	var covered map[string]bool
	d.holds, d.held, covered, errs = HoldBack(d.site, c.groups, d.settings, func(node string) bool { return busy[node] })
	if len(d.held) == 0 || len(errs) > 0 {
		d.held = nil
		return false, errs
	}
	maps.DeleteFunc(covered, func(node string, _ bool) bool { return !d.covers(node) })
	d.limit = covered
	return true, nil
}

// HoldBack returns what of a site may run, where runs end for approval: the nodes up to the first pause of each group
// that is not approved, and those of groups that wait for no such group. groups are in processing order, settings in
// the same one; busy reports whether a node has something to do. holds are the groups of which nodes with something to
// do wait, held the indexes of all that wait; it is empty when none does.
func HoldBack(s site.Site, groups []Group, settings []site.Group, busy func(node string) bool) (holds []Hold,
	held map[int]bool, covered map[string]bool, errs invalid.Errors) {
	held, covered = map[int]bool{}, map[string]bool{}
	names := map[string]bool{}
	for i, g := range groups {
		settings, hold, nodes := settings[i], Hold{Group: g.Name}, g.Owned
		waits := slices.ContainsFunc(slices.Concat(settings.DependsOn, g.After), func(name string) bool {
			return names[name]
		})
		if s.EndsForApproval(settings) {
			batches, pauses := settings.Rolling.Split(g.Owned)
			approved := s.Approved[g.Name]
			if hold.Of = len(batches); approved > hold.Of && hold.Of > 0 {
				errs = append(errs, s.WrongApproval(g.Name, fmt.Sprintf("there is no batch %d; the last one of the "+
					"group is %d", approved, hold.Of)))
			}
			next := slices.IndexFunc(pauses, func(batch int) bool { return batch > approved && batch < hold.Of })
			if next >= 0 && !waits {
				before := slices.Concat(batches[:pauses[next]]...)
				if s.Partly || slices.ContainsFunc(g.Owned[len(before):], busy) {
					hold.Batch, nodes = pauses[next], before
				}
			}
		}
		if waits {
			nodes = nil
		}
		for _, n := range nodes {
			covered[n] = true
		}
		if !waits && hold.Batch == 0 {
			continue
		}
		held[i], names[g.Name] = true, true
		if slices.ContainsFunc(g.Owned, func(n string) bool { return busy(n) && !covered[n] }) {
			holds = append(holds, hold)
		}
	}
	return holds, held, covered, errs
}

// warnLimited says what a limited plan covers, and what waits.
func (p *Plan) warnLimited() (errs invalid.Errors) {
	warn := func(attribute, message, where string, waits func(node string) bool) {
		nodes := slices.DeleteFunc(slices.Clone(p.Waiting), func(node string) bool { return !waits(node) })
		if n := len(nodes); n > 0 {
			message += fmt.Sprintf("; %s with work or to be torn down %s: %s. They stay as they are until "+
				"a plan covers them", resource.Count(n, "node"), where, list(nodes))
		}
		errs = append(errs, invalid.Error{Object: "deployment", Name: p.Site, Attribute: attribute, Code: invalid.Limited,
			Warning: true, Message: message})
	}
	if p.Within != nil {
		covers := "the plan covers no node"
		switch {
		case len(p.Limited) > 0:
			covers = "the plan covers only " + onNodes(slices.Sorted(maps.Keys(p.Limited)))
		case len(p.Within) == 0:
			covers += ", since the groups of the limit have none: name nodes, or groups that have nodes"
		}
		warn("limit", covers, "outside of the limit", p.Outside)
	}
	if len(p.Held) > 0 {
		warn("approved_batches", p.Awaits(nil), "behind that", func(node string) bool { return !p.Outside(node) })
	}
	return errs
}

// Awaits says what the held groups wait for. deployed reports whether what may run of a group has succeeded: else none
// of its batches is offered for approval. It is nil before the run, when those are not offered in which a health check
// has failed.
func (p *Plan) Awaits(deployed func(group string) bool) string {
	var parts []string
	for _, h := range p.Held {
		switch {
		case deployed != nil && !deployed(h.Group):
		case h.Batch == 0:
			parts = append(parts, fmt.Sprintf("group %q waits for the groups that it comes after", h.Group))
		case deployed == nil && p.unhealthy(h.Group):
			parts = append(parts, fmt.Sprintf("group %q waits for batch %d of %d, in which a health check failed: the batch can "+
				"be approved once its checks succeed", h.Group, h.Batch, h.Of))
		default:
			parts = append(parts, fmt.Sprintf("group %q waits for the approval of batch %d of %d: write approved_batches = "+
				"{ %q = %d } to approve it", h.Group, h.Batch, h.Of, h.Group, h.Batch))
		}
	}
	return strings.Join(parts, "; ")
}
