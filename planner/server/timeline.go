package server

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// bar is a time of the timeline: of a group, of one of its batches, or of what they go through or wait for.
type bar struct {
	Group, Name string
	Phase       bool // of a group otherwise
	Start, End  time.Time
	Class       string
	X, Width, Y int // in the drawing
	open        bool
	batch       *bar // that it is a part of
}

// Took is how long it took.
func (b *bar) Took() time.Duration { return legible(b.End.Sub(b.Start)) }

// ends ends a bar.
func (b *bar) ends(e journal.Recorded) {
	if b.End, b.open = e.Time, false; strings.EqualFold(e.Status, "failed") {
		b.Class = "failed"
	}
}

// waited is a group, or the whole run, that could not go on for some time.
type waited struct {
	Group, For string
	Time       time.Duration
	Waits      bool // still
}

// timelineWidth is the width of the timeline, in pixels.
const timelineWidth, barHeight = 1000, 26

// timelinePage shows when groups, their batches and phases ran, who waited for whom, and what took long.
func timelinePage(ctx context.Context, store *journal.Store, run journal.Run, _ query) (any, error) {
	t := timeline{names: map[int]string{}, groups: map[string]*lane{}, ended: map[string]string{}}
	for e, err := range store.Each(ctx, run.ID, 0) {
		if err != nil {
			return nil, err
		}
		t.add(e)
	}
	t.running = run.Status == journal.Running
	if now := time.Now(); t.running && len(t.order) > 0 && now.After(t.end) {
		t.end = now
	}
	bars := t.lay()
	data := map[string]any{"Bars": bars, "More": len(t.order) - len(bars), "Waited": t.waits(), "Slow": t.slow, "Width": timelineWidth,
		"Height": len(bars)*barHeight + 24, "Took": legible(t.end.Sub(t.start)), "Ticks": t.ticks()}
	return page{"timeline", "Timeline of a run of " + run.Site, about(run, "timeline", data)}, nil
}

// timeline is when everything of a run happened.
type timeline struct {
	start, end time.Time
	running    bool
	outline    journal.Outline
	names      map[int]string // of phases
	order      []*bar
	groups     map[string]*lane
	ended      map[string]string // group -> how it ended
	held       holds
	waiting    []*waiting         // in order
	slow       []journal.Recorded // tasks, the slowest first
}

// lane is a group on the timeline.
type lane struct {
	*bar
	batch   *bar            // the newest one
	parts   map[string]*bar // by their names
	checks  int             // health checks that run
	soak    *bar            // under way
	passing journal.Recorded
}

// waiting is a wait: what it was for, and its hold, where it is one.
type waiting struct {
	*bar
	what string
	hold Hold
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
	t.hold(e)
	l := t.groups[e.Group]
	if starts := e.Kind == journal.PhaseStarted || e.Kind == journal.TaskStarted; l == nil && starts {
		l = &lane{bar: &bar{}, parts: map[string]*bar{}} // what is in no group has no bar of its own
		if e.Group != "" {
			l.bar = t.bar(e, e.Group, "done", nil)
			l.Phase = false
		}
		t.groups[e.Group] = l
	}
	switch e.Kind { //nolint:exhaustive // the others are those of a group that has started
	case journal.RunStarted: // another pass starts its groups again
		if o := journal.OutlineOf(e.Event); len(t.outline.Groups) == 0 {
			t.outline = o
		}
		t.groups = map[string]*lane{}
	case journal.Planned:
		if e.Phase > 0 {
			t.names[e.Phase] = e.Action
		}
	case journal.GroupFinished:
		t.ended[e.Group] = e.Status
	case journal.TaskFinished:
		at, _ := slices.BinarySearchFunc(t.slow, e, func(a, b journal.Recorded) int {
			return cmp.Compare(b.Millis, a.Millis)
		})
		if at < slowest {
			one := e
			one.Output = "" // a page of its own has it
			t.slow = slices.Insert(t.slow, at, one)
			t.slow = t.slow[:min(len(t.slow), slowest)]
		}
	}
	if l != nil {
		t.part(l, e)
	}
}

// bar adds a bar that starts with an event.
func (t *timeline) bar(e journal.Recorded, name, class string, batch *bar) *bar {
	b := &bar{Group: e.Group, Name: name, Phase: true, Start: e.Time, End: e.Time, Class: class, open: true, batch: batch}
	t.order = append(t.order, b)
	return b
}

// hold takes an event that starts or ends what holds the run up.
func (t *timeline) hold(e journal.Recorded) {
	t.held = t.held.after(e)
	for _, w := range t.waiting {
		if w.open && w.hold.seq > 0 && !slices.ContainsFunc(t.held, func(h Hold) bool { return h.seq == w.hold.seq }) {
			if w.End, w.open = e.Time, false; !w.hold.Until.IsZero() && w.hold.Until.Before(e.Time) {
				w.End = w.hold.Until
			}
		}
	}
	for _, h := range t.held {
		if h.seq != e.Seq {
			continue
		}
		name, what := "paused", "a person who paused it, "+h.Text
		switch h.Why {
		case heldForBatch:
			what = "the approval of batch " + strconv.Itoa(h.Batch)
			name = "waits for " + what
		case heldByWindow:
			name, what = "maintenance window is closed", "its maintenance window"
		default:
			e.Group = ""
		}
		t.waiting = append(t.waiting, &waiting{t.bar(e, name, "waits", nil), what, h})
	}
}

