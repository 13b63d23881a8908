package converge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// A guarded resource (resource.Guard) may cut the node off. Before its first change the session writes guard.json and
// starts a service of the node that waits for [types.GuardLimit] (types/guard.go), and starts anew with the node. What
// it notifies is refreshed at once, and all that follows in the manifest waits. Whoever has the lock of the node first
// decides: a session in mode Confirm, over a connection made after the change, removes guard.json; the service, or any
// other session, puts back what the images of the ledger say, and notes that there for the next plan.

// guardPath has the guard that is armed. It is no part of the ledger, because commands may contain secrets.
const guardPath = system.Home + "/guard.json"

// guard is a change that is put back unless it is confirmed.
type guard struct {
	ID   string `json:"id"` // Manifest.Guard of the session that armed it
	Site string `json:"site"`
	Run  string `json:"run"`
	From int    `json:"from"` // the first of its images in the ledger
	Done bool   `json:"done"` // all of it was applied: it may be confirmed
	// Resources are all that was changed since. Refreshed are the commands among them that run again when the rest is put
	// back, to read it.
	Resources []resource.ID       `json:"resources"`
	Refreshed []resource.Resource `json:"refreshed,omitempty"`

	covered map[resource.ID]bool // operations behind the guarded one that do not wait for the confirmation
	first   int                  // the guarded operation
}

// readGuard returns the guard that is armed on a node, nil when there is none.
func readGuard(s *system.System) (*guard, error) {
	content, there, err := s.ReadOwnFile(guardPath)
	if err != nil || !there {
		return nil, err
	}
	var g guard
	if err := resource.DecodeStrictly(content, &g); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; it would have taken back a change of how the node is reached that was not "+
			"confirmed: look at that change on the node, remove the file and apply again", guardPath, err)
	}
	return &g, nil
}

func (g *guard) write(s *system.System) error {
	content, err := json.Marshal(g)
	if err != nil {
		return err
	}
	private := fs.FileMode(0o600)
	return s.ReplaceFile(guardPath, append(content, '\n'), system.Attributes{Mode: &private})
}

// protect arms the guard before the first change of a guarded item, and notes what is changed from then on.
func (x *session) protect(ctx context.Context, j *operation) error {
	if x.guard == nil {
		e := x.ledger.Entry(x.manifest.Site, j.id)
		removed := j.Remove && e != nil && e.Guard
		if x.manifest.TearDown || !j.Guard() && !removed {
			return nil
		}
		if err := x.arm(ctx, j); err != nil {
			return fmt.Errorf("not begun: guard: %w", err)
		}
	}
	g := x.guard
	if !slices.Contains(g.Resources, j.id) {
		g.Resources = append(g.Resources, j.id)
	}
	if _, revives := j.typ.(types.Reviver); !revives && len(x.owed(j)) > 0 {
		if j.named != nil {
			return errors.New("not begun: guard: it runs again when what notified it is put back, and its secrets are not " +
				"kept for that; have it read them from a file, which a resource of its own writes")
		}
		g.Refreshed = append(g.Refreshed, j.Resource)
	}
	if err := g.write(x.sys.System); err != nil {
		return fmt.Errorf("not begun: guard: %w", err)
	}
	return nil
}

// arm arms the guard for a change of j.
func (x *session) arm(ctx context.Context, j *operation) error {
	switch {
	case !x.sys.Machine():
		return system.ErrSandbox
	case x.manifest.Guard == "":
		return errors.New("the session came over no connection that could be lost; leave guard out on this node")
	}
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	first := x.index[j.id]
	g := &guard{ID: x.manifest.Guard, Site: x.manifest.Site, Run: x.manifest.Run, From: len(x.ledger.Images),
		covered: map[resource.ID]bool{j.id: true}, first: first}
	behind := x.operations[first:]
	for _, o := range behind {
		for _, id := range o.Notifies {
			g.covered[id] = g.covered[id] || g.covered[o.id]
		}
	}
	for _, o := range slices.Backward(behind) {
		for _, id := range o.Requires {
			g.covered[id] = g.covered[id] || g.covered[o.id]
		}
	}
	log := x.sys.Log
	x.sys.Log = nil
	x.live.End()
	defer func() { x.sys.Log = log }()
	if err := g.write(x.sys.System); err != nil {
		return err
	}
	if err := x.sys.ArmGuard(ctx, program); err != nil {
		return errors.Join(err, x.disarm(ctx, false))
	}
	x.guard = g
	return nil
}

// waits reports whether the item at i waits for the confirmation of what was changed.
func (x *session) waits(i int) bool {
	return x.guard != nil && i > x.guard.first && !x.guard.covered[x.operations[i].id]
}

// endGuard ends a session that changed something guarded: with all of that successful the session after its
// confirmation does the rest, else it is put back at once. operations were not reported yet.
func (x *session) endGuard(ctx context.Context, operations []*operation) {
	g := x.guard
	var wrong resource.ID
	for _, j := range operations {
		if wrong == "" && x.failed[j.id] && !x.waits(x.index[j.id]) {
			wrong = j.id
		}
	}
	if wrong == "" {
		g.Done = true
		if err := errors.Join(x.save(), g.write(x.sys.System)); err == nil {
			for _, j := range operations {
				j.result.Guarded = j.result.Status != Deferred
			}
			return
		}
	}
	why := "it could not be recorded"
	if wrong != "" {
		why = fmt.Sprintf("%s failed", wrong)
	}
	x.putBack(ctx, g, why, false)
	x.guard = nil
	for _, j := range operations {
		switch {
		case j.result.Status == Deferred:
			j.skip("not begun: " + why + ", and what is guarded was put back")
		case !x.failed[j.id] && slices.Contains(g.Resources, j.id):
			j.fail(fmt.Errorf("guard: put back, because %s", why))
		}
	}
}

