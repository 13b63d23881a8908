package run

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// call is the preparation of a group, the rest of its block, a phase outside of groups, or the tear-down.
type call struct {
	name    string
	group   *Group         // nil outside of groups
	stage   strategy.Stage // of a node that succeeds; empty outside of groups
	until   time.Time
	limit   time.Duration
	width   int      // nodes at once
	todo    []string // the nodes of a group that the call works on, sorted
	outside *outsidePhase
	decided map[string]Removal // of a tear-down: the nodes that it leaves alone

	rounds []round  // those to come
	now    *round   // the one under way
	queue  []*chain // of the round, not begun
	atWork int      // chains of the round
	// chains of the round whose first session unlocks its node, which an earlier run left locked, and has not ended
	unlocking int
	blocked   []*chain        // those of them that wait to start their next session
	free      map[int]int     // phase -> its free places in a round of lock windows
	gone      map[string]bool // nodes that get no further session in this call: they failed, or the run was stopped
	failed    map[int]bool    // phases in which something failed or was not done
	whole     bool            // false: the run was stopped before every node finished
	open      int             // members of the group that have not failed
	idle      int             // members of the group that are locked, or may be, while nobody works on them
	left      []string        // nodes that the brake of the group, or its maintenance window, keeps from being started
	braked    bool
	paused    bool      // something was left for another run
	swept     bool      // of what is not begun, nothing is there any more that the maintenance window leaves out
	asked     int       // the last batch for which it waits, or waited, for approval
	approved  int       // the last batch that was approved
	seen      time.Time // of the last event: its time was counted up to then
	held      bool      // whether the run was held then
	batch     int       // of the group, from 1; 0: before the first or after the last
	sound     int       // nodes of the batch that have not failed
	// nodes that the call may have changed; false: only callbacks were called for them
	changed map[string]bool
}

// round is a part of a call: it begins when the one before it is over.
type round struct {
	kind   Kind
	window bool // its chains are lock windows
	batch  int  // without chains: this batch starts, and its time; 0: what comes after the last one
	chains []*chain
	phases []int // in order
}

// chain is the sessions of one node that follow each other, or one callback.
type chain struct {
	call     *call
	node     string    // empty: a callback that belongs to no node
	sessions []Session // those to come; the first one may run
	place    int       // in its round, as the program has it; outside of groups also in its phase
	number   int       // of the session that started last
	window   bool      // it runs between lock and unlock
	last     Session   // that was started or given up
	purpose  Purpose   // of the session that runs
	opened   bool      // a session has locked the node before a callback
	closing  bool      // the session that unlocks the node runs, or ran
	begun    bool      // a session has ended
	// its first session unlocks the node, and has not ended
	unlocking bool
	losses    int       // how often its next session was lost before it started anything
	again     time.Time // when that is tried again
}

// single returns a round whose chains have one session each.
func (c *call) single(kind Kind, sessions []Session) round {
	r := round{kind: kind, chains: make([]*chain, len(sessions))}
	for i, s := range sessions {
		r.chains[i] = &chain{call: c, node: s.Node, sessions: sessions[i : i+1]}
	}
	return r
}

// verdict is the result of a session for its call.
type verdict int

const (
	done     verdict = iota
	failure          // the node gets no further session in this call
	cutShort         // not started, or given up, because the run was stopped
	waiting          // it cannot start yet
	started
)

// rounds returns all rounds of a call. They follow from the program, the kind of the call and its nodes.
func (m *Machine) rounds(c *call) []round {
	var rounds []round
	switch {
	case c.outside != nil:
		rounds = []round{c.single(c.outside.Kind, c.outside.Sessions)}
	case c.group == nil:
		rounds = m.cleanupRounds(c)
	case c.stage == strategy.Prepared:
		rounds = []round{c.single(Prepare, m.preparations(c.todo))}
	default:
		rounds = m.deployRounds(c)
	}
	for _, r := range rounds {
		for i, ch := range r.chains {
			ch.place = i
		}
	}
	return rounds
}

