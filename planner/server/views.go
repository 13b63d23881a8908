package server

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// listed bounds what a page lists of one kind; the grid and JSON have all.
const listed = 200

// pictureOf returns the picture of a run, with its first failed tasks.
func pictureOf(ctx context.Context, store *journal.Store, run journal.Run) (p *picture, failures []journal.Recorded,
	err error) {
	p = newPicture()
	for e, err := range store.Each(ctx, run.ID, 0) {
		if err != nil {
			return nil, nil, err
		}
		p.fold(e)
		if e.Kind == journal.TaskFinished && e.Status == "failed" && len(failures) < listed {
			failures = append(failures, e)
		}
	}
	p.over = p.over || run.Status != journal.Running
	return p, failures, nil
}

// about is what every page of a run has: the run and the view that is shown.
func about(run journal.Run, view string, more map[string]any) map[string]any {
	out := map[string]any{"Run": run, "View": view, "Running": run.Status == journal.Running}
	maps.Copy(out, more)
	return out
}

// groupsPage draws the groups of a run in the order in which they depend on each other.
func groupsPage(ctx context.Context, store *journal.Store, run journal.Run, _ query) (any, error) {
	p, _, err := pictureOf(ctx, store, run)
	if err != nil {
		return nil, err
	}
	d := &drawing{Name: "Groups of site " + run.Site}
	index := map[string]int{}
	for _, g := range p.outline.Groups {
		index[g.Name] = len(d.Boxes)
		b := &box{Name: g.Name}
		shown, state := p.groups[g.Name], "waiting"
		switch {
		case shown == nil:
			state = "nothing to do"
		case shown.Stage != "":
			state = strings.ToLower(shown.Stage)
			b.Class = map[string]string{"DEPLOYED": "done", "FAILED": "failed"}[shown.Stage]
		case slices.ContainsFunc(p.Holds(), func(h hold) bool { return h.Group == g.Name && h.Why == heldForBatch }):
			state, b.Class, b.Current = "waits for approval", "running", true
		case shown.passing.Message != "":
			state, b.Class, b.Current = shown.passing.Message, "running", true
		case shown.Finished() > 0:
			state, b.Class, b.Current = fmt.Sprintf("%d of %d nodes", shown.Finished(), shown.Nodes()), "running", true
		}
		if b.About = state; g.Critical {
			b.About = "critical, " + state
		}
		d.Boxes = append(d.Boxes, b)
		for _, parent := range g.DependsOn {
			if from, known := index[parent]; known {
				d.connect(from, index[g.Name], "", false)
			}
		}
	}
	d.lay()
	return page{"groups", "Groups of " + run.Site, about(run, "groups", map[string]any{"Drawing": d, "Groups": p.Groups, "Holds": p.Holds()})}, nil
}

// bar is a time of the timeline: of a group, or of one of its phases.
type bar struct {
	Group, Name string
	Phase       bool // of a group otherwise
	Start, End  time.Time
	Class       string
	X, Width, Y int // in the drawing
	open        bool
}

// Took is how long it took.
func (b *bar) Took() time.Duration { return legible(b.End.Sub(b.Start)) }

// waited is a group that could not start before others had ended, or that waited for a person.
type waited struct {
	Group, For string
	Time       time.Duration
	Waits      bool // still
}

// timelineWidth is the width of the timeline, in pixels.
const timelineWidth, barHeight = 1000, 26

// timelinePage shows when groups and phases ran, who waited for whom, and what took long.
func timelinePage(ctx context.Context, store *journal.Store, run journal.Run, _ query) (any, error) {
	t := timeline{names: map[int]string{}, groups: map[string]*bar{},
		phases: map[string]*bar{}, paused: map[string]journal.Recorded{}}
	for e, err := range store.Each(ctx, run.ID, 0) {
		if err != nil {
			return nil, err
		}
		t.add(e)
	}
	if now := time.Now(); run.Status == journal.Running && len(t.order) > 0 && now.After(t.end) {
		t.end = now
		for _, e := range t.paused {
			t.approvals = append(t.approvals, approval(e, t.end, true))
		}
		slices.SortStableFunc(t.approvals, func(a, b waited) int { return cmp.Compare(a.Group, b.Group) })
	}
	bars := t.lay(run)
	data := map[string]any{"Bars": bars, "Waited": t.waits(), "Slow": t.slow, "Width": timelineWidth,
		"Height": len(bars)*barHeight + 24, "Took": legible(t.end.Sub(t.start)), "Ticks": t.ticks()}
	return page{"timeline", "Timeline of a run of " + run.Site, about(run, "timeline", data)}, nil
}

