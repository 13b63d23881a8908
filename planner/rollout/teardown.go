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

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/run"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
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

// TearDownNode is what became of a node of a tear-down, or of one that left the site.
type TearDownNode struct {
	Status  Removal       // torn_down, kept, forgotten, unreachable or failed
	Node    string        // of one that is kept: whose machine it is
	Message string        // why it is not torn down, or what stays though it is
	Undone  []resource.ID // in the order in which it was done
}

// TearDown undoes everything that the site applied on the nodes, all of them at once up to Options.Parallelism. A node
// that does not answer at all is unreachable and left as it is; whether to go on without it is the caller's decision.
// One that answered and is lost after that is not torn down, and neither is one that nobody asked.
func TearDown(ctx context.Context, siteName string, nodes []site.Node, o Options) TearDownReport {
	report := TearDownReport{Site: siteName, Nodes: map[string]TearDownNode{}}
	o, err := o.recorded()
	if err != nil {
		report.Status, report.Err = StatusFailed, err
		return report
	}
	d := newDriver(ctx, siteName, o)
	d.plan, d.program = &planner.Plan{Site: siteName}, run.Ending(nodes, run.Settings{Parallelism: o.Parallelism})
	for _, n := range nodes {
		d.nodes[n.Name] = n
	}
	d.log.append(journal.Event{Kind: journal.RunStarted, Message: "tear down"})
	report.Status = d.drive().Status
	report.Nodes, report.Warnings = d.removed, d.report.Warnings
	report.Err = errors.Join(d.refused, d.close())
	return report
}

// protect keeps the machines that turned out to be no machines of the site, when the plan did not count them and the
// tear-down of all would exceed the limit.
func (d *driver) protect(nodes []string, decided map[string]TearDownNode) {
	var unsure []string
	n := 0
	for _, name := range nodes {
		if _, early := decided[name]; early {
			continue
		}
		n++
		if _, is := d.Unsure[name]; is {
			unsure = append(unsure, name)
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

// tearDownNode undoes everything on one node.
func (d *driver) tearDownNode(ctx context.Context, s session) *sessionEnd {
	c := d.catalog(converge.Apply, nil)
	c.TearDown = true
	o := d.session(ctx, s, c)
	if o.again {
		return nil
	}
	n := TearDownNode{Status: TornDown, Undone: o.Done, Message: notTornDown(o.err, o.Failures)}
	outcome := run.Succeeded
	switch {
	case folderGone(s.node, o.err) && o.ledger == nil:
		n = TearDownNode{Status: TornDown}
		o.warnings = append(o.warnings, fmt.Sprintf("node %q: its folder %s is gone, or never was, and with it all that could be undone",
			s.Node, s.node.Connection.Root))
	case !o.sent, o.err != nil && ctx.Err() != nil:
		if d.cancellation.running.Err() != nil {
			outcome = run.GivenUp
		}
		n.Status = NotTornDown // it was given up, which says nothing about the node
	case silent(o.err) && d.Machines.contacted(s.Node):
		n.Status, n.Message = NotTornDown, "it answered in this run, and is lost since: "+n.Message
	case silent(o.err):
		n.Status = Unreachable
	case !o.ok():
		n.Status = NotTornDown
	case o.lock == run.IsLocked:
		// torn down all the same
		n.Message = "an earlier run locked it, and no command that unlocks it is known; unlock it by hand"
	}
	return &sessionEnd{Outcome: o, Status: outcome, Removed: map[string]TearDownNode{s.Node: n}}
}

// notTornDown says why a node is not torn down, and what to do when it lets nobody in. Empty: nothing failed.
func notTornDown(err error, failures []Failure) string {
	var failed *transport.Error
	text := reason(err, failures)
	if Unasked(err) {
		return "it is not forgotten, because no worker is known to have tried to reach it: " + text
	}
	if errors.As(err, &failed) &&
		slices.Contains([]transport.Kind{transport.Auth, transport.Key, transport.Config}, failed.Kind) {
		text += ". Set what logs in to it in the connection of the provider, or in its own connect (in nodes again if it " +
			"left), and apply; then take it out, or destroy"
	}
	return text
}

// separation decides which nodes are not torn down.
func (d *driver) separation(ctx context.Context, s session) *sessionEnd {
	var nodes []string
	for _, c := range d.program.Cleanup {
		if _, reached := d.nodes[c.Node]; reached {
			nodes = append(nodes, c.Node)
		}
	}
	decided := map[string]TearDownNode{}
	if len(d.wanted) > 0 {
		decided = d.separate(ctx, s, nodes)
	}
	d.protect(nodes, decided)
	return &sessionEnd{Removed: decided}
}

// tornDown returns how the tear-down of a node ended.
func (d *driver) tornDown(c run.Command) TearDownNode {
	if c.Err != nil {
		d.removed[c.Node] = TearDownNode{Status: c.Removal, Message: fmt.Sprintf("not started: %s", c.Err)}
	}
	return d.removed[c.Node]
}

// folderGone reports whether a session with a node failed because the node is a folder that does not exist.
func folderGone(n site.Node, err error) bool {
	return n.Connection.Transport == "local" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR))
}

// depart notes what became of a node that left the site.
func (d *driver) depart(node string, removal Removal) {
	n, reached := d.removed[node]
	n.Status = removal
	if !reached {
		n.Message = "how to reach it is not known any more"
	}
	d.report.Departed[node] = n
	switch removal {
	case Forgotten:
		d.warn("", node, fmt.Sprintf("node %q left the site and is forgotten without being torn down; what was applied on it stays there: %s", node, n.Message))
	case Kept:
		d.warn("", node, fmt.Sprintf("node %q left the site and is not torn down, because %s; the next plan removes what only node %q had", node, n.Message, node))
	case TornDown:
		if n.Message != "" {
			d.warn("", node, fmt.Sprintf("node %q is torn down and stays locked: %s", node, n.Message))
		}
	case NotTornDown:
		d.warn("", node, fmt.Sprintf("node %q is not torn down; its ledger stays and the next plan tries again: %s",
			node, n.Message))
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
