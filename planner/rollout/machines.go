package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Machines knows which machine each node of a site is. An address does not say it: one machine may have several, and
// several names. It serves all passes of an apply.
type Machines struct {
	known map[string]converge.Identity // what earlier runs and refreshes saw; not changed

	mu   sync.Mutex
	seen map[string]converge.Identity // what this apply saw
	// the nodes that were asked in this apply, and why one did not answer; nil when it did
	asked      map[string]error
	duplicates map[string]string // node -> another node that is the same machine
	busy       map[string]error  // nodes on which another session was active when they were asked last
	// silent are the nodes that have cost this apply the whole time to connect, or to be prepared, and did not answer:
	// they are not prepared any more.
	silent  map[string]error
	under   map[string]*question         // nodes that are being asked now
	reached map[string]bool              // nodes that answered in a session
	news    map[string]converge.Identity // of seen: those that drain has not returned
	// takeovers counts for a node how often another worker went on with a session there.
	takeovers map[string]int
}

// question is a session that asks a node which machine it is.
type question struct {
	ended chan struct{} // closed at its end
	stop  context.CancelCauseFunc
	err   error // why the node did not answer
}

// NewMachines returns what is known before a run: the identities by node, of nodes that have not moved since, and of
// those that left. They are not changed.
func NewMachines(known map[string]converge.Identity) *Machines {
	return &Machines{known: known, seen: map[string]converge.Identity{}, asked: map[string]error{},
		duplicates: map[string]string{}, busy: map[string]error{},
		silent: map[string]error{}, under: map[string]*question{}, reached: map[string]bool{}, takeovers: map[string]int{}}
}

// takeOver takes down that another worker goes on with a session of a node.
func (m *Machines) takeOver(node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.takeovers[node]++
}

func (m *Machines) takeoversOf(node string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.takeovers[node]
}

// Known returns the identities of nodes, those that this apply saw before those that were known. A node that is the
// machine of another node has none.
func (m *Machines) Known() map[string]converge.Identity {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := maps.Clone(m.known)
	if out == nil {
		out = map[string]converge.Identity{}
	}
	maps.Copy(out, m.seen)
	for node := range m.duplicates {
		delete(out, node)
	}
	return out
}

// record takes the answer of a node that the site wants.
func (m *Machines) record(node string, id converge.Identity, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, node)
	if busy(err) {
		m.busy[node] = err
	}
	if id == (converge.Identity{}) {
		if was, before := m.asked[node]; !before || was != nil {
			m.asked[node] = err
		}
		return
	}
	m.asked[node] = nil
	if reflect.DeepEqual(m.seen[node], id) {
		return
	}
	m.seen[node] = id
	if m.news == nil {
		m.news = map[string]converge.Identity{}
	}
	m.news[node] = id
	for _, other := range slices.Sorted(maps.Keys(m.seen)) {
		if other != node && id.Same(m.seen[other]) {
			m.duplicates[node], m.duplicates[other] = other, node
		}
	}
}

// facts returns what a node said in this apply of its machine; nil: it has not said it.
func (m *Machines) facts(node string) *resource.Facts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[node].Facts
}

// gaveUp takes down that a node did not answer in its time. One that refused the connection took none.
func (m *Machines) gaveUp(node string, err error) {
	var failed *converge.SessionError
	mute := errors.As(err, &failed) && failed.NoAnswer
	if early(err) || !unreachable(err) && !errors.Is(err, errNoAnswer) && !mute {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.silent[node] = err
}

// silence says why a node is not prepared: it did not answer in its time already. nil: it may be.
func (m *Machines) silence(node string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.silent[node]
}

// wasAsked reports whether a node was asked in this apply, or is being asked, and was waited for.
func (m *Machines) wasAsked(node string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, asked := m.asked[node]
	_, under := m.under[node]
	return asked || under
}

// identified reports whether a node said in this apply which machine it is.
func (m *Machines) identified(node string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, seen := m.seen[node]
	return seen
}

// answered reports whether a node answered in this apply, or was known before.
func (m *Machines) answered(node string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	err, asked := m.asked[node]
	_, known := m.known[node]
	return known || asked && err == nil
}

// waitedFor returns the error of a node on which another session was active when it was asked last; nil: none was.
func (m *Machines) waitedFor(node string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.busy[node]
}

// contacted reports whether a node answered in a session of this apply.
func (m *Machines) contacted(node string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reached[node]
}

// twice returns the nodes that are the same machine as another one, sorted; nil: there are none.
func (m *Machines) twice() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.duplicates))
}

