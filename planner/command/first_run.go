package command

import (
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/preview"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// firstRun plans the first run on a site, which has everything that the site wants on its nodes, and returns the warnings. Errors are one of status 2.
// place finds the places of problems. Without an inventory there is no plan.
func firstRun(s *document.Site, place func(site.Problems) document.Problems) (*preview.Preview, document.Problems, error) {
	made, found := preview.Make(s.Site, preview.Before{})
	warnings, err := sound(place(found))
	if err != nil || !s.Inventory {
		return nil, warnings, err
	}
	return made, warnings, nil
}
