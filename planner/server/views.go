package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
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
		case shown.Stage == "" && g.Nodes == 0 && g.Unchanged > 0:
			state = shown.Counts()
		case shown.Stage != "":
			state = strings.ToLower(shown.Stage)
			b.Class = map[string]string{"DEPLOYED": "done", "FAILED": "failed"}[shown.Stage]
		case slices.ContainsFunc(p.Holds(), func(h Hold) bool { return h.Group == g.Name && h.Why == heldForBatch }):
			state, b.Class, b.Current = "waits for approval", "running", true
		case Lasting(shown.passing, time.Now()) != "":
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
	return page{"groups", "Groups of " + run.Site, about(run, "groups", map[string]any{"Drawing": d, "Groups": p.Groups})}, nil
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
	p := newPicture()
	for e, err := range store.Each(ctx, run.ID, 0, journal.RunStarted, journal.Planned) {
		if err != nil {
			return nil, err
		}
		p.fold(e)
		switch {
		case e.Kind == journal.RunStarted: // of a pass, which plans anew
			continue
		case e.Action == journal.ServiceTasks, e.Action == string(task.HealthCheck):
			continue
		case e.Phase == 0:
			criteria[e.Group] = e.Message
			continue
		}
		last := len(phases) - 1
		if last < 0 || phases[last].Number != e.Phase {
			phases = append(phases, &phase{Number: e.Phase, Group: e.Group, Name: p.column(e.Phase)})
			last++
		}
		for _, tasks := range e.PlannedTasks() {
			phases[last].Nodes++
			phases[last].Tasks += tasks
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

// change is an attribute that has another value than in the version before.
type change struct {
	Set, Name string
	Old, New  any
	Was, Is   bool // there was a value, there is one
}

// changesIn compares each version with the one before it.
func changesIn(log []journal.ServiceRecord) [][]change {
	out := make([][]change, len(log))
	for i, v := range log {
		if i+1 < len(log) && log[i+1].Incarnation == v.Incarnation {
			before := log[i+1]
			for _, set := range []struct {
				name     string
				old, new map[string]any
			}{{"candidate", before.Candidate, v.Candidate}, {"active", before.Active, v.Active}, {"rollback", before.Rollback, v.Rollback}} {
				out[i] = append(out[i], changesOf(set.name, set.old, set.new)...)
			}
		}
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
