package rollout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// TearDownReport says how the tear-down of a site went.
type TearDownReport struct {
	Site   string
	Status Status // succeeded: every node is torn down; degraded: some node is not; or interrupted
	Nodes  map[string]TearDownNode
	// Warnings say what was already gone.
	Warnings []string
	Err      error // the tear-down could not be driven: bad input, or an event that could not be recorded
}

// TearDownNode is what became of one node.
type TearDownNode struct {
	Status   Removal // torn_down, kept, unreachable or failed
	Node     string  // of one that is kept: whose machine it is
	Message  string  // why it is not torn down, or what stays though it is
	Error    error   // why its session could not do its work
	Failures []Failure
	Undone   []resource.ID // in the order in which it was done
}

// TearDown undoes everything that the site applied on the nodes, all of them at once up to Options.Parallelism. A node
// that does not answer at all is unreachable and left as it is; whether to go on without it is the caller's decision.
// One that answered and is lost after that is not torn down.
func TearDown(ctx context.Context, siteName string, nodes []site.Node, o Options) TearDownReport {
	report := TearDownReport{Site: siteName, Nodes: map[string]TearDownNode{}}
	o, err := o.recorded()
	if err != nil {
		report.Status, report.Err = StatusFailed, err
		return report
	}
	d := newDriver(ctx, siteName, o)
	nodes = slices.SortedFunc(slices.Values(nodes), func(a, b site.Node) int { return strings.Compare(a.Name, b.Name) })
	var steps []step
	for _, n := range nodes {
		d.nodes[n.Name] = n
		steps = append(steps, step{node: n.Name,
			tasks: []task.Task{{Node: n.Name, Group: task.Cleanup, Action: task.Forget}}})
	}
	d.log.append(journal.Event{Kind: journal.RunStarted, Message: "tear down"})
	report.Nodes = d.tearDown(steps)
	report.Warnings = d.report.Warnings
	report.Status = StatusSucceeded
	for _, n := range report.Nodes {
		if n.Status != TornDown {
			report.Status = StatusDegraded
		}
	}
	if d.cut {
		report.Status = StatusInterrupted
	}
	d.log.append(journal.Event{Kind: journal.RunFinished, Status: string(report.Status)})
	report.Err = d.close()
	return report
}

// tearDown undoes everything on the nodes of the steps.
func (d *driver) tearDown(steps []step) map[string]TearDownNode {
	limit := DefaultDeployTimeout
	ctx, cancel := context.WithTimeoutCause(d.cancellation.running, limit,
		&TimeLimitError{Call: "tear down", Limit: limit})
	defer cancel()
	out := make(map[string]TearDownNode, len(steps))
	decided := d.separate(ctx, steps)
	d.protect(steps, decided)
	d.each(d.Parallelism, steps, func(st step) {
		n, early := decided[st.node]
		if !early {
			n = d.tearDownNode(ctx, st)
		}
		d.log.append(journal.Event{Kind: journal.NodeFinished, Phase: st.phase, Node: st.node, Status: string(n.Status),
			Message: n.Message})
		d.mu.Lock()
		defer d.mu.Unlock()
		out[st.node] = n
	})
	return out
}

// protect keeps the machines that turned out to be no machines of the site, when the plan did not count them and the
// tear-down of all would exceed the limit.
func (d *driver) protect(steps []step, decided map[string]TearDownNode) {
	var unsure []string
	n := 0
	for _, st := range steps {
		if _, early := decided[st.node]; early {
			continue
		}
		n++
		if _, is := d.Unsure[st.node]; is {
			unsure = append(unsure, st.node)
		}
	}
	if n <= d.TornDown {
		return
	}
	for _, name := range unsure {
		decided[name] = TearDownNode{Status: NotTornDown, Message: fmt.Sprintf("it is another machine than node %q, which "+
			"the plan could not know, and more nodes would be torn down than protect allows; when it is meant, %s and "+
			"apply again", d.Unsure[name], d.Protection.Remedy("max_torn_down_nodes", n))}
	}
}

