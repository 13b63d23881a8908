package command

import (
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/preview"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// firstRun plans the first run on a site, where nothing is applied yet, and returns the plan with its warnings. Errors
// have status 2. locate finds the positions of problems. Without an inventory there is no plan.
func firstRun(s *document.Site, locate func(site.Problems) document.Problems) (*preview.Preview, document.Problems,
	error) {
	made, found := preview.Make(s.Site, preview.Before{})
	warnings, err := onlyWarnings(locate(found))
	if err != nil || !s.Inventory {
		return nil, warnings, err
	}
	return made, warnings, nil
}
