// Package preview plans a site by what documents say of it: nobody asks a node, and there is no journal. Services come
// first, as in a run, then the site that follows from them. It is pure.
package preview

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Before is what a plan starts from. The zero Before is a site on which nothing was ever applied.
type Before struct {
	Services services.Inventory
	Applied  planner.Applied
	Drift    planner.Drift
}

// Preview is a plan with what it does to services.
type Preview struct {
	Services *services.Transition
	Plan     *planner.Plan // its digest covers the services too
}

// Steps returns what is done, a line each, services first.
func (p *Preview) Steps() []string { return append(p.Services.Steps(), p.Plan.Steps()...) }

// Empty reports whether there is nothing to do.
func (p *Preview) Empty() bool { return p.Plan.Empty() && len(p.Services.Changes()) == 0 }

// Check returns everything that is wrong with a site, as a first run on it would find.
func Check(s site.Site) site.Problems {
	_, deployed, problems := planServices(services.Inventory{}, s)
	_, more := planner.Desired(deployed)
	return problems.Join(more)
}

// Make plans a site. With errors among the problems there is no preview.
func Make(s site.Site, before Before) (*Preview, site.Problems) {
	transition, deployed, problems := planServices(before.Services, s)
	p, more := planner.Make(deployed, before.Applied, before.Drift)
	problems = problems.Join(more)
	if transition == nil || p == nil {
		return nil, problems
	}
	var err error
	if p.Digest, err = transition.Digest(p.Digest); err != nil {
		return nil, append(problems, site.Problem{Object: "deployment", Name: s.Name, Code: site.BadStructure,
			Message: err.Error()})
	}
	return &Preview{transition, p}, problems
}

// mostPasses bounds how often services are deployed in one run, as the provider does.
const mostPasses = 16

// AfterFirstRun returns the site after a successful first run: its services are in the states that it leads to.
func AfterFirstRun(s site.Site) (Before, site.Problems) {
	transition, deployed, problems := planServices(services.Inventory{}, s)
	if transition == nil {
		_, more := planner.Desired(deployed)
		return Before{}, problems.Join(more)
	}
	again := transition.Conclude(nil, time.Time{})
	for pass := 1; pass < mostPasses && len(again) > 0; pass++ {
		again = transition.Conclude(nil, time.Time{})
	}
	problems = problems.Join(transition.Problems())
	for _, name := range slices.Sorted(maps.Keys(again)) {
		problems = append(problems, site.Problem{Object: "service", Name: name, Attribute: "lifecycle",
			Code: site.BadValue, Message: fmt.Sprintf(
				"leads from one deployment to the next without an end: after %d it still asks for another; let a person set one of these transfers off", mostPasses)})
	}
	if len(problems.Errors()) > 0 {
		return Before{}, problems
	}
	applied, more := planner.AppliedAfter(transition.Site())
	return Before{Services: transition.State(), Applied: applied}, problems.Join(more)
}

// planServices plans the services of a site. On errors it returns no transition and the wanted site, so that other
// errors of the site can be reported too.
func planServices(state services.Inventory, s site.Site) (*services.Transition, site.Site, site.Problems) {
	transition, problems := services.Plan(state, s, time.Time{})
	if len(problems.Errors()) > 0 {
		return nil, s, problems
	}
	// Not all services that are wanted are deployed now.
	return transition, transition.Site(), problems.Join(s.Validate())
}
