package run

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// randomSite makes a site with overlapping groups, and a plan that uses every task group and kind of task.
func randomSite(r *rand.Rand) (site.Site, *planner.Plan) {
	s := site.Site{Name: "random"}
	for i := range 8 + r.IntN(12) {
		s.Nodes = append(s.Nodes, site.Node{Name: fmt.Sprintf("n%02d", i)})
	}
	chance := func(percent int) bool { return r.IntN(100) < percent }
	number := func(n int) *int { return &n }
	for i := range 2 + r.IntN(4) {
		g := site.Group{Name: fmt.Sprintf("g%d", i), Critical: chance(40),
			DeployTimeout: time.Duration(1+r.IntN(40)) * time.Minute}
		names := []string{"none"}
		for _, n := range s.Nodes {
			if chance(35) {
				names = append(names, n.Name)
			}
		}
		g.Selectors = site.Selectors{{NodeNames: names}}
		if i > 0 && chance(40) {
			g.DependsOn = []string{fmt.Sprintf("g%d", r.IntN(i))}
		}
		if chance(60) {
			g.SuccessCriteria = &site.SuccessCriteria{PercentSuccessfulNodes: number(r.IntN(100))}
			if chance(30) {
				g.SuccessCriteria.MaximumFailedNodes = number(r.IntN(4))
			}
			if chance(20) {
				g.SuccessCriteria.MinimumSuccessfulNodes = number(r.IntN(4))
			}
		}
		if chance(50) {
			g.Rolling = &site.Rolling{MaxParallel: 1 + r.IntN(3), Lock: "drain", Unlock: "undrain"}
			if chance(60) {
				g.Rolling.Batches = [][]string{{"1", "10%", "50%", "100%"}, {"2", "40%"}, {"100%"}, nil}[r.IntN(4)]
			}
			if g.Rolling.Batches != nil && chance(40) {
				g.Rolling.Approve = []string{g.Rolling.Batches[r.IntN(len(g.Rolling.Batches))]}
			}
			if chance(50) {
				g.Rolling.HealthCheck = &site.HealthCheck{Command: "works"}
			}
			if chance(40) {
				g.Rolling.Soak = time.Duration(1+r.IntN(100)) * time.Minute
			}
			if one, _ := g.Rolling.Split([]string{"a"}); one != nil && chance(50) {
				g.Rolling.OnFailure = site.OnFailureRollback
			}
		}
		if chance(40) {
			g.OnShortfall = []string{site.OnShortfallStop, site.OnShortfallContinue}[r.IntN(2)]
		}
		s.Groups = append(s.Groups, g)
	}
	p := planFor(s, nil)
	phase := func(in task.Group, group string, kind task.Kind, action task.Action, percent int, nodes ...string) {
		ph := planner.Phase{TaskGroup: in, Group: group}
		for _, n := range nodes {
			if chance(percent) {
				ph.Tasks = append(ph.Tasks, task.Task{Node: n, Kind: kind, Action: action,
					Name: fmt.Sprintf("p/%d", len(p.Phases)), Limit: r.IntN(3) * r.IntN(3),
					Resource: resource.Resource{Type: "file", Title: "/a"}})
			}
		}
		if len(ph.Tasks) > 0 {
			p.Phases = append(p.Phases, ph)
		}
	}
	var all []string
	for _, n := range s.Nodes {
		all = append(all, n.Name)
	}
	phase(task.Management, "", task.Config, task.Create, 5, all...)
	phase(task.Boot, "", task.Callback, task.Run, 20, "", "")
	for _, g := range p.Groups {
		name := g.Name
		phase(task.Prepare, name, task.Config, task.PrepareNode, 100, g.Owned...)
		phase(task.PreNode, name, task.Callback, task.Run, 30, slices.Concat(g.Owned, g.Owned)...)
		phase(task.PreNode, name, task.Callback, task.Run, 20, "")
		phase(task.PreNode, name, task.Config, task.Unlock, 5, g.Owned...)
		phase(task.StorageUpgrade, name, task.Remote, task.Run, 50, g.Owned...)
		phase(task.Node, name, task.Config, task.Create, 70, g.Owned...)
		phase(task.Node, name, task.Callback, task.Run, 30, g.Owned...)
		phase(task.Node, name, task.Config, task.Create, 50, g.Owned...)
		at := slices.IndexFunc(s.Groups, func(of site.Group) bool { return of.Name == name })
		if of := s.Groups[at].Rolling; of != nil && of.HealthCheck != nil {
			phase(task.Node, name, task.Config, task.HealthCheck, 30, g.Owned...)
		}
		phase(task.Cluster, name, task.Config, task.Create, 30, g.Owned...)
		phase(task.Cluster, name, task.Callback, task.Run, 20, "")
	}
	phase(task.PostCluster, "", task.Config, task.Create, 20, all...)
	phase(task.PostCluster, "", task.Callback, task.Run, 30, "", "")
	phase(task.Cleanup, "", task.Config, task.Forget, 50, "old1", "old2", "old3")
	p.EndAtPause = len(s.Nodes)%3 == 0 // batches with approval then have nodes without work
	p.SetBatches(s.Groups)
	if chance(30) {
		p.MayFail = number(r.IntN(5))
	}
	return s, p
}

