package converge

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const guardUnit = "/etc/systemd/system/slipway-guard.service"

// guardBench is a node that systemd runs, with a firewall: the command `load` loads its file, and fails when that is broken.
type guardBench struct {
	*bench
	loaded string
	active map[string]string // unit -> ActiveState
	// unit -> UnitFileState
	enabled map[string]string
	ran     []string
}

func newGuarded(t *testing.T) *guardBench {
	t.Helper()
	g := &guardBench{bench: &bench{sandbox: newSandbox(t), types: types.All, run: "run-1"}, active: map[string]string{}, enabled: map[string]string{}}
	g.mkdir("/run/systemd/system", "/etc/systemd/system", "/var/lib")
	g.Commands = g.command
	return g
}

func (g *guardBench) command(_ context.Context, c system.Command) (system.Output, error) {
	line := strings.Join(c.Argv, " ")
	verb, unit := c.Argv[min(1, len(c.Argv)-1)], c.Argv[len(c.Argv)-1]
	switch {
	case verb == "show":
		load, state := "loaded", cmp.Or(g.enabled[unit], "disabled")
		if unit == "slipway-guard.service" && !g.there(guardUnit) {
			load, state = "not-found", ""
		}
		return systemtest.Prints(systemtest.Shown(unit, load, g.active[unit], "x", state)), nil
	case line == "/bin/sh -c load":
		content := g.get("/etc/fw")
		g.ran = append(g.ran, "load "+content)
		if content == "broken" {
			return system.Output{Status: 1}, nil
		}
		g.loaded = content
		return system.Output{}, nil
	case verb == "start" || verb == "restart":
		g.active[unit] = "active"
	case verb == "enable" || verb == "disable":
		g.enabled[unit] = verb + "d"
	case verb == "stop":
		g.active[unit] = "inactive"
	}
	g.ran = append(g.ran, line)
	return system.Output{}, nil
}

// fw are the firewall's file, guarded, a file that comes after it and has nothing to do with it, and the command that loads it.
func (g *guardBench) fw(content string) []Item {
	g.t.Helper()
	return []Item{
		managed(g.t, "file", "/etc/fw", resource.Parameters{"content": content, "guard": true}).notifies("exec[load]"),
		managed(g.t, "file", "/etc/later", resource.Parameters{"content": content}),
		managed(g.t, "exec", "load", resource.Parameters{"refreshonly": true}).requires("file[/etc/fw]"),
	}
}

func (g *guardBench) guardedSession(c Manifest) ([]Result, Summary) {
	g.t.Helper()
	c.Guard = "guard-" + g.run
	return g.session(g.t.Context(), c)
}

// settled applies the first form of the firewall, confirmed, and all that waits for it.
func (g *guardBench) settled() {
	g.t.Helper()
	results, s := g.guardedSession(Manifest{Mode: Apply, Items: g.fw("one")})
	g.wantStatuses(results, "file[/etc/fw] changed", "file[/etc/later] deferred", "exec[load] changed refreshed")
	if s.Guard != "guard-run-1" || s.Ledger["file[/etc/fw]"] != "" || !results[0].Guarded || results[1].Guarded || !results[2].Guarded {
		g.t.Fatalf("the guard is %q, the ledger %v; %+v", s.Guard, s.Ledger, results)
	}
	g.confirmed()
	results, s = g.guardedSession(Manifest{Mode: Apply, Items: g.fw("one")})
	g.wantStatuses(results, "file[/etc/fw] unchanged", "file[/etc/later] changed", "exec[load] unchanged")
	if s.Guard != "" || s.Ledger["file[/etc/fw]"] == "" {
		g.t.Fatalf("the guard is %q, the ledger %v", s.Guard, s.Ledger)
	}
	g.run = "run-2"
}

func (g *guardBench) confirmed() {
	g.t.Helper()
	_, s := g.guardedSession(Manifest{Mode: Confirm})
	if s.Error != nil || s.Guard != "guard-"+g.run || s.PutBack != nil {
		g.t.Fatalf("not confirmed: %v, %q, %+v", s.Error, s.Guard, s.PutBack)
	}
	g.disarmed()
}

