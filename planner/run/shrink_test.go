package run

import (
	"bytes"
	"fmt"
	"maps"
	"os"
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
// other gives, as txtar: model.yaml and tasks.yaml in the form of the scenarios of package rollout, settings.yaml, and
// the events. [readScenario] reads it.
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
	return fmt.Sprintf("# %s\n-- model.yaml --\n%s-- tasks.yaml --\n%s-- settings.yaml --\n%s-- events --\n%s\n", broken,
		text(sc.model()), text(sc.tasks()), text(sc.limits()), strings.Join(trace, "\n"))
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
	add := func(s site.Site, phases []planner.Phase, change func(*scenario)) {
		smaller, settings := sc, *sc.plan
		smaller.site, smaller.plan = s, &settings
		if change != nil {
			change(&smaller)
		}
		if _, err := strategy.New(smaller.site.Groups, s.Nodes, nil); err != nil {
			return // on_failure, without batches that may fail
		}
		smaller.plan = planFor(smaller.site, phases)
		smaller.plan.MayFail, smaller.plan.EndAtPause = settings.MayFail, settings.EndAtPause
		smaller.plan.SetBatches(smaller.site.Groups)
		if _, err := Compile(smaller.site, smaller.plan, smaller.settings); err == nil {
			out = append(out, smaller)
		}
	}
	for i, gone := range sc.site.Groups {
		s := sc.site
		s.Groups = slices.Delete(slices.Clone(s.Groups), i, i+1)
		for j, g := range s.Groups {
			s.Groups[j].DependsOn = slices.DeleteFunc(slices.Clone(g.DependsOn), func(n string) bool { return n == gone.Name })
		}
		phases := slices.DeleteFunc(slices.Clone(sc.plan.Phases), func(p planner.Phase) bool { return p.Group == gone.Name })
		add(s, phases, func(smaller *scenario) { smaller.settings.Windows = without(sc.settings.Windows, gone.Name) })
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
		add(s, phases, nil)
	}
	for i := range sc.plan.Phases {
		add(sc.site, slices.Delete(slices.Clone(sc.plan.Phases), i, i+1), nil)
	}
	for _, change := range sc.simpler() {
		add(sc.site, sc.plan.Phases, change)
	}
	return out
}

// simpler returns the changes that make the settings of the scenario simpler.
func (sc scenario) simpler() (changes []func(*scenario)) {
	may := func(simpler bool, change func(*scenario)) {
		if simpler {
			changes = append(changes, change)
		}
	}
	may(sc.settings.Parallelism > 1, func(s *scenario) { s.settings.Parallelism-- })
	may(sc.settings.ParallelGroups > 1, func(s *scenario) { s.settings.ParallelGroups-- })
	may(sc.settings.EndAtPause, func(s *scenario) { s.settings.EndAtPause = false })
	may(sc.settings.Asks, func(s *scenario) { s.settings.Asks = false })
	may(sc.faults > 0, func(s *scenario) { s.faults = 0 })
	may(sc.plan.EndAtPause, func(s *scenario) { s.plan.EndAtPause = false })
	may(sc.plan.MayFail != nil, func(s *scenario) { s.plan.MayFail = nil })
	for group := range sc.settings.Windows {
		may(true, func(s *scenario) { s.settings.Windows = without(s.settings.Windows, group) })
	}
	for i, g := range sc.site.Groups {
		group := func(simpler bool, change func(*site.Group, *site.Rolling)) {
			may(simpler, func(s *scenario) {
				s.site.Groups = slices.Clone(s.site.Groups)
				g, r := &s.site.Groups[i], site.Rolling{}
				if g.Rolling != nil {
					r = *g.Rolling
					g.Rolling = &r
				}
				change(g, &r)
			})
		}
		group(g.SuccessCriteria != nil, func(g *site.Group, _ *site.Rolling) { g.SuccessCriteria = nil })
		group(g.OnShortfall != "", func(g *site.Group, _ *site.Rolling) { g.OnShortfall = "" })
		group(g.Rolling != nil, func(g *site.Group, _ *site.Rolling) { g.Rolling = nil })
		if r := g.Rolling; r != nil {
			group(len(r.Approve) > 0, func(_ *site.Group, r *site.Rolling) { r.Approve = nil })
			group(r.HealthCheck != nil, func(_ *site.Group, r *site.Rolling) { r.HealthCheck = nil })
			group(r.Soak > 0, func(_ *site.Group, r *site.Rolling) { r.Soak = 0 })
			group(r.OnFailure != "", func(_ *site.Group, r *site.Rolling) { r.OnFailure = "" })
		}
	}
	return changes
}

