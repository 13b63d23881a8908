package converge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// Run does what a manifest says on a node and returns when all of it is done, the node's ledger included. It calls emit
// for every item as soon as its outcome is known, in the order in which they are handled, and of the ledger backwards
// for a tear-down.
//
// Each item is checked and, in mode Apply, where it differs applied and checked again. An item that fails does not stop
// the others, but those that require it are skipped. When ctx ends, the item at work is given up and the others are
// skipped. In the modes Check and Prepare nothing on the node is changed, slipway's own files included, but for what
// Manifest.Begins says.
//
// Summary.Error says that the session could not do its work: then items without a result were not touched by it, unless
// its code is CodeLedger, where the last result says how far it came.
func Run(ctx context.Context, s *system.System, c Manifest, emit func(Result)) Summary {
	return runWith(ctx, &types.Session{System: s, Contents: c.Contents}, types.All, c, emit)
}

func runWith(
	ctx context.Context, s *types.Session, types map[string]types.Type, c Manifest, emit func(Result),
) Summary {
	s.Site, s.Applying, s.Ran = c.Site, c.Mode == Apply, map[resource.ID]bool{}
	x := &session{
		sys: s, types: types, manifest: c, emit: emit, index: map[resource.ID]int{}, failed: map[resource.ID]bool{},
		prefetched: map[string]int{}, linked: map[object]bool{},
	}
	if x.applying() || c.Health != nil {
		s.Live = &x.live
		defer func() { s.Live = nil }()
		defer x.live.End()
	}
	summary := Summary{Protocol: Protocol, Ledger: map[resource.ID]string{}}
	if err := c.invalid(); err != nil {
		summary.Error = &SessionError{Code: CodeProtocol, Message: err.Error()}
		return summary
	}
	summary.BootID, _ = s.BootID() // empty where there is none
	summary.Identity = identify(s.System)
	summary.Error = x.run(ctx)
	if x.ledger != nil {
		summary.Identity.Ledger = x.ledger.ID
		summary.Ledger = x.ledger.Digests(c.Site)
		summary.Guard = x.confirmed
		if g, err := readGuard(s.System); err == nil && g != nil && g.Site == c.Site {
			summary.Guard = g.ID
			for _, id := range g.Resources {
				if _, applied := summary.Ledger[id]; applied {
					summary.Ledger[id] = "" // it is not there to stay yet
				}
			}
		}
		if p, there := x.ledger.PutBacks[c.Site]; there {
			summary.PutBack = &p
		}
		held, locked := x.held()
		summary.Locked, summary.LockedBy = locked || x.abandoned, held.Run
		summary.Unchecked = x.ledger.Unchecked[c.Site]
	}
	return summary
}

// invalid says what makes a manifest invalid.
func (c Manifest) invalid() error {
	switch {
	case c.Protocol != Protocol:
		return fmt.Errorf("the manifest has protocol %d, and this slipway on the node speaks %d; "+
			"use the same version on both sides", c.Protocol, Protocol)
	case c.Mode != Prepare && c.Mode != Check && c.Mode != Apply && c.Mode != Confirm:
		return fmt.Errorf("the manifest has mode %q; it must be prepare, check, apply or confirm", c.Mode)
	case c.Site == "":
		return errors.New("the manifest names no site")
	case c.Mode == Apply && c.Run == "":
		return errors.New("the manifest names no run")
	case len(c.Begins) > 0 && (c.Mode == Check || c.TearDown):
		return errors.New("the manifest begins actions and is to check or tear down; it must be one or the other")
	case len(c.Begins) > 0 && c.Run == "":
		return errors.New("the manifest begins actions and names no run")
	case len(c.Items) > schema.MostResources:
		return fmt.Errorf("the manifest has %d items; it may have at most %d", len(c.Items), schema.MostResources)
	case c.TearDown && len(c.Items) > 0:
		return errors.New("the manifest has items and is to tear down; it must be one or the other")
	case c.Restore && (c.Mode != Apply || c.TearDown || len(c.Items) > 0 || len(c.Begins) > 0):
		return errors.New("the manifest is to restore and has other work; it must be one or the other")
	case (c.Mode == Prepare || c.Mode == Confirm) && (c.TearDown || len(c.Items) > 0):
		return fmt.Errorf("the manifest is to %s and has work; it must be one or the other", c.Mode)
	case c.Unchecked && c.Mode != Apply:
		return errors.New("the manifest says that a health check is to follow, and is not to apply")
	case c.Checked && (c.Mode != Check || c.Health == nil || c.Run == ""):
		return errors.New("the manifest says that the last health check succeeded, and has none or names no run")
	case c.Mode == Confirm && (c.Run == "" || c.Guard == ""):
		return errors.New("the manifest is to confirm and names no run or no guard")
	}
	return nil
}

