package rollout_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestScripts runs the scenarios of testdata. Each apply, survey and destroy happens in a bubble of its own with a
// clock that jumps, so hours pass in no time and a goroutine that is left behind fails the test.
//
//	model FILE                      a fresh site: nodes, groups and what there is to do (YAML); seed.yaml is seed 001's example
//	tasks FILE                      replaces the plan's phases (YAML, see phaseDocument)
//	same [PHASE:NODE[=RESULT] ...]  plays the site with simulate and with a run, in which these fail, and compares them
//	fail NODE FAULT [KIND]          KIND: prepare, deploy (default), teardown, check, lock, unlock; FAULT: see faulty.Converge
//	fail journal N                  the N-th event cannot be recorded
//	fail callback NAME[@NODE] WHY   it fails; WHY "hang": it never ends by itself
//	yields NAME KEY=VALUE...        what a callback returns
//	lock NODE [COMMAND]             an earlier run left it locked, and the node remembers how to unlock it
//	again RUN                       the next run, on the nodes as they are: nothing fails any more
//	machine NODE OTHER              it is the machine of another node
//	new NODE                        no earlier run saw which machine it is
//	slow NODE KIND DURATION         how long its session takes
//	decide DURATION ACTION [GROUP BATCH [DIGEST]]  what a person decides after that time, from another process
//	cut after DURATION              the caller's context ends; "cut now": before the run
//	apply [parallelism [grace [groups]]]  runs the plan; the report is on stdout
//	survey, destroy                 likewise
//	events [KIND...], sessions, nodes, widest KIND, locks, calls, values, needs
//	begins                          sessions that name actions to begin
//	begun                           what the ledgers of the nodes call begun
func TestScripts(t *testing.T) { scripts(t, nil) }

// TestScriptsOnTemporal runs the same scenarios, and expects the same, with the machine in a workflow.
func TestScriptsOnTemporal(t *testing.T) { scripts(t, onTemporal()) }

func scripts(t *testing.T, drive func(context.Context, *rollout.Hosted) error) {
	testscript.RunT(shim{t}, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(e *testscript.Env) error {
			e.Values[scene{}] = &stage{t: e.T().(shim).T, drive: drive}
			seed, err := os.ReadFile("testdata/seed.yaml")
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(e.WorkDir, "seed.yaml"), seed, 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"model": model, "fail": fail, "slow": slow, "cut": cut, "decide": decide, "apply": apply, "survey": survey, "destroy": destroy,
			"events": func(ts *testscript.TestScript, _ bool,
				args []string) {
				show(ts, on(ts).diary.lines(args...))
			},
			"sessions": func(ts *testscript.TestScript, _ bool, _ []string) { show(ts, on(ts).fake.sessions) },
			"widest": func(ts *testscript.TestScript, _ bool, args []string) {
				show(ts, []string{strconv.Itoa(on(ts).fake.widest[args[0]])})
			},
			"was": func(ts *testscript.TestScript, _ bool, args []string) { on(ts).was[args[0]] = args[1] },
			"machine": func(ts *testscript.TestScript, _ bool,
				args []string) {
				on(ts).fake.machines[args[0]] = args[1]
			},
			"new": func(ts *testscript.TestScript, _ bool,
				args []string) {
				on(ts).fresh = append(on(ts).fresh, args...)
			},
			"nodes": nodes, "tasks": tasks, "again": again, "yields": yields, "values": values,
			"locks": func(ts *testscript.TestScript, _ bool, _ []string) {
				f := on(ts).fake
				show(ts, append(f.window, fmt.Sprintf("at most %d at once, %d left", f.mostLocked, len(f.locked))))
			},
			"lock":   lock,
			"same":   same,
			"calls":  func(ts *testscript.TestScript, _ bool, _ []string) { show(ts, on(ts).operator.calls) },
			"begins": func(ts *testscript.TestScript, _ bool, _ []string) { show(ts, on(ts).fake.begins) },
			"begun":  func(ts *testscript.TestScript, _ bool, _ []string) { show(ts, on(ts).fake.begun()) },
			"needs":  func(ts *testscript.TestScript, _ bool, _ []string) { show(ts, on(ts).fake.needs) },
		},
	})
}

// shim lets a script's commands reach the testing.T that bubbles need.
type shim struct{ *testing.T }

func (s shim) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(shim{t}) })
}
func (s shim) Verbose() bool { return testing.Verbose() }

type scene struct{}

