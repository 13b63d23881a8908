package planner

import (
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/override"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Lay applies overrides to the configuration that a service brings to one node, as a plan does, and returns the tasks
// in the order of execution. Each task names the overrides that changed or created its resource; a created one has no
// service. All overrides apply, whatever their scope, the weakest first, and their names must differ. With any error
// there is no result; all errors are errors. The arguments are not changed.
func Lay(schemas map[string]resource.Schema, service site.Service, overrides []site.Override) ([]task.Task,
	invalid.Errors) {
	const node = "any"
	service.Selectors = nil // every node, of which there is one
	services, errs := refine.New(site.Site{Services: []site.Service{service}}, []site.Node{{Name: node}},
		refine.Schemas{Config: schemas}, nil)
	set, more := override.New(overrides, schemas, service.Configuration)
	errs = append(errs, more...)
	index := make(map[string]int, len(overrides))
	for i := range set.Len() {
		index[set.Name(i)] = i
	}
	layers := make([]int, 0, len(overrides))
	laid := make(map[string]bool, len(overrides))
	for _, o := range overrides {
		if laid[o.Name] {
			errs = append(errs, invalid.Error{Object: "override", Name: o.Name, Attribute: "name",
				Code:    invalid.Duplicate,
				Message: "there is more than one override of this name; give each a name of its own"})
			continue
		}
		laid[o.Name] = true
		layers = append(layers, index[o.Name])
	}
	load, more := services.Tasks(services.On(node), site.Node{Name: node}) // one service does not clash with another
	errs = append(errs, more...)
	tasks, more := set.Apply(layers, load.Tasks)
	errs = append(errs, more...)
	tasks, failures := sequence.Order(tasks)
	for _, err := range failures {
		errs = append(errs, relationError("", err, set, load.Details))
	}
	if len(errs) > 0 {
		errs.Sort()
		return nil, errs
	}
	return tasks, nil
}

// configurations returns the inline configuration of services.
func configurations(services []site.Service) []resource.Configuration {
	out := make([]resource.Configuration, len(services))
	for i, s := range services {
		out[i] = s.Configuration
	}
	return out
}

// CheckParts validates the configuration of services and overrides, each by itself. It ignores services of entities, so
// the site may be incomplete. It serves sites of which some parts could not be read.
func CheckParts(s site.Site) invalid.Errors {
	schemas := (&refine.Templates{}).Types()
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