// without returns maintenance windows without those of a group.
func without(windows map[string][]site.Interval, group string) map[string][]site.Interval {
	out := maps.Clone(windows)
	if delete(out, group); len(out) == 0 {
		return nil
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
	Check    bool     `yaml:",omitempty"`
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
	s := site.Site{Name: "random", Groups: []site.Group{}} // not nil, which is the default group
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
	case p.Check:
		t.Action = task.HealthCheck
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

func (sc scenario) model() modelText {
	out := modelText{MayFail: sc.plan.MayFail, Departed: slices.Sorted(maps.Keys(sc.settings.Departed))}
	if sc.plan.EndAtPause {
		out.Approval = site.ApprovalEnd
	}
	for _, n := range sc.site.Nodes {
		out.Nodes = append(out.Nodes, nodeText{n.Name})
	}
	for _, g := range sc.site.Groups {
		members := g.Selectors.Members(sc.site.Nodes)
		if len(members) == 0 {
			members = []string{"none"} // no names at all select every node
		}
		t := groupText{Name: g.Name, Critical: g.Critical, DependsOn: g.DependsOn, Selectors: []selectorText{{members}},
			OnShortfall: g.OnShortfall, DeployTimeout: g.DeployTimeout}
		if c := g.SuccessCriteria; c != nil {
			t.Percent, t.Minimum, t.Maximum = c.PercentSuccessfulNodes, c.MinimumSuccessfulNodes, c.MaximumFailedNodes
		}
		if r := g.Rolling; r != nil {
			t.Rolling, t.Batches, t.Approve, t.Check = r.MaxParallel, r.Batches, r.Approve, r.HealthCheck != nil
			t.Soak, t.OnFailure = r.Soak, r.OnFailure
		}
		out.Groups = append(out.Groups, t)
	}
	return out
}

func (sc scenario) tasks() []phaseText {
	out := []phaseText{}
	for _, p := range sc.plan.Phases {
		text := phaseText{In: p.TaskGroup, Group: p.Group}
		for _, t := range p.Tasks {
			text.Nodes = append(text.Nodes, t.Node)
			switch KindOf(t) {
			case Config:
				text.Files = []string{t.Resource.Title}
			case Remote:
				text.Remote = []string{t.Name}
			case Callback:
				text.Callback = []string{t.Name}
			case Prepare:
				text.Prepare = true
			case Unlock:
				text.Unlock = true
			case Check:
				text.Check = true
			case TearDown:
				text.Forget = true
			}
			if t.Limit > 0 && (text.Limit == 0 || t.Limit < text.Limit) { // the smallest one counts
				text.Limit = t.Limit
			}
		}
		out = append(out, text)
	}
	return out
}

func (sc scenario) limits() settingsText {
	s := sc.settings
	out := settingsText{Parallelism: s.Parallelism, ParallelGroups: s.ParallelGroups, EndAtPause: s.EndAtPause, Asks: s.Asks,
		Faults: sc.faults, Draws: sc.draws}
	for group, open := range s.Windows {
		if out.Windows == nil {
			out.Windows = map[string][]openText{}
		}
		out.Windows[group] = []openText{}
		for _, o := range open {
			out.Windows[group] = append(out.Windows[group], openText{o.From.Sub(time.Time{}), o.To.Sub(time.Time{})})
		}
	}
	return out
}

func text(v any) string {
	out, err := yaml.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// playPrinted plays a scenario that [scenario.shrink] printed into a file.
func playPrinted(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sc, _, _, err := readScenario(string(data))
	if err != nil {
		t.Fatal(err)
	}
	if trace, broken := sc.play(map[string]int{}); broken != "" {
		t.Fatalf("%s\n%s", strings.Join(trace, "\n"), broken)
	}
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