// stage is the state of one script.
type stage struct {
	t        *testing.T
	fake     *faulty
	operator *operator
	diary    *diary
	run      string
	site     site.Site
	plan     *planner.Plan
	departed map[string]site.Node
	// the machines that departed nodes were when they were last seen; else those that they are
	was     map[string]string
	fresh   []string       // nodes of which no earlier run saw which machine they are
	cut     *time.Duration // when the caller's context ends
	report  rollout.Report
	persons *persons // nil: nobody decides anything
	drive   func(context.Context, *rollout.Hosted) error
	known   map[string]converge.Identity // which machines nodes were before the run
}

// persons are what persons decide about a run.
type persons struct {
	from      time.Time
	all       []journal.Recorded
	decisions []journal.Recorded // with the time since from
}

// Decisions returns those whose time has come.
func (p *persons) Decisions(context.Context) (due []journal.Recorded, err error) {
	for len(p.decisions) > 0 && time.Since(p.from) >= time.Duration(p.decisions[0].Millis)*time.Millisecond {
		due, p.decisions = append(due, p.decisions[0]), p.decisions[1:]
	}
	return due, nil
}

func decide(ts *testscript.TestScript, _ bool, args []string) {
	after, err := time.ParseDuration(args[0])
	ts.Check(err)
	e := journal.Recorded{Event: journal.Event{Action: args[1], Message: "by ann: why not", Millis: after.Milliseconds(),
		Output: "d1"}}
	if len(args) > 2 {
		e.Group = args[2]
		e.Phase, err = strconv.Atoi(args[3])
		ts.Check(err)
	}
	if len(args) > 4 {
		e.Output = args[4]
	}
	s := on(ts)
	if s.persons == nil {
		s.persons = &persons{}
	}
	s.persons.decisions, s.persons.all = append(s.persons.decisions, e), append(s.persons.all, e)
}

func on(ts *testscript.TestScript) *stage { return ts.Value(scene{}).(*stage) }

func show(ts *testscript.TestScript, lines []string) {
	fmt.Fprint(ts.Stdout(), strings.Join(slices.Concat(lines, []string{""}), "\n"))
}

// document is a model file.
type document struct {
	Nodes []struct {
		Name, Rack string
		Tags       []string
		Idle       bool // nothing to do
	}
	Groups []struct {
		Name           string
		Critical       bool
		DependsOn      []string `yaml:"depends_on"`
		Selectors      []struct{ Names, Tags, Racks []string }
		Percent        *int
		Minimum        *int
		Maximum        *int
		Rolling        int
		Bare           bool          // rolling without lock and unlock
		Lockless       bool          // rolling without lock
		Spared         []string      // nodes that rolling does not lock
		Order          []string      // of nodes
		PrepareTimeout time.Duration `yaml:"prepare_timeout"`
		DeployTimeout  time.Duration `yaml:"deploy_timeout"`
		OnShortfall    string        `yaml:"on_shortfall"`
		Batches        []string
		Approve        []string
		Check          bool // a health check
		Soak           time.Duration
		OnFailure      string `yaml:"on_failure"`
		Maintenance    *site.Maintenance
	}
	Approval string
	MayFail  *int     `yaml:"may_fail"` // the failure budget
	Limit    []string // the nodes that the plan covers
	Departed []string
	Lost     []string // departed, and nobody knows how to reach them
	Second   bool     // a second phase after the first
}

