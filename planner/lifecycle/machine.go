package lifecycle

import (
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// Machine is a valid lifecycle, indexed. It is immutable.
type Machine struct {
	lifecycle Lifecycle
	states    map[string]State
	transfers map[string][]Transfer // by source
	gates     []string
}

// New returns the machine of a lifecycle, or no machine and all errors that [Lint] finds. The lifecycle must not be
// changed afterwards.
func New(l Lifecycle) (*Machine, []invalid.Error) {
	if errs := Lint(l); len(errs) > 0 {
		return nil, errs
	}
	m := &Machine{l, make(map[string]State, len(l.States)), make(map[string][]Transfer), nil}
	for _, s := range l.States {
		m.states[s.Name] = s
	}
	gates := make(map[string]bool)
	for _, t := range l.Transfers {
		m.transfers[t.Source] = append(m.transfers[t.Source], t)
		if t.Config != "" {
			gates[t.Config] = true
		}
	}
	m.gates = slices.Sorted(maps.Keys(gates))
	return m, nil
}

// Lifecycle returns the lifecycle of the machine.
func (m *Machine) Lifecycle() Lifecycle { return m.lifecycle }

// State returns a state by its name.
func (m *Machine) State(name string) (State, bool) {
	s, ok := m.states[name]
	return s, ok
}

// Initial returns the initial states, the default first.
func (m *Machine) Initial() []string {
	return append([]string{m.lifecycle.Initial}, m.lifecycle.AlternativeInitial...)
}

// Gates returns the names of the gates, sorted. Each can close auto transfers.
func (m *Machine) Gates() []string { return slices.Clone(m.gates) }

// Transfer returns the transfer out of a state by a trigger; there is at most one. Use [Machine.SetState] for
// api_set_state.
func (m *Machine) Transfer(state string, trigger Trigger) (Transfer, bool) {
	for _, t := range m.transfers[state] {
		if t.Trigger == trigger {
			return t, true
		}
	}
	return Transfer{}, false
}

// SetState returns the transfer by api_set_state to the target.
func (m *Machine) SetState(state, target string) (Transfer, bool) {
	for _, t := range m.transfers[state] {
		if t.Trigger == APISetState && t.Target == target {
			return t, true
		}
	}
	return Transfer{}, false
}

// Targets returns the states that can be requested in a state, in the order of the lifecycle.
func (m *Machine) Targets(state string) []string {
	var out []string
	for _, t := range m.transfers[state] {
		if t.Trigger == APISetState {
			out = append(out, t.Target)
		}
	}
	return out
}

// PathTo returns the shortest path of transfers by api_set_state to a state that has a transfer by the trigger: the
// targets to request in order, empty if the state itself has one (lsm.md 20, "way out to delete"). It returns false if
// there is no such path. A service may move on by itself after each target, so call PathTo again from the state where
// it rests.
func (m *Machine) PathTo(state string, trigger Trigger) ([]string, bool) {
	type place struct {
		state string
		way   []string
	}
	seen := map[string]bool{state: true}
	for queue := []place{{state, nil}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if _, ok := m.Transfer(at.state, trigger); ok {
			return at.way, true
		}
		for _, next := range m.Targets(at.state) {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, place{next, append(slices.Clone(at.way), next)})
			}
		}
	}
	return nil, false
}

// StateNames returns the names of the states.
func (m *Machine) StateNames() []string {
	out := make([]string, len(m.lifecycle.States))
	for i, s := range m.lifecycle.States {
		out[i] = s.Name
	}
	return out
}

// Names returns the names of lifecycles.
func Names(all []Lifecycle) []string {
	names := make([]string, len(all))
	for i, l := range all {
		names[i] = l.Name
	}
	return names
}

// AutoRollback is the gate of the lifecycle slipway_default for automatic rollbacks of failed updates. Gates are open
// by default (lsm.md 18, 6), but a rollback must be asked for, so a caller closes this one.
const AutoRollback = "auto_rollback"