// candidates returns those of the nodes that were not asked in this apply and may be one of the machines, as far as
// anything is known of them, sorted. With strict these are also those of which nothing is known, and those that were
// asked and may have been restarted since: their answers do not count any more.
func (m *Machines) candidates(machines []converge.Identity, nodes map[string]site.Node, strict bool) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for name := range nodes {
		_, asked := m.asked[name]
		known, some := m.known[name]
		seen, answered := m.seen[name]
		switch {
		case strict && answered && !slices.ContainsFunc(machines, seen.Same) &&
			slices.ContainsFunc(machines, seen.MayBe):
			delete(m.seen, name)
			delete(m.asked, name)
		case asked, !some && !strict, !slices.ContainsFunc(machines, known.MayBe):
			continue
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// refusal says why nothing is done on a node: it is the machine of another node. That is an error of the configuration,
// so it fails the run whatever the criteria of its group are.
func (m *Machines) refusal(node string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	other, twice := m.duplicates[node]
	if !twice {
		return nil
	}
	return &converge.SessionError{Code: converge.CodeTwice,
		Message: fmt.Sprintf("node %q is the same machine as node %q, and nothing is done on it under either name; "+
			"keep one of the two nodes", min(node, other), max(node, other))}
}

// of returns the node of the site, other than the one given, that is a machine; empty when no node is. doubt says why
// that cannot be known.
func (m *Machines) of(machine converge.Identity, not string, nodes map[string]site.Node) (node string, doubt error) {
	if !machine.Running() {
		return "", nil // it has nothing that could be compared
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if name == not {
			continue
		}
		seen, answered := m.seen[name]
		switch {
		case seen.Same(machine):
			return name, nil
		case !answered && m.known[name].MayBe(machine):
			doubt = cmp.Or(doubt, fmt.Errorf("it may be the machine of node %q, which does not say: %w", name,
				cmp.Or(m.asked[name], errNoIdentity)))
		}
	}
	return "", doubt
}

// moved returns the node of the site that is the machine of a node that left, as its ledger says: the machine has
// another address now. Where the old one answers too, a copy of its disk is one of the two, so this counts only where
// it does not. Empty when no node is.
func (m *Machines) moved(left string, nodes map[string]site.Node) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.known[left].Ledger
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if known != "" && name != left && m.seen[name].Ledger == known {
			return name
		}
	}
	return ""
}

// replaced reports whether the machine that answers at the address of a node that left is another one than that node
// was.
func (m *Machines) replaced(left string, machine converge.Identity) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, some := m.known[left]
	return some && !known.MayBe(machine)
}

var (
	errNoIdentity = errors.New("it has no identity")
	errNoAnswer   = errors.New("it has not answered yet")
)

// How long nodes that are asked which machines they are, or what their ledgers hold, are waited for: before work begins
// on other nodes, those that may be the machine of a node that is about to be worked on, and before a node is torn
// down. They may answer later; who works on them waits for that.
const (
	patience    = 4 * time.Second
	askAll      = 30 * time.Second // for all new nodes of a run together
	askOne      = 10 * time.Second
	askTearDown = 2 * time.Minute
)

// inquire calls ask for every node, for up to parallelism at once, and returns when each call has ended or was waited
// for as long as wait says (0: to its end), or ctx has ended. The other calls go on, with asking: see await. A node
// that is being asked is not asked again.
func (m *Machines) inquire(ctx, asking context.Context, nodes []string, parallelism int,
	wait func(node string) time.Duration, ask func(ctx context.Context, node string) error) {
	var waiting sync.WaitGroup
	places := make(chan struct{}, parallelism)
	for _, node := range nodes {
		places <- struct{}{}
		ended := m.start(asking, node, ask)
		waiting.Go(func() {
			defer func() { <-places }()
			limit := wait(node)
			if limit == 0 {
				<-ended
				return
			}
			timer := time.NewTimer(limit)
			defer timer.Stop()
			select {
			case <-ended:
			case <-timer.C:
			case <-ctx.Done():
			}
		})
	}
	waiting.Wait()
}

