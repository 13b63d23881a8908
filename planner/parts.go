package planner

import (
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/override"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// CheckParts validates the configuration of services and overrides, each by itself. It ignores services of entities, so
// the site may be incomplete. It serves sites of which some parts could not be read.
func CheckParts(s site.Site) invalid.Errors {
	schemas := schema.Types()
	var parts site.Site
	for _, service := range s.Services {
		if service.Entity == nil {
			parts.Services = append(parts.Services, service)
		}
	}
	_, errs := refine.New(parts, nil, refine.Schemas{Config: schemas}, nil)
	_, more := override.New(s.Overrides, schemas, configurations(s.Services)...)
	return append(errs, more...)
}
