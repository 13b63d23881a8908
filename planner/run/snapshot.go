package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// snapshotVersion is that of snapshots; it rises when an older one cannot be restored any more.
const snapshotVersion = 1

// snapshot is the dynamic state of a machine. Chains are indices in the rounds of their call, which follow from the
// program.
type snapshot struct {
	Version int             `json:"version"`
	Program string          `json:"program"` // the digest of that of the pass
	MayFail *int            `json:"may_fail,omitempty"`
	Machine strategy.Fields `json:"machine"`
	Walk    strategy.Fields `json:"walk"`
	Calls   []savedCall     `json:"calls,omitempty"`
}

// savedCall is a call that is under way.
type savedCall struct {
	Call    strategy.Fields         `json:"call"`
	Group   int                     `json:"group"`             // its index, from 1; 0: outside of groups
	Outside strategy.Fields         `json:"outside,omitempty"` // of a phase outside of groups
	Rounds  int                     `json:"rounds"`            // those to come
	Started bool                    `json:"started,omitempty"` // the round before them is under way
	Phases  []int                   `json:"phases,omitempty"`  // of that one
	Queue   []int                   `json:"queue,omitempty"`
	Blocked []int                   `json:"blocked,omitempty"`
	Begun   map[int]strategy.Fields `json:"begun,omitempty"` // blocked and running chains
	Left    map[int]int             `json:"left,omitempty"`  // their sessions to come
	Running map[int]ID              `json:"running,omitempty"`
}

// Snapshot returns the dynamic state of the machine and the digest of its program.
func (m *Machine) Snapshot() ([]byte, error) {
	digest, err := m.p.digest()
	if err != nil {
		return nil, err
	}
	s := snapshot{Version: snapshotVersion, Program: digest, MayFail: m.p.MayFail, Machine: m.fields(),
		Walk: m.walk.State()}
	for _, c := range m.calls {
		s.Calls = append(s.Calls, m.saveCall(c))
	}
	return json.Marshal(s)
}

