package planner

import (
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// sameObject returns an error for each task whose resource manages the same object as an earlier task under another
// title. Each would undo the other.
func sameObject(schemas map[string]resource.Schema, tasks []task.Task) invalid.Errors {
	type key struct{ typ, name string }
	type candidate struct {
		variant string
		task    *task.Task
	}
	var errs invalid.Errors
	others := make(map[key][]candidate, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		object := schemas[t.Resource.Type].Object
		if object == nil {
			continue
		}
		name, variant := object(t.Resource)
		if name == "" {
			continue
		}
		o := key{t.Resource.Type, name}
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

// contradicted returns an error for each task that edits a part of a file of which another one gives the whole content,
// or which is to be absent. Each would undo the other. What is only looked at contradicts nothing.
func contradicted(tasks []task.Task) invalid.Errors {
	type editor struct {
		task  task.Task
		paths []string
	}
	var editors []editor
	for i := range tasks {
		if paths := schema.Edited(tasks[i].Resource); len(paths) > 0 && !tasks[i].Resource.Noop() {
			editors = append(editors, editor{tasks[i], paths})
		}
	}
	if len(editors) == 0 {
		return nil
	}
	whole := make(map[string]*task.Task)
	for i := range tasks {
		r := tasks[i].Resource
		if r.Type == "file" && !r.Noop() && (schema.FileEnsure(r) == "absent" ||
			schema.FileHasContent(r) && r.Parameters["replace"] != false) {
			whole[schema.FilePath(r)] = &tasks[i]
		}
	}
	var errs invalid.Errors
	for _, e := range editors {
		t := e.task
		i := slices.IndexFunc(e.paths, func(path string) bool { return whole[path] != nil })
		if i < 0 {
			continue
		}
		path := e.paths[i]
		file := whole[path]
		absent := schema.FileEnsure(file.Resource) == "absent"
		if absent && schema.WantsAbsent(t.Resource) {
			continue
		}
		of, by := bringerOf(*file)
		as := fmt.Sprintf("of which %s of the %s %q gives the whole content: leave one of them out, or give the file "+
			"replace = false", file.Resource.ID(), of, by)
		if absent {
			as = fmt.Sprintf("which %s of the %s %q wants absent: leave one of them out", file.Resource.ID(), of, by)
		}
		object, name := bringerOf(t)
		errs = append(errs, invalid.Error{
			Object: object, Name: name, Code: invalid.DuplicateResource,
			Attribute: site.ConfigurationPath(t.Resource.Type, t.Resource.Title, ""),
			Message:   fmt.Sprintf("%s edits %s, %s", t.Resource.ID(), path, as),
		})
	}
	return errs
}

// bringerOf returns what brings a configuration resource: its service, or the last override that makes it.
func bringerOf(t task.Task) (object, name string) {
	if last := len(t.Override) - 1; t.Service == "" && last >= 0 {
		return "override", t.Override[last]
	}
	return "service", t.Service
}