// timeline is when everything of a run happened.
type timeline struct {
	start, end time.Time
	outline    journal.Outline
	names      map[int]string // of phases
	order      []*bar
	groups     map[string]*bar
	phases     map[string]*bar
	paused     map[string]journal.Recorded // groups that wait for approval
	approvals  []waited
	slow       []journal.Recorded // tasks, the slowest first
}

// tick is a time below the timeline.
type tick struct {
	X    int
	Text string
}

const slowest = 20

func (t *timeline) add(e journal.Recorded) {
	if t.start.IsZero() {
		t.start = e.Time
	}
	if e.Time.After(t.end) {
		t.end = e.Time
	}
	switch e.Kind { //nolint:exhaustive // the others have no time of their own
	case journal.RunStarted:
		if o := journal.OutlineOf(e.Event); len(t.outline.Groups) == 0 {
			t.outline = o
		}
	case journal.Planned:
		if e.Phase > 0 {
			t.names[e.Phase] = e.Action
		}
	case journal.PhaseStarted:
		t.started(e)
	case journal.TaskStarted:
		if _, known := t.groups[e.Group]; !known && e.Group != "" {
			t.started(e)
		}
	case journal.PhaseFinished:
		if b := t.phases[fmt.Sprint(e.Group, "/", e.Phase)]; b != nil {
			b.End, b.open = e.Time, false
			if e.Status == "failed" {
				b.Class = "failed"
			}
		}
	case journal.GroupFinished:
		if b := t.groups[e.Group]; b != nil {
			b.End, b.open = e.Time, false
			if e.Status == "FAILED" {
				b.Class = "failed"
			}
		}
	case journal.Paused:
		t.paused[e.Group] = e
	case journal.Decided:
		if since, waits := t.paused[e.Group]; waits && e.Action == journal.Approve {
			t.approvals = append(t.approvals, approval(since, e.Time, false))
			delete(t.paused, e.Group)
		}
	case journal.TaskFinished:
		at, _ := slices.BinarySearchFunc(t.slow, e, func(a, b journal.Recorded) int {
			return cmp.Compare(b.Millis, a.Millis)
		})
		if at < slowest {
			e.Output = "" // a page of its own has it
			t.slow = slices.Insert(t.slow, at, e)
			t.slow = t.slow[:min(len(t.slow), slowest)]
		}
	}
}

func (t *timeline) started(e journal.Recorded) {
	g := t.groups[e.Group]
	if g == nil && e.Group != "" {
		g = &bar{Group: e.Group, Name: e.Group, Start: e.Time, Class: "done", open: true}
		t.groups[e.Group], t.order = g, append(t.order, g)
	}
	key := fmt.Sprint(e.Group, "/", e.Phase)
	if t.phases[key] == nil && e.Phase > 0 {
		b := &bar{Group: e.Group, Phase: true, Start: e.Time, Class: "done", open: true,
			Name: cmp.Or(t.names[e.Phase], "phase "+strconv.Itoa(e.Phase))}
		t.phases[key], t.order = b, append(t.order, b)
	}
}

// lay returns the bars from top to bottom: each group with its phases.
func (t *timeline) lay(run journal.Run) (bars []*bar) {
	whole := max(t.end.Sub(t.start), time.Millisecond)
	place := map[string]int{"": -1}
	for _, b := range t.order {
		if _, known := place[b.Group]; !known {
			place[b.Group] = len(place)
		}
	}
	slices.SortStableFunc(t.order, func(a, b *bar) int { return cmp.Compare(place[a.Group], place[b.Group]) })
	for _, b := range t.order[:min(len(t.order), listed)] {
		if b.open {
			b.End = t.end
			if run.Status == journal.Running {
				b.Class = "running"
			}
		}
		b.X = int(float64(b.Start.Sub(t.start)) / float64(whole) * timelineWidth)
		b.Width = max(3, int(math.Ceil(float64(b.End.Sub(b.Start))/float64(whole)*timelineWidth)))
		b.Y = len(bars)*barHeight + 2
		bars = append(bars, b)
	}
	return bars
}

// ticks are the times below the bars.
func (t *timeline) ticks() (out []tick) {
	whole := t.end.Sub(t.start)
	for i := range 5 {
		out = append(out, tick{timelineWidth * i / 5, legible(whole * time.Duration(i) / 5).String()})
	}
	return out
}

// waits are who waited for whom.
func (t *timeline) waits() (out []waited) {
	for _, g := range t.outline.Groups {
		own := t.groups[g.Name]
		var last *bar
		for _, name := range g.DependsOn {
			if b := t.groups[name]; b != nil && (last == nil || b.End.After(last.End)) {
				last = b
			}
		}
		switch {
		case last == nil:
		case own == nil:
			out = append(out, waited{g.Name, last.Group + ", and did not start", legible(last.End.Sub(t.start)), false})
		default:
			out = append(out, waited{g.Name, last.Group, legible(own.Start.Sub(t.start)), false})
		}
	}
	return append(out, t.approvals...)
}

