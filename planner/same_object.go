package planner

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// sameObject returns an error for each task whose resource manages the same object as an earlier task under another
// title. Each would undo the other.
func sameObject(schemas map[string]resource.Schema, tasks []task.Task) invalid.Errors {
	type object struct{ typ, name string }
	type candidate struct {
		variant string
		task    *task.Task
	}
	var errs invalid.Errors
	others := make(map[object][]candidate, len(tasks))
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
		for _, h := range others[o] {
			if h.variant == variant || h.variant == "" || variant == "" {
				remedy := "make one resource of both"
				if h.variant != variant {
					remedy += ", or name the architecture in both where two are meant"
				}
				errs = append(errs, invalid.Error{
					Object: "service", Name: t.Service,
					Attribute: site.ConfigurationPath(t.Resource.Type, t.Resource.Title, ""),
					Code:      invalid.DuplicateResource,
					Message: fmt.Sprintf("%s looks after the same as %s of the service %q: %s", t.Resource.ID(),
						h.task.Resource.ID(), h.task.Service, remedy),
				})
				break
			}
		}
		others[o] = append(others[o], candidate{variant, t})
	}
	return errs
}