// world executes commands at random and checks them.
type world struct {
	scenario
	r       *rand.Rand
	program Program
	groups  map[string]Group

	clock   time.Time
	running []Command
	settled ID          // of a lost session that is not tried again
	losses  map[ID]loss // what to take back when a session is lost
	locked  map[string]bool
	stale   map[string]bool  // nodes that an earlier run left locked, and on which no session of a lock window has ended
	owed    map[string]bool  // nodes that this run locked, and did not try to unlock yet
	limits  map[string]timed // the last session of a call, by its group and name
	reached map[string]int   // node -> phase of the last session that succeeded, in the present call
	calls   map[string]string
	batches map[string]int  // group -> the last batch of which a session started; one more: behind all
	healthy map[string]int  // node -> health checks that succeeded
	soaked  map[string]int  // group -> soaks that ended
	changed map[string]bool // nodes that a session of a batch may have changed
	back    map[string]bool // nodes that were restored
	// group -> the batch during which its brake came down, negative when that batch was over and waited for approval
	braked  map[string]int
	last    Command         // of the session that the last event ended
	refused map[string]bool // nodes that failed without a session
	failed  map[string]bool // nodes that get nothing more in the pass
	spent   map[string]bool // nodes that failed, in any pass
	stopped bool
	gaveUp  bool
	asked   map[string]int // group -> the last batch that waited for approval
	given   map[string]int // group -> the last batch that was approved
	held    bool
	holds   int       // how often it was held
	wake    time.Time // zero: no timer is set
	again   time.Time // when the session that was lost last is tried again
	report  *Report   // of the pass that is over
	over    bool      // and so is the run
	pass    int
	ended   string // the session that the last event is about, and what else a reader needs to know of it
	kinds   map[string]int
}

// timed is until when a session that started at a time may run.
type timed struct{ at, until time.Time }