func (g *guardBench) disarmed() {
	g.t.Helper()
	for _, path := range []string{guardPath, guardUnit, types.GuardProgram} {
		if g.there(path) {
			g.t.Errorf("%s is left", path)
		}
	}
}

// wantFirst checks that the firewall is the first one again, and that the ledger says so, and why.
func (g *guardBench) wantFirst(why string) {
	g.t.Helper()
	l := g.ledgerNow()
	p := l.PutBacks["one"]
	if e := l.Entry("one", "file[/etc/fw]"); g.get("/etc/fw") != "one" || g.loaded != "one" || e == nil || e.Digest != g.fw("one")[0].Digest {
		g.t.Errorf("the file is %q, loaded is %q, the ledger has %+v", g.get("/etc/fw"), g.loaded, e)
	}
	if !strings.Contains(p.Why, why) || p.Run != "run-2" || !slices.Contains(p.Resources, "file[/etc/fw]") || len(l.Images) > 0 {
		g.t.Errorf("put back is %+v, want it to say %q; images %v", p, why, l.Images)
	}
	g.disarmed()
}

// TestGuardWaitsForItsConfirmation: what is guarded and notified is done at once, all else after the confirmation.
func TestGuardWaitsForItsConfirmation(t *testing.T) {
	g := newGuarded(t)
	g.settled()
	if !slices.Contains(g.ran, "systemctl restart -- slipway-guard.service") || g.active["slipway-guard.service"] != "inactive" {
		t.Errorf("the service of the guard: %q, %v", g.ran, g.active)
	}
	g.guardedSession(Manifest{Mode: Apply, Items: g.fw("two")})
	for _, path := range []string{guardPath, guardUnit, types.GuardProgram} {
		if !g.there(path) {
			t.Errorf("armed, %s is missing", path)
		}
	}
	if _, s := g.session(t.Context(), Manifest{Mode: Check}); s.Guard != "guard-run-2" || s.Ledger["file[/etc/fw]"] != "" {
		t.Errorf("a check while it is armed: %q, %v", s.Guard, s.Ledger)
	}
	g.confirmed()
	if _, s := g.guardedSession(Manifest{Mode: Confirm}); s.Error != nil || s.Guard != "" || s.PutBack != nil || g.loaded != "two" {
		t.Errorf("confirmed once more: %v, %q, %+v; loaded is %q", s.Error, s.Guard, s.PutBack, g.loaded)
	}
}

// TestGuardPutsBack: the service of the guard puts back what nobody has confirmed, and what comes later learns that.
func TestGuardPutsBack(t *testing.T) {
	g := newGuarded(t)
	g.settled()
	g.guardedSession(Manifest{Mode: Apply, Items: g.fw("two")})
	if g.loaded != "two" {
		t.Fatalf("loaded is %q", g.loaded)
	}
	if err := Guard(t.Context(), g.System, 0); err != nil {
		t.Fatal(err)
	}
	g.wantFirst("no new connection confirmed it within")
	for _, mode := range []Mode{Confirm, Check} {
		if _, s := g.guardedSession(Manifest{Mode: mode}); s.Guard != "" || s.PutBack == nil || s.PutBack.Guard != "guard-run-2" {
			t.Errorf("%s: the guard is %q, put back %+v", mode, s.Guard, s.PutBack)
		}
	}
	g.run = "run-3"
	if _, s := g.guardedSession(Manifest{Mode: Apply, Items: g.fw("one")}); s.PutBack != nil {
		t.Errorf("after another run: %+v", s.PutBack)
	}
	if err := Guard(t.Context(), g.System, 0); err != nil { // nothing is armed
		t.Fatal(err)
	}
}

