package command

import (
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// firstRun plans the first run on a site, where nothing is applied yet, and returns the plan with its warnings. Errors
// have status 2. locate finds the positions of errors. Without an inventory there is no plan.
func firstRun(s *document.Site, locate func(invalid.Errors) invalid.Errors) (*engine.Planned, invalid.Errors,
	error) {
	made, found := engine.Plan(nil, s.Site, engine.Settings{Unreached: true})
	warnings, err := onlyWarnings(locate(found))
	if err != nil || !s.Inventory {
		return nil, warnings, err
	}
	return made, warnings, nil
}