// checkLimit checks that the time limit of a call without batches is put off by the time for which the maintenance
// window of its group was closed since its last session started, and by the time for which the run was held, only.
func (w *world) checkLimit(c Command) {
	call := c.Group + " " + c.Call
	last, known := w.limits[call]
	if w.limits[call] = (timed{w.clock, c.Until}); !known {
		return
	}
	closed, from := time.Duration(0), time.Time{}
	for _, open := range w.program.Windows[c.Group] {
		since, to := later(from, last.at), open.From
		if to.After(w.clock) {
			to = w.clock
		}
		closed, from = closed+max(to.Sub(since), 0), open.To
	}
	if off := c.Until.Sub(last.until); off < closed || off > closed && w.holds == 0 {
		w.wrong("the time limit of %s is put off by %s, and its maintenance window was closed for %s", call, off, closed)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// loss is what was so before a session started that was lost before it started anything.
type loss struct {
	locked, owed bool      // of its node
	again        time.Time // when it is tried again
}

// forget takes back what the start of a session that was lost did to its node.
func (w *world) forget(c Command) {
	l := w.losses[c.ID]
	l.again = c.Until
	w.losses[c.ID] = l
	if delete(w.locked, c.Node); l.locked {
		w.locked[c.Node] = true
	}
	if delete(w.owed, c.Node); l.owed {
		w.owed[c.Node] = true
	}
}

func (w *world) wrong(format string, args ...any) {
	panic(violation(fmt.Sprintf(format, args...)))
}

// take checks commands and executes them.
func (w *world) take(commands []Command) {
	w.brakes()
	for _, c := range commands {
		w.kinds[string(c.Kind)]++
		if w.over || w.report != nil && c.Kind != Finish {
			w.wrong("%+v after the end", c)
		}
		switch c.Kind {
		case NextPass:
			w.report = c.Report
		case Finish:
			w.report, w.over = c.Report, true
		case Fail:
			w.failed[c.Node], w.spent[c.Node], w.refused[c.Node] = true, true, true
			w.last = Command{} // what ended may have been the end of a batch, and this what comes after it
			w.brakes()
		case Pause:
			if c.Batch > 0 {
				w.given[c.Group] = c.Batch - 1 // another pass asks again
				if w.asked[c.Group] = c.Batch; !slices.Contains(w.groups[c.Group].Pauses, c.Batch) {
					w.wrong("%s asks for approval of batch %d", c.Group, c.Batch)
				}
			}
		case Wake:
			if !c.Until.After(w.clock) || w.program.EndAtPause && c.Until.After(w.again) {
				w.wrong("a timer for %s is set at %s", c.Until, w.clock)
			}
			w.wake = c.Until
		case Retry:
			if c.Until.After(w.again) {
				w.again = c.Until
			}
			w.running = slices.DeleteFunc(w.running, func(r Command) bool { return r.ID == c.ID })
			w.forget(c)
		case Settle:
			w.settled = c.ID
			i := slices.IndexFunc(w.running, func(r Command) bool { return r.ID == c.ID })
			if r := w.running[i]; c.ID.Attempt == 1 && !w.stopped && ends(r) && w.clock.Add(time.Minute).Before(r.Until) {
				w.wrong("%+v was lost before it started anything, and is not tried again", r)
			}
		case Start:
			w.kinds[string(c.ID.Purpose)+" "+string(c.Session.Kind)]++
			w.check(c)
			w.running = append(w.running, c)
		}
	}
	if w.report == nil && len(w.running) == 0 && (w.stopped || !w.held && !w.waits()) &&
		(w.wake.IsZero() || w.stopped && w.wake.After(w.again)) {
		w.wrong("nothing runs, and the run is not over")
	}
	places, callbacks := 0, 0
	for _, c := range w.running {
		if c.Session.Kind == Callback && c.ID.Purpose == Work {
			callbacks++
		} else if c.Session.Kind != Soak {
			places++
		}
	}
	if places > w.program.Parallelism || callbacks > 1 {
		w.wrong("%d sessions and %d callbacks at once", places, callbacks)
	}
}

// checkEnd checks what plans rely on: a critical group is deployed, or the run is an error.
func (w *world) checkEnd() {
	for _, g := range w.report.Groups {
		if g.Critical && g.Stage != strategy.Deployed && slices.Contains([]Status{StatusSucceeded, StatusDegraded}, w.report.Status) {
			w.wrong("the run %s although the critical group %s is %s", w.report.Status, g.Name, g.Stage)
		}
	}
}

// check checks a session that starts.
func (w *world) check(c Command) {
	n := c.Node
	before := c.ID
	before.Attempt--
	again := w.losses[before].again
	if _, started := w.losses[c.ID]; started || c.ID.Attempt > 4 || again.IsZero() != (before.Attempt == 0) ||
		w.clock.Before(again) && !w.gaveUp {
		w.wrong("%s starts as %v, to be tried again at %v", n, c.ID, again)
	}
	w.losses[c.ID] = loss{locked: w.locked[n], owed: w.owed[n]}
	if n != "" && slices.ContainsFunc(w.running, func(other Command) bool { return other.Node == n }) {
		w.wrong("%s has two sessions at once", n)
	}
	if w.stopped && c.ID.Purpose != UnlockAfter && c.Session.Kind != Separation {
		w.wrong("%+v after the run was stopped", c)
	}
	if c.ID.Purpose == UnlockAfter {
		delete(w.owed, n)
	}
	if c.ID.Purpose == UnlockAfter && !w.locked[n] {
		w.wrong("%s is unlocked, and is not locked", n)
	}
	if may := w.program.MayFail; may != nil && len(w.spent) > *may && c.Session.Kind != Separation {
		w.kinds["after the budget"]++
		if !ends(c) && (!c.Session.Locked || !w.locked[n]) &&
			(c.Session.Kind != Check || w.calls[n] != c.Group+"deploy") {
			w.wrong("%+v starts after the failure budget is spent", c)
		}
	}
	if w.held && !w.stopped && c.Session.Kind.startsNode() && c.ID.Purpose != UnlockAfter && (!c.Session.Locked || !w.locked[n]) {
		w.wrong("%+v starts while the run is held", c)
	}
	if open, limited := w.program.Windows[c.Group]; limited && c.Session.Kind.startsNode() && c.ID.Purpose != UnlockAfter &&
		(!c.Session.Locked || !w.locked[n]) && !slices.ContainsFunc(open, func(i site.Interval) bool {
		return !w.clock.Before(i.From) && w.clock.Before(i.To)
	}) {
		w.wrong("%+v starts at %s, outside of the maintenance window of %s: %v", c, w.clock, c.Group, open)
	}
	if w.back[n] && !ends(c) {
		w.wrong("%s was restored and gets %+v", n, c)
	}
	if g, grouped := w.groups[c.Group]; grouped {
		if c.ID.Purpose != UnlockAfter && (g.Batches == nil || c.Call == "prepare") {
			w.checkLimit(c)
		}
		if w.failed[n] && !ends(c) {
			w.wrong("%s failed and gets %+v", n, c)
		}
		if w.short(g) {
			w.kinds["after the brake"]++
			if !ends(c) && (!c.Session.Locked || !w.locked[n]) &&
				(c.Session.Kind != Check || w.calls[n] != g.Name+"deploy") {
				w.wrong("%s starts in %s, which can no longer meet its criteria", n, g.Name)
			}
		}
		if len(g.Batches) > 0 && c.Call == "deploy" {
			w.checkBatch(g, c)
		}
		if g.Rolling != nil && c.Window && c.ID.Purpose != UnlockAfter { // the session locks it, if it is not locked
			already := w.locked[n]
			if !already && slices.ContainsFunc(w.running, func(r Command) bool {
				return r.ID != c.ID && r.Window && w.stale[r.Node] && slices.Contains(g.Members, r.Node)
			}) {
				w.wrong("%s is locked before what an earlier run left locked is unlocked", n)
			}
			w.locked[n], w.owed[n] = true, true
			others := slices.DeleteFunc(slices.Clone(g.Members), func(m string) bool { return !w.locked[m] })
			if locked := len(others); !already && locked > g.Rolling.MaxParallel {
				w.wrong("%s is the node %d of %s that is locked", n, locked, g.Name)
			}
		}
		if g.Rolling != nil && c.Session.Locked && c.ID.Purpose == Work && !w.locked[n] {
			w.wrong("%s is worked on without a lock", n)
		}
	}
	orderly := n != "" && c.ID.Purpose == Work && c.Session.Kind != Check && !c.Session.Kind.cleansUp()
	if orderly && c.Group+c.Call == w.calls[n] && c.Phase < w.reached[n] {
		w.wrong("%s comes back to phase %d", n, c.Phase)
	}
	if orderly {
		w.calls[n], w.reached[n] = c.Group+c.Call, c.Phase
	}
}

// ends reports whether a session ends the work on a node, whatever came of it.
func ends(c Command) bool {
	return c.ID.Purpose == UnlockAfter || c.Session.Kind.cleansUp()
}

// broken reports whether nothing new may start in a group with batches, of which one is under way: that batch failed, the
// criteria can no longer be met, or the failure budget is spent.
func (w *world) broken(g Group, batch int) bool {
	nodes, may := g.Batches[batch-1], w.program.MayFail
	return len(strategy.EvaluateBatch(g.SuccessCriteria, batch, len(nodes), w.open(nodes))) > 0 || w.short(g) ||
		may != nil && len(w.spent) > *may
}

// open returns how many of some nodes have not failed, and were not put back.
func (w *world) open(nodes []string) int {
	return len(slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return w.failed[n] || w.back[n] }))
}

