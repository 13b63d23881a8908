package document

import (
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// task reads the template of a task.
func (r *catalogReader) task(n *yaml.Node, path string) catalog.Task {
	var out catalog.Task
	persist := true
	r.object(n, path, r.keys(&out,
		key{"when", false, r.intoCondition(&out.When)},
		key{"steps", false, func(n *yaml.Node, path string) {
			out.Steps = []catalog.Task{}
			r.deeper(n, path, "steps are more than %d levels deep, or hold themselves",
				listInto(r.reader, &out.Steps, r.task))
		}},
		key{"persist", false, r.into(&persist)},
	)...)
	out.Once = !persist
	return out
}

// intoCondition reads a template, true or false.
func (r *reader) intoCondition(target *string) readFunc {
	return func(n *yaml.Node, path string) {
		if at := r.resolve(n); at != nil && isScalar(at, "!!bool") {
			*target = strconv.FormatBool(r.boolean(n, path))
			return
		}
		*target, _ = r.text(n, path)
	}
}
