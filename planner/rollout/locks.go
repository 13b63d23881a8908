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

// locks knows which nodes are locked, or may be.
type locks struct {
	mu   sync.Mutex
	open map[string]bool // no entry is false
}

// saw takes what a session tells. A session that ended without telling may have left the node locked when it was to lock it; one that never
// came to its work changed nothing.
func (l *locks) saw(node string, c converge.Catalog, s converge.Summary, err error) {
	if c.Lock != "" && c.Unlock == "" {
		return // nothing closes this window: it is not one that is left open
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var failed *converge.SessionError
	switch {
	case errors.As(err, &failed) && failed.Code == converge.CodeUnlock:
		l.open[node] = true
	case readLedger(err) && !s.Locked:
		delete(l.open, node)
	case readLedger(err):
		l.open[node] = true
	case (c.Lock != "" || c.Keep) && lost(err):
		l.open[node] = true
	}
}

func (l *locks) isOpen(node string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[node]
}

// nodes returns the nodes that are locked, or may be, sorted.
func (l *locks) nodes() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.open))
}

// lost reports whether the session that ended with err had begun and never told how it ended.
func lost(err error) bool {
	var session *converge.SessionError
	if errors.As(err, &session) {
		return session.Code == converge.CodeLost || session.Code == converge.CodeLedger || session.Code == converge.CodeRestart
	}
	var conn *transport.Error
	return !errors.As(err, &conn) || conn.Kind == transport.Lost
}

// withLock returns what is applied on a node with the mark of one that is left locked, or without it (litp.md 84); nil stays nil.
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