// short reports whether a group that stops then can no longer meet its criteria.
func (w *world) short(g Group) bool {
	return g.Stops() && len(strategy.Evaluate(g.SuccessCriteria, len(g.Members), w.open(g.Members))) > 0
}

// brakes notes which groups with batches were braked, and whether that was in the middle of a batch: one of its
// sessions runs, or has just ended.
func (w *world) brakes() {
	for name, batch := range w.batches {
		g := w.groups[name]
		if batch > len(g.Batches) || w.braked[name] != 0 || !w.broken(g, batch) {
			continue
		}
		of := func(c Command) bool {
			return c.Group == name && c.Call == "deploy" && !c.Session.Last && c.Session.Kind != Unlock &&
				(c.Session.Kind == Soak || c.Node != "" && g.batchOf(c.Node) == batch)
		}
		if of(w.last) || slices.ContainsFunc(w.running, of) {
			w.braked[name] = batch
		} else if w.asked[name] == batch && w.given[name] < batch {
			w.braked[name] = -batch
		}
	}
}

// checks reports whether the plan checks a node, because an earlier run left it unchecked, and whether the node has
// nothing else in the batches.
func (w *world) checks(n string) (planned, only bool) {
	only = true
	for _, s := range w.program.Deploy[n] {
		planned = planned || s.Kind == Check
		only = only && (s.Kind == Check || s.Kind == Unlock || s.Last)
	}
	return planned, only
}

// checkRollback checks a session that restores a node: once, when nothing of its batch runs that may change it, and
// only in a batch that did not come to its end.
func (w *world) checkRollback(g Group, c Command) {
	n := c.Node
	failed := w.broken(g, g.batchOf(n)) && w.braked[g.Name] >= 0
	switch {
	case g.Rolling.OnFailure != site.OnFailureRollback || w.back[n] && c.ID.Attempt == 1 || !w.changed[n]:
		w.wrong("%s is restored: asked for %q, changed %t, restored before %t", n, g.Rolling.OnFailure, w.changed[n], w.back[n])
	case !failed:
		w.wrong("%s of %s is restored, and its batch did not fail", n, g.Name)
	}
	for _, other := range w.running {
		if other.Group == g.Name && other.Call == "deploy" && other.ID.Purpose == Work && other.Session.Kind != Rollback {
			w.wrong("%s of %s is restored while %+v runs", n, g.Name, other)
		}
	}
	w.back[n] = true
}

// waits reports whether a group waits for approval.
func (w *world) waits() bool {
	for group, batch := range w.asked {
		if w.given[group] < batch {
			return true
		}
	}
	return false
}

// decide returns a decision of a person: approval, or that the run is held, or goes on.
func (w *world) decide() Event {
	for _, group := range slices.Sorted(maps.Keys(w.asked)) {
		if w.given[group] < w.asked[group] && (!w.held || w.r.IntN(2) == 0) {
			w.given[group] = w.asked[group]
			w.ended = fmt.Sprint("batch ", w.asked[group], " of ", group)
			return Event{Kind: Approve, Group: group, Batch: w.asked[group]}
		}
	}
	if w.held = !w.held; w.held {
		w.holds++
		return Event{Kind: Hold}
	}
	return Event{Kind: Resume}
}