// session is one manifest at work on a node.
type session struct {
	sys      *types.Session
	types    map[string]types.Type
	manifest Manifest
	emit     func(Result)
	live     LiveOutput // what commands print, while they run
	ledger   *ledger.Ledger

	operations []*operation
	index      map[resource.ID]int  // of operations
	failed     map[resource.ID]bool // failed or skipped in this session
	linked     map[object]bool      // to which links of this session gave another name (shared)
	prefetched map[string]int       // type -> System.generation at its last Prefetch
	left       []*ledger.Entry      // of what this session left to other sites
	broken     error                // the ledger cannot be written: nothing more may be applied
	tornDown   bool                 // nothing of the site is left
	abandoned  bool                 // except that the node stays locked: nobody knows how to unlock it
	restarting bool                 // the node restarts after the session
	guard      *guard               // what was changed from now on waits for its confirmation; nil when nothing does
	confirmed  string               // the guard that the session has confirmed
}

func (x *session) applying() bool { return x.manifest.Mode == Apply }

// writes reports whether the session may change the ledger.
func (x *session) writes() bool {
	return x.applying() || x.manifest.Mode == Confirm || len(x.manifest.Begins) > 0 || x.manifest.Checked
}

// key is what the ledger calls an item.
func (x *session) key(j *operation) ledger.Key { return ledger.Key{Site: x.manifest.Site, ID: j.id} }

// run does the session's work between taking the node's lock and giving it back.
func (x *session) run(ctx context.Context) *SessionError {
	if x.sys.Root == "/" && os.Geteuid() != 0 {
		return &SessionError{Code: CodeRoot, Message: fmt.Sprintf("the session runs as user %d, "+
			"and only root may change the node; connect as root or use sudo", os.Geteuid())}
	}
	if failure := x.needs(); failure != nil {
		return failure
	}
	made, lock, failure := x.enter(ctx)
	if failure != nil {
		return failure
	}
	defer lock.Release()
	l, err := ledger.Read(x.sys.System)
	if err != nil {
		return ledgerError(err)
	}
	defer func() { _ = l.Close() }() // what was not synced by then is not needed
	if len(made) > 0 {
		l.Change(ledger.Record{Made: made})
		if err := l.Save(); err != nil { // at once, or a crash would leave directories that nobody removes
			return ledgerError(err)
		}
	}
	x.ledger, x.sys.Ledger = l, l
	if failure := x.checkOwner(); failure != nil {
		return failure
	}
	if failure := x.checkFence(); failure != nil {
		return failure
	}
	if lock != nil {
		if x.writes() && x.manifest.Mode != Confirm {
			if failure := x.leftGuard(ctx); failure != nil {
				return failure
			}
		}
		if x.writes() {
			x.own()
			x.dropImages()
		}
		x.markActions()
		if x.manifest.Unchecked {
			x.ledger.SetUnchecked(x.manifest.Site, x.manifest.Run)
		}
		if err := x.save(); err != nil {
			return ledgerError(err)
		}
	}
	defer func() { x.sys.Log = nil }()
	x.sys.Forget()
	failure = x.inWindow(ctx, func() {
		switch {
		case x.manifest.Mode == Confirm:
			x.confirm(ctx)
		case x.manifest.TearDown:
			x.tearDown(ctx)
		case x.manifest.Restore:
			x.restore(ctx)
		default:
			x.items(ctx)
		}
	})
	if failure == nil && x.manifest.Health != nil && x.guard == nil {
		failure = x.checkHealth(ctx, *x.manifest.Health)
		if failure == nil && x.manifest.Checked && lock != nil {
			x.ledger.SetUnchecked(x.manifest.Site, "")
		}
	}
	if err := x.leave(); failure == nil && err != nil {
		failure = ledgerError(err)
	}
	return failure
}

// enter makes slipway's directory, where the session may, and takes the node's lock.
func (x *session) enter(ctx context.Context) (made []string, lock *system.Lock, failure *SessionError) {
	who := fmt.Sprintf("site %q, run %q", x.manifest.Site, x.manifest.Run)
	for tries := 0; ; tries++ {
		if x.applying() {
			more, err := x.sys.MakeHome()
			made = append(made, more...)
			if err != nil {
				return nil, nil, ledgerError(err)
			}
		}
		lock, err := x.sys.Lock(ctx, x.writes(), who)
		switch {
		case err == nil:
			return made, lock, nil
		case errors.As(err, new(system.BusyError)):
			return nil, nil, &SessionError{Code: CodeLocked, Message: err.Error()}
		case errors.Is(err, fs.ErrNotExist) && !x.applying(): // slipway has no directory on the node: nothing is recorded
			return nil, nil, nil
		case errors.Is(err, fs.ErrNotExist) && tries < 3: // another session has torn the node down in between
			continue
		}
		return nil, nil, ledgerError(err)
	}
}

