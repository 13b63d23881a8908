package planner

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Make returns the plan that brings a site from what is applied, and what has drifted, to its desired state. When
// anything is invalid the plan is nil; warnings come with a plan. Make is pure and does not change its arguments.
// The plan shares parameter values with s.
func Make(s site.Site, applied Applied, drift Drift) (*Plan, invalid.Errors) {
	return (*Cache)(nil).Make(s, applied, drift)
}

// Validate reports everything that is wrong with a site, as the plan of its first run does, and its warnings. A node of
// its limit that it does not have is a warning: something may be applied there.
func Validate(s site.Site) (errs invalid.Errors) {
	applied := Applied{}
	if s.Limit != nil {
		nodes := s
		nodes.Limit = &site.Limit{Nodes: s.Limit.Nodes}
		_, errs = WithinLimit(nodes, nil, nil)
		for i := range errs {
			errs[i].Warning = true
			errs[i].Message += "; a plan refuses it, unless something is applied there"
		}
		for _, name := range s.Limit.Nodes {
			applied[name] = nil
		}
	}
	_, found := Make(s, applied, nil)
	return append(errs, slices.DeleteFunc(found, func(e invalid.Error) bool { return e.Code == invalid.Limited })...)
}

// make is the way from a site to its plan. only selects the tasks of the plan, see [Cache.MakeFor]; nil selects all.
func (c *Cache) makePlan(s site.Site, applied Applied, drift Drift, only *selection) (*Plan, invalid.Errors) {
	var includes func(task.Task) bool
	var yields yields
	if only != nil {
		includes, yields = only.includes, only.has
	}
	desired, errs := c.desire(s, applied, yields)
	if len(errs.Errors()) > 0 {
		return nil, errs
	}
	if wrong := desired.limitTo(applied); len(wrong) > 0 {
		return nil, append(errs, wrong...)
	}
	var stays []Stay
	if only != nil {
		stays = only.stays(desired, applied)
	}
	changes := compare(desired, applied, drift, includes)
	held, wrong := desired.holdBack(changes)
	if len(wrong) > 0 {
		return nil, append(errs, wrong...)
	}
	if held {
		changes = compare(desired, applied, drift, includes)
	}
	errs = append(errs, changes.warnUnchecked()...)
	phases, err := sequencePhases(changes)
	if err != nil {
		return nil, append(errs, invalid.Error{Object: "deployment", Name: s.Name, Code: invalid.BadStructure,
			Message: err.Error()})
	}
	p := &Plan{Site: s.Name, Groups: changes.groups, Phases: phases, Departed: changes.departed,
		Forgotten: changes.forgotten, MayFail: s.FailureBudget.Of(len(desired.wanted)),
		EndAtPause: s.Approval == site.ApprovalEnd, Postponed: changes.postponed, complete: desired.resolve,
		withFacts: desired.withFacts}
	p.Limited, p.Within, p.Waiting = desired.limit, desired.within, changes.waiting
	p.Held, p.Later, p.Stays = desired.holds, changes.later, stays
	p.SetBatches(desired.settings)
	if wrong := desired.checkBatches(p); len(wrong) > 0 {
		return nil, append(errs, wrong...)
	}
	p.Digest = planDigest(p, desired.settings)
	return p, append(errs, p.warnLimited()...)
}

// desire validates a site, assigns its nodes to groups, and returns what each node is to have. applied is read for the
// warning about nodes that are in no group; yields is for [share].
func (c *Cache) desire(s site.Site, applied Applied, yields yields) (*desired, invalid.Errors) {
	membership := newMembership(s)
	desired, errs := newDesired(membership, membership.site.Validate(), c.refined(), yields)
	errs = slices.Concat(errs, membership.warnNoGroup(applied), membership.warnNoCriteria(), desired.checkSizes())
	errs.Sort()
	return desired, errs
}

// Desired returns the configuration tasks of every node that is in a group, in the order of execution. These tasks can
// drift: a task that is not remembered (persist = false), that waits for the value of a callback or for facts, or of
// which services want unequal forms since one of them was rolled back, is left out. A task has all its requirements and
// no action. A node without tasks has an empty list. When anything is invalid the map is nil. The lists belong to the
// caller; what their tasks point to is shared.
func Desired(s site.Site) (map[string][]task.Task, invalid.Errors) {
	return (*Cache)(nil).Desired(s)
}

// AppliedAfter returns what is applied on every node that is in a group after a complete run: configuration resources,
// actions of plugins, remote tasks and callbacks. When anything is invalid it is nil.
func AppliedAfter(s site.Site) (Applied, invalid.Errors) {
	d, errs := (*Cache)(nil).desire(s, nil, undecided)
	if len(errs.Errors()) > 0 {
		return nil, errs
	}
	out := make(Applied, len(d.wanted))
	for node, c := range d.wanted {
		actions := d.nodeActions[node]
		out[node] = make(map[resource.ID]string, len(c.tasks)+len(actions))
		for _, t := range c.tasks {
			if t.Kind != task.Callback {
				out[node][t.Resource.ID()] = t.Digest
			}
		}
		for _, i := range actions {
			t := d.actions[i]
			out[node][t.Resource.ID()] = t.Digest
		}
	}
	if called := d.wantedCallbacks(); len(called) > 0 {
		out[Controller] = called
	}
	return out, errs
}

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
	return c.makePlan(s, applied, drift, nil)
}

// Desired is [Desired].
func (c *Cache) Desired(s site.Site) (map[string][]task.Task, invalid.Errors) {
	d, errs := c.desire(s, nil, undecided)
	if len(errs.Errors()) > 0 {
		return nil, errs
	}
	out := make(map[string][]task.Task, len(d.wanted))
	for node, l := range d.wanted {
		tasks := make([]task.Task, 0, len(l.tasks))
		for _, t := range l.tasks {
			if l.details != nil && (!l.drifts(t) || len(t.Pending) > 0) || t.Awaited != nil ||
				l.disputed[t.Resource.ID()] != nil {
				continue
			}
			t.Node = node
			tasks = append(tasks, t)
		}
		out[node] = tasks
	}
	return out, errs
}

// MakeFor is [Make] for some services only: the plan holds the tasks of these services, with the removal of what they
// owned before, and leaves everything else to the next plan. What they share with others stays as it is, see
// [Plan.Stays]; of unequal forms that of the others counts, and of those of these services alone the one that is among
// formerly, what was applied before the run. Nodes that left the site, and actions of plugins, belong to no service.
func (c *Cache) MakeFor(s site.Site, applied, formerly Applied, services map[string]bool, before Owners) (*Plan,
	invalid.Errors) {
	return c.makePlan(s, applied, nil, &selection{services, before, formerly})
}