// checkBatch checks a session of a group with batches: batches come one after the other, each when the nodes of the one
// before were checked and have soaked, and none behind one that failed.
func (w *world) checkBatch(g Group, c Command) {
	n, r := c.Node, g.Rolling
	at := max(w.batches[g.Name], 1)
	switch {
	case c.ID.Purpose == UnlockAfter, c.Session.Kind == Unlock:
		return
	case c.Session.Kind == Soak:
		w.kinds["soak"]++
	case c.Session.Last, n == "" && len(g.Batches) > 1:
		at = len(g.Batches) + 1
	default:
		at = g.batchOf(n)
	}
	if at < w.batches[g.Name] {
		w.wrong("%s of batch %d of %s starts after batch %d", n, at, g.Name, w.batches[g.Name])
	}
	failed := func(batch int) bool {
		ok := len(slices.DeleteFunc(slices.Clone(g.Batches[batch-1]), func(n string) bool { return w.failed[n] }))
		return len(strategy.EvaluateBatch(g.SuccessCriteria, batch, len(g.Batches[batch-1]), ok)) > 0
	}
	if c.Session.Kind == Rollback {
		w.checkRollback(g, c)
		return
	}
	if c.Session.Kind == Check {
		w.kinds["check"]++
		if w.locked[n] {
			w.wrong("%s is locked when it is checked", n)
		}
	} else if at <= len(g.Batches) && failed(at) && (!c.Session.Locked || !w.locked[n]) {
		w.wrong("%+v starts in batch %d of %s, which failed", c, at, g.Name)
	}
	for batch := max(w.batches[g.Name], 1); batch < at; batch++ {
		if slices.Contains(g.Pauses, batch) && w.given[g.Name] < batch {
			w.wrong("%+v starts, and batch %d of %s is not approved", c, batch, g.Name)
		}
		if failed(batch) {
			w.wrong("batch %d of %s starts after batch %d failed", at, g.Name, batch)
		}
		w.kinds["batch"]++
		checks := order(r.HealthCheck != nil) * (1 + order(r.Soak > 0))
		for _, n := range g.Batches[batch-1] {
			planned, _ := w.checks(n)
			worked := w.calls[n] == g.Name+"deploy"
			if worked && !w.failed[n] && w.healthy[n] != max(checks, order(planned)) {
				w.wrong("batch %d of %s starts when %s was checked %d times", at, g.Name, n, w.healthy[n])
			}
		}
		if r.Soak > 0 && w.soaked[g.Name] < batch && slices.ContainsFunc(g.Batches[batch-1], func(n string) bool {
			return w.calls[n] == g.Name+"deploy"
		}) {
			w.wrong("batch %d of %s starts without the soak of batch %d", at, g.Name, batch)
		}
	}
	if w.batches[g.Name] = at; c.Session.Kind == Soak {
		w.soaked[g.Name] = at
	}
	if slices.ContainsFunc(w.running, func(other Command) bool {
		return other.Group == g.Name && other.Session.Kind == Soak
	}) {
		w.wrong("%+v starts while %s soaks", c, g.Name)
	}
}

