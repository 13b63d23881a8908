package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// DefaultUnlockTimeout bounds the session that unlocks a node whose window did not end as planned.
const DefaultUnlockTimeout = 5 * time.Minute

// lockWindows runs the nodes of a rolling group, each with all its steps between lock and unlock, at most MaxParallel
// at once. A node that stays locked counts until the end of the run: never are more than MaxParallel nodes locked.
// Nodes that an earlier run left locked come first, so that they are unlocked first.
func (d *driver) lockWindows(ctx context.Context, c call, r round, p *progress) {
	queue := slices.Clone(r.lockWindows)
	slices.SortStableFunc(queue, func(a, b []step) int {
		return order(d.locks.isLocked(b[0].node)) - order(d.locks.isLocked(a[0].node))
	})
	limits := map[int]chan struct{}{}
	for _, steps := range queue {
		for _, st := range steps {
			if st.limit > 0 && limits[st.phase] == nil {
				limits[st.phase] = make(chan struct{}, st.limit)
			}
		}
	}
	members := map[string]bool{}
	for _, n := range d.members(c.group) {
		members[n] = true
	}
	atWork := map[string]bool{}
	ended := make(chan string)
	for len(queue) > 0 || len(atWork) > 0 {
		for len(queue) > 0 {
			node := queue[0][0].node
			stuck := d.stuck(members, atWork)
			if len(atWork) >= c.width || !d.locks.isLocked(node) && len(atWork)+len(stuck) >= c.rolling.MaxParallel {
				break
			}
			steps := queue[0]
			queue = queue[1:]
			atWork[node] = true
			go func() {
				d.slots <- struct{}{}
				d.lockWindow(ctx, c, steps, limits, p)
				<-d.slots
				ended <- node
			}()
		}
		if len(atWork) == 0 {
			stuck := d.stuck(members, atWork)
			for _, steps := range queue {
				d.refuse(c, steps[0], p, fmt.Errorf(
					"not started: %s may still be locked, and no more than %d nodes of group %q may be; "+
						"the next plan unlocks first", stuck[0], c.rolling.MaxParallel, c.group))
			}
			return
		}
		delete(atWork, <-ended)
	}
}

// order puts what is true behind what is false.
func order(b bool) int {
	if b {
		return 1
	}
	return 0
}

// stuck returns those of the members that are left locked while nobody works on them, sorted.
func (d *driver) stuck(members, atWork map[string]bool) []string {
	return slices.DeleteFunc(d.locks.nodes(), func(n string) bool { return atWork[n] || !members[n] })
}

// refuse fails a node before its step.
func (d *driver) refuse(c call, st step, p *progress, err error) {
	if d.stopped() {
		p.add(st, cutShort)
		return
	}
	d.note(st.node, func(r *NodeReport) { r.Group, r.Error = c.group, err })
	d.recordNode(c.group, st.node, strategy.Failed, err.Error())
	p.add(st, failure)
}

// lockWindow runs all steps of one node between lock and unlock. Each session but the last leaves the node locked for
// the next ([converge.Catalog.Keep]). When the last one is never reached, a session of its own unlocks the node.
func (d *driver) lockWindow(ctx context.Context, c call, steps []step, limits map[int]chan struct{}, p *progress) {
	var last step
	for i, st := range steps {
		last = st
		if st.waits != "" {
			d.refuse(c, st, p, errors.New(st.waits))
			break
		}
		verdict := d.limited(ctx, limits[st.phase], func() verdict {
			return d.lockWindowStep(ctx, c, st, i == len(steps)-1)
		})
		p.add(st, verdict)
		if verdict != done {
			break
		}
	}
	if d.locks.isLocked(last.node) && !d.unlockFailed(last.node) {
		if verdict := d.unlock(c, last); verdict != done {
			p.add(last, verdict)
		}
	}
}

// limited calls do when the phase has room for one more node.
func (d *driver) limited(ctx context.Context, limit chan struct{}, do func() verdict) verdict {
	if limit == nil {
		return do()
	}
	select {
	case limit <- struct{}{}:
		defer func() { <-limit }()
	case <-ctx.Done(): // the step says so
	case <-d.cancellation.stopping.Done(): // likewise
	}
	return do()
}

// lockWindowStep runs one step between lock and unlock.
func (d *driver) lockWindowStep(ctx context.Context, c call, st step, last bool) verdict {
	lock, unlock := c.rolling.Lock, c.rolling.Unlock
	if d.schedule.spared[st.node] {
		lock, unlock = "", ""
	}
	if st.kind != callbackKind {
		fill := c.fill
		c.fill = func(st step) converge.Catalog {
			catalog := fill(st)
			catalog.Lock, catalog.Unlock, catalog.Keep = lock, unlock, lock+unlock != "" && !last
			return catalog
		}
		return d.step(ctx, c, st)
	}
	if lock != "" && unlock != "" && !d.locks.isLocked(st.node) {
		locking := c
		locking.fill = func(step) converge.Catalog {
			catalog := d.catalog(converge.Apply, nil)
			catalog.Lock, catalog.Unlock, catalog.Keep = lock, unlock, true
			return catalog
		}
		if verdict := d.step(ctx, locking, step{phase: st.phase, node: st.node}); verdict != done {
			return verdict
		}
	}
	return d.nodeCallback(ctx, c, st)
}

// unlockFailed reports whether the node's last session has tried to unlock it already.
func (d *driver) unlockFailed(node string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	var failed *converge.SessionError
	return errors.As(d.report.Nodes[node].Error, &failed) && failed.Code == converge.CodeUnlock
}

// unlock unlocks a node, also while the run is being stopped and after the time limit of its call.
func (d *driver) unlock(c call, last step) verdict {
	ctx, cancel := context.WithTimeoutCause(d.cancellation.unlocking, DefaultUnlockTimeout,
		&TimeLimitError{Call: "unlock", Group: c.group, Limit: DefaultUnlockTimeout})
	defer cancel()
	st := step{phase: last.phase, node: last.node,
		tasks: []task.Task{{Node: last.node, Group: task.Node, Action: task.Unlock}}}
	catalog := d.catalog(converge.Apply, nil)
	catalog.Unlock = c.rolling.Unlock
	o := outcome{err: context.Cause(ctx)}
	if ctx.Err() == nil {
		o = d.session(ctx, d.nodes[st.node], catalog, st, c.group)
	}
	for _, w := range o.warnings {
		d.warn(c.group, st.node, w)
	}
	var failed *converge.SessionError
	if known := errors.As(o.err, &failed) && failed.Code == converge.CodeUnlock; o.err != nil && !known {
		d.warn(c.group, st.node, fmt.Sprintf("node %q may stay locked: %s", st.node, o.err))
	}
	d.note(st.node, func(r *NodeReport) {
		if o.ledger != nil {
			r.Ledger = o.ledger
		}
		if r.Error == nil && o.err != nil {
			r.Error = o.err
		}
	})
	if o.err == nil {
		return done
	}
	d.recordNode(c.group, st.node, strategy.Failed, d.reason(st.node))
	return failure
}