// leave brings the ledger to the disk, drops what it does not need any more and, when no site has anything on the node,
// every trace of slipway: also of a session that failed before it applied anything.
func (x *session) leave() error {
	if !x.writes() {
		return nil
	}
	if x.broken != nil {
		return x.broken
	}
	if x.applying() {
		if err := x.ledger.RemoveLeft(); err != nil {
			return err
		}
	}
	if x.tornDown && x.ledger.Owners[x.manifest.Site] != "" {
		x.ledger.Change(ledger.Record{Owner: &ledger.Owner{Site: x.manifest.Site}})
	}
	if err := x.ledger.Compact(); err != nil || !x.applying() && (!x.manifest.Checked || !x.ledger.Empty()) {
		return err
	}
	if x.ledger.Empty() {
		x.ledger.ID = ""
		return x.ledger.RemoveHome()
	}
	return errors.Join(x.ledger.RemoveUnnamed(), x.sys.RemoveAll(system.WorkPath)) // the latter when a session was killed
}

func ledgerError(err error) *SessionError {
	return &SessionError{Code: CodeLedger, Message: "slipway's own directory on the node: " + err.Error()}
}

// save brings the ledger to the disk. When it cannot, nothing more is applied in this session.
func (x *session) save() error {
	if x.broken == nil {
		x.broken = x.ledger.Save()
	}
	return x.broken
}

// note writes into the ledger that something is done. The next save makes it last: without it, a crash of the node
// makes the next session look once more, and find it done.
func (x *session) note() error {
	if x.broken == nil {
		x.broken = x.ledger.Append()
	}
	return x.broken
}

// items handles the manifest's items in their order.
func (x *session) items(ctx context.Context) {
	x.operations = x.plan()
	x.sys.Named = make(map[ledger.Key]bool, len(x.operations))
	for i, j := range x.operations {
		x.index[j.id], x.sys.Named[x.key(j)] = i, true
		if j.wrong == nil && !j.Remove && !j.Noop() {
			x.sys.Wanted = append(x.sys.Wanted, j.Resource)
		}
		e := x.ledger.Entry(x.manifest.Site, j.id)
		if x.manifest.Resume && e != nil && e.Run == x.manifest.Run && e.Digest != "" && e.Digest == j.Digest {
			x.sys.Ran[j.id] = true
		}
	}
	if x.applying() {
		x.transferEntries()
		x.undoFormerFirst(ctx)
	}
	reported := 0
	for i, j := range x.operations {
		x.next(ctx, i)
		if j.result.Status == Failed || j.result.Status == Skipped {
			x.failed[j.id] = true
		}
		if x.guard == nil {
			x.report(j)
			reported++
		}
	}
	if x.guard != nil {
		x.endGuard(ctx, x.operations[reported:])
		for _, j := range x.operations[reported:] {
			x.report(j)
		}
	}
}

// next handles the item at i, unless it was handled together with an earlier one, and with it those that come later and
// can be applied together with it. Each is reported when its turn comes.
func (x *session) next(ctx context.Context, i int) {
	first := x.operations[i]
	x.examine(ctx, i)
	batcher, ok := first.typ.(types.Batcher)
	if first.done || !ok || first.Remove || first.RefreshOnly {
		x.execute(ctx, first)
		x.recordTolerated(ctx, first)
		return
	}
	together := []*operation{first}
	for n, j := range x.operations[i+1:] {
		if j.Type != first.Type && !j.Remove && batcher.Overtakes(j.Resource) {
			continue
		}
		if j.Type != first.Type || j.Remove {
			break
		}
		if !j.done && j.wrong == nil && !j.RefreshOnly && !x.requiresFrom(j, i) {
			if x.examine(ctx, i+1+n); !j.done {
				together = append(together, j)
			}
		}
	}
	if len(together) == 1 {
		x.execute(ctx, first)
	} else {
		x.executeBatch(ctx, batcher, together)
	}
}

// requiresFrom reports whether an item requires one whose turn has not come before that at i.
func (x *session) requiresFrom(j *operation, i int) bool {
	return slices.ContainsFunc(j.Requires, func(id resource.ID) bool {
		at, known := x.index[id]
		return known && at >= i
	})
}

// report sends the outcome of an item.
func (x *session) report(j *operation) {
	x.live.End()
	r := j.result
	r.ID = j.id
	r.Millis = j.ended.Sub(j.started).Milliseconds()
	j.redact(&r)
	if r.Status == Failed || r.Status == Skipped {
		x.failed[j.id] = true
	}
	x.emit(r)
}

// needs reports the programs of Manifest.Needs that are not there.
func (x *session) needs() *SessionError {
	missing, err := x.sys.MissingPrograms(x.manifest.Needs)
	if err != nil {
		return &SessionError{Code: CodeNeeds, Message: err.Error()}
	}
	if len(missing) == 0 {
		return nil
	}
	is, them := "program "+missing[0]+" is", "it"
	if len(missing) > 1 {
		is, them = "programs "+strings.Join(missing, ", ")+" are", "them"
	}
	return &SessionError{Code: CodeNeeds, Message: fmt.Sprintf("the %s not on the node (looked in %s); "+
		"tasks of this run call %s: install %s first", is, system.ProgramPath, them, them)}
}