// TestGuardOfWhatIsNew: what the guarded change made is gone, and the note of that stays until the next run.
func TestGuardOfWhatIsNew(t *testing.T) {
	g := newGuarded(t)
	before := g.tree()
	g.guardedSession(Manifest{Mode: Apply, Items: []Item{managed(t, "file", "/etc/fw", resource.Parameters{"content": "one", "guard": true})}})
	if err := Guard(t.Context(), g.System, 0); err != nil {
		t.Fatal(err)
	}
	if _, s := g.session(t.Context(), Manifest{Mode: Check}); s.PutBack == nil || len(s.Ledger) > 0 || g.there("/etc/fw") {
		t.Errorf("%+v, %v", s.PutBack, s.Ledger)
	}
	g.run = "run-2"
	g.session(t.Context(), Manifest{Mode: Apply, TearDown: true})
	if now := g.tree(); !maps.Equal(before, now) {
		t.Errorf("not as before: %v, %v", before, now)
	}
}

// TestGuardPutsBackAtOnce: when a part of it fails, nobody needs to wait; what comes later is not begun.
func TestGuardPutsBackAtOnce(t *testing.T) {
	g := newGuarded(t)
	g.settled()
	results, s := g.guardedSession(Manifest{Mode: Apply, Items: g.fw("broken")})
	g.wantStatuses(results, "file[/etc/fw] failed", "file[/etc/later] skipped", "exec[load] failed refreshed")
	if want := "guard: put back, because exec[load] failed"; results[0].Message != want || s.Guard != "" {
		t.Errorf("the guard is %q; %q, want %q", s.Guard, results[0].Message, want)
	}
	g.wantFirst("exec[load] failed")
}

// TestGuardOfACommandWithASecret: what would run again when the change is put back has no secret by then, so all is put
// back at once, and guard.json never has one.
func TestGuardOfACommandWithASecret(t *testing.T) {
	g := newGuarded(t)
	g.settled()
	items := g.fw("two")
	items[2].Parameters["environment"] = []any{"PW=⟦secret:s@1⟧"}
	inner := g.Commands
	g.Commands = func(ctx context.Context, c system.Command) (system.Output, error) {
		if g.there(guardPath) && strings.Contains(g.get(guardPath), secretOneText) {
			t.Errorf("guard.json is %s", g.get(guardPath))
		}
		return inner(ctx, c)
	}
	results, _ := g.guardedSession(Manifest{Mode: Apply, Items: items, Secrets: map[string]string{"s@1": secretOneText}})
	g.wantStatuses(results, "file[/etc/fw] failed", "file[/etc/later] skipped", "exec[load] failed")
	if want := "its secrets are not kept for that; have it read them from a file"; !strings.Contains(results[2].Message, want) {
		t.Errorf("the message is %q, want %q", results[2].Message, want)
	}
}

// TestGuardThatIsLeft: the next session of the site puts back what nobody confirmed, one of another site waits.
func TestGuardThatIsLeft(t *testing.T) {
	for name, run := range map[string]string{"same run": "run-2", "other run": "run-3"} {
		g := newGuarded(t)
		g.settled()
		g.guardedSession(Manifest{Mode: Apply, Items: g.fw("two")})
		other := Manifest{Protocol: Protocol, Site: "two", Run: "r", Mode: Apply}
		if s := Run(t.Context(), g.System, other, nil); s.Error == nil || s.Error.Code != CodeLocked || !strings.Contains(s.Error.Message, `site "one"`) {
			t.Errorf("%s: another site: %v", name, s.Error)
		}
		g.run = run
		g.session(t.Context(), Manifest{Mode: Apply})
		if g.get("/etc/fw") != "one" || g.loaded != "one" {
			t.Errorf("%s: the file is %q, loaded is %q", name, g.get("/etc/fw"), g.loaded)
		}
		g.disarmed()
	}
}

// TestGuardThatIsHalfDone: of a session that was killed, the restart of a service may be yet to come, so it is not confirmed.
func TestGuardThatIsHalfDone(t *testing.T) {
	g := newGuarded(t)
	g.settled()
	g.guardedSession(Manifest{Mode: Apply, Items: g.fw("two")})
	armed, err := readGuard(g.System)
	if err != nil {
		t.Fatal(err)
	}
	armed.Done = false
	if err := armed.write(g.System); err != nil {
		t.Fatal(err)
	}
	if _, s := g.guardedSession(Manifest{Mode: Confirm}); s.Error != nil || s.Guard != "" || s.PutBack == nil {
		t.Errorf("%v, %q, %+v", s.Error, s.Guard, s.PutBack)
	}
	g.wantFirst("ended before")
}

