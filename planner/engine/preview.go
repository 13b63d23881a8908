package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// What a plan shows of a run. Terraform prints no attribute, and no element of a list or map, that equals the state's;
// so every line begins with the number of its run, and a changed node carries it. What stays as it is has its old
// value, and is not printed (design.md 10).

// Shown is what a state shows of the last run. In a preview, an empty stage and [UnknownRun] stand for what is not
// known before the run.
type Shown struct {
	Status        Status
	Run           int64            // its number
	Steps         []string         // as [Planned.Number] returns them
	ChangedNodes  map[string]int64 // for each node the number of the run that changed it last
	Nodes, Groups map[string]string
	Unreachable   []string
}

// UnknownRun is the number of a run that may not take place.
const UnknownRun = -1

// Settled reports whether the last run left nothing to report again. A node that failed and answers now has something
// to report even when nothing is left to do on it: it may have brought its work to an end after contact was lost.
func (s Shown) Settled() bool {
	if s.Status == Degraded {
		for node, stage := range s.Nodes {
			if stage == string(strategy.Failed) && !slices.Contains(s.Unreachable, node) {
				return false
			}
		}
		return true
	}
	return s.Status == Deployed || s.Status == Limited || s.Status == Paused
}

// Lines returns what is done, a line each, services first, groups by phase.
func (p *Planned) Lines() []string { return append(p.Services.Steps(), p.Plan.Lines()...) }

// Number returns the number of the run, its steps, and the nodes that it changes. The steps of earlier runs follow, the
// oldest last, as far as they are not dropped: Terraform prints each one that is, and Read must not drop any (design.md
// 10), so that a small change would print all steps of the large run before it.
func (p *Planned) Number(before Shown) (run int64, steps []string, changed map[string]int64) {
	run = before.Run + 1
	now := make(map[string]int64)
	for _, name := range p.Plan.ChangedNodes() {
		now[name] = run
	}
	steps = Numbered(run, p.Lines())
	if kept := len(before.Steps) - max(len(steps), droppedSteps); kept > 0 {
		steps = append(steps, before.Steps[:kept]...)
	}
	return run, steps, lastRuns(before, p.andWaiting(p.Site.Nodes), now)
}

// droppedSteps is how many steps of earlier runs a run drops, unless it has more of its own.
const droppedSteps = 20

// lastRuns returns the number of the last run that changed it for each node of the site, 0 where there is none. Which
// nodes these are depends on their names only, so that it is known before everything else is. A node that leaves the
// site leaves the map, which prints it; one that was given up is not in it.
func lastRuns(before Shown, nodes []site.Node, changed map[string]int64) map[string]int64 {
	out := make(map[string]int64, len(nodes))
	for _, n := range nodes {
		number := before.ChangedNodes[n.Name]
		if now, is := changed[n.Name]; is {
			number = now
		}
		out[n.Name] = number
	}
	return out
}

// NoGroup is how a node stands that is in no group: no run touches it.
const NoGroup = "NO_GROUP"

// nodeStages returns how each node of the site stands, so that its name only decides whether it is in the map.
func nodeStages(nodes []site.Node, stages map[string]string) map[string]string {
	out := make(map[string]string, len(nodes))
	for _, n := range nodes {
		stage, member := stages[n.Name]
		if out[n.Name] = stage; !member {
			out[n.Name] = NoGroup
		}
	}
	return out
}

// Numbered puts the number of the run and its own in front of every line: `8.1 ntp-node: prepare 1 node (ntp1)`.
func Numbered(run int64, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = fmt.Sprintf("%d.%d %s", run, i+1, line)
	}
	return out
}

// Did returns what a run did, in the form of the steps that its plan showed; where that is all of them, it says so in
// one line, because the next plan prints it. Steps of earlier runs do not count.
func (o *Outcome) Did(run int64, steps []string) []string {
	did := Numbered(run, o.Done)
	earlier := slices.IndexFunc(steps, func(s string) bool { return !strings.HasPrefix(s, fmt.Sprintf("%d.", run)) })
	if earlier >= 0 {
		steps = steps[:earlier]
	}
	if last := len(did); last > 1 && !o.failed() && slices.Equal(did, steps) {
		return []string{fmt.Sprintf("%d.1 to %d.%d, as in steps", run, run, last)}
	}
	return did
}

// Foresee returns how nodes and groups stand after the run, nil where groups are wrong, which the plan reports.
func (p *Planned) Foresee() (nodes, groups map[string]string) {
	ends, err := rollout.Foresee(p.Deployed, p.Plan, p.Busy(), nil)
	if err != nil {
		return nil, nil
	}
	return nodeStages(p.Site.Nodes, stages(ends.Nodes)), stages(ends.Groups)
}

// andWaiting adds the nodes that left the site and wait outside of the limit.
func (p *Planned) andWaiting(nodes []site.Node) []site.Node {
	out := slices.Clone(nodes)
	for _, name := range p.Plan.Waiting {
		if !slices.ContainsFunc(nodes, func(n site.Node) bool { return n.Name == name }) {
			out = append(out, site.Node{Name: name})
		}
	}
	return out
}

// Drifted reports whether there is drift that the plan covers.
func (p *Planned) Drifted() bool {
	for node := range p.Drift {
		if p.Plan.Limited == nil || p.Plan.Limited[node] {
			return true
		}
	}
	return false
}

func stages(of map[string]strategy.Stage) map[string]string {
	out := make(map[string]string, len(of))
	for name, stage := range of {
		out[name] = string(stage)
	}
	return out
}

// Concerned returns the services whose status the run may change. known is false when it is not certain which services
// there are then; shown are those that there are.
func (p *Planned) Concerned(shown func(service string) bool) (services map[string]bool, known bool) {
	moving := maps.Clone(p.Services.Changing())
	for service := range p.Plan.ByService(p.Owners) {
		moving[service] = true
	}
	services = make(map[string]bool)
	for service := range moving {
		switch {
		case p.Services.Wanted(service):
			services[service] = true
		case shown(service):
			return nil, false
		}
	}
	return services, true
}