func model(ts *testscript.TestScript, _ bool, args []string) {
	var doc document
	decoder := yaml.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	decoder.KnownFields(true)
	ts.Check(decoder.Decode(&doc))
	s := on(ts)
	*s = stage{t: s.t, drive: s.drive, was: map[string]string{}, fake: newFaulty(), diary: &diary{}, run: "r1",
		site: site.Site{Name: "lon1", Bounds: site.Bounds{Approval: doc.Approval}}}
	s.operator = &operator{faults: map[string]string{}, yields: map[string]map[string]any{}}
	idle := map[string]bool{}
	for _, n := range doc.Nodes {
		s.site.Nodes = append(s.site.Nodes, site.Node{Name: n.Name, Rack: n.Rack, Tags: n.Tags})
		idle[n.Name] = n.Idle || doc.Limit != nil && !slices.Contains(doc.Limit, n.Name)
	}
	for _, g := range doc.Groups {
		group := site.Group{
			Name: g.Name, Critical: g.Critical, DependsOn: g.DependsOn,
			PrepareTimeout: g.PrepareTimeout, DeployTimeout: g.DeployTimeout, OnShortfall: g.OnShortfall,
			Maintenance: g.Maintenance,
		}
		for _, x := range g.Selectors {
			group.Selectors = append(group.Selectors,
				site.Selector{NodeNames: x.Names, NodeTags: x.Tags, RackNames: x.Racks})
		}
		if g.Percent != nil || g.Minimum != nil || g.Maximum != nil {
			group.SuccessCriteria = &site.SuccessCriteria{
				PercentSuccessfulNodes: g.Percent, MinimumSuccessfulNodes: g.Minimum, MaximumFailedNodes: g.Maximum,
			}
		}
		if g.Rolling > 0 {
			group.Rolling = &site.Rolling{MaxParallel: g.Rolling, Lock: "drain", Unlock: "undrain", Batches: g.Batches,
				Approve: g.Approve, Soak: g.Soak, OnFailure: g.OnFailure}
		}
		if g.Check {
			group.Rolling.HealthCheck = &site.HealthCheck{Command: "works"}
		}
		if g.Bare {
			group.Rolling.Lock, group.Rolling.Unlock = "", ""
		}
		if g.Lockless {
			group.Rolling.Lock = ""
		}
		s.site.Groups = append(s.site.Groups, group)
	}
	s.departed = map[string]site.Node{}
	for _, n := range doc.Departed {
		s.departed[n] = site.Node{Name: n}
	}
	plan, err := plan(s.site, idle, append(slices.Clone(doc.Departed), doc.Lost...), doc.Second)
	ts.Check(err)
	for i, g := range plan.Groups {
		for _, given := range doc.Groups {
			if given.Name == g.Name {
				plan.Groups[i].Unlocked, plan.Groups[i].Order = given.Spared, given.Order
			}
		}
	}
	if doc.Limit != nil {
		s.site.Limit, plan.Within = &site.Limit{Nodes: doc.Limit}, map[string]bool{}
		for _, n := range doc.Limit {
			plan.Within[n] = true
		}
		for _, n := range s.site.Nodes {
			if plan.Outside(n.Name) {
				plan.Waiting = append(plan.Waiting, n.Name)
			}
		}
	}
	plan.SetBatches(s.site.Groups)
	if doc.MayFail != nil {
		s.site.FailureBudget = &site.FailureBudget{Nodes: doc.MayFail}
	}
	s.plan, plan.MayFail, plan.EndAtPause = plan, doc.MayFail, doc.Approval == site.ApprovalEnd
}

// plan makes the plan of a model: every node that is not idle is prepared and gets two files, the second requires the
// first.
func plan(s site.Site, idle map[string]bool, departed []string, second bool) (*planner.Plan, error) {
	p := &planner.Plan{Site: s.Name, Digest: "d1", Departed: departed}
	groups := s.Groups
	if groups == nil {
		groups = strategy.Default()
	}
	m, err := strategy.New(groups, s.Nodes, nil)
	if err != nil {
		return nil, err
	}
	owned := map[string]bool{}
	for _, name := range m.Order() {
		g := planner.Group{Name: name, Members: m.Members(name)}
		prepare := planner.Phase{TaskGroup: task.Prepare, Group: name}
		first := planner.Phase{TaskGroup: task.Node, Group: name}
		last := planner.Phase{TaskGroup: task.Cluster, Group: name}
		for _, n := range g.Members {
			if owned[n] {
				continue
			}
			owned[n] = true
			g.Owned = append(g.Owned, n)
			if idle[n] {
				continue
			}
			prepare.Tasks = append(prepare.Tasks, task.Task{Node: n, Group: task.Prepare, Action: task.PrepareNode})
			first.Tasks = append(first.Tasks, file(n, "/etc/a"), file(n, "/etc/b", "file[/etc/a]"))
			last.Tasks = append(last.Tasks, file(n, "/etc/c"))
		}
		p.Groups = append(p.Groups, g)
		if len(prepare.Tasks) > 0 {
			p.Phases = append(p.Phases, prepare, first)
			if second {
				p.Phases = append(p.Phases, last)
			}
		}
	}
	if len(departed) > 0 {
		cleanup := planner.Phase{TaskGroup: task.Cleanup}
		for _, n := range departed {
			cleanup.Tasks = append(cleanup.Tasks, task.Task{Node: n, Group: task.Cleanup, Action: task.Forget})
		}
		p.Phases = append(p.Phases, cleanup)
	}
	return p, nil
}

func file(node, path string, requires ...resource.ID) task.Task {
	r := resource.Resource{Type: "file", Title: path, Parameters: resource.Parameters{"content": "x\n"}}
	return task.Task{Node: node, Group: task.Node, Action: task.Create, Resource: r, Digest: resource.Digest(r),
		Requires: requires}
}

