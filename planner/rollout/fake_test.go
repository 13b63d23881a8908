package rollout_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// session names the kinds of sessions in scripts.
const (
	preparing = "prepare"
	deploying = "deploy"
	tearing   = "teardown"
	checking  = "check"
	locking   = "lock"   // a session that only opens the node's lock window
	unlocking = "unlock" // and one that only closes it
	restoring = "restore"
)

func kindOf(c converge.Manifest) string {
	switch {
	case c.TearDown:
		return tearing
	case c.Restore:
		return restoring
	case c.Mode == converge.Prepare:
		return preparing
	case c.Mode == converge.Check:
		return checking
	case len(c.Items) == 0 && c.Keep:
		return locking
	case len(c.Items) == 0:
		return unlocking
	}
	return deploying
}

// at is one kind of session on one node.
type at struct{ node, kind string }

// faulty is an executor whose nodes do as a script says. Each session takes a minute of the bubble's time unless told
// otherwise.
type faulty struct {
	faults map[at]string
	slow   map[at]time.Duration

	mu       sync.Mutex
	ledgers  map[string]map[resource.ID]string
	sessions []string
	active   int
	widest   map[string]int // kind -> most sessions at once
	overlap  []string       // nodes with two sessions at once
	busy     map[string]bool
	closed   bool

	locked     map[string]string                 // node -> the run that locked it
	knows      map[string]string                 // node -> the unlock command that it remembers
	window     []string                          // what the lock and unlock commands did, in order
	mostLocked int                               // nodes at once
	tries      map[at]int                        // sessions with the fault "busy"
	unchecked  map[string]string                 // node -> the run that no health check has followed
	needs      []string                          // sessions that named programs
	begins     []string                          // sessions that named actions to begin
	machines   map[string]string                 // node -> the machine that it is; without an entry, one of its own
	images     map[string]map[resource.ID]string // node -> its ledger before its first session with images
	facts      *resource.Facts                   // of all nodes
	contents   []string                          // of files that do not have the usual content
}

func newFaulty() *faulty {
	return &faulty{
		faults: map[at]string{}, slow: map[at]time.Duration{},
		ledgers: map[string]map[resource.ID]string{}, widest: map[string]int{}, busy: map[string]bool{},
		machines: map[string]string{}, locked: map[string]string{}, knows: map[string]string{}, tries: map[at]int{},
		images: map[string]map[resource.ID]string{}, unchecked: map[string]string{},
	}
}

// identity returns which machine a node is.
func (f *faulty) identity(node string) converge.Identity {
	machine := cmp.Or(f.machines[node], node)
	return converge.Identity{Ledger: machine, Machine: machine, Boot: "boot", Root: machine, Facts: f.facts}
}

func (f *faulty) Close() error { f.closed = true; return nil }

