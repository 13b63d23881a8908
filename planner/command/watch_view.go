package command

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/server"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// watched is a run as far as its events were added: events in, text out. It knows no terminal and no clock.
type watched struct {
	run    journal.Run
	atOnce int             // how many groups are worked on at once
	phases phases          // what they are called
	groups []*watchedGroup // in the order of the run
	nodes  journal.Nodes
	ends   journal.Progress
	open   map[string][]journal.Recorded // node -> its tasks that were started and did not end
	prints map[string]journal.Recorded   // node -> what it printed last, while its task runs
	since  map[string]time.Time          // node -> when its newest task was started or ended
	paused bool                          // by a person
	held   server.Holding
	latest []journal.Recorded       // notes and decisions, the newest last
	pace   map[string]time.Duration // group -> what a node of it took in earlier runs
	before []string                 // the failures of earlier passes
}

// watchedGroup is a deployment group of a watched run. One without a name has what belongs to no group.
type watchedGroup struct {
	journal.OutlineGroup
	status   string // at its end
	reason   string
	doing    string           // its newest phase, while it is at work
	recorded string           // its name as the journal has it, where it waits for approval
	approval int              // the batch after which it waits for a person; 0: it does not
	passing  journal.Recorded // what it lets time pass for
	soaked   int              // how many of its batches have begun to soak
}

// textLimit bounds a text of an event that is shown, in bytes, and latestShown the notes.
const (
	textLimit   = 2 << 10
	latestShown = 5
)

// harmless returns a text of others as one short line that does nothing to the terminal that shows it.
func harmless(text string) string {
	if len(text) > textLimit {
		text = text[:textLimit] + "…"
	}
	return strings.Join(strings.FieldsFunc(resource.Visible(text), func(r rune) bool {
		return r == '\n' || r == '\t'
	}), " ")
}

func newWatched(run journal.Run, pace map[string]time.Duration) *watched {
	return &watched{run: run, pace: pace, nodes: journal.Nodes{}, open: map[string][]journal.Recorded{},
		prints: map[string]journal.Recorded{}, phases: phases{},
		since: map[string]time.Time{}}
}

// phases are what the plan calls the phases of a run, by their numbers.
type phases map[int]string

// add adds a phase that was planned.
func (p phases) add(e journal.Recorded) {
	switch {
	case e.Phase == 0: // a group
	case e.Action == string(task.Prepare), e.Action == string(task.Cleanup):
		p[e.Phase] = e.Action
	default:
		p[e.Phase] = e.Action + " phase"
	}
}

// name returns of which batch the phase of an event is, and what the plan calls it; empty where neither is known.
func (p phases) name(e journal.Recorded) string {
	named := slices.DeleteFunc([]string{e.Message, p[e.Phase]}, func(s string) bool { return s == "" })
	return strings.Join(named, ": ")
}

// group returns a group, which is added where it is not known: an older slipway recorded no outline.
func (w *watched) group(name string) *watchedGroup {
	for _, g := range w.groups {
		if g.Name == name {
			return g
		}
	}
	g := &watchedGroup{OutlineGroup: journal.OutlineGroup{Name: name}}
	w.groups = append(w.groups, g)
	return g
}

