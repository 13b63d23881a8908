package rollout

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Progress says how far tasks of the plan came, those of one service for example, from exactly their results (lsm.md
// 9): that a node failed otherwise, or did not answer, lets its tasks wait. So does a task that was skipped because
// another one failed. The failures are texts, in the order of the tasks.
func (r Report) Progress(tasks []task.Task) (p lifecycle.Progress, failures []string) {
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
				failures = append(failures, failureText(t, r.callbackFailure(t)))
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
			failures = append(failures, failureText(t, n.Failures[i].Message))
		case done[t.Node][id]:
			p.Deployed++
		default:
			p.Waiting++
		}
	}
	return p, failures
}

// failureText says which task failed, and why. One on the controller has no node.
func failureText(t task.Task, message string) string {
	if t.Node == "" {
		return fmt.Sprintf("%s: %s", taskID(t), message)
	}
	return fmt.Sprintf("%s on %s: %s", taskID(t), t.Node, message)
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
		case t.Action == task.HealthCheck:
			return r.Nodes[t.Node].Healthy
		}
		return altered[t.Node][taskID(t)]
	}
}

// ByService returns the tasks of a plan by the service that they are for ([planner.Plan.ByService]), and with each
// service the tasks of others that reacted to a change of its own, directly or through what was refreshed in between,
// and failed in that or were not reached. left are the services that the run found between two states: theirs is also
// what is due since an earlier run and to which their resources lead, as desired has them, the tasks of each node.
func (r Report) ByService(p *planner.Plan, before planner.Owners, left map[string]bool,
	desired func() map[string][]task.Task) map[string][]task.Task {
	out := p.ByService(before)
	tasks := make(map[string][]task.Task)
	for _, phase := range p.Phases {
		for _, t := range phase.Tasks {
			tasks[t.Node] = append(tasks[t.Node], t)
		}
	}
	var wanted map[string][]task.Task
	for _, node := range slices.Sorted(maps.Keys(r.Nodes)) {
		n := r.Nodes[node]
		done, failed, altered := idSet(n.Done), make(map[resource.ID]bool), idSet(n.Altered)
		for _, f := range n.Failures {
			failed[f.Resource] = failed[f.Resource] || !f.Refresh && !f.Skipped
		}
		changed := notifiers(tasks[node], func(t task.Task) bool { return altered[t.Resource.ID()] })
		var due map[resource.ID][]task.Task
		for _, t := range tasks[node] {
			id := t.Resource.ID()
			if done[id] || failed[id] {
				continue
			}
			services := answerable(id, changed)
			if t.Action != task.Refresh && len(left) > 0 {
				if wanted == nil {
					wanted = desired()
				}
				if due == nil {
					due = notifiers(wanted[node], func(task.Task) bool { return true })
				}
				for service := range answerable(id, due) {
					services[service] = services[service] || left[service]
				}
			}
			for service, is := range services {
				if is && !t.OwnedBy(service) {
					out[service] = append(out[service], t)
				}
			}
		}
	}
	return out
}

// notifiers returns the tasks that notify each resource, of those that which selects.
func notifiers(tasks []task.Task, which func(task.Task) bool) map[resource.ID][]task.Task {
	out := make(map[resource.ID][]task.Task)
	for _, t := range tasks {
		if which(t) {
			for _, id := range t.Notifies {
				out[id] = append(out[id], t)
			}
		}
	}
	return out
}

// answerable returns the services whose tasks lead to the notification of a resource.
func answerable(refreshed resource.ID, notifiers map[resource.ID][]task.Task) map[string]bool {
	services := make(map[string]bool)
	led, seen := []resource.ID{refreshed}, map[resource.ID]bool{refreshed: true}
	for i := 0; i < len(led); i++ {
		for _, t := range notifiers[led[i]] {
			if id := t.Resource.ID(); !seen[id] {
				seen[id] = true
				led = append(led, id)
				for _, service := range t.Owners() {
					services[service] = true
				}
			}
		}
	}
	return services
}

func idSet(ids []resource.ID) map[resource.ID]bool {
	out := make(map[resource.ID]bool, len(ids))
	for _, id := range ids {
		out[id] = true
	}
	return out
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
		if n.Unhealthy == "" && !n.Healthy {
			n.Unhealthy = before.Unhealthy
		}
		if n.Restored { // to what it had before all passes
			before.Done, before.Altered = nil, nil
		}
		before.add(n.ItemResults)
		n.ItemResults = before.ItemResults
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