// begin starts the time of a call.
func (m *Machine) begin(c *call) {
	c.rounds = m.rounds(c)
	c.gone, c.failed, c.changed, c.whole = map[string]bool{}, map[int]bool{}, map[string]bool{}, true
	c.until, c.seen = m.at.Add(c.limit), m.at
	if c.group != nil {
		for _, n := range c.group.Members {
			if m.walk.NodeStage(n) != strategy.Failed {
				c.open++
			}
			c.idle += order(m.leftLocked(n))
		}
	}
	m.calls = append(m.calls, c)
}

// putOff puts the end of the time of a call off by what does not count since the last event: that the run was held, or
// the maintenance window of the group closed.
func (m *Machine) putOff(c *call) {
	if c.held {
		c.until = c.until.Add(m.at.Sub(c.seen))
	} else {
		c.until = c.until.Add(m.closedFor(c.groupName(), c.seen))
	}
	c.seen = m.at
}

// work starts what may start in a call, and reports whether the call is over.
func (m *Machine) work(c *call) bool {
	c.held = m.held
	for {
		if m.brake(c); c.now == nil {
			switch {
			case m.waitsForRound(c), m.unapproved(c):
				return false
			case !m.nextRound(c):
				return true
			case c.now == nil: // a batch
				continue
			}
		}
		blocked := c.blocked
		c.blocked = nil
		for _, ch := range blocked {
			m.proceed(ch)
		}
		for len(c.queue) > 0 && m.room(c, c.queue[0]) && !m.waitsIn(c, c.queue[0]) {
			ch := c.queue[0]
			c.queue = c.queue[1:]
			c.atWork++
			if c.now.takesPlace() {
				m.free--
			}
			if c.now.window {
				ch.unlocking = m.locked[ch.node]
				c.unlocking += order(ch.unlocking)
				m.mark(m.windows, ch.node, true)
			}
			m.proceed(ch)
			m.brake(c)
		}
		if c.now.window && c.atWork == 0 && len(c.queue) > 0 && m.free > 0 && !m.room(c, c.queue[0]) {
			m.refuseLocked(c)
		}
		if c.atWork > 0 || len(c.queue) > 0 {
			return false
		}
		if c.group != nil {
			for _, phase := range c.now.phases {
				m.do(Command{Kind: PhaseFinished, Group: c.group.Name, Phase: phase, Failed: c.failed[phase],
					Text: c.batchName()})
			}
		}
		c.now = nil
	}
}

// nextRound begins the next round of a call with what is left of it for the nodes that go on. A node that failed is
// unlocked all the same (litp.md 84). A batch may start instead. It returns false when no round is left.
func (m *Machine) nextRound(c *call) bool {
	for len(c.rounds) > 0 {
		r := c.rounds[0]
		c.rounds = c.rounds[1:]
		if r.chains == nil {
			m.startBatch(c, r.batch)
			return true
		}
		if r.kind == Rollback {
			m.announceRollback(c, r.chains)
		}
		r.chains = slices.DeleteFunc(r.chains, func(ch *chain) bool { return !m.goesOn(c, ch) })
		if len(r.chains) == 0 {
			continue
		}
		c.free = map[int]int{}
		for _, ch := range r.chains {
			for _, s := range ch.sessions {
				c.free[s.Phase] = s.Limit
				if s.Phase > 0 && !slices.Contains(r.phases, s.Phase) {
					r.phases = append(r.phases, s.Phase)
				}
			}
		}
		slices.Sort(r.phases)
		if r.kind == Rollback {
			c.until = m.at.Add(c.limit)
		}
		if r.window { // those that are locked come first, so that they are unlocked first
			slices.SortStableFunc(r.chains, func(a, b *chain) int {
				return order(m.locked[b.node]) - order(m.locked[a.node])
			})
		}
		for _, phase := range r.phases {
			if c.decided == nil {
				m.do(Command{Kind: PhaseStarted, Group: c.groupName(), Phase: phase, Text: c.batchName()})
			}
		}
		c.now, c.queue = &r, r.chains
		if c.outside != nil {
			c.outside.ran = true
		}
		return true
	}
	return false
}

