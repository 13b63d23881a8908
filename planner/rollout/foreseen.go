package rollout

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Foreseen is how nodes and groups will stand after a run that ends without an error: by name, an empty stage for those
// that depend on how it goes. It names every node and group that the report of the run will have a stage for.
type Foreseen struct {
	Nodes, Groups map[string]strategy.Stage
}

// Foresee returns what is certain of a plan for a site before it is run: nodes without work count as deployed, and a
// group whose members have no work, and which depends on no group that is open, ends as its criteria judge. A critical
// group is deployed, or the run is an error, unless groups may be left because the run ends as paused. busy are nodes
// that the run may work on though the plan has no work for them, open are groups that may have more members. An error
// is that of an invalid group.
func Foresee(s site.Site, p *planner.Plan, busy, open map[string]bool) (Foreseen, error) {
	groups := s.Groups
	if groups == nil {
		groups = strategy.Default()
	}
	out := Foreseen{Nodes: map[string]strategy.Stage{}, Groups: map[string]strategy.Stage{}}
	works := make(map[string]bool) // groups that have tasks, on nodes or not
	for _, phase := range p.Phases {
		works[phase.Group] = true
		for _, t := range phase.Tasks {
			if t.Node != "" && t.Action != task.Forget {
				out.Nodes[t.Node] = ""
			}
		}
	}
	all := make([]string, len(s.Nodes))
	for i, n := range s.Nodes {
		all[i] = n.Name
	}
	m, err := strategy.New(groups, s.Nodes, all)
	if err != nil {
		return Foreseen{}, err
	}
	undecided := func(g string) bool { return out.Groups[g] == "" }
	settings := make(map[string]site.Group, len(groups))
	pauses := false
	for _, g := range groups {
		settings[g.Name] = g
		pauses = pauses || p.EndAtPause && g.Maintenance != nil
	}
	for { // nothing fails: what the machine says holds where there is no work
		name, ok := m.Next()
		if !ok {
			break
		}
		m.StartPrepare(name)
		if shortfalls, _ := m.FinishPrepare(name, nil); len(shortfalls) == 0 {
			m.StartDeploy(name)
			m.FinishDeploy(name, nil)
		}
	}
	for _, name := range m.Order() {
		out.Groups[name] = m.GroupStage(name)
		working := works[name] || open[name] || slices.ContainsFunc(settings[name].DependsOn, undecided)
		for _, n := range m.Members(name) {
			if stage, planned := out.Nodes[n]; planned && stage == "" || busy[n] {
				out.Nodes[n], working = "", true
			} else {
				out.Nodes[n] = strategy.Deployed
			}
		}
		switch {
		case working && settings[name].Critical && !pauses:
			out.Groups[name] = strategy.Deployed
		case working:
			out.Groups[name] = ""
		}
	}
	for _, n := range p.Waiting {
		if out.Nodes[n] == strategy.Deployed {
			out.Nodes[n] = strategy.NotStarted
		}
	}
	for name, stage := range out.Groups {
		out.Groups[name] = held(p, name, stage)
	}
	return out, m.Err()
}

// held returns how a group stands where a part of it may be held: it is not deployed then.
func held(p *planner.Plan, group string, stage strategy.Stage) strategy.Stage {
	if stage == strategy.Deployed && slices.ContainsFunc(p.Held, func(h planner.Hold) bool { return h.Group == group }) {
		return strategy.NotStarted
	}
	return stage
}
