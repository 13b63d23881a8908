package rollout

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// locks records which nodes are locked, or may be.
type locks struct {
	mu     sync.Mutex
	locked map[string]bool // no entry is false
}

// record records the result of a session. A session that was to lock the node and ended without a result may have left
// it locked; one that never started changed nothing.
func (l *locks) record(node string, c converge.Catalog, s converge.Summary, err error) {
	if c.Lock != "" && c.Unlock == "" {
		return // no command unlocks the node, so it cannot be left locked
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var failed *converge.SessionError
	switch {
	case errors.As(err, &failed) && failed.Code == converge.CodeUnlock:
		l.locked[node] = true
	case readLedger(err) && !s.Locked:
		delete(l.locked, node)
	case readLedger(err):
		l.locked[node] = true
	case (c.Lock != "" || c.Keep) && lost(err):
		l.locked[node] = true
	}
}

func (l *locks) isLocked(node string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.locked[node]
}

// nodes returns the nodes that are locked, or may be, sorted.
func (l *locks) nodes() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.locked))
}

// lost reports whether the session that ended with err had started and its end is unknown.
func lost(err error) bool {
	var session *converge.SessionError
	if errors.As(err, &session) {
		return session.Code == converge.CodeLost || session.Code == converge.CodeLedger ||
			session.Code == converge.CodeRestart
	}
	var conn *transport.Error
	return !errors.As(err, &conn) || conn.Kind == transport.Lost
}

// withLock returns a ledger with or without the mark task.LeftLocked (litp.md 84); nil stays nil.
func withLock(ledger map[resource.ID]string, locked bool) map[resource.ID]string {
	if _, marked := ledger[task.LeftLocked]; ledger == nil || marked == locked {
		return ledger
	}
	ledger = maps.Clone(ledger)
	delete(ledger, task.LeftLocked)
	if locked {
		ledger[task.LeftLocked] = ""
	}
	return ledger
}
