package engine

import (
	"sync"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Seen is what a plan of Terraform has come across before its deployment: nodes that it connects to otherwise, and
// sites that are in the state. Terraform gives the refresh of a deployment its state alone, with the connections of the
// last apply; but in one plan nodes come before the deployment that depends on them, in the same process. This is the
// one exception to the rule that what a deployment knows of the site comes through its configuration and its state: it
// serves the refresh, to connect, and a warning of a plan of a tainted deployment, and it may be missing. Then, as with
// -refresh-only, the refresh uses the connections of the state. Secrets stay in memory.
type Seen struct {
	mu    sync.Mutex
	nodes map[string][]seen // by name
	runs  sync.Map          // site in the state -> the last run of its deployment, an int64; 0: it has no steps
}

// seen is one node in the prior state and in the plan.
type seen struct{ was, is site.Node }

// Note takes a node that changes.
func (s *Seen) Note(was, is site.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes == nil {
		s.nodes = map[string][]seen{}
	}
	s.nodes[was.Name] = append(s.nodes[was.Name], seen{was, is})
}

// NoteState takes what the state shows of a site. A plan without prior state replaces the deployment when it is
// tainted.
func (s *Seen) NoteState(site string, shown Shown) {
	if s == nil {
		return
	}
	if len(shown.Steps) == 0 {
		shown.Run = 0
	}
	s.runs.Store(site, shown.Run)
}

// RunOf returns the last run of a site that is in the state, as far as that was noted; 0: the state has no steps of it.
func (s *Seen) RunOf(site string) (run int64, inState bool) {
	if s == nil {
		return 0, false
	}
	found, inState := s.runs.Load(site)
	run, _ = found.(int64)
	return run, inState
}

// Of returns how a plan reaches a node of the state. ok is false when it does so as the state does, and when that is
// not certain: names are unique in a deployment only.
func (s *Seen) Of(n site.Node) (is site.Node, ok bool) {
	if s == nil {
		return n, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	candidates := s.nodes[n.Name]
	if len(candidates) != 1 || !ReachedAlike(candidates[0].was, n) || ReachedAlike(candidates[0].is, n) {
		return n, false
	}
	is = n
	is.Address, is.Connection = candidates[0].is.Address, candidates[0].is.Connection
	return is, true
}