// putBack puts back what a guard covers, disarms it, and notes that with the reason in the ledger. itself is as in
// DisarmGuard.
func (x *session) putBack(ctx context.Context, g *guard, why string, itself bool) {
	ctx = context.WithoutCancel(ctx)
	var wrong []string
	emit, failed := x.emit, x.failed
	x.failed = map[resource.ID]bool{}
	x.emit = func(r Result) {
		if r.Status == Failed || r.Status == Skipped {
			wrong = append(wrong, fmt.Sprintf("%s: %s", r.ID, r.Message))
		}
	}
	x.restoreImages(ctx, x.ledger.Images[min(g.From, len(x.ledger.Images)):])
	for _, r := range g.Refreshed {
		j := &operation{Item: Item{Resource: r}, id: r.ID(), typ: x.types[r.Type]}
		if refresher, ok := j.typ.(types.Refresher); ok {
			x.start(j)
			_, err := guarded(j.Type, func() (any, error) { return nil, refresher.Refresh(ctx, x.sys, r) })
			if x.sys.Forget(); err != nil {
				j.fail(fmt.Errorf("refresh: %w", err))
				x.report(j)
			}
		}
	}
	x.emit, x.failed = emit, failed
	if len(wrong) > 0 {
		why += "; not all of it could be put back: " + strings.Join(wrong, "; ")
	}
	x.dropGuardImages(g)
	x.ledger.Change(ledger.Record{PutBack: &ledger.PutBack{Site: g.Site, Guard: g.ID, Run: g.Run, Resources: g.Resources,
		Why: bounded(resource.Visible(why), messageLimit)}})
	if x.save() == nil {
		_ = x.disarm(ctx, itself) // whoever comes next puts it back once more, which changes nothing
	}
}

// dropGuardImages drops the images of a guard, unless they belong to a run that may be restored.
func (x *session) dropGuardImages(g *guard) {
	if !x.manifest.Images && g.From == 0 {
		x.ledger.Change(ledger.Record{Forget: g.Site})
	}
}

// disarm ends the guard: from now on nothing is put back any more.
func (x *session) disarm(ctx context.Context, itself bool) error {
	if err := x.sys.Remove(guardPath); err != nil {
		return err
	}
	return x.sys.DisarmGuard(ctx, itself)
}

// confirm takes the guard of Manifest.Guard away, and keeps what it covers. One that a session left half done is put
// back: a part of it, such as the restart of a service, is yet to come.
func (x *session) confirm(ctx context.Context) {
	g, err := readGuard(x.sys.System)
	switch {
	case err != nil || g == nil || g.ID != x.manifest.Guard:
		x.broken = errors.Join(x.broken, err)
		return
	case !g.Done:
		x.putBack(ctx, g, "the session ended before all of it was applied", false)
		return
	}
	if x.broken = x.sys.Remove(guardPath); x.broken != nil {
		return
	}
	x.confirmed = g.ID
	x.dropGuardImages(g)
	_ = x.sys.DisarmGuard(ctx, false) // what it starts finds nothing to do, and removes itself
}

// leftGuard puts back what an earlier session changed and nobody has confirmed. Another site's is waited for.
func (x *session) leftGuard(ctx context.Context) *SessionError {
	g, err := readGuard(x.sys.System)
	switch {
	case err != nil:
		return ledgerError(err)
	case g == nil:
	case g.Site != x.manifest.Site:
		return &SessionError{Code: CodeLocked, Message: fmt.Sprintf("a guarded change of the site %q waits for its "+
			"confirmation, %s at most; try again then", g.Site, types.GuardLimit)}
	case g.Run == x.manifest.Run:
		x.putBack(ctx, g, "no new connection confirmed it", false)
	default:
		x.putBack(ctx, g, fmt.Sprintf("run %q ended before it confirmed it", g.Run), false)
	}
	if p, there := x.ledger.PutBacks[x.manifest.Site]; there && p.Run != x.manifest.Run {
		x.ledger.Change(ledger.Record{PutBack: &ledger.PutBack{Site: x.manifest.Site}})
	}
	return nil
}

// Guard is the life of the service that ArmGuard starts: it waits for limit, and puts back what was not confirmed by
// then. It ends early when ctx does.
func Guard(ctx context.Context, s *system.System, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.LockWait = 24 * time.Hour // of a session that works: it is no guard's to cut off
	lock, err := s.Lock(ctx, true, "guard")
	if err != nil {
		return err
	}
	defer lock.Release()
	l, err := ledger.Read(s)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // what was not synced by then is not needed
	x := &session{sys: &types.Session{System: s, Ledger: l, Applying: true, Ran: map[resource.ID]bool{}},
		types: types.All, ledger: l}
	g, err := readGuard(s)
	if err != nil || g == nil {
		return errors.Join(err, x.sys.DisarmGuard(ctx, true))
	}
	x.sys.Site, x.manifest.Site, x.manifest.Run, x.manifest.Mode = g.Site, g.Site, g.Run, Apply
	x.putBack(ctx, g, fmt.Sprintf("no new connection confirmed it within %s", limit), true)
	return x.leave()
}
