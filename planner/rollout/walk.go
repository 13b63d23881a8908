package rollout

import (
	"errors"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// groups walks the groups as the machine says, up to ParallelGroups at once, and returns when those that were begun have ended. Groups that are
// worked on at the same time do not concern each other, so the outcome is that of one after the other.
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

// ready returns the groups that may be begun, in order.
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

// start and finish are the machine's word on a call of a group.
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

// setNode tells the machine what it cannot know. A node that is in no group has no stage to set.
func (d *driver) setNode(node string, stage strategy.Stage) {
	d.walk.Lock()
	defer d.walk.Unlock()
	if d.machine.NodeStage(node) != "" {
		d.wrong = errors.Join(d.wrong, d.machine.SetNode(node, stage))
	}
}

// settle tells the machine the truth about the nodes of a call that the run was stopped in: those that ended, ended as they did,
// and those that had no turn stay as they were.
func (d *driver) settle(todo, succeeded []string, stage strategy.Stage) {
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