func (f *faulty) Converge(ctx context.Context, n site.Node, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	here := at{n.Name, kindOf(c)}
	f.enter(here, c)
	defer f.leave(n.Name)
	ledger := f.ledger(n.Name)
	fault := f.faults[here]
	if !slices.Contains([]string{"unreachable", "unasked", "auth", "needs", "refused"}, fault) && !strings.HasPrefix(fault, "early") {
		for _, id := range c.Begins {
			if _, recorded := ledger[id]; recorded {
				ledger[id] = ""
			}
		}
	}
	if times, early := strings.CutPrefix(fault, "early"); early { // before anything was started
		f.mu.Lock()
		f.tries[here]++
		try := fmt.Sprint(f.tries[here])
		f.mu.Unlock()
		if times == "" || times >= try {
			return converge.Summary{}, &transport.Error{Kind: transport.Unreachable, Node: n.Name, Early: true,
				Message: "connection refused"}
		}
		fault = ""
	}
	f.mu.Lock()
	if c.Unchecked && fault != "unreachable" && fault != "unasked" && fault != "auth" {
		f.unchecked[n.Name] = c.Run
	}
	left := f.unchecked[n.Name]
	f.mu.Unlock()
	opened := f.open(n.Name, c, fault)
	summary := converge.Summary{Protocol: converge.Protocol, Identity: f.identity(n.Name), Ledger: ledger,
		Locked: f.isLocked(n.Name), Unchecked: left}
	if opened != nil {
		return summary, opened
	}
	if fault == "occupied" {
		return converge.Summary{}, &converge.SessionError{Code: converge.CodeLocked,
			Message: "another controller works on the node"}
	}
	pause := time.Minute
	if d, ok := f.slow[here]; ok {
		pause = d
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return converge.Summary{}, &converge.SessionError{Code: converge.CodeLost, Message: "the session was ended"}
	}
	if times, worker := strings.CutPrefix(fault, "gone"); worker { // whoever ran the session, in the middle of it
		f.mu.Lock()
		f.tries[here]++
		try := fmt.Sprint(f.tries[here])
		f.mu.Unlock()
		if times == "" || times >= try {
			return converge.Summary{}, &converge.SessionError{Code: converge.CodeGone, Message: "the worker is gone"}
		}
		fault = ""
	}
	switch fault {
	case "unreachable":
		return converge.Summary{}, &transport.Error{Kind: transport.Unreachable, Node: n.Name,
			Message: "connection refused"}
	case "unasked":
		return converge.Summary{}, &transport.Error{Kind: transport.Unreachable, Node: n.Name, Unasked: true,
			Message: "no worker"}
	case "auth":
		return converge.Summary{}, &transport.Error{Kind: transport.Auth, Node: n.Name, Message: "no key was accepted"}
	case "busy", "vanishes": // the first time another session is about to end; after that one vanishes
		f.mu.Lock()
		f.tries[here]++
		first := f.tries[here] == 1
		f.mu.Unlock()
		if first {
			return converge.Summary{}, &converge.SessionError{Code: converge.CodeLocked,
				Message: "another session works on the node"}
		}
		if fault == "vanishes" {
			return converge.Summary{}, &transport.Error{Kind: transport.Unreachable, Node: n.Name, Message: "no answer"}
		}
	case "needs":
		return converge.Summary{}, &converge.SessionError{Code: converge.CodeNeeds,
			Message: "puppet is not on the node"}
	case "refused":
		return converge.Summary{}, &converge.SessionError{Code: converge.CodeRoot,
			Message: "the user may not change the node"}
	case "local": // as the engine in this process does it: a session that was ended still sums up
		<-ctx.Done()
		for _, item := range c.Items {
			each(converge.Result{ID: item.ID(), Status: converge.Skipped, Message: "the session ended"})
		}
		return summary, nil
	case "reported":
		summary.Error = &converge.SessionError{Code: converge.CodeRoot, Message: "the user may not change the node"}
		return summary, nil
	}
	if c.Health != nil {
		f.mu.Lock()
		f.tries[here]++
		first := f.tries[here] == 1
		f.mu.Unlock()
		if fault == "unhealthy" || fault == "relapses" && !first {
			return summary, &converge.SessionError{Code: converge.CodeHealth,
				Message: "health check: the command ended with status 1 (run 1 of 1)"}
		}
		if c.Checked {
			f.mu.Lock()
			delete(f.unchecked, n.Name)
			f.mu.Unlock()
			summary.Unchecked = ""
		}
	}
	f.mu.Lock()
	if f.images[n.Name] == nil && c.Images {
		f.images[n.Name] = maps.Clone(ledger)
	}
	image := f.images[n.Name]
	f.mu.Unlock()
	if c.Restore {
		for _, id := range slices.Sorted(maps.Keys(ledger)) {
			switch {
			case fault == "item":
				each(converge.Result{ID: id, Status: converge.Failed, Message: "restore: permission denied"})
				ledger[id] = ""
			case ledger[id] == image[id]:
			case strings.HasPrefix(string(id), "shell"):
				each(converge.Result{ID: id, Status: converge.Unchanged, Message: converge.NotRestored})
			default:
				each(converge.Result{ID: id, Status: converge.Changed})
				delete(ledger, id)
			}
		}
	}
	for i, item := range c.Items {
		f.keep(n.Name, item)
		r := converge.Result{ID: item.ID(), Status: converge.Changed, Millis: 5}
		switch {
		case fault == "item="+string(item.ID()):
			r.Status, r.Message = converge.Failed, "permission denied"
		case fault == "item" && i == 0:
			r.Status, r.Message = converge.Failed, "permission denied"
		case fault == "item":
			r.Status, r.Message = converge.Skipped, "what it requires failed"
		case fault == "silent":
			continue
		case fault == "lost" && i == 1:
			return converge.Summary{}, &transport.Error{Kind: transport.Lost, Node: n.Name,
				Message: "the connection died"}
		case fault == "hang" && i == 1:
			<-ctx.Done()
			return converge.Summary{}, &converge.SessionError{Code: converge.CodeLost, Message: "the session was ended"}
		case fault == "guarded":
			each(converge.Result{ID: r.ID, Status: converge.Changed, Guarded: true})
		case fault == "same":
			r.Status = converge.Unchanged
		case fault == "differs": // a resource with noop
			r.Status, r.Differences = converge.Differs, []types.Difference{{Parameter: "content", Is: "old",
				Should: "new"}}
		case c.Mode == converge.Check:
			r = check(r, ledger, item)
		}
		if r.Status == converge.Changed || r.Status == converge.Failed && item.Tolerate && item.Type == "shell" {
			ledger[r.ID] = item.Digest
			if item.Remove {
				delete(ledger, r.ID)
			}
		}
		each(r)
		if fault == "stranger" && i == 0 {
			each(converge.Result{ID: "file[/etc/stranger]", Status: converge.Failed})
			each(r)
		}
	}
	if fault == "hang" {
		<-ctx.Done()
		return converge.Summary{}, &converge.SessionError{Code: converge.CodeLost, Message: "the session was ended"}
	}
	if c.TearDown {
		if fault == "item" {
			each(converge.Result{ID: "file[/etc/a]", Status: converge.Failed, Message: "permission denied"})
			return summary, nil
		}
		each(converge.Result{ID: "file[/etc/a]", Status: converge.Changed})
		clear(ledger)
	}
	abandoned, err := f.shut(n.Name, c, fault)
	summary.Locked = abandoned || f.isLocked(n.Name)
	return summary, err
}

