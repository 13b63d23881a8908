package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// warnUnchecked warns of the nodes of each group that an earlier run left unchecked: those whose check failed, and
// those on which nothing is left to do but the check.
func (c *changes) warnUnchecked() (errs invalid.Errors) {
	nodes := make([]map[string][]string, len(c.groups)) // what is known of nodes -> nodes
	for _, n := range c.changed {
		if _, failed := strings.CutPrefix(n.left, task.CheckFailed); failed || n.check {
			g := c.owner[n.node]
			if nodes[g] == nil {
				nodes[g] = map[string][]string{}
			}
			nodes[g][n.left] = append(nodes[g][n.left], n.node)
		}
	}
	for i, g := range c.groups {
		if len(nodes[i]) > 0 {
			errs = append(errs, invalid.Error{Object: "group", Name: g.Name, Attribute: "rolling.health_check",
				Code: invalid.Unchecked, Warning: true, Message: describeUnchecked(nodes[i]) +
					"; a node counts as failed until its check succeeds, and the run checks it again"})
		}
	}
	return errs
}

// describeChecks describes which nodes are only checked, and why.
func (ph Phase) describeChecks() string {
	nodes := map[string][]string{}
	for _, t := range ph.Tasks {
		nodes[t.Left] = append(nodes[t.Left], t.Node)
	}
	return "check again, " + describeUnchecked(nodes)
}

// describeUnchecked says why nodes are unchecked: `the health check of 2 nodes (a, b) failed in run R`. The nodes are
// by what [task.Unchecked] has of them.
func describeUnchecked(nodes map[string][]string) string {
	var parts []string
	for _, left := range slices.Sorted(maps.Keys(nodes)) {
		what := "was not made to its end"
		run, failed := strings.CutPrefix(strings.TrimPrefix(left, task.OnlyCalled), task.CheckFailed)
		if failed {
			what = "failed"
		}
		if run == "" {
			run = "an earlier run"
		} else {
			run = "run " + run
		}
		parts = append(parts, fmt.Sprintf("the health check of %s (%s) %s in %s", resource.Count(len(nodes[left]), "node"),
			list(nodes[left]), what, run))
	}
	return strings.Join(parts, ", ")
}

// WithUnchecked returns what is applied on a node, with left for [task.Unchecked] unless it is empty. It does not
// change applied.
func WithUnchecked(applied map[resource.ID]string, left string) map[resource.ID]string {
	if left == "" || applied[task.Unchecked] == left {
		return applied
	}
	out := maps.Clone(applied)
	if out == nil {
		out = map[resource.ID]string{}
	}
	out[task.Unchecked] = left
	return out
}

// KeepUnhealthy returns what is applied on a node now, with what was known before of a health check that failed on it,
// or that callbacks for it were not followed by: its ledger does not say that. The arguments are not changed.
func KeepUnhealthy(before, now map[resource.ID]string) map[resource.ID]string {
	left := before[task.Unchecked]
	if strings.HasPrefix(left, task.CheckFailed) || strings.HasPrefix(left, task.OnlyCalled) {
		return WithUnchecked(now, left)
	}
	return now
}

// unhealthy reports whether the plan checks a node of a group again whose health check has failed.
func (p *Plan) unhealthy(group string) bool {
	return slices.ContainsFunc(p.Phases, func(ph Phase) bool {
		return ph.Group == group && slices.ContainsFunc(ph.Tasks, func(t task.Task) bool {
			return strings.HasPrefix(t.Left, task.CheckFailed)
		})
	})
}