// add adds the next event.
func (w *watched) add(e journal.Recorded) {
	outline, name := journal.OutlineOf(e.Event), e.Group
	w.ends.Add(e.Event)
	w.held.Add(e)
	for _, text := range []*string{&e.Group, &e.Node, &e.Resource, &e.Action, &e.Status, &e.Message} {
		*text = harmless(*text)
	}
	if lines := printedLines(e.Output); e.Kind == journal.Output && len(lines) > 0 {
		e.Message = lines[len(lines)-1]
		w.prints[e.Node] = e
	}
	e.Output = "" // up to 4 KiB each, and not shown
	node := w.nodes.Add(e)
	if e.Group != "" && e.Kind != journal.Planned {
		g := w.group(e.Group)
		g.passing = server.Passing(g.passing, e)
	}
	if node != nil {
		node.Tasks, node.Group = nil, cmp.Or(e.Group, node.Group) // its first tasks may be before those of its group
		w.since[e.Node] = e.Time
		delete(w.prints, e.Node)
		w.group(node.Group)
	}
	switch e.Kind {
	case journal.RunStarted:
		w.start(outline)
	case journal.PhaseStarted:
		if e.Group != "" {
			g := w.group(e.Group)
			g.doing, g.approval = cmp.Or(w.phases.name(e), fmt.Sprintf("phase %d", e.Phase)), 0
		}
	case journal.TaskStarted:
		w.open[e.Node] = append(w.open[e.Node], e)
	case journal.TaskFinished:
		w.open[e.Node] = slices.DeleteFunc(w.open[e.Node], func(t journal.Recorded) bool {
			return t.Resource == e.Resource && t.Action == e.Action
		})
	case journal.NodeFinished:
		delete(w.open, e.Node)
	case journal.GroupFinished:
		g := w.group(e.Group)
		g.status, g.reason, g.approval = e.Status, e.Message, 0
	case journal.Paused:
		g := w.group(e.Group)
		g.approval, g.recorded = e.Phase, name
		w.latest = append(w.latest, e)
	case journal.Decided:
		switch e.Action {
		case journal.Approve:
			w.group(e.Group).approval = 0
		case journal.Hold:
			w.paused = true
		case journal.Resume:
			w.paused = false
		}
		w.latest = append(w.latest, e)
	case journal.Planned:
		w.phases.add(e)
	case journal.Note:
		w.latest = append(w.latest, e)
		if e.Action == journal.Soak && e.Group != "" {
			w.group(e.Group).soaked++
		}
	case journal.PhaseFinished: // also the last commands of its sessions have ended
		maps.DeleteFunc(w.prints, func(_ string, p journal.Recorded) bool { return p.Group == e.Group })
	case journal.Output, journal.RunFinished:
	}
	w.latest = w.latest[max(0, len(w.latest)-latestShown):]
}

// start starts a pass of the run: what it works on starts again.
func (w *watched) start(o journal.Outline) {
	if len(o.Groups) == 0 {
		return
	}
	if failures := w.failures(200, false); len(failures) > 0 {
		w.before = append(append(w.before, inBold.Render("IN AN EARLIER PASS OF THIS RUN")), failures...)
	}
	w.groups, w.nodes, w.atOnce = nil, journal.Nodes{}, o.Parallel
	clear(w.open)
	clear(w.prints)
	clear(w.phases)
	for _, g := range o.Groups {
		g.Name = harmless(g.Name)
		for _, names := range [][]string{g.DependsOn, g.After} {
			for i := range names {
				names[i] = harmless(names[i])
			}
		}
		w.groups = append(w.groups, &watchedGroup{OutlineGroup: g})
	}
}

// waiting returns the first group that waits for approval; nil: no group does.
func (w *watched) waiting() *watchedGroup {
	for _, g := range w.groups {
		if g.approval > 0 {
			return g
		}
	}
	return nil
}

// tally counts the nodes of a group by state.
type tally struct {
	deployed, departed, failed, stopped, working, between, total, unchanged int
	ended                                                                   bool // the run is over
}

func (t tally) done() int { return t.deployed + t.departed + t.failed + t.stopped }

func (t tally) String() string {
	var parts []string
	rest := "waiting"
	if t.ended {
		rest = "not started"
	}
	for _, p := range []struct {
		n    int
		text string
	}{{t.deployed, "deployed"}, {t.departed, "left the site"}, {t.failed, "failed"}, {t.stopped, "stopped before their end"}, {t.working, "at work"},
		{t.between, "between steps"}, {t.total - t.done() - t.working - t.between, rest}, {t.unchanged, "unchanged"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.text))
		}
	}
	return strings.Join(parts, ", ")
}

// failedNode reports whether a node failed, or could not be torn down.
func failedNode(n *journal.NodeHistory) bool {
	return slices.Contains([]string{string(strategy.Failed), string(rollout.NotTornDown), string(rollout.Unreachable)},
		n.Stage)
}

// stoppedNode reports whether a node was stopped before its end.
func stoppedNode(n *journal.NodeHistory) bool {
	return n.Stage == string(strategy.NotStarted) || n.Stage == string(strategy.Prepared)
}