// start calls ask for a node unless it is being asked, and returns what is closed at the end.
func (m *Machines) start(ctx context.Context, node string, ask func(context.Context, string) error) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if q := m.under[node]; q != nil {
		return q.ended
	}
	q := &question{ended: make(chan struct{})}
	ctx, q.stop = context.WithCancelCause(ctx)
	m.under[node] = q
	go func() {
		defer close(q.ended)
		q.err = ask(ctx, node)
		q.stop(nil)
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.under, node)
	}()
	return q.ended
}

// await returns when a node is not being asked any more. When ctx ends before, nobody asks it any longer, and the error
// says why it did not answer.
func (m *Machines) await(ctx context.Context, node string) error {
	m.mu.Lock()
	q := m.under[node]
	m.mu.Unlock()
	if q == nil {
		return nil
	}
	select {
	case <-q.ended:
		return nil
	case <-ctx.Done():
	}
	q.stop(context.Cause(ctx))
	<-q.ended
	if q.err == nil {
		return errNoAnswer
	}
	return q.err
}

// ask finds out which machines nodes of the site are, without changing them, and waits for each of them as long as wait
// says. It may be called within a session, so it takes none of the places of nodes that are worked on.
func (d *driver) ask(ctx context.Context, nodes []string, wait time.Duration) {
	patient := func(string) time.Duration { return wait }
	ask := func(asking context.Context, name string) error {
		if ctx.Err() != nil || d.cancellation.stopped() {
			return errNoAnswer
		}
		summary, err := d.contact(asking, d.wanted[name], d.catalog(converge.Prepare, nil), func(converge.Result) {})
		if err != nil && d.cancellation.stopped() {
			return err
		}
		d.Machines.record(name, summary.Identity, err)
		d.Machines.gaveUp(name, err)
		return err
	}
	d.Machines.inquire(ctx, d.cancellation.stopping, nodes, d.Parallelism, patient, ask)
}

// contact runs a catalog on a node, and notes that the node answered in this run when it did.
func (d *driver) contact(ctx context.Context, n site.Node, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	c.Fence.Takeover = d.Machines.takeoversOf(n.Name)
	summary, err := d.Executor.Converge(ctx, n, c, each)
	if (outcome{err: err}).answered(false) {
		d.Machines.mu.Lock()
		defer d.Machines.mu.Unlock()
		d.Machines.reached[n.Name] = true
	}
	return summary, err
}

// askIdentity asks a node which machine it is.
func (d *driver) askIdentity(ctx context.Context, n site.Node) (converge.Summary, error) {
	summary, err := d.contact(ctx, n, d.catalog(converge.Prepare, nil), func(converge.Result) {})
	if _, wanted := d.wanted[n.Name]; wanted && (err == nil || ctx.Err() == nil) {
		d.Machines.record(n.Name, summary.Identity, err)
	}
	return summary, err
}

// identify asks the nodes with work that nobody knows yet who they are, before anything is changed on any node: groups
// come one after the other, and a machine that has a second name in a later one must not be worked on under the first.
// Those that do not answer soon are waited for when their turn comes: if one is the machine of another node after all,
// nothing is done on it. Where all work is in one group, its preparation asks.
func (d *driver) identify() {
	groups, nodes := map[string]bool{}, map[string]bool{}
	for name, s := range d.program.Prepare {
		groups[s.Group], nodes[name] = true, true
	}
	for _, ph := range d.program.Before {
		for _, s := range ph.Sessions {
			if s.Node != "" {
				groups[""], nodes[s.Node] = true, true
			}
		}
	}
	if len(groups) < 2 && !groups[""] {
		return
	}
	maps.DeleteFunc(nodes, func(name string, _ bool) bool {
		return d.Machines.wasAsked(name) || d.Machines.answered(name)
	})
	ctx, cancel := context.WithTimeout(d.cancellation.running, askAll)
	defer cancel()
	names := slices.Sorted(maps.Keys(nodes))
	d.ask(ctx, names, patience)
	d.compare(ctx, names...)
}

// compare asks the nodes that may be the same machines as those given, so that Machines knows whether they are.
func (d *driver) compare(ctx context.Context, nodes ...string) {
	d.Machines.mu.Lock()
	var machines []converge.Identity
	for _, name := range nodes {
		if id := d.Machines.seen[name]; id.Running() {
			machines = append(machines, id)
		}
	}
	d.Machines.mu.Unlock()
	d.ask(ctx, d.Machines.candidates(machines, d.wanted, false), askOne)
}

