package run

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
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
		out = append(out, scenario{s, p, settings, faults, sc.draws, sc.defect})
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

// modelText is model.yaml: what package rollout reads of it, too.
type modelText struct {
	Nodes    []nodeText
	Groups   []groupText
	Approval string   `yaml:",omitempty"`
	MayFail  *int     `yaml:"may_fail,omitempty"`
	Departed []string `yaml:",omitempty"`
}

type nodeText struct{ Name string }

type groupText struct {
	Name          string
	Critical      bool           `yaml:",omitempty"`
	DependsOn     []string       `yaml:"depends_on,omitempty"`
	Selectors     []selectorText // one
	Percent       *int           `yaml:",omitempty"`
	Minimum       *int           `yaml:",omitempty"`
	Maximum       *int           `yaml:",omitempty"`
	OnShortfall   string         `yaml:"on_shortfall,omitempty"`
	DeployTimeout time.Duration  `yaml:"deploy_timeout,omitempty"`
	Rolling       int            `yaml:",omitempty"`
	Batches       []string       `yaml:",omitempty"`
	Approve       []string       `yaml:",omitempty"`
	Check         bool           `yaml:",omitempty"`
	Soak          time.Duration  `yaml:",omitempty"`
	OnFailure     string         `yaml:"on_failure,omitempty"`
}

type selectorText struct{ Names []string }

// phaseText is a phase of tasks.yaml, which package rollout reads, too.
type phaseText struct {
	In       task.Group
	Group    string   `yaml:",omitempty"`
	Nodes    []string // of its tasks, in their order
	Files    []string `yaml:",omitempty"`
	Remote   []string `yaml:",omitempty"`
	Callback []string `yaml:",omitempty"`
	Prepare  bool     `yaml:",omitempty"`
	Unlock   bool     `yaml:",omitempty"`
	Forget   bool     `yaml:",omitempty"`
	Limit    int      `yaml:",omitempty"`
}

// settingsText is settings.yaml.
type settingsText struct {
	Parallelism    int
	ParallelGroups int                   `yaml:"parallel_groups"`
	EndAtPause     bool                  `yaml:"end_at_pause,omitempty"`
	Asks           bool                  `yaml:",omitempty"`
	Windows        map[string][]openText `yaml:",omitempty"`
	Faults         int                   // of 100 sessions
	Draws          uint64
}

// openText is when a maintenance window is open, since the run began.
type openText struct{ From, To time.Duration }