// tallies returns the counts of each group, and of all.
func (w *watched) tallies() (groups map[string]tally, all tally) {
	groups, all.ended = map[string]tally{}, w.run.Status != journal.Running
	for _, n := range w.nodes {
		t := groups[n.Group]
		switch {
		case n.Node == "":
			continue
		case failedNode(n):
			t.failed++
		case stoppedNode(n):
			t.stopped++
		case n.Stage == string(strategy.Deployed), n.Stage == "" && w.ends.Done(n.Group, n.Node):
			t.deployed++
		case n.Stage != "":
			t.departed++
		case len(w.open[n.Node]) > 0:
			t.working++
		default:
			t.between++
		}
		groups[n.Group] = t
	}
	for _, g := range w.groups {
		t := groups[g.Name]
		t.total, t.unchanged, t.ended = max(g.Nodes, t.done()+t.working+t.between), g.Unchanged, all.ended
		groups[g.Name] = t
		all.deployed, all.failed, all.stopped = all.deployed+t.deployed, all.failed+t.failed, all.stopped+t.stopped
		all.working, all.departed, all.total = all.working+t.working, all.departed+t.departed, all.total+t.total
		all.between, all.unchanged = all.between+t.between, all.unchanged+t.unchanged
	}
	return groups, all
}

// left estimates how much longer the run takes, from what nodes of its groups took in earlier runs, and from the soaks
// of its batches; 0: not known. Where several groups are worked on at once, that is the longest chain of groups that
// wait for each other, or their share of all, whichever is longer.
func (w *watched) left(now time.Time, groups map[string]tally) (left time.Duration) {
	ends, all := map[string]time.Duration{}, time.Duration(0)
	for _, g := range w.groups { // what a group depends on comes before it
		for _, before := range slices.Concat(g.DependsOn, g.After) {
			ends[g.Name] = max(ends[g.Name], ends[before])
		}
		t := groups[g.Name]
		if g.status == "" && t.total > t.done() {
			if w.pace[g.Name] == 0 {
				return 0
			}
			own := w.pace[g.Name]*time.Duration(t.total-t.done()) + g.soaks(now)
			ends[g.Name] += own
			all += own
		}
		left = max(left, ends[g.Name])
	}
	return max(left, all/time.Duration(max(1, w.atOnce)))
}

// soaks returns for how long the batches of a group are still to soak.
func (g *watchedGroup) soaks(now time.Time) time.Duration {
	soak := time.Duration(g.SoakMillis) * time.Millisecond
	left := soak * time.Duration(max(0, len(g.Batches)-g.soaked))
	if g.passing.Action == journal.Soak {
		left += max(0, soak-now.Sub(g.passing.Time))
	}
	return left
}

var (
	inBold   = lipgloss.NewStyle().Bold(true)
	inFaint  = lipgloss.NewStyle().Faint(true)
	inRed    = lipgloss.NewStyle().Foreground(lipgloss.Red)
	inGreen  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	inYellow = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
)

// bar draws how many nodes are done: deployed, then failed, then the rest.
func (t tally) bar(width int) string {
	if t.total == 0 {
		return strings.Repeat(" ", width)
	}
	deployed := (t.deployed + t.departed) * width / t.total
	failed := (t.failed*width + t.total - 1) / t.total // one that failed is seen
	deployed = min(deployed, width-min(failed, width))
	failed = min(failed, width)
	return inGreen.Render(strings.Repeat("█", deployed)) + inRed.Render(strings.Repeat("▒", failed)) +
		inFaint.Render(strings.Repeat("░", width-deployed-failed))
}

// head returns the lines that are always shown.
func (w *watched) head(now time.Time, groups map[string]tally, all tally, width int) []string {
	end := now
	if !w.run.Ended.IsZero() {
		end = w.run.Ended
	}
	title := fmt.Sprintf("run %s: %s of site %s", harmless(w.run.ID), harmless(w.run.Operation), harmless(w.run.Site))
	state := fmt.Sprintf("%s for %s", w.run.Status, short(end.Sub(w.run.Started)))
	if held := w.held.Of(w.run, now).State; held != w.run.Status {
		state = fmt.Sprintf("%s, started %s ago", held, short(end.Sub(w.run.Started)))
	}
	if w.run.Status != journal.Running {
		state = fmt.Sprintf("%s after %s", w.run.Status, short(end.Sub(w.run.Started)))
	} else if left := w.left(now, groups); left > 0 {
		state += ", about " + short(left) + " left"
	}
	lines := []string{inBold.Render(title), state, all.bar(min(40, max(10, width/4))) +
		fmt.Sprintf(" %d/%d nodes: %s", all.done(), all.total, all)}
	if w.paused && w.run.Status == journal.Running {
		lines = append(lines, inYellow.Render("paused: nothing more is started; r resumes it"))
	}
	if g := w.waiting(); g != nil {
		lines = append(lines, inYellow.Render(fmt.Sprintf("group %s waits for approval after batch %d; a approves it", g.Name,
			g.approval)))
	}
	return lines
}