// event ends a random session, or stops the run.
func (w *world) event() Event {
	w.ended, w.last = "", Command{}
	if w.report != nil {
		return w.planned()
	}
	i := slices.IndexFunc(w.running, func(c Command) bool { return c.ID == w.settled })
	settled := i >= 0
	switch {
	case settled:
	case !w.stopped && w.r.IntN(400) == 0:
		w.stopped, w.gaveUp = true, w.r.IntN(2) == 0
		return Event{Kind: map[bool]EventKind{false: Stop, true: GiveUp}[w.gaveUp]}
	case !w.stopped && w.r.IntN(300) == 0,
		len(w.running) == 0 && (w.held || w.waits()) && (w.wake.IsZero() || w.r.IntN(2) == 0):
		return w.decide()
	case !w.wake.IsZero() && (len(w.running) == 0 || w.r.IntN(20) == 0):
		if w.clock.Before(w.wake) {
			w.clock = w.wake
		}
		w.wake, w.ended = time.Time{}, w.clock.Format(time.TimeOnly)
		return Event{Kind: Woken}
	default:
		i = w.r.IntN(len(w.running))
	}
	c := w.running[i]
	w.ended = strings.TrimSpace(fmt.Sprint(c.ID.Purpose, " ", c.Session.Kind, " ", c.Node, " of phase ", c.Phase))
	if !settled && c.Node != "" && c.Session.Kind != Callback && w.r.IntN(200) < w.faults {
		return Event{Kind: Lost, ID: c.ID}
	}
	w.running, w.last = slices.Delete(w.running, i, i+1), c
	if c.Call == "deploy" && !c.Session.Last && c.ID.Purpose == Work && c.Node != "" &&
		slices.Contains([]Kind{Config, Remote, Callback}, c.Session.Kind) {
		w.changed[c.Node] = true
	}
	w.clock = w.clock.Add(time.Duration(w.r.IntN(60)) * time.Second)
	e := Event{Kind: Ended, ID: c.ID, Result: Result{Outcome: Succeeded, Sent: true, Removal: TornDown}}
	if c.Session.Kind == Soak {
		e.Result.Sent = false
		if w.stopped {
			e.Result.Outcome = NotStarted
		} else if w.clock.Before(c.Until) {
			w.clock = c.Until
		}
		return e
	}
	if c.Session.Kind == Separation {
		e.Result.Decided = map[string]Removal{"old1": Unreachable}
		return e
	}
	if settled || w.r.IntN(100) < w.faults {
		e.Result = Result{Outcome: Failed, Sent: true, Removal: NotTornDown, Err: errors.New("broken")}
		if !settled && w.stopped && w.r.IntN(2) == 0 {
			e.Result.Outcome = GivenUp
		}
		sent := c.Session.Kind != Callback || c.ID.Purpose != Work
		if c.Node != "" && c.Session.Kind != TearDown && (sent || e.Result.Outcome == Failed) {
			w.failed[c.Node], w.spent[c.Node] = true, true
		}
	}
	if c.Session.Kind == Check && c.ID.Purpose == Work && e.Result.Outcome == Succeeded {
		w.healthy[c.Node]++
	}
	if c.Session.Kind == Callback && c.ID.Purpose == Work {
		e.Result.Sent = false
		return e
	}
	switch {
	case settled:
		c.Until = time.Time{}
		if w.forget(c); c.ID.Purpose == UnlockAfter {
			delete(w.owed, c.Node)
		}
	case c.Session.Kind == Prepare && e.Result.Outcome == Succeeded && w.groups[c.Group].Rolling != nil &&
		slices.ContainsFunc(w.program.Deploy[c.Node], func(s Session) bool { return s.Locked }) && w.r.IntN(20) == 0:
		e.Result.Lock = IsLocked // by an earlier run, of which the plan did not know
		w.kinds["found locked"]++
		w.stale[c.Node] = true
	case !c.Window && c.Session.Kind != Unlock:
	case e.Result.Outcome == Succeeded && !c.Keep:
		e.Result.Lock = IsUnlocked
	case c.Keep || c.ID.Purpose == UnlockAfter && w.r.IntN(2) == 0:
		e.Result.Lock = IsLocked
	default: // the session failed at the last step
		e.Result.Lock = []Lock{IsUnlocked, IsLocked, IsStuck}[w.r.IntN(3)]
	}
	if c.Window || c.Session.Kind == Unlock {
		delete(w.stale, c.Node)
	}
	switch e.Result.Lock {
	case IsUnlocked:
		delete(w.locked, c.Node)
	case IsLocked, IsStuck: // also a node that was unlocked, and whose unlock command failed when it ran again
		w.locked[c.Node] = true
	}
	if e.Result.Lock == IsUnlocked || e.Result.Lock == IsStuck {
		delete(w.owed, c.Node)
	}
	if e.Result.Lock == IsStuck || c.ID.Purpose == UnlockAfter && e.Result.Lock != IsUnlocked {
		w.kinds["left locked"]++
	}
	return e
}

// scenario is what a random run is about.
type scenario struct {
	site     site.Site
	plan     *planner.Plan
	settings Settings
	faults   int    // of 100 sessions
	draws    uint64 // what the order of events and the results are drawn from
	defect   defect // of the machine; nil: it has none
}

// defect returns the program that the machine executes instead of one. The rules are checked by the one it gets.
type defect func(Program) Program

func (d defect) of(p Program) Program {
	if d == nil {
		return p
	}
	return d(p)
}

// randomScenario returns the scenario of a seed.
func randomScenario(seed uint64) scenario {
	r := rand.New(rand.NewPCG(seed, 11))
	s, p := randomSite(r)
	sc := scenario{site: s, plan: p, faults: r.IntN(3) * r.IntN(15), draws: seed, settings: Settings{
		Parallelism: 1 + r.IntN(8), ParallelGroups: 1 + r.IntN(3), Departed: map[string]bool{"old1": true, "old3": true}}}
	sc.settings.EndAtPause, sc.settings.Asks = r.IntN(2) == 0, r.IntN(4) == 0
	for _, g := range s.Groups {
		if r.IntN(4) == 0 {
			sc.settings.Windows = randomWindow(r, sc.settings.Windows, g.Name)
		}
	}
	return sc
}

// randomWindow adds the maintenance window of a group.
func randomWindow(r *rand.Rand, windows map[string][]site.Interval, group string) map[string][]site.Interval {
	if windows == nil {
		windows = map[string][]site.Interval{}
	}
	var from time.Time
	for range r.IntN(30) {
		from = from.Add(time.Duration(r.IntN(60)) * time.Minute)
		to := from.Add(time.Duration(1+r.IntN(60)) * time.Minute)
		windows[group] = append(windows[group], site.Interval{From: from, To: to})
		from = to.Add(time.Minute)
	}
	if windows[group] == nil {
		windows[group] = []site.Interval{}
	}
	return windows
}

// violation is a rule that a run broke.
type violation string

// mostEvents is how many events a run may take. Of 20,000 runs, the longest takes fewer than 300: one that takes more
// than this does not end.
const mostEvents = 2000

