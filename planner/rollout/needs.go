package rollout

import (
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// programs are what the types of remote tasks call on a node besides a shell.
var programs = map[string]string{"puppet": "puppet"}

// needs returns the programs that must be on each node before its work begins, sorted: those that its remote tasks call, except for
// those that the plan itself brings in a package.
func needs(p *planner.Plan) map[string][]string {
	out := map[string][]string{}
	brought := map[string][]string{} // node -> titles of packages
	for _, ph := range p.Phases {
		for _, t := range ph.Tasks {
			if installs(t) {
				brought[t.Node] = append(brought[t.Node], t.Resource.Title)
			}
		}
	}
	for _, ph := range p.Phases {
		for _, t := range ph.Tasks {
			program, ok := programs[t.Resource.Type]
			if !ok || t.Kind != task.Remote || slices.Contains(out[t.Node], program) {
				continue
			}
			if !slices.ContainsFunc(brought[t.Node], func(title string) bool { return strings.Contains(title, program) }) {
				out[t.Node] = append(out[t.Node], program)
			}
		}
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out
}

// installs reports whether a task brings a package.
func installs(t task.Task) bool {
	if t.Kind != task.Config || t.Resource.Type != "package" || t.Action == task.Remove || t.Action == task.Refresh {
		return false
	}
	switch t.Resource.Parameters["ensure"] {
	case "absent", "purged":
		return false
	}
	return true
}

// needed returns those of the node's programs that the step itself calls: outside of groups no preparation has looked for them.
func (w work) needed(st step) []string {
	var names []string
	for _, t := range st.tasks {
		program, ok := programs[t.Resource.Type]
		if ok && t.Kind == task.Remote && slices.Contains(w.needs[st.node], program) && !slices.Contains(names, program) {
			names = append(names, program)
		}
	}
	slices.Sort(names)
	return names
}