func (d *driver) tearDownNode(ctx context.Context, st step) TearDownNode {
	err := context.Cause(ctx)
	if d.halted != nil {
		err = d.halted
	}
	if d.stopped() {
		err = ErrInterrupted
	}
	if err != nil {
		return TearDownNode{Status: NotTornDown, Error: err, Message: fmt.Sprintf("not started: %s", err)}
	}
	catalog := d.catalog(converge.Apply, nil)
	catalog.TearDown = true
	o := d.session(ctx, d.nodes[st.node], catalog, st, "")
	for _, w := range o.warnings {
		d.warn("", st.node, w)
	}
	n := TearDownNode{Status: TornDown, Error: o.err, Failures: o.failures, Undone: o.done,
		Message: reason(o.err, o.failures)}
	switch {
	case folderGone(d.nodes[st.node], o.err) && o.ledger == nil:
		d.warn("", st.node, fmt.Sprintf("node %q: its folder %s is gone, or never was, and with it all that could be undone",
			st.node,
			d.nodes[st.node].Connection.Root))
		return TearDownNode{Status: TornDown}
	case !o.sent, o.err != nil && ctx.Err() != nil:
		if d.cancellation.running.Err() != nil {
			d.stopped()
		}
		n.Status = NotTornDown // it was given up, which says nothing about the node
	case unreachable(o.err) && d.wasContacted(st.node):
		n.Status, n.Message = NotTornDown, "it answered in this run, and is lost since: "+n.Message
	case unreachable(o.err):
		n.Status = Unreachable
	case !o.ok():
		n.Status = NotTornDown
	case d.locks.isLocked(st.node):
		// torn down all the same
		n.Message = "an earlier run locked it, and no command that unlocks it is known; unlock it by hand"
	}
	return n
}

// wasContacted reports whether a node answered in this run.
func (d *driver) wasContacted(node string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.contacted[node]
}

// folderGone reports whether a session with a node failed because the node is a folder that does not exist.
func folderGone(n site.Node, err error) bool {
	return n.Connection.Transport == "local" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR))
}

// cleanup tears down the nodes that left the site, and those that are in no group any more. One that left and does not
// answer is forgotten, with a warning; one that is still in the site waits for the next plan.
func (d *driver) cleanup() {
	var reached []step
	staying := map[string]bool{}
	for _, st := range d.schedule.cleanup {
		if _, here := d.nodes[st.node]; here {
			staying[st.node] = true
			reached = append(reached, st)
			continue
		}
		if n, ok := d.Departed[st.node]; ok {
			d.nodes[st.node] = n
			reached = append(reached, st)
			continue
		}
		d.depart(st.node, DepartedReport{Status: Forgotten, Message: "how to reach it is not known any more"})
	}
	numbers := phases(d.schedule.cleanup)
	if len(numbers) == 0 {
		return
	}
	d.recordPhases(journal.PhaseStarted, "", numbers, nil)
	ended := d.tearDown(reached)
	failed := false
	for _, name := range slices.Sorted(maps.Keys(ended)) {
		n := ended[name]
		switch {
		case n.Status == Unreachable && staying[name]:
			n.Status = NotTornDown
		case n.Status == Unreachable:
			n.Status = Forgotten
		}
		if n.Status == NotTornDown {
			failed = true
		}
		d.depart(name, DepartedReport{n.Status, n.Message, n.Undone, n.Node})
	}
	d.recordPhases(journal.PhaseFinished, "", numbers, func(int) bool { return failed })
}

// depart notes what became of a node that left the site.
func (d *driver) depart(node string, r DepartedReport) {
	d.report.Departed[node] = r
	switch r.Status {
	case Forgotten:
		d.warn("", node, fmt.Sprintf("node %q left the site and is forgotten without being torn down; what was applied on it stays there: %s", node, r.Message))
	case Kept:
		d.warn("", node, fmt.Sprintf("node %q left the site and is not torn down, because %s; the next plan removes what only node %q had", node, r.Message, node))
	case TornDown:
		if r.Message != "" {
			d.warn("", node, fmt.Sprintf("node %q is torn down and stays locked: %s", node, r.Message))
		}
	case NotTornDown:
		d.warn("", node, fmt.Sprintf("node %q is not torn down; its ledger stays and the next plan tries again: %s",
			node, r.Message))
	}
}

// String describes for a person how the tear-down went, what went wrong first. Of many nodes the first ones are named.
func (r TearDownReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "site %s, tear down: %s\n", r.Site, r.Status)
	byEnd := map[Removal][]string{}
	for _, n := range slices.Sorted(maps.Keys(r.Nodes)) {
		byEnd[r.Nodes[n].Status] = append(byEnd[r.Nodes[n].Status], n)
	}
	for _, end := range []Removal{NotTornDown, Unreachable, TornDown} {
		writeList(&b, "", byEnd[end], func(n string) {
			writeRemoval(&b, n, end, r.Nodes[n].Message,
				r.Nodes[n].Undone)
		})
	}
	writeList(&b, "warnings:\n", warnedAlike(r.Warnings), func(w string) { fmt.Fprintf(&b, "  %s\n", short(w)) })
	return b.String()
}
