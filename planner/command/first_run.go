package command

import (
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// firstRun plans the first run on a site, where nothing is applied yet, and returns the plan with its warnings. Errors
// have status 2. locate finds the positions of problems. Without an inventory there is no plan.
func firstRun(s *document.Site, locate func(site.Problems) document.Problems) (*engine.Planned, document.Problems,
	error) {
	made, found := engine.Plan(nil, s.Site, engine.Settings{Unreached: true})
	warnings, err := onlyWarnings(locate(found))
	if err != nil || !s.Inventory {
		return nil, warnings, err
	}
	return made, warnings, nil
}