// open does what a node does with Catalog.Lock before its items.
func (f *faulty) open(node string, c converge.Manifest, fault string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.Mode != converge.Apply || fault == "unreachable" {
		return nil
	}
	if by := f.locked[node]; by != "" && by != c.Run && !c.TearDown && (c.Lock+c.Unlock != "" || !works(c)) {
		if err := f.unlock(node, c, fault); err != nil {
			return err
		}
	}
	if c.Lock == "" && (c.Unlock == "" || !c.Keep) || f.locked[node] == c.Run || len(c.Items) == 0 && !c.Keep {
		return nil
	}
	if fault == "lock" {
		return &converge.SessionError{Code: converge.CodeLock,
			Message: "drain ended with status 1; no resource was touched"}
	}
	f.locked[node], f.knows[node] = c.Run, c.Unlock
	if c.Lock != "" {
		f.window = append(f.window, c.Lock+" "+node)
	}
	f.mostLocked = max(f.mostLocked, len(f.locked))
	return nil
}

// shut does what it does with Catalog.Unlock after them. abandoned tells that a node was torn down that nobody knows
// how to unlock.
func (f *faulty) shut(node string, c converge.Manifest, fault string) (abandoned bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, locked := c.Unlock+f.knows[node] != "", f.locked[node] != ""
	switch {
	case c.Mode != converge.Apply, c.Keep, !locked && (c.TearDown || !works(c)), works(c) && !c.TearDown &&
		c.Lock+c.Unlock == "":
		return false, nil
	case c.TearDown && !known:
		delete(f.locked, node)
		return true, nil
	}
	return false, f.unlock(node, c, fault)
}

// works reports whether a session is there for more than to unlock its node.
func works(c converge.Manifest) bool { return c.TearDown || len(c.Items) > 0 || c.Keep }

// unlock runs the catalog's command, or the one that the node remembers.
func (f *faulty) unlock(node string, c converge.Manifest, fault string) error {
	command := cmp.Or(c.Unlock, f.knows[node])
	switch {
	case command == "":
		return &converge.SessionError{Code: converge.CodeUnlock, Message: "nobody knows a command that unlocks it"}
	case fault == "unlock":
		return &converge.SessionError{Code: converge.CodeUnlock, Message: command + " ended with status 1"}
	}
	delete(f.locked, node)
	delete(f.knows, node)
	f.window = append(f.window, command+" "+node)
	return nil
}

func (f *faulty) isLocked(node string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.locked[node] != ""
}

// keep remembers unusual contents.
func (f *faulty) keep(node string, item converge.Item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if content, ok := item.Parameters["content"]; ok && content != "x\n" {
		f.contents = append(f.contents, fmt.Sprintf("%s %s: %v", node, item.ID(), content))
	}
}