// order puts what is true behind what is false.
func order(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (c *call) groupName() string {
	if c.group == nil {
		return ""
	}
	return c.group.Name
}

// goesOn reports whether a chain that was not begun is still to run.
func (m *Machine) goesOn(c *call, ch *chain) bool {
	return (!c.gone[ch.node] || ch.sessions[0].Kind.cleansUp()) && m.wanted(c, ch)
}

// wanted reports whether the next session of a chain is still to run.
func (m *Machine) wanted(c *call, ch *chain) bool {
	switch s := ch.sessions[0]; {
	case c.outside != nil:
		return m.left(c.outside, s)
	case s.Kind == Rollback:
		return m.restores(c, s.Node)
	case s.Kind == Soak:
		return !c.braked && (!c.paused || slices.ContainsFunc(c.group.Batches[c.batch-1], func(n string) bool {
			return !c.gone[n]
		}))
	case c.group != nil && s.Node == "": // else nobody waits for it
		return !c.braked && (len(c.group.Members) == 0 || slices.ContainsFunc(c.group.Members, func(n string) bool {
			return m.walk.NodeStage(n) != strategy.Failed && !c.gone[n]
		}))
	}
	return true
}

// short reports whether the criteria of the group can no longer be met.
func (c *call) short() bool {
	return len(strategy.Evaluate(c.group.SuccessCriteria, len(c.group.Members), c.open)) > 0
}

// brake starts no further node of a group that stops when its criteria can no longer be met, or of which a batch
// failed, or of any group once the failure budget is spent. What runs is finished and unlocked, and what an earlier run
// left locked is unlocked. When the maintenance window of the group does not open any more in this run, the batch under
// way is also checked to its end.
func (m *Machine) brake(c *call) {
	switch {
	case c.braked || c.group == nil:
	case m.spent, len(c.batchFailed(c.sound)) > 0, c.group.Stops() && c.short():
		c.braked = true
		c.leave(func(k Kind) bool { return !k.cleansUp() })
	case m.stopped || !m.leaves(c.group.Name):
	case !c.swept:
		c.swept = true
		c.paused = c.leave(Kind.startsNode) || c.paused
	default: // a session that was lost before it started anything may be among them again
		c.paused = c.leaveBlocked(Kind.startsNode) || c.paused
	}
}

// leave leaves out the chains that have not started any session and begin with one of the given kinds. It reports
// whether there were any.
func (c *call) leave(leaves func(Kind) bool) (left bool) {
	keep := func(chains []*chain) []*chain {
		kept := slices.DeleteFunc(chains, func(ch *chain) bool { return c.leaves(ch, leaves) })
		left = left || len(kept) < len(chains)
		return kept
	}
	c.queue = keep(c.queue)
	for i := range c.rounds {
		c.rounds[i].chains = keep(c.rounds[i].chains)
	}
	left = c.leaveBlocked(leaves) || left
	slices.Sort(c.left)
	return left
}

// leaveBlocked is leave for the chains that wait to start their first session.
func (c *call) leaveBlocked(leaves func(Kind) bool) (left bool) {
	for _, ch := range c.blocked {
		if !ch.begun && len(ch.sessions) > 0 && c.leaves(ch, leaves) {
			ch.last = ch.sessions[0] // its node may have to be unlocked
			ch.sessions, ch.losses, ch.again, left = nil, 0, time.Time{}, true
		}
	}
	if left {
		slices.Sort(c.left)
	}
	return left
}

// leaves reports whether a chain is left out, and notes that its node is.
func (c *call) leaves(ch *chain, leaves func(Kind) bool) bool {
	s := ch.sessions[0]
	if !leaves(s.Kind) {
		return false
	}
	if s.Node != "" && !c.gone[s.Node] && (s.Kind != Check || s.Phase > 0) { // else its work is done
		c.left = append(c.left, s.Node)
		c.gone[s.Node], c.failed[s.Phase] = true, true
	}
	return true
}

// room reports whether a chain may begin now.
func (m *Machine) room(c *call, ch *chain) bool {
	if !c.now.takesPlace() {
		return c.atWork == 0
	}
	width := c.width
	if limit := ch.sessions[0].Limit; limit > 0 && !c.now.window {
		width = min(width, limit)
	}
	if c.atWork >= width || m.free == 0 {
		return false
	}
	return !c.now.window || m.locked[ch.node] || c.unlocking == 0 && c.atWork+c.idle < c.group.Rolling.MaxParallel
}

// leftLocked reports whether a node is locked, or may be, while nobody works on it.
func (m *Machine) leftLocked(node string) bool { return m.locked[node] && !m.windows[node] }

// mark adds a node to the nodes that are locked or in a lock window, or takes it out.
func (m *Machine) mark(set map[string]bool, node string, in bool) {
	before := m.leftLocked(node)
	if delete(set, node); in {
		set[node] = true
	}
	if after := m.leftLocked(node); after != before {
		for _, c := range m.calls {
			if c.group == nil {
				continue
			}
			if _, member := slices.BinarySearch(c.group.Members, node); member {
				c.idle += order(after) - order(before)
			}
		}
	}
}

// refuseLocked fails the nodes of a round that have no place because others stay locked: never are more than
// MaxParallel nodes locked.
func (m *Machine) refuseLocked(c *call) {
	first := c.group.Members[slices.IndexFunc(c.group.Members, m.leftLocked)]
	err := fmt.Errorf("not started: %s may still be locked, and no more than %d nodes of group %q may be; "+
		"the next plan unlocks first", first, c.group.Rolling.MaxParallel, c.group.Name)
	queue := c.queue
	c.queue = nil
	for _, ch := range queue {
		m.refuse(ch, err)
	}
}

// refuse fails the next session of a chain, which cannot start.
func (m *Machine) refuse(ch *chain, err error) {
	if m.stop() {
		m.conclude(ch, cutShort, nil)
		return
	}
	if ch.node != "" {
		m.fail(ch.call, ch.node, err)
	}
	m.conclude(ch, failure, err)
}

// proceed starts the next session of a chain, or ends the chain.
func (m *Machine) proceed(ch *chain) {
	for len(ch.sessions) > 0 {
		switch v, err := m.try(ch); v {
		case started:
			return
		case waiting:
			ch.call.blocked = append(ch.call.blocked, ch)
			return
		case failure:
			m.refuse(ch, err)
		default:
			m.conclude(ch, v, nil)
		}
	}
	m.endChain(ch)
}

// try starts the next session of a chain if it may start now.
func (m *Machine) try(ch *chain) (verdict, error) {
	c, s := ch.call, ch.sessions[0]
	switch late := !m.at.Before(c.until); {
	case m.at.Before(ch.again) && !m.stopped:
		m.wakeAt(ch.again)
		return waiting, nil
	case m.waitsIn(c, ch):
		return waiting, nil
	case s.Kind == TearDown:
		if m.spared(c, s, late) {
			return done, nil
		}
	case s.Kind == Separation:
	case !m.wanted(c, ch), c.outside != nil && m.pointless(c.outside, s):
		return done, nil
	case c.group != nil && s.Kind == Callback && m.node(s.Node).failed: // another one of the phase failed on the node
		return done, nil
	case m.stop(), m.spent && c.outside != nil:
		return cutShort, nil
	case s.Kind == Soak:
		c.until = c.until.Add(c.group.Rolling.Soak)
		m.start(ch, s, Work)
		return started, nil
	case s.Waits != "":
		return failure, errors.New(s.Waits)
	case late && s.Kind == Callback:
		return failure, &CallbackError{s.Name, fmt.Errorf("not started: %w", c.limitError())}
	case late:
		return failure, fmt.Errorf("not started: %w", c.limitError())
	case s.Kind == Callback && ch.window && c.locks(s.Node) && (ch.unlocking || !m.locked[s.Node]) && !ch.opened:
		ch.opened = true
		m.start(ch, s, LockFirst)
		return started, nil
	case s.Kind == Check && m.unlocks(ch):
		return started, nil
	case s.Kind == Callback && m.calling, ch.window && s.Limit > 0 && c.free[s.Phase] == 0:
		return waiting, nil
	}
	m.calling = m.calling || s.Kind == Callback
	c.free[s.Phase]--
	m.start(ch, s, Work)
	return started, nil
}

// limitError is the cause with which the time of a call ends.
func (c *call) limitError() *TimeLimitError {
	return &TimeLimitError{Call: c.name, Group: c.groupName(), Limit: c.limit}
}

// locks reports whether a node of a rolling group is locked before work and unlocked after it.
func (c *call) locks(node string) bool {
	r := c.group.Rolling
	return r.Lock != "" && r.Unlock != "" && !c.group.Spared[node]
}

// start starts a session of a chain.
func (m *Machine) start(ch *chain, s Session, purpose Purpose) {
	c := ch.call
	if ch.losses == 0 {
		m.number++
		ch.number = m.number
	}
	id := ID{m.pass, ch.number, purpose, ch.losses + 1}
	m.running[id] = ch
	ch.last, ch.purpose = s, purpose
	out := Command{Kind: Start, ID: id, Session: s, Call: c.name, Group: c.groupName(), Node: s.Node, Phase: s.Phase,
		Until: c.until, Limit: c.limitError(), Err: m.halted}
	if ch.window {
		r := c.group.Rolling
		out.Window = r.Lock+r.Unlock != "" && !c.group.Spared[s.Node] && (s.Kind != Check || purpose == UnlockAfter) &&
			(s.Kind != Rollback || c.changed[s.Node] || m.locked[s.Node] || purpose == UnlockAfter)
		out.Keep = out.Window && (len(ch.sessions) > 1 && ch.sessions[1].Kind != Check || purpose == LockFirst)
	}
	if s.Kind == Soak {
		out.Until, out.Limit, out.Text = m.at.Add(c.group.Rolling.Soak), nil, c.batchName()
	}
	if purpose == UnlockAfter {
		out.Keep, out.Until = false, m.at.Add(DefaultUnlockTimeout)
		out.Limit = &TimeLimitError{Call: "unlock", Group: out.Group, Limit: DefaultUnlockTimeout}
	}
	m.do(out)
}

// mostAttempts bounds how often a session is started, and retryPause is the time before its second attempt; it doubles
// for each one after it.
const (
	mostAttempts = 4
	retryPause   = time.Second
)

// lost takes that a session was lost before it started anything. It is tried again after a pause, within the time limit
// of its call, unless nothing new is started any more.
func (m *Machine) lost(ch *chain, id ID) {
	c, s := ch.call, ch.last
	again := m.at.Add(retryPause << ch.losses)
	ends := m.stopped || m.spent && c.group == nil || c.braked && !ch.begun && !s.Kind.cleansUp() ||
		c.group != nil && m.leaves(c.group.Name) && !ch.begun && s.Kind.startsNode() || !again.Before(c.until)
	if id.Attempt >= mostAttempts || m.gaveUp || ends && ch.purpose != UnlockAfter {
		m.do(Command{Kind: Settle, ID: id})
		return
	}
	delete(m.running, id)
	switch ch.purpose {
	case UnlockAfter:
		ch.closing = false
	case LockFirst:
		ch.opened = false
	case Work:
		m.calling = m.calling && s.Kind != Callback
		c.free[s.Phase]++
	}
	ch.losses++
	ch.again = again
	c.blocked = append(c.blocked, ch)
	m.do(Command{Kind: Retry, ID: id, Group: c.groupName(), Node: s.Node, Phase: s.Phase, Until: again})
}

// ended takes the result of the session of a chain that ran.
func (m *Machine) ended(ch *chain, r Result) {
	c, s, n := ch.call, ch.last, m.node(ch.node)
	ch.begun, ch.losses = true, 0
	ch.unlocked()
	v := verdictOf[r.Outcome]
	m.cut = m.cut || v == cutShort
	if r.Sent && ch.purpose != UnlockAfter {
		n.attempted, n.group = true, cmp.Or(c.groupName(), n.group)
	}
	if s.Kind != TearDown && (v == failure || v == cutShort && r.Sent) {
		m.nodeFailed(ch.node)
	}
	switch {
	case r.Lock == IsUnlocked:
		m.mark(m.locked, ch.node, false)
	case r.Lock != "":
		m.mark(m.locked, ch.node, true)
	}
	if v != done || r.Lock != "" {
		n.stuck = r.Lock == IsStuck
	}
	switch {
	case ch.purpose == UnlockAfter:
		if v != done {
			m.finished(c.group.Name, ch.node, strategy.Failed)
			c.add(s, failure)
			ch.sessions = nil
		}
		m.proceed(ch)
		return
	case ch.purpose == Work:
		m.calling = m.calling && s.Kind != Callback
		c.free[s.Phase]++
		called := s.Kind == Callback && r.Outcome != NotStarted
		if called || r.Sent && (s.Kind == Config || s.Kind == Remote) {
			c.changed[ch.node] = c.changed[ch.node] || !called
		}
	case v == done: // it is locked
		m.proceed(ch)
		return
	}
	switch {
	case s.Kind == TearDown:
		m.remove(s, r.Removal, nil)
	case s.Kind == Separation:
		maps.Copy(c.decided, r.Decided)
	case v == cutShort && r.Sent && c.group != nil:
		m.finished(c.group.Name, ch.node, strategy.Failed)
	case s.Kind == Rollback && v == done:
		c.gone[ch.node], n.restored = true, true
	}
	m.conclude(ch, v, r.Err)
	m.proceed(ch)
}

var verdictOf = map[Outcome]verdict{Succeeded: done, Failed: failure, GivenUp: cutShort, NotStarted: cutShort}

// conclude takes the verdict on the next session of a chain.
func (m *Machine) conclude(ch *chain, v verdict, err error) {
	c, s := ch.call, ch.sessions[0]
	ch.last, ch.losses, ch.again = s, 0, time.Time{}
	if ch.sessions = ch.sessions[1:]; v != done {
		ch.sessions = nil
	}
	c.add(s, v)
	switch {
	case c.outside != nil:
		c.outside.add(ch, v, err)
	case v == done || c.group == nil || s.Kind == Soak:
	case s.Node == "":
		m.failWaiting(c, s, v, err)
	case v == failure:
		m.finished(c.group.Name, s.Node, strategy.Failed)
	}
}

// add takes the verdict on a session.
func (c *call) add(s Session, v verdict) {
	if v == done {
		return
	}
	c.failed[s.Phase] = true
	c.whole = c.whole && v != cutShort
	if s.Node != "" {
		c.gone[s.Node] = true
	}
}

// nodeFailed counts a node that failed, once, for the criteria of its group and of the batch under way.
func (c *call) nodeFailed(name string) {
	if c.group == nil {
		return
	}
	if _, member := slices.BinarySearch(c.group.Members, name); member {
		c.open--
	}
	if c.inBatch(name) {
		c.sound--
	}
}

// failWaiting ends the call of a group whose callback failed: all its nodes wait for it (litp.md 114). When the group
// had nothing else to do, the nodes that it owns fail, so that its criteria count them.
func (m *Machine) failWaiting(c *call, s Session, v verdict, err error) {
	c.queue = nil
	affected := c.todo
	if v == failure {
		m.failRun(c.group.Critical && len(c.group.Members) == 0) // else the criteria decide
		if len(affected) == 0 {
			affected = c.group.Owned
		}
	}
	for _, n := range affected {
		if c.gone[n] || v == failure && m.walk.NodeStage(n) == strategy.Failed {
			continue
		}
		c.add(Session{Phase: s.Phase, Node: n}, v)
		if v == failure {
			m.fail(c, n, err)
			m.setNode(n, strategy.Failed)
			m.finished(c.group.Name, n, strategy.Failed)
		}
	}
}

// unlocks starts the session that unlocks a node whose lock window did not end as planned, also while the run is being
// stopped and after the time limit of its call. It reports whether it did.
func (m *Machine) unlocks(ch *chain) bool {
	if !ch.window || !m.locked[ch.node] || m.node(ch.node).stuck || ch.closing {
		return false
	}
	ch.closing = true
	m.start(ch, ch.last, UnlockAfter)
	return true
}

// unlocked lets others be locked (litp.md 84).
func (ch *chain) unlocked() {
	ch.call.unlocking -= order(ch.unlocking)
	ch.unlocking = false
}

// endChain gives the place of a chain back, once its node is unlocked.
func (m *Machine) endChain(ch *chain) {
	if m.at.Before(ch.again) && !m.gaveUp {
		m.wakeAt(ch.again)
		ch.call.blocked = append(ch.call.blocked, ch)
		return
	}
	if m.unlocks(ch) {
		return
	}
	ch.unlocked()
	ch.call.atWork--
	if ch.call.now.takesPlace() {
		m.free++
		m.freed = true
	}
	m.mark(m.windows, ch.node, false)
}
