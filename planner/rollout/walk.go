package rollout

import (
	"errors"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// groups runs the groups in the order of the machine, up to ParallelGroups at once, and returns when all have ended.
// Groups that run at the same time are independent, so the outcome is the same as one after the other.
func (d *driver) groups(groups []site.Group) {
	named := byName(groups)
	if d.ParallelGroups > 1 {
		d.machine.AllowParallel(d.waits)
	}
	begun := map[string]bool{}
	running, goOn := 0, true
	ended := make(chan bool)
	for {
		if goOn {
			for _, name := range d.ready() {
				if begun[name] || running >= d.ParallelGroups {
					continue
				}
				begun[name] = true
				running++
				go func() { ended <- d.group(named[name]) }()
			}
		}
		if running == 0 {
			return
		}
		goOn = <-ended && goOn
		running--
	}
}

// ready returns the groups that may be started, in order.
func (d *driver) ready() []string {
	d.walk.Lock()
	defer d.walk.Unlock()
	return d.machine.Ready()
}

func byName(groups []site.Group) map[string]site.Group {
	named := make(map[string]site.Group, len(groups))
	for _, g := range groups {
		named[g.Name] = g
	}
	return named
}

// start starts a call of a group on the machine.
func (d *driver) start(c call) []string {
	d.walk.Lock()
	defer d.walk.Unlock()
	return c.start(c.group)
}

func (d *driver) finish(c call, succeeded []string) []strategy.Shortfall {
	d.walk.Lock()
	defer d.walk.Unlock()
	return c.finish(c.group, succeeded)
}

// members returns all nodes of a group, sorted.
func (d *driver) members(group string) []string {
	d.walk.Lock()
	defer d.walk.Unlock()
	return d.machine.Members(group)
}

func (d *driver) nodeStage(node string) strategy.Stage {
	d.walk.Lock()
	defer d.walk.Unlock()
	return d.machine.NodeStage(node)
}

// setNode sets the stage of a node that the machine cannot see. A node without a group has no stage.
func (d *driver) setNode(node string, stage strategy.Stage) {
	d.walk.Lock()
	defer d.walk.Unlock()
	if d.machine.NodeStage(node) != "" {
		d.wrong = errors.Join(d.wrong, d.machine.SetNode(node, stage))
	}
}

// recordInterrupted sets the stages of the nodes of a call during which the run was stopped: nodes that finished get
// their result, the others stay as they were.
func (d *driver) recordInterrupted(todo, succeeded []string, stage strategy.Stage) {
	for _, n := range todo {
		d.mu.Lock()
		failed := d.report.Nodes[n].failed()
		d.mu.Unlock()
		switch {
		case failed:
			d.setNode(n, strategy.Failed)
		case slices.Contains(succeeded, n):
			d.setNode(n, stage)
		}
	}
}

func (d *driver) criticalFailed() bool {
	d.walk.Lock()
	defer d.walk.Unlock()
	return d.machine.CriticalFailed()
}
