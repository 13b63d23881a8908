package rollout

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// resolve gives a task the values that callbacks of this run have yielded by now (litp.md 51, 115).
func (d *driver) resolve(t task.Task) (task.Task, error) {
	if d.Resolve == nil {
		return t, nil
	}
	d.mu.Lock()
	values := d.report.Values.clone()
	d.mu.Unlock()
	resolved, err := d.Resolve(t, values)
	if err != nil {
		return t, fmt.Errorf("%s: a value that is read when its phase starts: %w", taskID(t), err)
	}
	return resolved, nil
}

// resolved resolves all tasks of a step. One that may fail is left out when it cannot be resolved.
func (d *driver) resolved(group string, st step) (step, error) {
	if d.Resolve == nil {
		return st, nil
	}
	tasks := make([]task.Task, 0, len(st.tasks))
	for _, t := range st.tasks {
		r, err := d.resolve(t)
		switch {
		case err == nil:
			tasks = append(tasks, r)
		case t.Tolerate:
			d.warn(group, st.node, fmt.Sprintf("node %q: %s; this task may fail, so the node goes on", st.node, err))
		default:
			return st, err
		}
	}
	st.tasks = tasks
	return st, nil
}