// TestGuardOfARemoval: the removal of what was guarded is guarded, too.
func TestGuardOfARemoval(t *testing.T) {
	g := newGuarded(t)
	g.settled()
	results, s := g.guardedSession(Manifest{Mode: Apply, Items: []Item{removal("file[/etc/fw]"), removal("file[/etc/later]")}})
	g.wantStatuses(results, "file[/etc/later] changed", "file[/etc/fw] changed")
	if s.Guard == "" || g.there("/etc/fw") {
		t.Fatalf("the guard is %q", s.Guard)
	}
	if err := Guard(t.Context(), g.System, 0); err != nil {
		t.Fatal(err)
	}
	l := g.ledgerNow()
	if e := l.Entry("one", "file[/etc/fw]"); g.get("/etc/fw") != "one" || e == nil || e.Digest == "" {
		t.Errorf("the file is %q, its entry %+v", g.get("/etc/fw"), e)
	}
}

// TestTearDownIsNotGuarded: nobody would confirm it.
func TestTearDownIsNotGuarded(t *testing.T) {
	g := newGuarded(t)
	before := g.tree()
	g.settled()
	if results, s := g.session(t.Context(), Manifest{Mode: Apply, TearDown: true}); s.Error != nil || s.Guard != "" {
		t.Errorf("%v, %q, %+v", s.Error, s.Guard, results)
	}
	if now := g.tree(); !maps.Equal(before, now) {
		t.Errorf("not as before: %v, %v", before, now)
	}
}

// TestGuardThatCannotBeArmed: then nothing is changed.
func TestGuardThatCannotBeArmed(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*guardBench)
		guard string
		want  string
	}{
		"neither systemd nor OpenRC": {func(g *guardBench) { _ = os.RemoveAll(g.real("/run/systemd")) }, "x", "neither systemd nor OpenRC, so nothing could put the change back"},
		"no machine":                 {func(g *guardBench) { g.Commands = nil }, "x", "sandbox folder"},
		"no connection":              {func(*guardBench) {}, "", "no connection that could be lost"},
	} {
		g := newGuarded(t)
		test.spoil(g)
		results, _ := g.session(t.Context(), Manifest{Mode: Apply, Guard: test.guard, Items: g.fw("one")[:1]})
		if r := results[0]; r.Status != Failed || !strings.Contains(r.Message, test.want) || g.there("/etc/fw") {
			t.Errorf("%s: %s %q", name, r.Status, r.Message)
		}
		g.disarmed()
	}
}

// TestGuardInALockWindow: the window stays open until the session after the confirmation, and the health check waits for that.
func TestGuardInALockWindow(t *testing.T) {
	g := newGuarded(t)
	c := Manifest{Mode: Apply, Lock: "drain", Unlock: "undrain", Health: &HealthCheck{Command: "healthy"}, Items: g.fw("one")}
	if _, s := g.guardedSession(c); !s.Locked || slices.Contains(g.ran, "/bin/sh -c healthy") {
		t.Errorf("locked %t; ran %q", s.Locked, g.ran)
	}
	g.confirmed()
	if _, s := g.guardedSession(c); s.Locked || s.Error != nil || !slices.Contains(g.ran, "/bin/sh -c healthy") || !slices.Contains(g.ran, "/bin/sh -c undrain") {
		t.Errorf("locked %t, %v; ran %q", s.Locked, s.Error, g.ran)
	}
}

// TestALedgerWithAGuard: what is noted of a guard outlives the file and the log.
func TestALedgerWithAGuard(t *testing.T) {
	l, err := ledger.Parse([]byte(`{"version":1,"entries":[{"site":"s","type":"file","title":"/f","digest":"d","before":null,"run":"r","guard":true}],"put_backs":{"s":{"site":"s","guard":"g","run":"r","resources":["file[/f]"],"why":"w"}}}`))
	if err != nil || !l.Entries[0].Guard || l.PutBacks["s"].Why != "w" || l.Empty() {
		t.Errorf("%+v, %v", l, err)
	}
}
