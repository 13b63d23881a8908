package server

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// picture is a run as the page shows it: nodes by phases, complete from what the run planned, filled from its events.
type picture struct {
	Rows   []*row   // by first appearance, and for the page by group and name
	Groups []*group // in order
	Notes  []journal.Recorded
	Seq    int64

	rows    map[string]*row
	groups  map[string]*group
	columns map[string]int // -> index
	sorting []string       // the columns in order
	phases  map[int]string // of the pass -> column
	taken   map[string]int // deployment group and task group -> how many of its phases have a column
	outline journal.Outline
	ended   map[int]bool // phases of the pass
	dirty   map[*row]bool
	sent    map[string]shown // cells as the page has them
	over    bool
	held    Holding
	expired int // how many of held had ended by the clock when that was looked at last

	progress journal.Progress
}

// row is what happens on a node.
type row struct {
	Index          int
	Node           string // empty for what belongs to no node
	Group          string
	Stage, Message string
	cells          map[string]*cell // by column
	progress       *journal.Progress
}

// cell is what happens on a node in a phase; of each pass of the run, where it has several.
type cell struct {
	planned, started, finished, failed int
	phases                             []int
}

// group is the progress of a deployment group.
type group struct {
	Index        int
	Name, Wanted string
	Stage        string // that it ended with
	Reason       string
	Unchanged    int // nodes on which the run does nothing
	rows         map[*row]bool
	passing      journal.Recorded // what it lets time pass for
}

// columnOrder is the order of columns; those of runs that recorded no plan come after them.
var columnOrder = []task.Group{task.Management, task.Boot, task.PreCluster, task.Prepare, task.PreNode,
	task.UpgradeBoot, task.StorageUpgrade, task.Node, task.Cluster, task.PostCluster, task.Cleanup}

func newPicture() *picture {
	return &picture{rows: map[string]*row{}, groups: map[string]*group{}, columns: map[string]int{},
		phases: map[int]string{}, taken: map[string]int{}, sent: map[string]shown{}, ended: map[int]bool{},
		dirty: map[*row]bool{}}
}

// fold takes the next events of the run.
func (p *picture) fold(events ...journal.Recorded) {
	for _, e := range events {
		p.Seq = e.Seq
		p.held.Add(e)
		p.progress.Add(e.Event)
		if e.Group != "" && e.Kind != journal.Planned {
			g := p.group(e.Group)
			g.passing = Passing(g.passing, e)
		}
		switch e.Kind {
		case journal.RunStarted:
			p.phases, p.ended, p.taken, p.over = map[int]string{}, map[int]bool{}, map[string]int{}, false
			if o := journal.OutlineOf(e.Event); len(p.outline.Groups) == 0 {
				p.outline = o
			}
		case journal.Planned:
			p.plan(e)
		case journal.TaskStarted, journal.TaskFinished:
			p.task(e)
		case journal.PhaseFinished:
			p.ended[e.Phase] = p.ended[e.Phase] || !p.batched(e.Group) // else the next batch starts it again
			p.touch(func(r *row) bool { return e.Group == "" || r.Group == e.Group })
		case journal.NodeFinished:
			r := p.row(e.Node, e.Group)
			r.Stage, r.Message = e.Status, e.Message
		case journal.GroupFinished:
			g := p.group(e.Group)
			g.Stage, g.Reason = e.Status, e.Message
			p.touch(func(r *row) bool { return r.Group == e.Group })
		case journal.RunFinished:
			p.over = true
			p.touch(func(*row) bool { return true })
		case journal.Note, journal.Paused, journal.Decided:
			p.Notes = append(p.Notes, e)
		case journal.PhaseStarted, journal.Output:
		}
	}
}

func (p *picture) touch(which func(*row) bool) {
	for _, r := range p.Rows {
		if which(r) {
			p.dirty[r] = true
		}
	}
}

