package rollout

import (
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// programs are the programs that types of remote tasks run on a node, besides a shell.
var programs = map[string]string{"puppet": "puppet"}

// needs returns the programs that must be on each node before its first task, sorted: those that its remote tasks run,
// without those that a package of the plan contains.
func needs(p *planner.Plan) map[string][]string {
	out := map[string][]string{}
	installed := map[string][]string{} // node -> titles of packages
	for _, ph := range p.Phases {
		for _, t := range ph.Tasks {
			if installs(t) {
				installed[t.Node] = append(installed[t.Node], t.Resource.Title)
			}
		}
	}
	for _, ph := range p.Phases {
		for _, t := range ph.Tasks {
			program, ok := programs[t.Resource.Type]
			if !ok || t.Kind != task.Remote || slices.Contains(out[t.Node], program) {
				continue
			}
			if !slices.ContainsFunc(installed[t.Node], func(title string) bool {
				return strings.Contains(title, program)
			}) {
				out[t.Node] = append(out[t.Node], program)
			}
		}
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out
}

// installs reports whether a task installs a package.
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

// needed returns those of the programs that a node needs which the tasks run, sorted.
func needed(tasks []task.Task, needs []string) []string {
	var names []string
	for _, t := range tasks {
		program, ok := programs[t.Resource.Type]
		if ok && t.Kind == task.Remote && slices.Contains(needs, program) && !slices.Contains(names, program) {
			names = append(names, program)
		}
	}
	slices.Sort(names)
	return names
}
