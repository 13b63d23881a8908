package rollout_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// session names the kinds of sessions in scripts.
const (
	preparing = "prepare"
	deploying = "deploy"
	tearing   = "teardown"
	checking  = "check"
)

func kindOf(c converge.Catalog) string {
	switch {
	case c.TearDown:
		return tearing
	case c.Mode == converge.Prepare:
		return preparing
	case c.Mode == converge.Check:
		return checking
	}
	return deploying
}

// at is one kind of session on one node.
type at struct{ node, kind string }

// faulty is an executor whose nodes do as a script says. Each session takes a minute of the bubble's time unless told otherwise.
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
}

func newFaulty() *faulty {
	return &faulty{
		faults: map[at]string{}, slow: map[at]time.Duration{},
		ledgers: map[string]map[resource.ID]string{}, widest: map[string]int{}, busy: map[string]bool{},
	}
}

func (f *faulty) Close() error { f.closed = true; return nil }

func (f *faulty) Converge(ctx context.Context, n site.Node, c converge.Catalog, each func(converge.Result)) (converge.Summary, error) {
	here := at{n.Name, kindOf(c)}
	f.enter(here, c)
	defer f.leave(n.Name)
	ledger := f.ledger(n.Name)
	summary := converge.Summary{Protocol: converge.Protocol, Ledger: ledger}
	fault := f.faults[here]
	pause := time.Minute
	if d, ok := f.slow[here]; ok {
		pause = d
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return converge.Summary{}, &converge.SessionError{Code: converge.CodeLost, Message: "the session was ended"}
	}
	switch fault {
	case "unreachable":
		return converge.Summary{}, &transport.Error{Kind: transport.Unreachable, Node: n.Name, Message: "connection refused"}
	case "auth":
		return converge.Summary{}, &transport.Error{Kind: transport.Auth, Node: n.Name, Message: "no key was accepted"}
	case "refused":
		return converge.Summary{}, &converge.SessionError{Code: converge.CodeLocked, Message: "another controller works on the node"}
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
	for i, item := range c.Items {
		r := converge.Result{ID: item.ID(), Status: converge.Changed, Millis: 5}
		switch {
		case fault == "item" && i == 0:
			r.Status, r.Message = converge.Failed, "permission denied"
		case fault == "item":
			r.Status, r.Message = converge.Skipped, "what it requires failed"
		case fault == "silent":
			continue
		case fault == "lost" && i == 1:
			return converge.Summary{}, &transport.Error{Kind: transport.Lost, Node: n.Name, Message: "the connection died"}
		case fault == "hang" && i == 1:
			<-ctx.Done()
			return converge.Summary{}, &converge.SessionError{Code: converge.CodeLost, Message: "the session was ended"}
		case fault == "same":
			r.Status = converge.Unchanged
		case c.Mode == converge.Check:
			r = check(r, ledger, item)
		}
		if r.Status == converge.Changed {
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
	if fault == "unlock" {
		return summary, &converge.SessionError{Code: converge.CodeUnlock, Message: "undrain ended with status 1"}
	}
	return summary, nil
}

func check(r converge.Result, ledger map[resource.ID]string, item converge.Item) converge.Result {
	r.Status = converge.Unchanged
	if ledger[item.ID()] != item.Digest {
		r.Status = converge.Differs
		r.Differences = []converge.Difference{{Parameter: "content", Is: "old", Should: "new"}}
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

func (f *faulty) enter(a at, c converge.Catalog) {
	f.mu.Lock()
	defer f.mu.Unlock()
	line := a.kind + " " + a.node
	if c.Lock+c.Unlock != "" {
		line += fmt.Sprintf(" between %s and %s", c.Lock, c.Unlock)
	}
	f.sessions = append(f.sessions, line)
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
	failAt int // number of the event that cannot be recorded, from 1; 0 is none
	mu     sync.Mutex
	events []journal.Event
	calls  int
	failed int
}

func (d *diary) Record(_ context.Context, events ...journal.Event) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	if d.failAt > 0 && len(d.events)+len(events) >= d.failAt {
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