// batched reports whether a group goes in several batches.
func (p *picture) batched(group string) bool {
	return slices.ContainsFunc(p.outline.Groups, func(g journal.OutlineGroup) bool {
		return g.Name == group && len(g.Batches) > 1
	})
}

func (p *picture) plan(e journal.Recorded) {
	switch {
	case e.Action == journal.ServiceTasks:
		return
	case e.Action == string(task.HealthCheck):
		for node, tasks := range e.PlannedTasks() {
			p.row(node, e.Group).cell(p.named(e.Action)).planned += tasks
		}
		return
	case e.Phase == 0:
		p.group(e.Group).Wanted = e.Message
		return
	}
	if _, known := p.phases[e.Phase]; !known { // a phase is several events where its nodes are many
		key := e.Group + "\x00" + e.Action
		p.taken[key]++
		if p.phases[e.Phase] = e.Action; p.taken[key] > 1 {
			p.phases[e.Phase] = fmt.Sprintf("%s %d", e.Action, p.taken[key])
		}
	}
	for node, tasks := range e.PlannedTasks() {
		c := p.row(node, e.Group).cell(p.column(e.Phase))
		c.planned += tasks
		c.phases = append(c.phases, e.Phase)
	}
}

func (p *picture) task(e journal.Recorded) {
	c := p.row(e.Node, e.Group).cell(p.columnOf(e))
	switch {
	case e.Kind == journal.TaskStarted:
		c.started++
	case e.Status == "failed":
		c.failed++
		fallthrough
	default:
		c.finished++
	}
	if !slices.Contains(c.phases, e.Phase) {
		c.phases = append(c.phases, e.Phase)
	}
	if e.Node == "" { // the nodes of its group wait for it
		p.touch(func(r *row) bool { return r.Group == e.Group })
	}
}

// columnOf returns the column of a task.
func (p *picture) columnOf(e journal.Recorded) string {
	if e.Action == string(task.HealthCheck) {
		return p.named(e.Action)
	}
	return p.column(e.Phase)
}

// column returns the column of a phase.
func (p *picture) column(phase int) string {
	name, known := p.phases[phase]
	switch {
	case known:
	case phase == 0:
		name = "outside of phases"
	default:
		name = fmt.Sprintf("phase %d", phase)
	}
	return p.named(name)
}

// named returns the column of a name.
func (p *picture) named(name string) string {
	if _, known := p.columns[name]; !known {
		p.columns[name] = len(p.columns)
	}
	return name
}

func (p *picture) row(node, in string) *row {
	r := p.rows[node]
	if r == nil {
		r = &row{Index: len(p.Rows), Node: node, cells: map[string]*cell{}, progress: &p.progress}
		p.rows[node], p.Rows = r, append(p.Rows, r)
	}
	if r.Group == "" && in != "" && node != "" {
		r.Group = in
		p.group(in).rows[r] = true
	}
	p.dirty[r] = true
	return r
}

func (p *picture) group(name string) *group {
	g := p.groups[name]
	if g == nil {
		g = &group{Index: len(p.Groups), Name: name, rows: map[*row]bool{}}
		p.groups[name], p.Groups = g, append(p.Groups, g)
		for _, o := range p.outline.Groups {
			if o.Name == name {
				g.Unchanged = o.Unchanged
			}
		}
	}
	return g
}

func (r *row) cell(column string) *cell {
	c := r.cells[column]
	if c == nil {
		c = &cell{}
		r.cells[column] = c
	}
	return c
}

