package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/remote"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// machine is a node as the executor sees it: what a restart does to its answers.
type machine struct {
	boot    int
	asked   map[resource.ID]int // restart -> the boot in which it was asked for
	down    time.Time           // when it goes down for a restart, two seconds after that was asked for
	off     time.Duration       // for so long; negative is for ever
	sleepy  bool                // it does not restart at all
	forgets bool                // what was asked for
	abrupt  bool                // it does not send its summary
	key     bool                // it comes back with another host key
	catalog []string            // what it was sent
	dialled int
}

// wakes brings the machine to where it is now, and reports whether it answers.
func (m *machine) wakes() bool {
	now := time.Now()
	switch {
	case m.down.IsZero() || now.Before(m.down) || m.sleepy:
		return true
	case m.off >= 0 && !now.Before(m.down.Add(m.off)):
		m.boot++
		m.down = time.Time{}
		if m.forgets {
			clear(m.asked)
		}
		return true
	}
	return false
}

func (m *machine) dial(context.Context, site.Connection, string, string) (transport.Conn, error) {
	m.dialled++
	switch up := m.wakes(); {
	case !up:
		return nil, &transport.Error{Kind: transport.Unreachable, Node: "a", Message: "does not answer"}
	case m.key && m.boot > 1:
		return nil, &transport.Error{Kind: transport.HostKey, Node: "a", Message: "the host key changed"}
	}
	return quiet{}, nil
}

type quiet struct{ transport.Conn }

func (quiet) Close() error { return nil }

func (m *machine) send(_ context.Context, _ *remote.Link, _ site.Connection, _ remote.Helpers, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	if !m.wakes() {
		return converge.Summary{}, &transport.Error{Kind: transport.Lost, Node: "a", Message: "no sign of life"}
	}
	var ids []string
	restarting := false
	for _, i := range c.Items {
		ids = append(ids, i.Title)
		status := converge.Changed
		switch before, asked := m.asked[i.ID()]; {
		case restarting:
			status = converge.Restarting
		case i.Type != "reboot":
		case asked && before != m.boot:
			delete(m.asked, i.ID())
		default:
			m.asked[i.ID()] = m.boot
			m.down = time.Now().Add(2 * time.Second)
			restarting, status = true, converge.Restarting
		}
		each(converge.Result{ID: i.ID(), Status: status, Millis: 5,
			Differences: []types.Difference{{Parameter: "boot_id", Is: fmt.Sprint("boot-", m.boot),
				Should: "another"}}})
		if restarting && m.abrupt {
			return converge.Summary{}, &transport.Error{Kind: transport.Lost, Node: "a",
				Message: "the connection broke"}
		}
	}
	m.catalog = append(m.catalog, string(c.Mode)+":"+strings.Join(ids, ","))
	time.Sleep(time.Second)
	return converge.Summary{Protocol: converge.Protocol, BootID: fmt.Sprint("boot-", m.boot)},
		nil
}

func actionItem(typ, title string, timeout int64) converge.Item {
	r := resource.Resource{Type: typ, Title: title, Parameters: resource.Parameters{}}
	if typ == "reboot" {
		r.Parameters["timeout"] = timeout
	}
	return converge.Item{Resource: r, Digest: "d"}
}