// play runs a scenario, counts kinds of events and commands, and checks the rules after every event. It returns the
// events, and the rule that was broken, if one was.
func (sc scenario) play(kinds map[string]int) (trace []string, broken violation) {
	defer func() {
		if v := recover(); v != nil {
			broken = violation(fmt.Sprint(v))
		}
	}()
	program, err := Compile(sc.site, sc.plan, sc.settings)
	if err != nil {
		return nil, violation(err.Error())
	}
	w := &world{r: rand.New(rand.NewPCG(sc.draws, 12)), scenario: sc, spent: map[string]bool{}, kinds: kinds,
		losses: map[ID]loss{}}
	w.begin(program)
	m, again, crash := New(sc.defect.of(program)), New(sc.defect.of(program)), w.r.IntN(100)
	for e := (Event{Kind: Begin}); ; e = w.event() {
		if len(trace) == mostEvents {
			return trace, violation(fmt.Sprintf("the run is not over after %d events", mostEvents))
		}
		trace = append(trace, strings.TrimSpace(fmt.Sprint(e.Kind, " ", w.ended, " ", e.Result.Outcome, " ", e.Result.Lock)))
		kinds["event "+string(e.Kind)]++
		commands := m.Handle(e, w.clock)
		if twin := again.Handle(e, w.clock); !reflect.DeepEqual(commands, twin) {
			w.wrong("equal events gave %+v and %+v", commands, twin)
		}
		if more := m.Handle(e, w.clock); e.Kind == Ended && len(more) > 0 {
			w.wrong("an event that came twice gave %+v", more)
		}
		before := w.report
		w.take(commands)
		if crash--; crash < 0 {
			again, crash = w.restore(again), w.r.IntN(400)/(1+399*order(sc.draws%100 == 0))
		}
		if w.report != nil && before == nil {
			w.end()
		} else if before != nil && !reflect.DeepEqual(w.report, before) {
			w.wrong("the run ends with %+v, its last pass with %+v", w.report, before)
		}
		if w.over {
			return trace, ""
		}
	}
}

// restore returns the machine that is restored from a snapshot of one.
func (w *world) restore(m *Machine) *Machine {
	w.kinds["restored"]++
	data, err := m.Snapshot()
	if err != nil {
		w.wrong("snapshot: %v", err)
	}
	restored, err := Restore(w.defect.of(w.program), data)
	if err != nil {
		w.wrong("%v", err)
	}
	if wake := restored.Timer(); w.wake.IsZero() && wake.After(w.clock) || !w.wake.IsZero() && !wake.Equal(w.wake) {
		w.wrong("the timer of the restored machine is %v, not %v", wake, w.wake)
	}
	if again, err := restored.Snapshot(); err != nil || string(again) != string(data) {
		w.wrong("the restored machine (error %v) has\n%s\nthe other one\n%s", err, again, data)
	}
	return restored
}

// begin starts a pass.
func (w *world) begin(p Program) {
	if w.pass++; w.pass > 1 {
		p.MayFail = w.program.MayFail
	}
	w.program, w.groups, w.report = p, map[string]Group{}, nil
	w.locked, w.owed, w.reached, w.calls = map[string]bool{}, map[string]bool{}, map[string]int{}, map[string]string{}
	w.limits = map[string]timed{}
	w.stale = map[string]bool{}
	w.changed, w.back, w.refused = map[string]bool{}, map[string]bool{}, map[string]bool{}
	w.failed, w.batches, w.healthy, w.soaked = map[string]bool{}, map[string]int{}, map[string]int{}, map[string]int{}
	w.asked, w.given, w.braked = map[string]int{}, map[string]int{}, map[string]int{}
	for _, g := range p.Groups {
		w.groups[g.Name] = g
	}
	for name, sessions := range p.Deploy {
		if slices.ContainsFunc(sessions, func(s Session) bool { return s.Kind == Unlock }) {
			w.locked[name] = true
		}
	}
}

// planned plans another pass, of some of the phases, or none.
func (w *world) planned() Event {
	e := Event{Kind: Planned, ID: ID{Pass: w.pass + 1}}
	if w.pass == 3 || w.r.IntN(2) == 0 {
		return e
	}
	phases := slices.DeleteFunc(slices.Clone(w.plan.Phases), func(planner.Phase) bool { return w.r.IntN(3) == 0 })
	program, err := Compile(w.site, planFor(w.site, phases), w.settings)
	if err != nil {
		w.wrong("another pass: %v", err)
	}
	w.begin(program)
	program = w.defect.of(program)
	e.Program = &program
	return e
}