// Columns returns the phases in the order of a run.
func (p *picture) Columns() (out []string) {
	if len(p.sorting) == len(p.columns) {
		return p.sorting
	}
	defer func() { p.sorting = out }()
	for name := range p.columns {
		out = append(out, name)
	}
	at := func(name string) (order, ordinal int) {
		if name == string(task.HealthCheck) { // after the last phase of its batch
			return slices.Index(columnOrder, task.Node), len(p.phases) + 1
		}
		base, number, several := strings.Cut(name, " ")
		if several {
			ordinal, _ = strconv.Atoi(number) // a name that has no number is of no task group
		}
		if i := slices.Index(columnOrder, task.Group(base)); i >= 0 {
			return i, ordinal
		}
		return len(columnOrder), p.columns[name]
	}
	slices.SortFunc(out, func(a, b string) int {
		orderA, ordinalA := at(a)
		orderB, ordinalB := at(b)
		return cmp.Or(cmp.Compare(orderA, orderB), cmp.Compare(ordinalA, ordinalB))
	})
	return out
}

// shown is a cell of the page.
type shown struct {
	ID, State, Text string
}

// Cells returns the cells of a row, one for each column.
func (p *picture) Cells(r *row) []shown { return p.cells(r, p.Columns()) }

func (p *picture) cells(r *row, columns []string) (out []shown) {
	for _, name := range columns {
		out = append(out, p.cell(r, name))
	}
	return out
}

// GridCells returns the cells of a row of the grid. They have no text of others, and a large grid has so many that the
// template's own escaping would take most of the time of its page.
func (p *picture) GridCells(r *row) template.HTML {
	var b strings.Builder
	for _, name := range p.Columns() {
		c := p.cell(r, name)
		b.WriteString(`<td role="cell" id="` + c.ID + `"`)
		if c.State != "" {
			b.WriteString(` class="cell ` + c.State + `"`)
		}
		b.WriteString(`>` + c.Text + `</td>`)
	}
	return template.HTML(b.String()) //nolint:gosec // nothing in it is the text of others
}

func (p *picture) cell(r *row, column string) shown {
	s := shown{ID: "c" + strconv.Itoa(r.Index) + "-" + strconv.Itoa(p.columns[column])}
	c := r.cells[column]
	if c == nil {
		return s
	}
	grouped := column == string(task.HealthCheck) || p.batched(r.Group)
	ended := p.over || r.Stage != "" || grouped && p.group(r.Group).Stage != "" || !grouped && !slices.ContainsFunc(c.phases, func(n int) bool { return !p.ended[n] })
	switch {
	case c.failed > 0:
		s.State, s.Text = "failed", "failed"
	case c.finished > 0 && (c.finished >= c.planned && c.planned > 0 || ended):
		s.State, s.Text = "done", "done"
	case r.progress.Done(r.Group, r.Node) && r.Stage != string(strategy.Failed):
		s.State, s.Text = "done", "not needed" // it has no events
	case ended:
		s.State, s.Text = "left", "not reached"
	case c.started+c.finished > 0:
		s.State, s.Text = "running", "running"
		if c.planned > 0 {
			s.Text = fmt.Sprintf("%d of %d", c.finished, c.planned)
		}
	default:
		s.State, s.Text = "waiting", "waiting"
	}
	return s
}

// State is the state of a whole node, by which the page filters.
func (r *row) State() string {
	switch {
	case r.Stage == "FAILED":
		return "failed"
	case r.failed():
		return "failed"
	case r.Stage == string(strategy.NotStarted), r.Stage == string(strategy.Prepared):
		return "left"
	case r.Stage != "", r.progress.Done(r.Group, r.Node):
		return "done"
	}
	return ""
}

// unchanged reports whether the run did nothing on the node.
func (r *row) unchanged() bool {
	return len(r.cells) == 0 && slices.Contains([]string{"done", "left"}, r.State())
}

func (r *row) failed() bool {
	for _, c := range r.cells {
		if c.failed > 0 {
			return true
		}
	}
	return false
}

// Title is the node's name, or what stands for it where there is none.
func (r *row) Title() string { return (&journal.NodeHistory{Node: r.Node}).Title() }