// short returns a time in seconds.
func short(d time.Duration) string { return max(0, d).Round(time.Second).String() }

// body returns what is scrolled: failures first, then what runs, the groups and notes; with onlyFailures no more than
// the failures, with the names of all their nodes.
func (w *watched) body(now time.Time, groups map[string]tally, width int, onlyFailures bool) []string {
	lines := append(slices.Clip(w.before), w.failures(width, onlyFailures)...)
	if onlyFailures {
		if len(lines) == 0 {
			lines = []string{"no node failed so far"}
		}
		return lines
	}
	lines = append(lines, w.tree(now, groups, width)...)
	lines = append(lines, w.now(now)...)
	if len(w.latest) > 0 {
		lines = append(lines, "", inBold.Render("LATEST"))
	}
	for _, e := range w.latest {
		lines = append(lines, "  "+eventLine(e))
	}
	return lines
}

// failures returns what failed with its reason, and apart from that what only waited for it.
func (w *watched) failures(width int, allNames bool) (lines []string) {
	reasons := map[string]string{}
	var failed, stopped []string
	for _, n := range w.nodes.Sorted() {
		switch {
		case failedNode(n):
			failed = append(failed, n.Title())
			reasons[n.Title()] = cmp.Or(n.Message, "no reason is recorded")
		case stoppedNode(n):
			stopped = append(stopped, n.Title())
		}
	}
	for _, a := range rollout.SaidAlike(failed, func(node string) string { return reasons[node] }) {
		who := rollout.Alike{Nodes: a.Nodes}.Who()
		if allNames {
			who = resource.Count(len(a.Nodes), "node") + ": " + strings.Join(a.Nodes, " ")
		}
		lines = append(lines, wrapped("  ✗ "+who+": "+a.Reason, width, allNames)...)
	}
	groups, _ := w.tallies()
	var waited []string
	for _, g := range w.groups {
		t := groups[g.Name]
		switch {
		case g.status != string(strategy.Failed):
		case t.failed > 0:
			lines = append(lines, wrapped("  ✗ group "+g.Name+": "+g.reason, width, allNames)...)
		default:
			waited = append(waited, fmt.Sprintf("  group %s, %s: %s", g.Name, resource.Count(t.total, "node"), g.reason))
		}
	}
	if len(lines) > 0 {
		lines = append([]string{inBold.Render("FAILED")}, lines...)
	}
	if len(waited) > 0 {
		lines = append(append(lines, "", inBold.Render("ONLY WAITED FOR WHAT FAILED")), waited...)
	}
	if len(stopped) > 0 {
		lines = append(lines, "", inBold.Render("NOT WORKED ON TO THE END"), "  "+rollout.Alike{Nodes: stopped}.Who())
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	return lines
}

// failureLines bounds the lines of one failure, where not all is asked for.
const failureLines = 3

// wrap breaks a text into lines of a width, between words: not within names and times, which have hyphens.
func wrap(text string, width int) []string {
	const hyphen = "\u2011" // at which no line is broken
	text = ansi.Wrap(strings.ReplaceAll(text, "-", hyphen), max(20, width), "")
	return strings.Split(strings.ReplaceAll(text, hyphen, "-"), "\n")
}

// wrapped returns a failure in lines of a width.
func wrapped(text string, width int, all bool) []string {
	lines := wrap(text, width-4)
	if !all && len(lines) > failureLines {
		lines = lines[:failureLines]
		lines[failureLines-1] += " …"
	}
	for i, line := range lines {
		if i > 0 {
			line = "    " + line
		}
		lines[i] = inRed.Render(line)
	}
	return lines
}

// tree returns the groups, each below the first group that it depends on.
func (w *watched) tree(now time.Time, tallies map[string]tally, width int) (lines []string) {
	depth, wide := map[string]int{}, 0
	label := func(g *watchedGroup) string {
		text := strings.Repeat("  ", depth[g.Name]) + cmp.Or(g.Name, "(no group)")
		if g.Critical {
			text += " (critical)"
		}
		return ansi.Truncate(text, 40, "…")
	}
	var groups []*watchedGroup
	below := map[string][]*watchedGroup{}
	var add func(g *watchedGroup, deep int)
	add = func(g *watchedGroup, deep int) {
		depth[g.Name] = min(deep, 8)
		wide = max(wide, ansi.StringWidth(label(g)))
		groups = append(groups, g)
		for _, child := range below[g.Name] {
			add(child, deep+1)
		}
	}
	var roots []*watchedGroup
	seen := map[string]bool{}
	for _, g := range w.groups { // what a group depends on comes before it
		if seen[g.Name] = true; len(g.DependsOn) > 0 && seen[g.DependsOn[0]] {
			below[g.DependsOn[0]] = append(below[g.DependsOn[0]], g)
		} else {
			roots = append(roots, g)
		}
	}
	for _, g := range roots {
		add(g, 0)
	}
	lines = append(lines, inBold.Render("GROUPS"))
	for _, g := range groups {
		t := tallies[g.Name]
		if g.Name == "" && t.total == 0 {
			continue
		}
		name := label(g)
		line := "  " + name + strings.Repeat(" ", wide-ansi.StringWidth(name)) + " " + t.bar(10) +
			fmt.Sprintf(" %3d/%-3d ", t.done(), t.total)
		about := strings.Join(slices.DeleteFunc([]string{g.state(now, t), g.batches(), g.criteria()},
			func(s string) bool { return s == "" }), "; ")
		indent := strings.Repeat(" ", ansi.StringWidth(line))
		for _, part := range wrap(about, width-len(indent)) {
			lines = append(lines, line+part)
			line = indent
		}
	}
	return lines
}

// state says what a group is doing, or how it ended.
func (g *watchedGroup) state(now time.Time, t tally) string {
	passing := server.Lasting(g.passing, now)
	doing, rest := "", tally{unchanged: t.unchanged} // the numbers before it say the rest
	switch {
	case g.status == string(strategy.Failed):
		if doing = inRed.Render(g.status); t.stopped > 0 {
			rest = t
		}
	case g.status != "":
		doing = inGreen.Render(g.status)
	case t.ended && g.Name != "":
		doing, rest = inYellow.Render("not finished"), t
	case g.approval > 0:
		doing, rest = inYellow.Render(fmt.Sprintf("waits for approval after batch %d", g.approval)), t
	case g.doing != "" || passing != "" || g.Name == "":
		doing, rest = cmp.Or(passing, g.doing), t
	default:
		doing = inFaint.Render("waits")
	}
	return strings.Join(slices.DeleteFunc([]string{doing, rest.String()}, func(s string) bool { return s == "" }), ", ")
}

func (g *watchedGroup) batches() string {
	if len(g.Batches) == 0 {
		return ""
	}
	return "batches of " + strings.Trim(strings.ReplaceAll(fmt.Sprint(g.Batches), " ", ", "), "[]")
}

// criteria says how many nodes must succeed.
func (g *watchedGroup) criteria() string {
	var parts []string
	for _, c := range []struct {
		text  string
		value *int
	}{{"%d %% must succeed", g.Percent}, {"at least %d must succeed", g.Minimum}, {"at most %d may fail", g.Maximum}} {
		if c.value != nil {
			parts = append(parts, fmt.Sprintf(c.text, *c.value))
		}
	}
	return strings.Join(parts, ", ")
}

// now returns what runs, what takes longest first.
func (w *watched) now(now time.Time) (lines []string) {
	var nodes []string
	for node, n := range w.nodes {
		if _, prints := w.prints[node]; prints || len(w.open[node]) > 0 {
			nodes = append(nodes, n.Node)
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	slices.SortFunc(nodes, func(a, b string) int {
		return cmp.Or(w.since[a].Compare(w.since[b]), strings.Compare(a, b))
	})
	lines = append(lines, "", inBold.Render("NOW"))
	for _, node := range nodes {
		open, p := w.open[node], w.prints[node]
		t := p
		if p.Resource != "" || p.Action == "" || len(open) > 0 && open[0].Action == p.Action { // not a command of the session: a task of the node
			t, open = open[0], open[1:]
		}
		line := fmt.Sprintf("  %6s  %s  %s", short(now.Sub(w.since[node])), w.nodes[node].Title(),
			strings.TrimSpace(t.Action+" "+t.Resource))
		if len(open) > 0 {
			line += fmt.Sprintf(", then %d more", len(open))
		}
		lines = append(lines, line)
		if p.Message != "" {
			lines = append(lines, inFaint.Render("          | "+p.Message))
		}
	}
	return lines
}
