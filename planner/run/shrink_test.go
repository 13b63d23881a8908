package run

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// shrink returns a scenario that breaks a rule, too, with as few nodes, groups and phases as leaving out one after the
// other gives, as txtar: model.yaml and tasks.yaml in the form of the scenarios of package rollout, and the events.
func (sc scenario) shrink() string {
	for again := true; again; {
		again = false
		for _, smaller := range sc.smaller() {
			if found, ok := smaller.breaks(); ok {
				sc, again = found, true
				break
			}
		}
	}
	trace, broken := sc.play(map[string]int{})
	return fmt.Sprintf("# %s\n-- model.yaml --\n%s-- tasks.yaml --\n%s-- events --\n%s\n", broken, sc.model(), sc.tasks(),
		strings.Join(trace, "\n"))
}

// breaks looks for draws with which the scenario breaks a rule.
func (sc scenario) breaks() (scenario, bool) {
	for range 100 {
		if _, broken := sc.play(map[string]int{}); broken != "" {
			return sc, true
		}
		sc.draws++
	}
	return sc, false
}

// smaller returns the scenario without each of its groups, nodes and phases, and with simpler settings.
func (sc scenario) smaller() []scenario {
	var out []scenario
	add := func(s site.Site, phases []planner.Phase, settings Settings, faults int) {
		p := planFor(s, phases)
		p.MayFail = sc.plan.MayFail
		out = append(out, scenario{s, p, settings, faults, sc.draws})
	}
	for i, gone := range sc.site.Groups {
		s := sc.site
		s.Groups = slices.Delete(slices.Clone(s.Groups), i, i+1)
		for j, g := range s.Groups {
			s.Groups[j].DependsOn = slices.DeleteFunc(slices.Clone(g.DependsOn), func(n string) bool { return n == gone.Name })
		}
		phases := slices.DeleteFunc(slices.Clone(sc.plan.Phases), func(p planner.Phase) bool { return p.Group == gone.Name })
		add(s, phases, sc.settings, sc.faults)
	}
	for i, gone := range sc.site.Nodes {
		s := sc.site
		s.Nodes = slices.Delete(slices.Clone(s.Nodes), i, i+1)
		var phases []planner.Phase
		for _, p := range sc.plan.Phases {
			p.Tasks = slices.DeleteFunc(slices.Clone(p.Tasks), func(t task.Task) bool { return t.Node == gone.Name })
			if len(p.Tasks) > 0 {
				phases = append(phases, p)
			}
		}
		add(s, phases, sc.settings, sc.faults)
	}
	for i := range sc.plan.Phases {
		add(sc.site, slices.Delete(slices.Clone(sc.plan.Phases), i, i+1), sc.settings, sc.faults)
	}
	if sc.settings.Parallelism > 1 {
		simple := sc.settings
		simple.Parallelism--
		add(sc.site, sc.plan.Phases, simple, sc.faults)
	}
	if sc.settings.ParallelGroups > 1 {
		simple := sc.settings
		simple.ParallelGroups--
		add(sc.site, sc.plan.Phases, simple, sc.faults)
	}
	if sc.faults > 0 {
		add(sc.site, sc.plan.Phases, sc.settings, 0)
	}
	return out
}

// planFor returns the plan of phases for a site.
func planFor(s site.Site, phases []planner.Phase) *planner.Plan {
	m, err := strategy.New(s.Groups, s.Nodes, nil)
	if err != nil {
		panic(err)
	}
	p := &planner.Plan{Site: s.Name, Digest: "d", Phases: phases}
	owned := map[string]bool{}
	for _, name := range m.Order() {
		g := planner.Group{Name: name, Members: m.Members(name)}
		for _, n := range g.Members {
			if !owned[n] {
				owned[n] = true
				g.Owned = append(g.Owned, n)
			}
		}
		p.Groups = append(p.Groups, g)
	}
	p.SetBatches(s.Groups)
	return p
}

type object = map[string]any

func (sc scenario) model() string {
	var nodes, groups []object
	for _, n := range sc.site.Nodes {
		nodes = append(nodes, object{"name": n.Name})
	}
	for _, g := range sc.site.Groups {
		out := object{"name": g.Name, "critical": g.Critical, "depends_on": g.DependsOn, "on_shortfall": g.OnShortfall,
			"deploy_timeout": g.DeployTimeout.String(), "selectors": []object{{"names": g.Selectors.Members(sc.site.Nodes)}}}
		if c := g.SuccessCriteria; c != nil {
			out["percent"] = *c.PercentSuccessfulNodes
			for key, n := range map[string]*int{"maximum": c.MaximumFailedNodes, "minimum": c.MinimumSuccessfulNodes} {
				if n != nil {
					out[key] = *n
				}
			}
		}
		if g.Rolling != nil {
			out["rolling"], out["batches"] = g.Rolling.MaxParallel, g.Rolling.Batches
			out["soak"], out["check"] = g.Rolling.Soak.String(), g.Rolling.HealthCheck != nil
		}
		groups = append(groups, out)
	}
	budget := ""
	if sc.plan.MayFail != nil {
		budget = fmt.Sprintf(", %d may fail", *sc.plan.MayFail)
	}
	return fmt.Sprintf("# parallelism %d, groups at once %d%s, ends at a pause: %v, windows %v\n", sc.settings.Parallelism,
		sc.settings.ParallelGroups, budget, sc.settings.EndAtPause, sc.settings.Windows) +
		text(object{"nodes": nodes, "groups": groups})
}

func (sc scenario) tasks() string {
	phases := []object{}
	for _, p := range sc.plan.Phases {
		out := object{"in": p.TaskGroup, "group": p.Group}
		var nodes []string
		for _, t := range p.Tasks {
			nodes = append(nodes, t.Node)
			switch kind := KindOf(t); kind {
			case Config:
				out["files"] = []string{t.Resource.Title}
			case Remote, Callback:
				out[string(kind)] = []string{t.Name}
			default:
				out[map[Kind]string{Prepare: "prepare", Unlock: "unlock", Check: "check", TearDown: "forget"}[kind]] = true
			}
			if t.Limit > 0 {
				out["limit"] = t.Limit
			}
		}
		out["nodes"] = nodes
		phases = append(phases, out)
	}
	return text(phases)
}

func text(v any) string {
	out, err := yaml.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}