func fail(ts *testscript.TestScript, _ bool, args []string) {
	if args[0] == "journal" {
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		on(ts).diary.failAt = n
		return
	}
	if args[0] == "callback" {
		on(ts).operator.faults[args[1]] = strings.Join(args[2:], " ")
		return
	}
	kind := deploying
	if len(args) > 2 {
		kind = args[2]
	}
	on(ts).fake.faults[at{args[0], kind}] = args[1]
}

func lock(ts *testscript.TestScript, _ bool, args []string) {
	f := on(ts).fake
	f.locked[args[0]] = "r0"
	if len(args) > 1 {
		f.knows[args[0]] = args[1]
	}
}

func slow(ts *testscript.TestScript, _ bool, args []string) {
	d, err := time.ParseDuration(args[2])
	ts.Check(err)
	on(ts).fake.slow[at{args[0], args[1]}] = d
}

func cut(ts *testscript.TestScript, _ bool, args []string) {
	if args[0] == "now" {
		on(ts).cut = new(time.Duration)
		return
	}
	d, err := time.ParseDuration(args[1])
	ts.Check(err)
	on(ts).cut = &d
}

// bubble calls work with a context that ends when the script says so.
func (s *stage) bubble(args []string, work func(context.Context, rollout.Options)) {
	known := map[string]converge.Identity{}
	for _, n := range s.site.Nodes {
		if !slices.Contains(s.fresh, n.Name) {
			known[n.Name] = s.fake.identity(n.Name)
		}
	}
	for name := range s.departed {
		known[name] = s.fake.identity(cmp.Or(s.was[name], name))
	}
	s.known = known
	o := rollout.Options{
		Machines: rollout.NewMachines(known),
		Executor: s.fake, Recorder: s.diary, RunID: s.run, Departed: s.departed, Caller: s.operator, Resolve: late, Drive: s.drive,
	}
	if len(args) > 0 {
		o.Parallelism, _ = strconv.Atoi(args[0])
	}
	if len(args) > 1 {
		o.Grace, _ = time.ParseDuration(args[1])
	}
	if len(args) > 2 {
		o.ParallelGroups, _ = strconv.Atoi(args[2])
	}
	synctest.Test(s.t, func(t *testing.T) {
		if s.persons != nil {
			s.persons.from, o.Decisions = time.Now(), s.persons
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		switch {
		case s.cut == nil:
		case *s.cut == 0:
			cancel()
		default:
			defer time.AfterFunc(*s.cut, cancel).Stop()
		}
		work(ctx, o)
	})
	if len(s.fake.overlap) > 0 {
		s.t.Errorf("nodes with two sessions at once: %q", s.fake.overlap)
	}
	if s.operator.twice {
		s.t.Error("two callbacks ran at once")
	}
}

func apply(ts *testscript.TestScript, neg bool, args []string) {
	s := on(ts)
	var err error
	s.bubble(args, func(ctx context.Context, o rollout.Options) {
		var saved saves
		if s.drive != nil {
			o.Keep = saved.keep
		}
		s.report, err = rollout.Run(ctx, s.site, s.plan, o)
		if s.drive != nil && err == nil {
			s.repeat(context.WithoutCancel(ctx), o, saved, s.report, func(ctx context.Context, o rollout.Options) (any, error) {
				return rollout.Run(ctx, s.site, s.plan, o)
			})
		}
	})
	fmt.Fprint(ts.Stdout(), s.report)
	if err != nil {
		fmt.Fprintln(ts.Stdout(), "error:", err)
	}
	if (err != nil) != neg {
		ts.Fatalf("apply: %v", err)
	}
}

// saves are what a run saved.
type saves [][]byte

func (s *saves) keep(_ context.Context, content []byte) (address string, err error) {
	*s = append(*s, content)
	return strconv.Itoa(len(*s)), nil
}

// repeat lets another process do the steps of a run again that was over before it could be concluded: it has the same
// report, asks no node, calls nothing, and records nothing but that it is another process.
func (s *stage) repeat(ctx context.Context, o rollout.Options, saved saves, report any,
	run func(context.Context, rollout.Options) (report any, err error)) {
	if s.persons != nil && slices.ContainsFunc(s.persons.all, func(e journal.Recorded) bool { return e.Action == journal.Cancel }) {
		return // that it was cancelled, and why, the other process finds in the journal when it goes on
	}
	address := strconv.Itoa(len(saved))
	var err error
	o.Saved, err = rollout.LoadSaved(address, func(address string) ([]byte, error) {
		n, err := strconv.Atoi(address)
		return saved[n-1], err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	recorded := &diary{}
	o.SavedAt, o.Executor, o.Caller, o.Recorder, o.Decisions = address, nobody{s.t}, nobody{s.t}, recorded, nil
	o.Machines = rollout.NewMachines(s.known)
	o.Drive = func(context.Context, *rollout.Hosted) error { return nil }
	again, err := run(ctx, o)
	if err != nil {
		s.t.Error(err)
	}
	if got, want := fmt.Sprintf("%s%+v", again, again), fmt.Sprintf("%s%+v", report, report); got != want {
		s.t.Errorf("the report of another process is\n%s\nwant\n%s", got, want)
	}
	if len(recorded.events) != 1 {
		s.t.Errorf("another process recorded again: %+v", recorded.events)
	}
}

// nobody may be asked for anything.
type nobody struct{ t *testing.T }

func (n nobody) Converge(context.Context, site.Node, converge.Manifest, func(converge.Result)) (converge.Summary, error) {
	n.t.Error("a session runs once more")
	return converge.Summary{}, nil
}

func (n nobody) Close() error { return nil }

func (n nobody) Call(_ context.Context, _ io.Writer, t task.Task) (map[string]any, error) {
	n.t.Errorf("the callback %s is called once more", t.Name)
	return nil, nil
}

// nodes shows what the report holds of each node beyond what it tells people.
func nodes(ts *testscript.TestScript, _ bool, _ []string) {
	for _, n := range slices.Sorted(maps.Keys(on(ts).report.Nodes)) {
		r := on(ts).report.Nodes[n]
		ledger := "unknown"
		if r.Ledger != nil {
			ledger = fmt.Sprint(slices.DeleteFunc(slices.Sorted(maps.Keys(r.Ledger)), func(id resource.ID) bool {
				return id == task.Unchecked
			}))
		}
		if r.Locked {
			ledger += " locked"
		}
		if left := r.Applied(nil)[task.Unchecked]; left != "" {
			ledger += " unchecked " + left
		}
		fmt.Fprintf(ts.Stdout(), "%s %s %s attempted=%t reachable=%t changed=%d unchanged=%d failed=%d skipped=%d unknown=%d ledger=%s\n",
			n, r.Group, r.Stage, r.Attempted, r.Reachable, r.Changed, r.Unchanged, len(
				r.Failures), r.Skipped, r.Unknown, ledger)
	}
}

func survey(ts *testscript.TestScript, _ bool, args []string) {
	s := on(ts)
	items := map[string][]converge.Item{}
	for _, p := range s.plan.Phases {
		for _, t := range p.Tasks {
			items[t.Node] = append(items[t.Node], rollout.Items([]task.Task{t})...)
		}
	}
	var found map[string]rollout.NodeSurvey
	s.bubble(args, func(ctx context.Context, o rollout.Options) {
		found = rollout.Survey(ctx, s.site.Nodes, items, s.site.Name, o)
	})
	for _, n := range slices.Sorted(maps.Keys(found)) {
		f := found[n]
		fmt.Fprintf(ts.Stdout(), "%s reachable=%t error=%v ledger=%v\n", n, f.Reachable, f.Error,
			slices.Sorted(maps.Keys(f.Ledger)))
		for _, d := range f.Drift {
			fmt.Fprintf(ts.Stdout(), "  %s %v %s\n", d.ID, d.Differences, d.Message)
		}
	}
}

func destroy(ts *testscript.TestScript, neg bool, args []string) {
	s := on(ts)
	var r rollout.TearDownReport
	s.bubble(args, func(ctx context.Context, o rollout.Options) {
		var saved saves
		if s.drive != nil {
			o.Keep = saved.keep
		}
		r = rollout.TearDown(ctx, s.site.Name, s.site.Nodes, o)
		if s.drive != nil && r.Err == nil {
			s.repeat(context.WithoutCancel(ctx), o, saved, r, func(ctx context.Context, o rollout.Options) (any, error) {
				again := rollout.TearDown(ctx, s.site.Name, s.site.Nodes, o)
				return again, again.Err
			})
		}
	})
	fmt.Fprint(ts.Stdout(), r)
	if r.Err != nil {
		fmt.Fprintln(ts.Stdout(), "error:", r.Err)
	}
	if (r.Err != nil) != neg {
		ts.Fatalf("destroy: %v", r.Err)
	}
}