func TestRestarts(t *testing.T) {
	one := []converge.Item{actionItem("shell", "before", 0), actionItem("reboot", "r", 60),
		actionItem("shell", "after", 0)}
	two := append(slices.Clone(one), actionItem("reboot", "again", 60))
	const done = "before changed, r changed, after changed"
	const failed = "before changed, r failed, after skipped"
	for name, test := range map[string]struct {
		items   []converge.Item
		machine machine
		stop    time.Duration // the caller's context ends; 0 is never
		results string
		code    converge.Code // empty: it works
		message string
		took    time.Duration // at most this, and at least all but 15 s of it
	}{
		"comes back": {items: one, machine: machine{off: 20 * time.Second}, results: done,
			took: 30 * time.Second},
		"goes down at once": {items: two, machine: machine{off: 20 * time.Second, abrupt: true}, results: done +
			", again changed", took: time.Minute},
		"comes back twice": {items: two, machine: machine{off: 20 * time.Second}, results: done + ", again changed",
			took: time.Minute},
		"comes back late": {items: one, machine: machine{off: 2 * time.Minute}, results: failed,
			code: converge.CodeRestart, message: "did not come back from its restart within 1m0s; at the last try: node \"a\": does not answer", took: 65 * time.Second},
		"stays away": {items: one, machine: machine{off: -1}, results: failed, code: converge.CodeRestart,
			message: "within 1m0s", took: 65 * time.Second},
		"has no limit": {items: []converge.Item{actionItem("reboot", "r", 0)},
			machine: machine{off: 20 * time.Hour}, results: "r changed", took: 20*time.Hour + 15*time.Second},
		"does not restart": {items: one, machine: machine{sleepy: true}, results: failed, code: converge.CodeRestart,
			message: "it still ran without a restart", took: 65 * time.Second},
		"is another now": {items: one, machine: machine{off: 20 * time.Second, key: true}, results: failed,
			code: converge.CodeRestart, message: "cannot be worked with: node \"a\": the host key changed",
			took: 30 * time.Second},
		"restarts for ever": {items: one, machine: machine{off: 20 * time.Second, forgets: true}, results: failed,
			code: converge.CodeRestart, message: "wants to restart once more", took: 30 * time.Second},
		"given up": {items: one, machine: machine{off: -1}, stop: 30 * time.Second, results: "before changed",
			code: converge.CodeLost, message: "given up while the node restarts (context deadline exceeded)",
			took: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &test.machine
				m.boot, m.asked = 1, map[resource.ID]int{}
				e := WithHelpers(remote.Helpers{})
				e.dial = m.dial
				e.send = m.send
				ctx, cancel := context.WithCancel(t.Context())
				if test.stop > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), test.stop)
				}
				defer cancel()
				begun := time.Now()
				var results []string
				summary, err := e.Converge(ctx, site.Node{Name: "a"},
					converge.Manifest{Protocol: converge.Protocol, Site: "lon1", Run: "r1", Mode: converge.Apply,
						Items: test.items}, func(r converge.Result) {
						_, title, _ := resource.ParseID(string(r.ID))
						results = append(results, title+" "+string(r.Status))
						if title == "r" && r.Status == converge.Changed && r.Millis < 20_000 {
							t.Errorf("the restart took %d ms, and the node was down for longer", r.Millis)
						}
					})
				if got := strings.Join(results, ", "); got != test.results {
					t.Errorf("results %q, want %q", got, test.results)
				}
				var failure *converge.SessionError
				if errors.As(err, &failure); (err != nil) != (test.code != "") || err != nil &&
					(failure == nil || failure.Code != test.code || !strings.Contains(failure.Message, test.message)) {
					t.Errorf("%v, want %s %q", err, test.code, test.message)
				}
				if want := fmt.Sprint("boot-", m.boot); err == nil && summary.BootID != want {
					t.Errorf("the summary is of %s, want %s", summary.BootID, want)
				}
				if took := time.Since(begun); took > test.took || took < test.took-15*time.Second {
					t.Errorf("took %s, want about %s", took, test.took)
				}
				if err == nil && !slices.Contains(m.catalog, "prepare:") {
					t.Errorf("sent %q, want it to be asked before it goes on", m.catalog)
				}
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestAWorkerIsLostWhileItsNodeRestarts: who goes on with a session of a worker that is gone waits for a node that
// restarts as that one would have done.
func TestAWorkerIsLostWhileItsNodeRestarts(t *testing.T) {
	one := []converge.Item{actionItem("shell", "before", 0), actionItem("reboot", "r", 60), actionItem("shell", "after", 0)}
	for name, test := range map[string]struct {
		items   []converge.Item
		down    time.Duration // when it goes down for the restart that the other worker asked for
		off     time.Duration
		results string
		err     string
		took    time.Duration // at most
	}{
		"it is down":             {one, 0, 20 * time.Second, "before changed, r changed, after changed", "", 30 * time.Second},
		"it goes down":           {one, time.Second, 20 * time.Second, "before changed, r changed, after changed", "", 35 * time.Second},
		"it stays away":          {one, 0, -1, "before skipped, r failed, after skipped", "which the worker that is gone may have restarted or locked out, did not answer within 1m0s", 65 * time.Second},
		"nothing restarts there": {one[:1], 0, -1, "", "does not answer", time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				m := &machine{boot: 1, off: test.off, asked: map[resource.ID]int{one[1].ID(): 1}, down: begun.Add(test.down)}
				e := WithHelpers(remote.Helpers{})
				e.dial, e.send = m.dial, m.send
				defer e.Close()
				var results []string
				_, err := e.Converge(t.Context(), site.Node{Name: "a"}, converge.Manifest{Protocol: converge.Protocol, Site: "lon1",
					Run: "r1", Mode: converge.Apply, Resume: true, Items: test.items}, func(r converge.Result) {
					_, title, _ := resource.ParseID(string(r.ID))
					results = append(results, title+" "+string(r.Status))
				})
				if got := strings.Join(results, ", "); got != test.results {
					t.Errorf("results %q, want %q", got, test.results)
				}
				if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
					t.Errorf("%v, want %q", err, test.err)
				}
				if took := time.Since(begun); took > test.took {
					t.Errorf("took %s, want at most %s", took, test.took)
				}
			})
		})
	}
}

func TestNoRestartOfThisMachine(t *testing.T) {
	for _, root := range []string{"", "/", "/./"} {
		e := NewInProcess()
		node := site.Node{Name: "ctl", Connection: site.Connection{Transport: "local", Root: root}}
		// A catalog without a protocol: should it ever get through, it does nothing.
		_, err := e.Converge(t.Context(), node,
			converge.Manifest{Mode: converge.Apply, Items: []converge.Item{actionItem("reboot", "r", 60)}}, nil)
		var failed *converge.SessionError
		if !errors.As(err, &failed) || failed.Code != converge.CodeRestart ||
			!strings.Contains(failed.Message, "it is the machine that runs slipway") {
			t.Errorf("root %q: %v", root, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
