package planner

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// sameObject returns an error for each task whose resource looks after the object of an earlier one under another title: each would undo what the
// other one did.
func sameObject(schemas map[string]resource.Schema, tasks []task.Task) site.Problems {
	type object struct{ typ, name string }
	type holder struct {
		variant string
		task    *task.Task
	}
	var problems site.Problems
	held := make(map[object][]holder, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		schema := schemas[t.Resource.Type]
		if schema.Object == nil {
			continue
		}
		name, variant := schema.Object(t.Resource)
		if name == "" {
			continue
		}
		o := object{t.Resource.Type, name}
		for _, h := range held[o] {
			if h.variant == variant || h.variant == "" || variant == "" {
				remedy := "make one resource of both"
				if h.variant != variant {
					remedy += ", or name the architecture in both where two are meant"
				}
				problems = append(problems, site.Problem{
					Object: "service", Name: t.Service, Attribute: site.ConfigurationPath(t.Resource.Type, t.Resource.Title, ""), Code: site.DuplicateResource,
					Message: fmt.Sprintf("%s looks after the same as %s of the service %q: %s", t.Resource.ID(), h.task.Resource.ID(), h.task.Service, remedy),
				})
				break
			}
		}
		held[o] = append(held[o], holder{variant, t})
	}
	return problems
}