func check(r converge.Result, ledger map[resource.ID]string, item converge.Item) converge.Result {
	r.Status = converge.Unchanged
	if ledger[item.ID()] != item.Digest {
		r.Status = converge.Differs
		r.Differences = []types.Difference{{Parameter: "content", Is: "old", Should: "new"}}
	}
	return r
}

func (f *faulty) ledger(node string) map[resource.ID]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ledgers[node] == nil {
		f.ledgers[node] = map[resource.ID]string{}
	}
	return f.ledgers[node]
}

// begun lists what the ledgers call begun, sorted.
func (f *faulty) begun() []string {
	var out []string
	for node, ledger := range f.ledgers {
		for id, digest := range ledger {
			if digest == "" {
				out = append(out, fmt.Sprintf("%s %s", node, id))
			}
		}
	}
	slices.Sort(out)
	return out
}

func (f *faulty) enter(a at, c converge.Manifest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	line := a.kind + " " + a.node
	if c.Lock+c.Unlock != "" {
		line += fmt.Sprintf(" between %s and %s", c.Lock, c.Unlock)
	}
	if c.Keep {
		line += ", kept"
	}
	if c.Resume || c.Fence.Takeover > 0 {
		line += fmt.Sprintf(", resume %t, takeover %d", c.Resume, c.Fence.Takeover)
	}
	f.sessions = append(f.sessions, line)
	if len(c.Needs) > 0 {
		f.needs = append(f.needs, fmt.Sprintf("%s %s needs %v", a.kind, a.node, c.Needs))
	}
	if len(c.Begins) > 0 {
		f.begins = append(f.begins, fmt.Sprintf("%s %s begins %v", a.kind, a.node, c.Begins))
	}
	if f.busy[a.node] {
		f.overlap = append(f.overlap, a.node)
	}
	f.busy[a.node] = true
	f.active++
	f.widest[a.kind] = max(f.widest[a.kind], f.active)
}

func (f *faulty) leave(node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy[node] = false
	f.active--
}

// diary is a recorder that keeps events in memory, and fails from a given event on.
type diary struct {
	failAt int // number of the event that cannot be recorded, from 1 and without those that record the plan; 0 is none
	mu     sync.Mutex
	events []journal.Event
	plan   int // so many of events record the plan
	calls  int
	failed int
}

func (d *diary) Record(_ context.Context, events ...journal.Event) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	for _, e := range events {
		if e.Kind == journal.Planned {
			d.plan++
		}
	}
	if d.failAt > 0 && len(d.events)+len(events)-d.plan >= d.failAt {
		d.failed++
		return fmt.Errorf("the lease on the site was taken over")
	}
	d.events = append(d.events, events...)
	return nil
}

func (d *diary) lines(kinds ...string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, e := range d.events {
		if len(kinds) > 0 && !slices.Contains(kinds, string(e.Kind)) {
			continue
		}
		line := string(e.Kind)
		for _, part := range []string{phase(e.Phase), e.Group, e.Node, e.Action, e.Resource, e.Status} {
			if part != "" {
				line += " " + part
			}
		}
		if e.Message != "" {
			line += ": " + e.Message
		}
		out = append(out, line)
	}
	return out
}

func phase(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d", n)
}

// operator is a caller whose callbacks do as a script says. Each takes a minute unless told otherwise.
type operator struct {
	faults map[string]string         // name -> why it fails; "hang": until it is given up
	yields map[string]map[string]any // name -> values
	calls  []string
	busy   bool
	twice  bool // two ran at once
}

func (o *operator) Call(ctx context.Context, _ io.Writer, t task.Task) (map[string]any, error) {
	o.twice = o.twice || o.busy
	o.busy = true
	defer func() { o.busy = false }()
	line := t.Name
	if t.Node != "" {
		line += " for " + t.Node
	}
	o.calls = append(o.calls, line)
	fault := o.faults[t.Name]
	if fault == "" {
		fault = o.faults[t.Name+"@"+t.Node]
	}
	if fault == "hang" {
		<-ctx.Done()
		return nil, errors.New("the callback was ended")
	}
	select {
	case <-time.After(time.Minute):
	case <-ctx.Done():
		return nil, errors.New("the callback was ended")
	}
	if fault != "" {
		return nil, errors.New(fault)
	}
	return o.yields[t.Name], nil
}