// approval is how long a group waited for the approval of a batch, or still waits.
func approval(e journal.Recorded, until time.Time, waits bool) waited {
	return waited{e.Group, "the approval of batch " + strconv.Itoa(e.Phase), legible(until.Sub(e.Time)), waits}
}

// legible rounds a duration as people read it.
func legible(d time.Duration) time.Duration {
	if d >= time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}

// planPage shows what a run was to do: the steps of its plan, and its phases.
func planPage(ctx context.Context, store *journal.Store, run journal.Run, _ query) (any, error) {
	type phase struct {
		Number       int
		Group, Name  string
		Nodes, Tasks int
	}
	var phases []*phase
	criteria := map[string]string{}
	for e, err := range store.Each(ctx, run.ID, 0, journal.Planned) {
		if err != nil {
			return nil, err
		}
		switch {
		case e.Action == journal.ServiceTasks, e.Action == string(task.HealthCheck):
			continue
		case e.Phase == 0:
			criteria[e.Group] = e.Message
			continue
		}
		last := len(phases) - 1
		if last < 0 || phases[last].Number != e.Phase {
			phases = append(phases, &phase{Number: e.Phase, Group: e.Group, Name: e.Action})
			last++
		}
		for _, n := range e.PlannedTasks() {
			phases[last].Nodes++
			phases[last].Tasks += n.Tasks
		}
	}
	return page{"plan", "Plan of a run of " + run.Site, about(run, "plan", map[string]any{"Phases": phases, "Criteria": criteria})}, nil
}

// found is what a run found on a node that was no longer as slipway had left it.
type found struct {
	Run string
	journal.Recorded
}

// Repaired reports whether the run repaired it.
func (f found) Repaired() bool { return f.Status == "changed" }

// driftOf returns the drift that a run found: what it repaired, or tried to, and what differs and is left because of
// noop.
func driftOf(ctx context.Context, store *journal.Store, run journal.Run) (out []found, more int, err error) {
	for e, err := range store.Each(ctx, run.ID, 0, journal.TaskFinished) {
		switch {
		case err != nil:
			return nil, 0, err
		case e.Action != string(task.Repair) && e.Status != "differs":
		case len(out) == listed:
			more++
		default:
			out = append(out, found{run.ID, e})
		}
	}
	return out, more, nil
}

func runDriftPage(ctx context.Context, store *journal.Store, run journal.Run, _ query) (any, error) {
	out, more, err := driftOf(ctx, store, run)
	return page{"drift", "Drift that a run of " + run.Site + " found", about(run, "drift", map[string]any{"Found": out, "More": more})}, err
}

// siteCheck is a check of a site.
type siteCheck struct {
	Site string `json:"site"`
	journal.Check
	Since *journal.Run `json:"-"` // the newest run, if it is after the check
}

// newestChecks returns the newest checks of a site, or of each one, newest first.
func (s *server) newestChecks(ctx context.Context, site string, limit int) ([]siteCheck, error) {
	out := []siteCheck{}
	err := s.open(ctx, site, func(site string, store *journal.Store) (bool, error) {
		all, err := store.Checks(ctx, limit)
		if err != nil || len(all) == 0 {
			return false, err
		}
		runs, err := store.Runs(ctx, 1)
		for _, c := range all {
			one := siteCheck{site, c, nil}
			if len(runs) > 0 && runs[0].Started.After(c.Time) {
				one.Since = &runs[0]
			}
			out = append(out, one)
		}
		return false, err
	})
	slices.SortStableFunc(out, func(a, b siteCheck) int { return b.Time.Compare(a.Time) })
	return out, err
}

func (s *server) checks(ctx context.Context, q query) (any, error) {
	limit := int(q.number["limit"])
	out, err := s.newestChecks(ctx, q.text["site"], limit)
	return map[string]any{"checks": out[:min(len(out), limit)]}, err
}

// Text is the first line of what differs, and Diff the rest.
func (d drifted) Text() string { first, _, _ := strings.Cut(d.Change, "\n"); return first }

// Diff is a diff of a text, empty where no text differs.
func (d drifted) Diff() string { _, rest, _ := strings.Cut(d.Change, "\n"); return rest }

// drifted is drift as a page shows it.
type drifted struct{ journal.Drift }

