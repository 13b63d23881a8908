package rollout

import (
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// TaskFailure is a task that failed itself. One that was skipped, because another one failed, waits.
type TaskFailure struct {
	Node     string // empty for a callback of a service as a whole
	Resource resource.ID
	Message  string
}

// Progress says how far tasks of the plan came, those of one service for example, from exactly their results (lsm.md
// 9): that a node failed otherwise, or did not answer, lets its tasks wait. The failures are in the order of the tasks.
func (r Report) Progress(tasks []task.Task) (p lifecycle.Progress, failures []TaskFailure) {
	done := make(map[string]map[resource.ID]bool) // node -> what was done there
	for _, t := range tasks {
		p.Total++
		id := taskID(t)
		if t.Kind == task.Callback {
			switch digest, begun := r.Callbacks[t.Name]; {
			case begun && digest != "":
				p.Deployed++
			case !begun || r.Status == StatusInterrupted:
				p.Waiting++
			default:
				p.Failed++
				failures = append(failures, TaskFailure{t.Node, id, r.callbackFailure(t)})
			}
			continue
		}
		n := r.Nodes[t.Node]
		if done[t.Node] == nil {
			done[t.Node] = make(map[resource.ID]bool, len(n.Done))
			for _, id := range n.Done {
				done[t.Node][id] = true
			}
		}
		i := slices.IndexFunc(n.Failures, func(f Failure) bool { return f.Resource == id && !f.Skipped })
		switch {
		case i >= 0:
			p.Failed++
			failures = append(failures, TaskFailure{t.Node, id, n.Failures[i].Message})
		case done[t.Node][id]:
			p.Deployed++
		default:
			p.Waiting++
		}
	}
	return p, failures
}

// Did returns whether the run executed a task and something came of it: a resource that was as it should be already is
// left out, and so is what failed. A node counts as prepared when it answered.
func (r Report) Did() func(task.Task) bool {
	altered := make(map[string]map[resource.ID]bool, len(r.Nodes))
	for name, n := range r.Nodes {
		altered[name] = make(map[resource.ID]bool, len(n.Altered))
		for _, id := range n.Altered {
			altered[name][id] = true
		}
	}
	return func(t task.Task) bool {
		switch {
		case t.Kind == task.Callback:
			return r.Callbacks[t.Name] != ""
		case t.Action == task.Forget:
			return r.Departed[t.Node].Status == TornDown
		case t.Action == task.PrepareNode || t.Action == task.Unlock:
			n := r.Nodes[t.Node]
			return n.Attempted && n.Reachable
		}
		return altered[t.Node][taskID(t)]
	}
}

// ByService returns the tasks of a plan by the service that they are for ([planner.Plan.ByService]), and with each
// service the tasks of others whose refresh failed after a change of its own had notified them, directly or through
// what was refreshed in between.
func (r Report) ByService(p *planner.Plan, before planner.Owners) map[string][]task.Task {
	out := p.ByService(before)
	for _, node := range slices.Sorted(maps.Keys(r.Nodes)) {
		for _, f := range r.Nodes[node].Failures {
			if f.Refresh {
				r.answerable(p, node, f.Resource, out)
			}
		}
	}
	return out
}

// answerable adds the task of a refresh that failed on a node to the services whose changes led to it.
func (r Report) answerable(p *planner.Plan, node string, refreshed resource.ID, services map[string][]task.Task) {
	var failed task.Task
	var changes []task.Task
	for _, phase := range p.Phases {
		for _, t := range phase.Tasks {
			switch id := t.Resource.ID(); {
			case t.Node != node:
			case id == refreshed:
				failed = t
			case slices.Contains(r.Nodes[node].Altered, id):
				changes = append(changes, t)
			}
		}
	}
	seen := map[string]bool{failed.Service: true, "": true}
	led := []resource.ID{refreshed}
	for i := 0; i < len(led); i++ {
		for _, t := range changes {
			if !slices.Contains(t.Notifies, led[i]) || slices.Contains(led, t.Resource.ID()) {
				continue
			}
			led = append(led, t.Resource.ID())
			if !seen[t.Service] {
				seen[t.Service] = true
				services[t.Service] = append(services[t.Service], failed)
			}
		}
	}
}

// callbackFailure says why a callback failed.
func (r Report) callbackFailure(t task.Task) string {
	if n, ok := r.Nodes[t.Node]; ok && n.Error != nil {
		return n.Error.Error()
	}
	for _, phase := range r.Outside {
		for _, f := range phase.Failures {
			if f.Node == t.Node {
				return f.Message
			}
		}
	}
	return "the callback failed"
}

// Follow adds the report of another pass of the same run: what it found on the nodes counts, and a node, group or run
// that failed before stays failed.
func (r *Report) Follow(next Report) {
	for node, n := range next.Nodes {
		before, ok := r.Nodes[node]
		if ok && !n.Attempted {
			continue
		}
		if before.Stage == strategy.Failed {
			n.Stage = before.Stage
		}
		if n.Error == nil {
			n.Error = before.Error
		}
		if n.Restored { // to what it had before all passes
			before.Done, before.Altered = nil, nil
		}
		n.Failures = append(slices.Clone(before.Failures), n.Failures...)
		n.Done = append(slices.Clone(before.Done), n.Done...)
		n.Altered = append(slices.Clone(before.Altered), n.Altered...)
		n.Changed += before.Changed
		n.Unchanged += before.Unchanged
		n.Skipped += before.Skipped
		n.Unknown += before.Unknown
		r.Nodes[node] = n
	}
	r.Outside, r.BudgetSpent = append(r.Outside, next.Outside...), r.BudgetSpent || next.BudgetSpent
	r.Warnings = append(r.Warnings, next.Warnings...)
	if r.Callbacks == nil {
		r.Callbacks = make(map[string]string, len(next.Callbacks))
	}
	maps.Copy(r.Callbacks, next.Callbacks)
	if r.Values == nil {
		r.Values = make(Values, len(next.Values))
	}
	for service, values := range next.Values {
		if r.Values[service] == nil {
			r.Values[service] = make(map[string]any, len(values))
		}
		maps.Copy(r.Values[service], values)
	}
	severity := []Status{StatusSucceeded, StatusDegraded, StatusPaused, StatusFailed, StatusInterrupted}
	if slices.Index(severity, next.Status) > slices.Index(severity, r.Status) {
		r.Status = next.Status
	}
}
