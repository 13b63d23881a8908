package document

import (
	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// task reads the template of a task.
func (r *catalogReader) task(n *yaml.Node, path string) catalog.Task {
	var out catalog.Task
	persist := true
	r.object(n, path,
		key{"name", true, r.intoText(&out.Name)},
		key{"when", false, r.intoCondition(&out.When)},
		key{"for_each", false, r.intoValue(&out.ForEach)},
		key{"config", false, func(n *yaml.Node, path string) {
			out.Config = new(catalog.ConfigTask)
			r.object(n, path,
				key{"type", true, r.intoText(&out.Config.Type)},
				key{"title", true, r.intoText(&out.Config.Title)},
				key{"parameters", false, r.intoValues(&out.Config.Parameters)},
			)
		}},
		key{"remote", false, func(n *yaml.Node, path string) {
			out.Remote = new(catalog.RemoteTask)
			r.object(n, path,
				key{"type", true, r.intoText(&out.Remote.Type)},
				key{"parameters", false, r.intoValues(&out.Remote.Parameters)},
				key{"limit", false, r.intoCount(&out.Remote.Limit)},
			)
		}},
		key{"callback", false, func(n *yaml.Node, path string) {
			out.Callback = new(catalog.CallbackTask)
			r.object(n, path,
				key{"type", true, r.intoText(&out.Callback.Type)},
				key{"parameters", false, r.intoValues(&out.Callback.Parameters)},
				key{"per_node", false, r.intoBoolean(&out.Callback.PerNode)},
				key{"returns", false, r.intoTextMap(&out.Callback.Returns)},
			)
		}},
		key{"steps", false, func(n *yaml.Node, path string) {
			out.Steps = []catalog.Task{}
			if r.depth++; r.depth > maxNesting {
				r.report(n, path, Schema, "steps are more than %d levels deep, or hold themselves", maxNesting)
			} else {
				r.each(func(n *yaml.Node, path string) { out.Steps = append(out.Steps, r.task(n, path)) })(n, path)
			}
			r.depth--
		}},
		key{"requires", false, r.each(func(n *yaml.Node, path string) {
			var q catalog.Requirement
			r.object(n, path,
				key{"task", false, r.intoText(&q.Task)},
				key{"section", false, intoNamed(r.reader, &q.Section)},
				key{"service", false, r.intoText(&q.Service)},
				key{"resource", false, r.intoText(&q.Resource)},
			)
			out.Requires = append(out.Requires, q)
		})},
		key{"notify", false, r.intoTexts(&out.Notify)},
		key{"replaces", false, r.intoTexts(&out.Replaces)},
		key{"persist", false, r.intoBoolean(&persist)},
		key{"tag", false, intoNamed(r.reader, &out.Tag)},
		key{"tolerate", false, r.intoBoolean(&out.Tolerate)},
	)
	out.Once = !persist
	return out
}

// intoCondition reads a template, true or false.
func (r *reader) intoCondition(target *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		if at := r.resolve(n); at != nil && isScalar(at, "!!bool") {
			*target = "false"
			if r.boolean(n, path) {
				*target = "true"
			}
			return
		}
		*target, _ = r.text(n, path)
	}
}