// Shown is the drift that a page lists, and Left how much more there is.
func (c siteCheck) Shown() (out []drifted) {
	for _, d := range c.Drift[:min(len(c.Drift), listed)] {
		out = append(out, drifted{d})
	}
	return out
}

// Left is how much drift a page leaves out.
func (c siteCheck) Left() int { return len(c.Drift) - len(c.Shown()) + c.More }

// driftPage shows the drift that the newest check of each site and the newest runs found.
func (s *server) driftPage(ctx context.Context, q query) (any, error) {
	type ofRun struct {
		journal.Run
		Found []found
		More  int
	}
	var runs []ofRun
	looked := 0
	err := s.open(ctx, q.text["site"], func(_ string, store *journal.Store) (bool, error) {
		all, err := store.Runs(ctx, int(q.number["limit"]))
		for _, run := range all {
			looked++
			found, more, err := driftOf(ctx, store, run)
			if err != nil {
				return false, err
			}
			if len(found) > 0 {
				runs = append(runs, ofRun{run, found, more})
			}
		}
		return false, err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(runs, func(a, b ofRun) int { return b.Started.Compare(a.Started) })
	checks, err := s.newestChecks(ctx, q.text["site"], 1)
	return page{"drifts", "Drift", map[string]any{"Checks": checks, "Runs": runs, "Looked": looked, "Site": q.text["site"]}}, err
}

// lifecycleOf draws the lifecycle of a service, with its state marked: one that slipway brings as a whole, another one
// as far as the history shows it.
func lifecycleOf(name, state string, log []journal.ServiceRecord) (d *drawing, whole bool) {
	d = &drawing{Name: "Lifecycle " + name}
	index := map[string]int{}
	add := func(name, about, class string) int {
		if _, known := index[name]; !known {
			index[name] = len(d.Boxes)
			d.Boxes = append(d.Boxes, &box{Name: name, About: about, Class: class, Current: name == state})
		}
		return index[name]
	}
	known, whole := document.ShippedLifecycle(name)
	whole = whole && slices.ContainsFunc(known.States, func(s lifecycle.State) bool { return s.Name == state })
	if whole {
		for _, s := range known.States {
			add(s.Name, string(s.Label), labelClass(string(s.Label)))
		}
		for _, t := range known.Transfers {
			d.connect(index[t.Source], index[t.Target], string(t.Trigger), false)
			if t.Error != "" {
				d.connect(index[t.Source], index[t.Error], string(t.Trigger)+" fails", true)
			}
		}
	} else {
		seen := map[[2]string]bool{}
		for _, v := range slices.Backward(log) {
			add(v.State, v.Label, labelClass(v.Label))
			for _, e := range v.Events {
				if way := [2]string{e.Source, e.Destination}; e.Source != "" && e.Destination != "" && !e.Ignored && !seen[way] {
					seen[way] = true
					d.connect(add(e.Source, "", ""), add(e.Destination, "", ""), e.Type, e.IsError)
				}
			}
		}
	}
	d.lay()
	return d, whole
}

// labelClass is how a state with a label looks.
func labelClass(label string) string {
	return map[string]string{"success": "done", "danger": "failed", "warning": "running"}[label]
}

// From are the transfers that lead on from the marked box, as texts.
func (d *drawing) From() (out []string) {
	for _, a := range d.Arrows {
		if d.Boxes[a.from].Current {
			out = append(out, a.Label+": to "+d.Boxes[a.to].Name)
		}
	}
	return out
}

// revision is a version of a service with what differs from the one before.
type revision struct {
	journal.ServiceRecord
	Changed []change
}

// change is an attribute that has another value than in the version before.
type change struct {
	Set, Name string
	Old, New  any
	Was, Is   bool // there was a value, there is one
}

// historyOf compares each version with the one before it.
func historyOf(log []journal.ServiceRecord) (out []revision) {
	for i, v := range log {
		r := revision{ServiceRecord: v}
		if i+1 < len(log) && log[i+1].Incarnation == v.Incarnation {
			before := log[i+1]
			for _, set := range []struct {
				name     string
				old, new map[string]any
			}{{"candidate", before.Candidate, v.Candidate}, {"active", before.Active, v.Active}, {"rollback", before.Rollback, v.Rollback}} {
				r.Changed = append(r.Changed, changesOf(set.name, set.old, set.new)...)
			}
		}
		out = append(out, r)
	}
	return out
}

func changesOf(set string, old, now map[string]any) (out []change) {
	names := slices.Collect(maps.Keys(old))
	for name := range now {
		if _, known := old[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		a, was := old[name]
		b, is := now[name]
		if was != is || fmt.Sprint(a) != fmt.Sprint(b) {
			out = append(out, change{set, name, a, b, was, is})
		}
	}
	return out
}