// readScenario reads what [scenario.shrink] returns: the scenario, the rule that it breaks, and the events.
func readScenario(text string) (sc scenario, broken violation, events []string, err error) {
	archive := txtar.Parse([]byte(text))
	var model modelText
	var tasks []phaseText
	var limits settingsText
	read := map[string]any{"model.yaml": &model, "tasks.yaml": &tasks, "settings.yaml": &limits}
	for _, f := range archive.Files {
		if f.Name == "events" {
			events = strings.Split(strings.TrimSuffix(string(f.Data), "\n"), "\n")
			continue
		}
		decoder := yaml.NewDecoder(bytes.NewReader(f.Data))
		decoder.KnownFields(true)
		if err := decoder.Decode(read[f.Name]); err != nil {
			return sc, "", nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		delete(read, f.Name)
	}
	if len(read) > 0 {
		return sc, "", nil, fmt.Errorf("missing: %q", slices.Sorted(maps.Keys(read)))
	}
	sc.site = model.site()
	var phases []planner.Phase
	for _, p := range tasks {
		phases = append(phases, p.phase())
	}
	sc.plan = planFor(sc.site, phases)
	sc.plan.MayFail, sc.plan.EndAtPause = model.MayFail, model.Approval == site.ApprovalEnd
	sc.plan.SetBatches(sc.site.Groups)
	sc.settings, sc.faults, sc.draws = limits.settings(), limits.Faults, limits.Draws
	for _, n := range model.Departed {
		if sc.settings.Departed == nil {
			sc.settings.Departed = map[string]bool{}
		}
		sc.settings.Departed[n] = true
	}
	return sc, violation(strings.TrimSuffix(strings.TrimPrefix(string(archive.Comment), "# "), "\n")), events, nil
}

func (m modelText) site() site.Site {
	s := site.Site{Name: "random"}
	for _, n := range m.Nodes {
		s.Nodes = append(s.Nodes, site.Node{Name: n.Name})
	}
	for _, t := range m.Groups {
		g := site.Group{Name: t.Name, Critical: t.Critical, DependsOn: t.DependsOn, OnShortfall: t.OnShortfall,
			DeployTimeout: t.DeployTimeout}
		for _, sel := range t.Selectors {
			g.Selectors = append(g.Selectors, site.Selector{NodeNames: sel.Names})
		}
		if t.Percent != nil || t.Minimum != nil || t.Maximum != nil {
			g.SuccessCriteria = &site.SuccessCriteria{PercentSuccessfulNodes: t.Percent, MinimumSuccessfulNodes: t.Minimum,
				MaximumFailedNodes: t.Maximum}
		}
		if t.Rolling > 0 {
			g.Rolling = &site.Rolling{MaxParallel: t.Rolling, Lock: "drain", Unlock: "undrain", Batches: t.Batches,
				Approve: t.Approve, Soak: t.Soak, OnFailure: t.OnFailure}
			if t.Check {
				g.Rolling.HealthCheck = &site.HealthCheck{Command: "works"}
			}
		}
		s.Groups = append(s.Groups, g)
	}
	return s
}

func (p phaseText) phase() planner.Phase {
	t := task.Task{Kind: task.Config, Action: task.Create, Limit: p.Limit}
	switch {
	case p.Prepare:
		t.Action = task.PrepareNode
	case p.Unlock:
		t.Action = task.Unlock
	case p.Forget:
		t.Action = task.Forget
	case len(p.Remote) > 0:
		t.Kind, t.Action, t.Name = task.Remote, task.Run, p.Remote[0]
	case len(p.Callback) > 0:
		t.Kind, t.Action, t.Name = task.Callback, task.Run, p.Callback[0]
	default:
		t.Resource = resource.Resource{Type: "file", Title: p.Files[0]}
	}
	out := planner.Phase{TaskGroup: p.In, Group: p.Group}
	for _, t.Node = range p.Nodes {
		out.Tasks = append(out.Tasks, t)
	}
	return out
}

func (t settingsText) settings() Settings {
	out := Settings{Parallelism: t.Parallelism, ParallelGroups: t.ParallelGroups, EndAtPause: t.EndAtPause, Asks: t.Asks}
	for group, open := range t.Windows {
		if out.Windows == nil {
			out.Windows = map[string][]site.Interval{}
		}
		out.Windows[group] = []site.Interval{}
		for _, o := range open {
			out.Windows[group] = append(out.Windows[group], site.Interval{From: time.Time{}.Add(o.From), To: time.Time{}.Add(o.To)})
		}
	}
	return out
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

// TestScenarioIsReadBack checks that a shrunk scenario, as it is printed, breaks the same rule by the same events when it
// is read: for machines that leave out something of what they are given.
func TestScenarioIsReadBack(t *testing.T) {
	groups := func(change func(*Group, *site.Rolling)) defect {
		return func(p Program) Program {
			p.Groups = slices.Clone(p.Groups)
			for i := range p.Groups {
				g, r := &p.Groups[i], site.Rolling{}
				if g.Rolling != nil {
					r = *g.Rolling
					g.Rolling = &r
				}
				change(g, &r)
			}
			return p
		}
	}
	for name, machine := range map[string]defect{
		"one node too many is locked": groups(func(_ *Group, r *site.Rolling) { r.MaxParallel++ }),
		"no node is locked":           groups(func(g *Group, _ *site.Rolling) { g.Rolling = nil }),
		"no batches":                  groups(func(g *Group, _ *site.Rolling) { g.Batches, g.Pauses = nil, nil }),
		"no approval":                 groups(func(g *Group, _ *site.Rolling) { g.Pauses = nil }),
		"no health check":             groups(func(_ *Group, r *site.Rolling) { r.HealthCheck = nil }),
		"no soak":                     groups(func(_ *Group, r *site.Rolling) { r.Soak = 0 }),
		"batches stay":                groups(func(_ *Group, r *site.Rolling) { r.OnFailure = "" }),
		"batches are always restored": groups(func(_ *Group, r *site.Rolling) { r.OnFailure = site.OnFailureRollback }),
		"no criteria":                 groups(func(g *Group, _ *site.Rolling) { g.SuccessCriteria = nil }),
		"no brake":                    groups(func(g *Group, _ *site.Rolling) { g.OnShortfall = site.OnShortfallContinue }),
		"nothing is critical":         groups(func(g *Group, _ *site.Rolling) { g.Critical = false }),
		"another time limit":          groups(func(g *Group, _ *site.Rolling) { g.DeployTimeout -= time.Second }),
		"no failure budget":           func(p Program) Program { p.MayFail = nil; return p },
		"no maintenance windows":      func(p Program) Program { p.Windows = nil; return p },
		"never ends at a pause":       func(p Program) Program { p.EndAtPause = false; return p },
		"more nodes at once":          func(p Program) Program { p.Parallelism++; return p },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc, found := scenario{}, false
			for seed := uint64(1); !found && seed < 20000; seed++ {
				sc = randomScenario(seed)
				sc.defect = machine
				_, broken := sc.play(map[string]int{})
				found = broken != ""
			}
			if !found {
				t.Fatal("no run breaks a rule")
			}
			printed := sc.shrink()
			read, want, events, err := readScenario(printed)
			if err != nil {
				t.Fatalf("%v:\n%s", err, printed)
			}
			for group := range read.settings.Windows {
				if !slices.ContainsFunc(read.site.Groups, func(g site.Group) bool { return g.Name == group }) {
					t.Errorf("the maintenance window of %s, which was left out:\n%s", group, printed)
				}
			}
			read.defect = machine
			if trace, got := read.play(map[string]int{}); got != want || !slices.Equal(trace, events) {
				t.Errorf("read back: %q after\n%s\nprinted:\n%s", got, strings.Join(trace, "\n"), printed)
			}
		})
	}
}
