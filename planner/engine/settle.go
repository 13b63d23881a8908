package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Validate returns everything that is wrong with a site, as the plan of a first run would find. It asks no node. What
// depends on what is applied is a warning: a limit may name a node that left the site.
func Validate(s site.Site) invalid.Errors {
	_, deployed, errs := planServices(s)
	return errs.Join(planner.Validate(deployed))
}

// Guarded returns the configuration resources with guard that a first run of a site changes, with their nodes, sorted.
// Those are left out of which a callback returns a value.
func Guarded(s site.Site) (map[resource.ID][]string, invalid.Errors) {
	_, deployed, errs := planServices(s)
	desired, more := planner.Desired(deployed)
	if errs = errs.Join(more); len(errs.Errors()) > 0 {
		return nil, errs
	}
	out := map[resource.ID][]string{}
	for _, node := range slices.Sorted(maps.Keys(desired)) {
		for _, t := range desired[node] {
			if t.Resource.Guard() {
				out[t.Resource.ID()] = append(out[t.Resource.ID()], node)
			}
		}
	}
	return out, errs
}

// mostPasses bounds how often one run deploys services because of what their lifecycles do.
const mostPasses = 16

// AfterFirstRun returns the site after a successful first run: its services are in the states that it leads to.
func AfterFirstRun(s site.Site) (*Prior, invalid.Errors) {
	transition, deployed, errs := planServices(s)
	if transition == nil {
		_, more := planner.Desired(deployed)
		return nil, errs.Join(more)
	}
	again := transition.Conclude(nil, time.Time{})
	for pass := 1; pass < mostPasses && len(again) > 0; pass++ {
		again = transition.Conclude(nil, time.Time{})
	}
	errs = errs.Join(transition.Errors())
	for _, name := range slices.Sorted(maps.Keys(again)) {
		errs = append(errs, invalid.Error{Object: "service", Name: name, Attribute: "lifecycle",
			Code: invalid.BadValue, Message: fmt.Sprintf(
				"leads from one deployment to the next without an end: after %d it still asks for another; "+
					"let a person set one of these transfers off", mostPasses)})
	}
	if len(errs.Errors()) > 0 {
		return nil, errs
	}
	applied, more := planner.AppliedAfter(transition.Site())
	return &Prior{State: State{Services: transition.State(), Applied: applied}}, errs.Join(more)
}

// planServices plans the services of a site. On errors it returns no transition and the wanted site, so that other
// errors of the site can be reported too.
func planServices(s site.Site) (*services.Transition, site.Site, invalid.Errors) {
	transition, errs := services.Plan(services.Inventory{}, s, time.Time{})
	if len(errs.Errors()) > 0 {
		return nil, s, errs
	}
	// Not all services that are wanted are deployed now.
	return transition, transition.Site(), errs.Join(s.Validate())
}