// Nodes, Finished, Failed and Done count the nodes of a group on which the run does something.
func (g *group) Nodes() int    { return g.count("", "left", "done", "failed") }
func (g *group) Finished() int { return g.count("done", "failed") }
func (g *group) Failed() int   { return g.count("failed") }
func (g *group) Done() int     { return g.count("done") }

func (g *group) count(states ...string) (n int) {
	for r := range g.rows {
		if slices.Contains(states, r.State()) && !r.unchanged() {
			n++
		}
	}
	return n
}

// Counts says how far the group is.
func (g *group) Counts() string {
	nodes := g.Nodes()
	text := fmt.Sprintf("%d of %d nodes finished", g.Finished(), nodes)
	if n := g.Failed(); n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	}
	switch {
	case nodes == 0 && g.Unchanged > 0:
		text = fmt.Sprintf("%d nodes unchanged", g.Unchanged)
	case g.Unchanged > 0:
		text += fmt.Sprintf(", %d unchanged", g.Unchanged)
	}
	if passing := Lasting(g.passing, time.Now()); passing != "" {
		text += ", " + passing
	}
	return text
}

// Counts says how far the run is.
func (p *picture) Counts() string {
	all := &group{rows: map[*row]bool{}}
	for _, r := range p.Rows {
		if r.Node != "" {
			all.rows[r] = true
		}
	}
	for _, g := range p.Groups {
		all.Unchanged += g.Unchanged
	}
	return all.Counts()
}

// sorted returns the rows by group and name; of some nodes only, where the request filters.
func (p *picture) sorted(failed bool, search string) (out []*row) {
	for _, r := range p.Rows {
		if (!failed || r.State() == "failed") && strings.Contains(strings.ToLower(r.Title()+" "+r.Group), strings.ToLower(search)) {
			out = append(out, r)
		}
	}
	at := func(r *row) int {
		if g := p.groups[r.Group]; g != nil {
			return g.Index
		}
		return -1
	}
	slices.SortStableFunc(out, func(a, b *row) int {
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a.Node, b.Node))
	})
	return out
}

// changed is what an update of the page has.
type changed struct {
	Rows   map[string][]string `json:"rows"`   // id -> state, stage, message
	Cells  map[string][]string `json:"cells"`  // id -> state, text
	Groups map[string][]any    `json:"groups"` // id -> nodes done, counts, stage, reason, color
	Counts string              `json:"counts"`
	Size   string              `json:"size"` // the page is loaded anew when it has another one
}

// changes returns what changed since the last call.
func (p *picture) changes() changed {
	out := changed{map[string][]string{}, map[string][]string{}, map[string][]any{}, p.Counts(), p.Size()}
	columns := p.Columns()
	for r := range p.dirty {
		out.Rows[fmt.Sprintf("r%d", r.Index)] = []string{r.State(), r.Stage, r.Message}
		for _, c := range p.cells(r, columns) {
			if c.State != "" && p.sent[c.ID] != c {
				p.sent[c.ID] = c
				out.Cells[c.ID] = []string{c.State, c.Text}
			}
		}
	}
	for _, g := range p.Groups {
		out.Groups[fmt.Sprintf("g%d", g.Index)] = []any{g.Done(), g.Counts(), g.Stage, g.Reason, colorOf(g.Stage)}
	}
	p.dirty = map[*row]bool{}
	return out
}

// Size changes when the grid gets another row or column, or the run waits for something else.
func (p *picture) Size() string {
	size := fmt.Sprintf("%d %d", len(p.Rows), len(p.columns))
	for _, h := range p.held.at(time.Now()) {
		size += " " + strconv.FormatInt(h.seq, 10)
	}
	return size
}

// opened reports whether a maintenance window has opened since the last call.
func (p *picture) opened() bool {
	before := p.expired
	p.expired = len(p.held.holds) - len(p.held.at(time.Now()))
	return p.expired > before
}

// Holds are why nothing more is started for now.
func (p *picture) Holds() holds {
	if p.over {
		return nil
	}
	return p.held.at(time.Now())
}
