package planner

import (
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/override"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// CheckParts returns what is wrong with the configuration of services and overrides, each by itself. Services of entities are left out, so the site
// need not be whole: it is for sites of which not everything could be read.
func CheckParts(s site.Site) site.Problems {
	schemas := converge.Schemas()
	var parts site.Site
	for _, service := range s.Services {
		if service.Entity == nil {
			parts.Services = append(parts.Services, service)
		}
	}
	_, problems := refine.New(parts, nil, refine.Schemas{Config: schemas}, nil)
	_, mistakes := override.New(s.Overrides, schemas, configurations(s.Services)...)
	return append(problems, mistakes...)
}
