package planner

import (
	"github.com/slipway/terraform-provider-slipway/planner/override"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Lay lays overrides over what a service brings to one node, as a plan does for every node, and returns the tasks in the order of
// execution; each names the overrides that changed or created its resource, and a created one has no service. The overrides all count,
// whatever their scope, the weakest first, and their names must differ. It is all or nothing: with problems, which are all errors, there
// is no result. Arguments are not changed.
func Lay(schemas map[string]resource.Schema, service site.Service, overrides []site.Override) ([]task.Task, site.Problems) {
	const node = "any"
	service.Selectors = nil // every node, of which there is one
	services, problems := refine.New(site.Site{Services: []site.Service{service}}, []site.Node{{Name: node}}, refine.Schemas{Config: schemas}, nil)
	set, mistakes := override.New(overrides, schemas, service.Configuration)
	problems = append(problems, mistakes...)
	index := make(map[string]int, len(overrides))
	for i := range set.Len() {
		index[set.Name(i)] = i
	}
	layers := make([]int, 0, len(overrides))
	laid := make(map[string]bool, len(overrides))
	for _, o := range overrides {
		if laid[o.Name] {
			problems = append(problems, site.Problem{Object: "override", Name: o.Name, Attribute: "name", Code: site.Duplicate,
				Message: "there is more than one override of this name; give each a name of its own"})
			continue
		}
		laid[o.Name] = true
		layers = append(layers, index[o.Name])
	}
	load, mistakes := services.Tasks(services.On(node), site.Node{Name: node}) // one service does not clash with another
	problems = append(problems, mistakes...)
	tasks, mistakes := set.Apply(layers, load.Tasks)
	problems = append(problems, mistakes...)
	tasks, errs := sequence.Order(tasks)
	for _, err := range errs {
		problems = append(problems, relationProblem(err, set, load.Details))
	}
	if len(problems) > 0 {
		problems.Sort()
		return nil, problems
	}
	return tasks, nil
}
