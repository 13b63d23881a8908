package rollout

import (
	"slices"
	"sync"
)

// progress is how far the nodes of a call have come. It may be used by many goroutines.
type progress struct {
	todo []string // the nodes of the call

	mu     sync.Mutex
	gone   map[string]bool // nodes that get no further task in this call: they failed, or the run was stopped
	failed map[int]bool    // numbers of phases in which something failed or was not done
	whole  bool            // false: the run was stopped before every node had its turn
}

func newProgress(todo []string) *progress {
	return &progress{todo: todo, gone: map[string]bool{}, failed: map[int]bool{}, whole: true}
}

// add takes the verdict on one step of a node.
func (p *progress) add(st step, v verdict) {
	if v == done {
		return
	}
	p.end(st, v)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone[st.node] = true
}

// end takes a verdict that concerns a phase and no node of it alone.
func (p *progress) end(st step, v verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed[st.phase] = true
	if v == cutShort {
		p.whole = false
	}
}

// out reports whether a node gets no further task.
func (p *progress) out(node string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone[node]
}

// failedIn reports whether something failed or was not done in a phase.
func (p *progress) failedIn(phase int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed[phase]
}

// succeeded returns the nodes of the call that are not out, in their order.
func (p *progress) succeeded() []string {
	return slices.DeleteFunc(slices.Clone(p.todo), p.out)
}