// Restore returns the machine of which a snapshot was taken: equal events give equal commands from then on. p is the
// program of the pass that was under way. Whoever drives the run sets its timer anew, see [Machine.Timer].
func Restore(p Program, data []byte) (*Machine, error) {
	m := New(p)
	s := snapshot{}
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("the snapshot of the run cannot be read: %w", err)
	}
	digest, err := m.p.digest()
	switch {
	case err != nil:
		return nil, err
	case s.Version != snapshotVersion:
		return nil, fmt.Errorf("the snapshot of the run has version %d, this build reads %d", s.Version, snapshotVersion)
	case s.Program != digest:
		return nil, errors.New("the snapshot is of a run with another program")
	}
	m.p.MayFail = s.MayFail
	if err := errors.Join(s.Machine.To(m.fields()), s.Walk.To(m.walk.State())); err != nil {
		return nil, err
	}
	for _, saved := range s.Calls {
		if err := m.restoreCall(saved); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Timer returns the time of the last Wake, zero before the first one. Woken may be given for it twice.
func (m *Machine) Timer() time.Time { return m.wake }

// digest returns the digest of a program, without the failure budget, which is that of the first pass.
func (p Program) digest() (string, error) {
	p.MayFail = nil
	return resource.DigestJSON(plain(p))
}

// fields are what changes of a machine, besides its walk and its calls.
func (m *Machine) fields() strategy.Fields {
	f := strategy.Fields{"pass": &m.pass, "part": &m.part, "next": &m.next, "goOn": &m.goOn, "number": &m.number,
		"free": &m.free, "calling": &m.calling, "regroup": &m.regroup, "locked": &m.locked, "windows": &m.windows,
		"recorded": &m.recorded, "twice": &m.twice, "stopped": &m.stopped, "gaveUp": &m.gaveUp, "failed": &m.failed,
		"spent": &m.spent, "held": &m.held, "cut": &m.cut, "halted": &strategy.SavedError{Err: &m.halted}, "worst": &m.worst,
		"outside": &m.outside, "removed": &m.removed, "unstarted": &m.unstarted, "paused": &m.paused,
		"waiting": &m.waiting, "opensAt": &m.opensAt, "wake": &m.wake, "wrong": &strategy.SavedError{Err: &m.wrong},
		"nodes": &m.nodes}
	return f
}

// MarshalJSON encodes what is known of a node.
func (n *node) MarshalJSON() ([]byte, error) { return json.Marshal(n.fields()) }

// UnmarshalJSON is the reverse of MarshalJSON.
func (n *node) UnmarshalJSON(data []byte) error {
	var f strategy.Fields
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	return f.To(n.fields())
}

func (n *node) fields() strategy.Fields {
	return strategy.Fields{"group": &n.group, "attempted": &n.attempted, "failed": &n.failed, "recorded": &n.recorded,
		"stuck": &n.stuck, "restored": &n.restored}
}

func (c *call) fields() strategy.Fields {
	return strategy.Fields{"name": &c.name, "stage": &c.stage, "until": &c.until, "limit": &c.limit, "width": &c.width,
		"todo": &c.todo, "decided": &c.decided, "atWork": &c.atWork, "unlocking": &c.unlocking,
		"free": &c.free, "gone": &c.gone, "failed": &c.failed, "whole": &c.whole, "open": &c.open, "idle": &c.idle,
		"left": &c.left, "braked": &c.braked, "paused": &c.paused, "swept": &c.swept, "asked": &c.asked, "approved": &c.approved,
		"seen": &c.seen, "held": &c.held, "batch": &c.batch, "sound": &c.sound, "changed": &c.changed}
}

func (x *outsidePhase) fields() strategy.Fields {
	return strategy.Fields{"ran": &x.ran, "verdicts": &x.verdicts, "failures": &x.failures, "over": &x.over,
		"broken": &x.broken}
}

func (ch *chain) fields() strategy.Fields {
	return strategy.Fields{"number": &ch.number, "last": &ch.last, "purpose": &ch.purpose, "opened": &ch.opened,
		"unlocking": &ch.unlocking,
		"closing":   &ch.closing, "begun": &ch.begun, "losses": &ch.losses, "again": &ch.again}
}

func (m *Machine) saveCall(c *call) savedCall {
	s := savedCall{Call: c.fields(), Group: slices.IndexFunc(m.p.Groups, func(g Group) bool {
		return c.group != nil && g.Name == c.group.Name
	}) + 1, Rounds: len(c.rounds), Started: c.now != nil, Begun: map[int]strategy.Fields{}, Left: map[int]int{},
		Running: map[int]ID{}}
	if c.outside != nil {
		s.Outside = c.outside.fields()
	}
	if c.now != nil {
		s.Phases = c.now.phases
	}
	begun := func(ch *chain) { s.Begun[ch.place], s.Left[ch.place] = ch.fields(), len(ch.sessions) }
	for _, ch := range c.queue {
		s.Queue = append(s.Queue, ch.place)
	}
	for _, ch := range c.blocked {
		s.Blocked = append(s.Blocked, ch.place)
		begun(ch)
	}
	for id, ch := range m.running {
		if ch.call == c {
			s.Running[ch.place] = id
			begun(ch)
		}
	}
	return s
}

func (m *Machine) restoreCall(s savedCall) error {
	c := &call{}
	if s.Group > 0 {
		c.group = &m.p.Groups[s.Group-1]
	}
	if s.Outside != nil {
		phases := m.p.After
		if m.part == beforeGroups {
			phases = m.p.Before
		}
		c.outside = &outsidePhase{Phase: phases[m.next-1], first: m.part == beforeGroups}
		if err := s.Outside.To(c.outside.fields()); err != nil {
			return err
		}
	}
	if err := s.Call.To(c.fields()); err != nil {
		return err
	}
	all := m.rounds(c)
	c.rounds = all[len(all)-s.Rounds:]
	for i := range c.rounds {
		c.rounds[i].chains = slices.DeleteFunc(c.rounds[i].chains, c.isLeft)
	}
	m.calls = append(m.calls, c)
	if !s.Started {
		return nil
	}
	now := all[len(all)-s.Rounds-1]
	now.phases, c.now = s.Phases, &now
	for _, at := range s.Queue {
		c.queue = append(c.queue, now.chains[at])
	}
	for at, fields := range s.Begun {
		ch := now.chains[at]
		if err := fields.To(ch.fields()); err != nil {
			return err
		}
		ch.sessions = ch.sessions[len(ch.sessions)-s.Left[at]:]
		if id, runs := s.Running[at]; runs {
			m.running[id] = ch
		}
	}
	for _, at := range s.Blocked {
		c.blocked = append(c.blocked, now.chains[at])
	}
	return nil
}

// isLeft reports whether a chain of a round to come was left out because of the brake or the maintenance window.
func (c *call) isLeft(ch *chain) bool {
	kind := ch.sessions[0].Kind
	return c.braked && !kind.cleansUp() || c.paused && kind.startsNode()
}
