package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/remote"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// fenced is a node whose file /fw is guarded.
type fenced struct {
	refuses time.Duration // new connections, from the change on; less than 0: for ever
	cuts    bool          // the change ends the session that made it
	dead    bool          // nothing passes any more from the change on
	mute    bool          // the answer to the first confirmation is lost

	connections int
	changed     time.Time
	armed       string // guard
	putBack     *ledger.PutBack
	confirmed   bool
	sent        []string // connection: mode and items
}

// connection is one to a fenced node.
type connection struct {
	quiet
	number int
	broken bool
}

func (f *fenced) dial(context.Context, site.Connection, string, string) (transport.Conn, error) {
	if !f.changed.IsZero() && !f.confirmed && (f.dead || f.refuses < 0 || time.Since(f.changed) < f.refuses) {
		return nil, &transport.Error{Kind: transport.Unreachable, Node: "a", Message: "refused"}
	}
	f.connections++
	return &connection{number: f.connections}, nil
}

// pass lets the node put back what was not confirmed in time.
func (f *fenced) pass(why string, after time.Duration) {
	if f.armed != "" && time.Since(f.changed) >= after {
		f.putBack = &ledger.PutBack{Site: "s", Guard: f.armed, Run: "r", Resources: []resource.ID{"file[/fw]"}, Why: why}
		f.armed, f.changed, f.refuses, f.cuts = "", time.Time{}, 0, false
	}
}

func (f *fenced) send(_ context.Context, conn *remote.Link, _ site.Connection, _ remote.Helpers, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	lost := &transport.Error{Kind: transport.Lost, Node: "a", Message: "no sign of life"}
	link := conn.Conn.(*connection)
	if link.broken || f.dead && f.armed != "" {
		return converge.Summary{}, lost
	}
	f.pass("time is over", 2*time.Minute)
	var titles []string
	for _, i := range c.Items {
		titles = append(titles, i.Title)
	}
	f.sent = append(f.sent, fmt.Sprintf("%d:%s:%s", link.number, c.Mode, strings.Join(titles, ",")))
	s := converge.Summary{Protocol: converge.Protocol, BootID: "boot-1"}
	if c.Mode == converge.Confirm {
		if f.armed == c.Guard {
			s.Guard, f.armed, f.confirmed = c.Guard, "", true
		}
		if f.mute {
			f.mute = false
			return converge.Summary{}, lost
		}
		s.PutBack = f.putBack
		return s, nil
	}
	f.pass("no new connection confirmed it", 0)
	for _, i := range c.Items {
		r := converge.Result{ID: i.ID(), Status: converge.Changed}
		switch {
		case f.armed != "":
			r.Status = converge.Deferred
		case i.Guard() && !f.confirmed:
			f.armed, f.changed, r.Guarded = c.Guard, time.Now(), true
		case i.Guard():
			r.Status = converge.Unchanged
		}
		if f.cuts && f.armed != "" {
			link.broken = true
			return converge.Summary{}, lost
		}
		each(r)
	}
	s.Guard, s.PutBack = f.armed, f.putBack
	return s, nil
}