// end checks how the run ended.
func (w *world) end() {
	switch {
	case w.report.BudgetSpent != (w.program.MayFail != nil && len(w.spent) > *w.program.MayFail):
		w.wrong("%d nodes failed, and the budget is spent: %v", len(w.spent), w.report.BudgetSpent)
	case w.report.BudgetSpent && w.report.Status != StatusFailed && w.report.Status != StatusInterrupted:
		w.wrong("the budget is spent, and the run %s", w.report.Status)
	case len(w.owed) > 0:
		w.wrong("%v were locked and never unlocked", slices.Sorted(maps.Keys(w.owed)))
	case len(w.running) > 0 || w.report.Err != nil:
		w.wrong("%d sessions still run at the end; error %v", len(w.running), w.report.Err)
	case !reflect.DeepEqual(w.report.Locked, w.locked) && len(w.locked)+len(w.report.Locked) > 0:
		w.wrong("locked are %v, reported %v", w.locked, w.report.Locked)
	}
	if w.report.Status == StatusPaused && w.program.Windows == nil {
		w.wrong("the run is paused without any maintenance window")
	}
	for _, g := range w.program.Groups {
		r, _ := w.report.Group(g.Name)
		if !r.Stage.Complete() && w.report.Status == StatusSucceeded {
			w.wrong("the run succeeded, and %s is %s", g.Name, r.Stage)
		}
	}
	w.checkEnd()
	for _, g := range w.program.Groups {
		if w.report.Status == StatusInterrupted || w.braked[g.Name] <= 0 || g.Rolling.OnFailure != site.OnFailureRollback {
			continue
		}
		for n := range w.changed {
			if g.batchOf(n) == w.braked[g.Name] && !w.back[n] && !w.refused[n] && w.calls[n] == g.Name+"deploy" {
				w.wrong("%s of batch %d of %s, which did not come to its end, was not restored", n, g.batchOf(n), g.Name)
			}
		}
	}
	for _, n := range w.report.In(strategy.Deployed) {
		if planned, only := w.checks(n); planned && only {
			if w.kinds["only checked"]++; w.healthy[n] == 0 {
				w.wrong("%s was only to be checked, was not, and is deployed", n)
			}
		}
	}
	w.kinds["status "+string(w.report.Status)]++
	for _, g := range w.report.Groups {
		w.kinds["not started"] += len(g.NotStarted)
		if g.BudgetSpent {
			w.kinds["stopped by the budget"]++
		}
	}
}

var (
	firstSeed = flag.Uint64("runs.seed", 1, "the first seed of TestRandomRuns")
	runs      = flag.Uint64("runs.n", 5000, "how many runs TestRandomRuns plays")
	printed   = flag.String("runs.scenario", "", "a file with a scenario that TestRandomRuns printed: it plays only this one")
)

// TestRandomRuns checks after every event of many runs that the rules hold: who is locked, that each node has one
// session at a time, that nothing comes twice or too late, and that the run ends. Equal events give equal commands. Of
// the runs that break a rule, it shows the one with the lowest seed, as small as it can be.
func TestRandomRuns(t *testing.T) {
	if *printed != "" {
		playPrinted(t, *printed)
		return
	}
	// What a run allocates is garbage within a millisecond: to collect it rarely saves a third of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(1600))
	var next atomic.Uint64
	broken := make([]uint64, runtime.GOMAXPROCS(0)) // the first failing seed of each worker, from 1
	counts := make([]map[string]int, len(broken))
	sizes := make([][2][64]int, len(broken)) // number of nodes and of groups -> runs
	var workers sync.WaitGroup
	for i := range broken {
		counts[i] = map[string]int{}
		workers.Go(func() {
			for n := next.Add(1); n <= *runs && broken[i] == 0; n = next.Add(1) {
				sc := randomScenario(*firstSeed + n - 1)
				sizes[i][0][len(sc.site.Nodes)]++
				sizes[i][1][len(sc.site.Groups)]++
				if _, problem := sc.play(counts[i]); problem != "" {
					broken[i] = n
					next.Store(*runs) // the others need not go on
				}
			}
		})
	}
	workers.Wait()
	kinds := map[string]int{}
	for i := range counts {
		for kind, n := range counts[i] {
			kinds[kind] += n
		}
	}
	slices.Sort(broken)
	for _, n := range broken {
		if n > 0 {
			t.Fatalf("seed %d, as small as it can be:\n%s", *firstSeed+n-1, randomScenario(*firstSeed+n-1).shrink())
		}
	}
	var counted strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&counted, "\n%9d %s", kinds[kind], kind)
	}
	t.Logf("seeds %d to %d, median of %d nodes and %d groups%s", *firstSeed, *firstSeed+*runs-1, median(sizes, 0),
		median(sizes, 1), &counted)
	if *runs < 1000 { // too few to see everything
		return
	}
	if median(sizes, 0) < 12 || median(sizes, 1) < 3 {
		t.Error("the median run must have at least 12 nodes and 3 groups")
	}
	for _, kind := range []string{"event begin", "event ended", "event lost", "event planned", "restored", "retry", "settle",
		"event stop", "event give up", "start", "fail", "warn",
		"removed", "depart", "lock callback", "unlock callback", "unlock config", "work unlock", "work tear down",
		"left locked", "after the brake", "after the budget", "stopped by the budget", "not started", "batch",
		"check", "only checked", "soak", "work rollback", "unlock rollback", "phase_finished", "node_finished", "group_finished",
		"status succeeded", "status degraded", "status failed", "status interrupted", "status paused", "event woken",
		"event approve", "event hold", "event resume", "pause", "wake"} {
		if kinds[kind] == 0 {
			t.Errorf("%q never happened", kind)
		}
	}
}

func median(sizes [][2][64]int, what int) int {
	for size, sum := 0, 0; ; size++ {
		for _, worker := range sizes {
			sum += 2 * worker[what][size]
		}
		if sum >= int(*runs) {
			return size
		}
	}
}
