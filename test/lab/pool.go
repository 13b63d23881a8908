package lab

import (
	"sync"
	"testing"
)

// Pool lends the nodes of a lab to tests that run at the same time.
type Pool struct {
	Lab
	turn sync.Mutex // held by the one test that collects nodes, so that two do not wait for each other's
	free chan Node
}

// NewPool returns a pool with all nodes of a lab.
func NewPool(l Lab) *Pool {
	p := &Pool{Lab: l, free: make(chan Node, l.Nodes)}
	for n := range l.Nodes {
		p.free <- l.Node(n + 1)
	}
	return p
}

// Take waits until so many nodes are free, and takes them for the time of the test. A test that failed may leave anything behind, so its nodes
// are reinstalled; one that passed leaves them as they were.
func (p *Pool) Take(t *testing.T, count int) []Node {
	t.Helper()
	p.turn.Lock()
	defer p.turn.Unlock()
	taken := make([]Node, count)
	for i := range taken {
		taken[i] = <-p.free
	}
	t.Cleanup(func() {
		for _, n := range taken {
			if t.Failed() {
				if err := n.Lab.Run("wipe", n.Name); err != nil {
					t.Error(err)
				}
			}
			p.free <- n
		}
	})
	return taken
}