// TestGuardedChanges: what is guarded is confirmed over a new connection, or put back, and the report says which.
func TestGuardedChanges(t *testing.T) {
	file := func(title string, guard bool) converge.Item {
		return converge.Item{Resource: resource.Resource{Type: "file", Title: title, Parameters: resource.Parameters{"guard": guard}}}
	}
	items := []converge.Item{file("/a", false), file("/fw", true), file("/b", false)}
	for name, test := range map[string]struct {
		node    fenced
		items   []converge.Item
		unlock  bool
		stop    time.Duration // the caller's context ends; 0 is never
		results string
		message string // of /fw
		err     string
		sent    string
	}{
		"confirmed":            {results: "/a changed, /fw waits, /fw changed, /b changed", sent: "1:apply:/a,/fw,/b 2:confirm: 2:apply:/b"},
		"confirmed, the last":  {items: items[:2], results: "/a changed, /fw waits, /fw changed", sent: "1:apply:/a,/fw 2:confirm:"},
		"confirmed, unlocked":  {items: items[:2], unlock: true, results: "/a changed, /fw waits, /fw changed", sent: "1:apply:/a,/fw 2:confirm: 2:apply:"},
		"confirmed at last":    {node: fenced{refuses: time.Minute}, items: items[:2], results: "/a changed, /fw waits, /fw changed", sent: "1:apply:/a,/fw 2:confirm:"},
		"the answer is lost":   {node: fenced{mute: true}, items: items[:2], results: "/a changed, /fw waits, /fw changed", sent: "1:apply:/a,/fw 2:confirm: 3:confirm:"},
		"cut, and confirmed":   {node: fenced{cuts: true}, results: "/a changed, /fw unchanged, /b changed", sent: "1:apply:/a,/fw,/b 2:confirm: 2:apply:/fw,/b"},
		"new ones are refused": {node: fenced{refuses: -1}, results: "/a changed, /fw waits, /fw failed, /b skipped", message: `guard: the node put it back: time is over; the last try: node "a": refused`, sent: "1:apply:/a,/fw,/b 1:apply:"},
		"cut, new ones are refused": {node: fenced{cuts: true, refuses: 3 * time.Minute}, results: "/a changed, /fw failed", message: `the node put it back: time is over; the last try: node "a": refused`,
			err: "no sign of life", sent: "1:apply:/a,/fw,/b 2:apply:"},
		"dead": {node: fenced{dead: true}, results: "/a changed, /fw waits, /fw failed, /b skipped", message: `no new connection confirmed it; the last try: node "a": refused; the node puts it back within 2m0s, and has not answered since`,
			err: "refused", sent: "1:apply:/a,/fw,/b"},
		"given up": {node: fenced{refuses: -1}, stop: 10 * time.Second, results: "/a changed, /fw waits, /fw failed, /b skipped", message: "given up before", err: "given up before a guarded change was confirmed", sent: "1:apply:/a,/fw,/b"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &test.node
				e := NewInProcess()
				e.dial, e.send = f.dial, f.send
				defer e.Close()
				ctx := t.Context()
				if test.stop > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.stop)
					defer cancel()
				}
				c := converge.Manifest{Protocol: converge.Protocol, Site: "s", Run: "r", Mode: converge.Apply, Items: items}
				if test.items != nil {
					c.Items = test.items
				}
				if test.unlock {
					c.Unlock = "undrain"
				}
				var results []string
				message := ""
				_, err := e.Converge(ctx, site.Node{Name: "a"}, c, func(r converge.Result) {
					_, title, _ := resource.ParseID(string(r.ID))
					if r.Guarded {
						r.Status = "waits"
					}
					results = append(results, title+" "+string(r.Status))
					if title == "/fw" {
						message = r.Message
					}
				})
				if got := strings.Join(results, ", "); got != test.results {
					t.Errorf("results %s, want %s", got, test.results)
				}
				if got := strings.Join(f.sent, " "); got != test.sent {
					t.Errorf("sent %s\nwant %s", got, test.sent)
				}
				if !strings.Contains(message, test.message) || test.message == "" && message != "" {
					t.Errorf("the message is %q, want %q", message, test.message)
				}
				if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %q", err, test.err)
				}
			})
		})
	}
}

// TestAWorkerIsLostWhileAGuardIsArmed: the node puts back what the worker that is gone did not confirm, and who goes on
// with the session does it again, once it reaches the node.
func TestAWorkerIsLostWhileAGuardIsArmed(t *testing.T) {
	for name, refuses := range map[string]time.Duration{"reached": 0, "not reached until it is put back": 2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fenced{refuses: refuses, armed: "of the other worker", changed: time.Now()}
				e := NewInProcess()
				e.dial, e.send = f.dial, f.send
				defer e.Close()
				item := converge.Item{Resource: resource.Resource{Type: "file", Title: "/fw", Parameters: resource.Parameters{"guard": true}}}
				c := converge.Manifest{Protocol: converge.Protocol, Site: "s", Run: "r", Mode: converge.Apply, Resume: true,
					Items: []converge.Item{item}}
				var results []string
				_, err := e.Converge(t.Context(), site.Node{Name: "a"}, c, func(r converge.Result) {
					results = append(results, fmt.Sprint(r.Status, " ", r.Guarded))
				})
				if got := strings.Join(results, ", "); err != nil || got != "changed true, changed false" {
					t.Errorf("results %s, %v", got, err)
				}
				if got := strings.Join(f.sent, " "); got != "1:apply:/fw 2:confirm:" && got != "1:prepare: 1:apply:/fw 2:confirm:" {
					t.Errorf("sent %s", got)
				}
				if f.putBack == nil || f.putBack.Guard != "of the other worker" || !f.confirmed {
					t.Errorf("put back %v, confirmed %t", f.putBack, f.confirmed)
				}
			})
		})
	}
}

// TestANodeCannotAskForSessionsWithoutEnd: a node that says again and again that it changed something guarded, and
// reports nothing, is given up.
func TestANodeCannotAskForSessionsWithoutEnd(t *testing.T) {
	sessions := 0
	e := WithDial(func(context.Context, site.Connection, string, string) (transport.Conn, error) {
		return &connection{}, nil
	})
	e.send = func(ctx context.Context, _ *remote.Link, _ site.Connection, _ remote.Helpers, c converge.Manifest,
		_ func(converge.Result)) (converge.Summary, error) {
		if sessions++; sessions > 1000 {
			return converge.Summary{}, errors.New("no end is in sight")
		}
		return converge.Summary{Protocol: converge.Protocol, Guard: c.Guard}, nil
	}
	c := catalogs(converge.Apply)
	c.Items = []converge.Item{{Resource: resource.Resource{Type: "file", Title: "/a"}}, {Resource: resource.Resource{Type: "file", Title: "/b"}}}
	_, err := e.Converge(t.Context(), site.Node{Name: "a"}, c, func(converge.Result) {})
	var failed *converge.SessionError
	if !errors.As(err, &failed) || failed.Code != converge.CodeProtocol || sessions > 20 {
		t.Errorf("after %d sessions: %v", sessions, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