// converge runs a catalog on a node. One of the site is asked first which machine it is, and nothing is done on a
// machine that is another node, too.
func (d *driver) converge(ctx context.Context, n site.Node, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	if _, wanted := d.wanted[n.Name]; !wanted {
		return d.contact(ctx, n, c, each)
	}
	if err := d.Machines.await(ctx, n.Name); err != nil {
		d.Machines.gaveUp(n.Name, err)
		return converge.Summary{}, err
	}
	if err := d.Machines.silence(n.Name); err != nil && c.Mode == converge.Prepare {
		return converge.Summary{}, err
	}
	changes := c.Mode == converge.Apply || len(c.Begins) > 0
	if changes && !d.Machines.answered(n.Name) {
		if summary, err := d.askIdentity(ctx, n); err != nil {
			return summary, err
		}
		d.compare(ctx, n.Name)
	}
	// a node that is locked is unlocked whatever it is
	opens := c.Lock != "" || len(c.Items) > 0 || c.TearDown || c.Mode == converge.Prepare
	if err := d.Machines.refusal(n.Name); err != nil && opens {
		return converge.Summary{}, err
	}
	summary, err := d.contact(ctx, n, c, each)
	if err == nil || ctx.Err() == nil {
		d.Machines.record(n.Name, summary.Identity, err)
		if c.Mode == converge.Prepare {
			d.Machines.gaveUp(n.Name, err)
		}
	}
	if !changes && err == nil {
		d.compare(ctx, n.Name)
		err = d.Machines.refusal(n.Name)
	}
	return summary, err
}

// separate asks nodes that are to be torn down which machines they are, and decides those that are not torn down:
// machines that the site has under another name, those that may be one, and nodes that do not answer.
func (d *driver) separate(ctx context.Context, s session, nodes []string) map[string]TearDownNode {
	out := map[string]TearDownNode{}
	var mu sync.Mutex
	machines := map[string]converge.Identity{}
	each(d.Parallelism, nodes, func(name string) {
		if d.cancellation.stopped() || s.Err != nil || ctx.Err() != nil { // it is not torn down
			return
		}
		waiting := journal.Event{Phase: s.Phase, Node: name}
		summary, err := d.untilFree(ctx, d.cancellation.stopping, waiting, func() (converge.Summary, error) {
			return d.askIdentity(ctx, d.nodes[name])
		})
		mu.Lock()
		defer mu.Unlock()
		_, stays := d.wanted[name]
		switch {
		case err == nil && !stays && d.Machines.replaced(name, summary.Identity):
			out[name] = TearDownNode{Status: Unreachable, Message: "another machine answers at its address"}
		case err == nil:
			machines[name] = summary.Identity
		case ctx.Err() != nil || busy(err) && d.cancellation.stopped(): // given up, which says nothing about the node
		case folderGone(d.nodes[name], err): // its tear-down says so
		case silent(err):
			out[name] = TearDownNode{Status: Unreachable, Message: reason(err, nil)}
		default:
			out[name] = TearDownNode{Status: NotTornDown, Message: notTornDown(err, nil)}
		}
	})
	running := slices.DeleteFunc(slices.Collect(maps.Values(machines)), func(i converge.Identity) bool {
		return !i.Running()
	})
	d.ask(ctx, d.Machines.candidates(running, d.wanted, true), askTearDown)
	for name, machine := range machines {
		switch other, doubt := d.Machines.of(machine, name, d.wanted); {
		case other != "":
			out[name] = TearDownNode{Status: Kept, Node: other,
				Message: fmt.Sprintf("it is the machine of node %q", other)}
		case doubt != nil:
			out[name] = TearDownNode{Status: NotTornDown, Message: doubt.Error()}
		}
	}
	for _, name := range nodes {
		_, stays := d.wanted[name]
		_, answered := machines[name]
		if other := d.Machines.moved(name, d.wanted); other != "" && !stays && !answered {
			out[name] = TearDownNode{Status: Kept, Node: other,
				Message: fmt.Sprintf("it is the machine of node %q, under another address", other)}
		}
	}
	return out
}