// part takes an event of a group that has started: its batches, and what they go through.
func (t *timeline) part(l *lane, e journal.Recorded) {
	if l.passing = Passing(l.passing, e); l.soak != nil && l.passing.Action != journal.Soak {
		l.soak.End, l.soak.open = e.Time, false
		l.soak = nil
	}
	// one returns a part of the newest batch, which starts with the event where it has not.
	one := func(key, name, class string) *bar {
		if l.batch != nil {
			key, name = l.batch.Name+": "+key, l.batch.Name+": "+name
		}
		if l.parts[key] == nil {
			l.parts[key] = t.bar(e, name, class, l.batch)
		}
		return l.parts[key]
	}
	check := e.Action == string(task.HealthCheck)
	switch {
	case e.Kind == journal.GroupFinished:
		l.ends(e)
	case e.Kind == journal.PhaseStarted && e.Phase > 0:
		if e.Message == "" {
			l.batch = nil
		} else if l.batch == nil || l.batch.Name != e.Message {
			l.batch = t.bar(e, e.Message, "done", nil)
			l.batch.open = false // it ends with its last part
		}
		one(strconv.Itoa(e.Phase), cmp.Or(t.names[e.Phase], "phase "+strconv.Itoa(e.Phase)), "done")
	case e.Kind == journal.PhaseFinished:
		if b := l.parts[strings.TrimPrefix(fmt.Sprintf("%s: %d", e.Message, e.Phase), ": ")]; b != nil {
			b.ends(e)
		}
	case e.Kind == journal.Note && e.Action == journal.Soak:
		batch, _, _ := strings.Cut(e.Message, " soaks for ")
		l.soak = one("soak", "soak", "waits")
		t.waiting = append(t.waiting, &waiting{l.soak, "the soak of " + batch, Hold{}})
	case check && (e.Kind == journal.TaskStarted || e.Kind == journal.TaskFinished):
		name := "health check"
		if l.batch != nil && l.parts[l.batch.Name+": soak"] != nil {
			name += " after the soak"
		}
		b := one(name, name, "done")
		if e.Kind == journal.TaskStarted {
			l.checks++
		} else {
			l.checks = max(0, l.checks-1)
			b.ends(e)
		}
		b.open = l.checks > 0
	}
}

// lay returns the bars from top to bottom: each group with its batches, phases and waits.
func (t *timeline) lay() (bars []*bar) {
	whole := max(t.end.Sub(t.start), time.Millisecond)
	place := map[string]int{"": -1}
	for _, b := range t.order {
		if _, known := place[b.Group]; !known {
			place[b.Group] = len(place)
		}
		if b.open {
			if b.End = t.end; t.running && b.Class != "waits" {
				b.Class = "running"
			}
		}
		if b.batch == nil {
			continue
		}
		if b.End.After(b.batch.End) {
			b.batch.End = b.End
		}
		switch {
		case b.open && t.running:
			b.batch.Class = "running"
		case b.Class == "failed":
			b.batch.Class = b.Class
		}
	}
	slices.SortStableFunc(t.order, func(a, b *bar) int { return cmp.Compare(place[a.Group], place[b.Group]) })
	for _, b := range t.order[:min(len(t.order), listed)] {
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

// waits are who waited for whom: first groups for groups, then for persons, windows and soaks, in order.
func (t *timeline) waits() (out []waited) {
	for _, g := range t.outline.Groups {
		own := t.groups[g.Name]
		var last *lane
		for _, name := range slices.Concat(g.DependsOn, g.After) {
			if l := t.groups[name]; l != nil && (last == nil || l.End.After(last.End)) {
				last = l
			}
		}
		if own != nil {
			since := t.start
			if last != nil {
				since = last.End
				out = append(out, waited{g.Name, last.Group, legible(since.Sub(t.start)), false})
			}
			if b := t.before(own); b != nil && b.End.Sub(since) >= time.Second {
				out = append(out, waited{g.Name, "its turn, after " + b.Group, legible(b.End.Sub(since)), false})
			}
			continue
		}
		switch {
		case last == nil:
		case t.ended[g.Name] == "" && t.running && g.Nodes > 0:
			out = append(out, waited{g.Name, last.Group, legible(t.end.Sub(t.start)), true})
		case t.ended[g.Name] != string(strategy.Deployed) && (t.ended[g.Name] != "" || g.Nodes > 0):
			out = append(out, waited{g.Name, last.Group + ", and did not start", legible(last.End.Sub(t.start)), false})
		}
	}
	for _, w := range t.waiting {
		out = append(out, waited{cmp.Or(w.Group, "The run"), w.what, w.Took(), w.open && t.running})
	}
	return out
}

// before returns the group that ended last before another one started; nil: none did.
func (t *timeline) before(own *lane) (last *lane) {
	for _, g := range t.outline.Groups {
		l := t.groups[g.Name]
		if l != nil && l != own && !l.End.After(own.Start) && (last == nil || l.End.After(last.End)) {
			last = l
		}
	}
	return last
}

// legible rounds a duration as people read it.
func legible(d time.Duration) time.Duration {
	if d >= time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}
