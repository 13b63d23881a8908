package planner

import (
	"github.com/slipway/terraform-provider-slipway/planner/override"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Lay applies overrides to the configuration that a service brings to one node, as a plan does, and returns the tasks
// in the order of execution. Each task names the overrides that changed or created its resource; a created one has no
// service. All overrides apply, whatever their scope, the weakest first, and their names must differ. With any problem
// there is no result; all problems are errors. The arguments are not changed.
func Lay(schemas map[string]resource.Schema, service site.Service, overrides []site.Override) ([]task.Task,
	site.Problems) {
	const node = "any"
	service.Selectors = nil // every node, of which there is one
	services, problems := refine.New(site.Site{Services: []site.Service{service}}, []site.Node{{Name: node}},
		refine.Schemas{Config: schemas}, nil)
	set, more := override.New(overrides, schemas, service.Configuration)
	problems = append(problems, more...)
	index := make(map[string]int, len(overrides))
	for i := range set.Len() {
		index[set.Name(i)] = i
	}
	layers := make([]int, 0, len(overrides))
	laid := make(map[string]bool, len(overrides))
	for _, o := range overrides {
		if laid[o.Name] {
			problems = append(problems, site.Problem{Object: "override", Name: o.Name, Attribute: "name",
				Code:    site.Duplicate,
				Message: "there is more than one override of this name; give each a name of its own"})
			continue
		}
		laid[o.Name] = true
		layers = append(layers, index[o.Name])
	}
	load, more := services.Tasks(services.On(node), site.Node{Name: node}) // one service does not clash with another
	problems = append(problems, more...)
	tasks, more := set.Apply(layers, load.Tasks)
	problems = append(problems, more...)
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
