package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
)

// A batch is an activity of a worker of a zone that runs sessions of a run for as long as more of them come. Who hosts
// the run leaves them in the journal, one slot of the batch after the other, and finds the results there: the server
// only knows which worker has the batch, and whether it is alive. What both write has a name to which the journal gives
// one content, that of who came first:
//
//	slot     what is to be done; without a session it closes the batch, which both may do
//	begun    of a session: the batch that runs it. No other one does, whatever became of it; without a batch, none does
//	stop     the session is given up
//	result   what came of it
//
// A session of a batch that ended is lost when it was begun, and goes into another batch when it was not.
const (
	batchActive = 4    // sessions of a batch at once; more are for another batch, and so perhaps for another worker
	batchSlots  = 1000 // of a batch
	batchIdle   = 5 * time.Second
)

// inBatch is a session in a batch.
type inBatch struct {
	Batch string
	Slot  int // from 0
}

func (s inBatch) slot() string   { return fmt.Sprintf("slot %s %d", s.Batch, s.Slot) }
func (s inBatch) stop() string   { return fmt.Sprintf("stop %s %d", s.Batch, s.Slot) }
func (s inBatch) result() string { return fmt.Sprintf("result %s %d", s.Batch, s.Slot) }

// begunName is the name of what says which batch runs a session.
func begunName(session string) string { return "begun " + session }

// name gives a name a content in the journal, and reports whether it counts.
func (in convergeInput) name(ctx context.Context, store *journal.Store, name string, content any) (bool, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return false, err
	}
	count, err := store.Name(ctx, in.Run, journal.Named{Name: name, Blob: journal.Blob{Zone: in.Zone, Content: text}})
	return err == nil && count[0], err
}

// begin lets a batch begin a session, and returns which one does: the first that asked. The empty one keeps the session
// from every batch.
func (in convergeInput) begin(ctx context.Context, store *journal.Store, session string, at inBatch) (begun inBatch,
	err error) {
	first, err := in.name(ctx, store, begunName(session), at)
	if err != nil || first {
		return at, err
	}
	found, err := store.Named(ctx, in.Run, in.Zone, begunName(session))
	if err == nil {
		err = decode(found[begunName(session)], &begun)
	}
	return begun, err
}

// errNotBegun is the end of a session that was given up before a batch began it.
var errNotBegun = errors.New("no worker had begun it when it was given up")

// slot is the content of a slot.
type slot struct {
	Session string // unique in the run; empty: the batch is closed
	Request convergeRequest
}

// slotResult is the content of a result: one field is set.
type slotResult struct {
	Result   *convergeResult
	NotBegun string   // why it was not begun
	Begun    *inBatch // another batch runs it
}

// The shortest and the longest time between two looks into the journal, which grows as long as nothing comes.
const (
	shortestPoll = 5 * time.Millisecond
	longestPoll  = 250 * time.Millisecond
)

// A zone that took nothing in its time is waited for again, for a part of that time, until it takes something.
const (
	silentPart   = 10
	shortestWait = time.Second
)

// poll is the time until the next look.
type poll time.Duration

func (p *poll) next(came bool) time.Duration {
	if *p = min(poll(longestPoll), *p*3/2); came || *p == 0 {
		*p = poll(shortestPoll)
	}
	return time.Duration(*p)
}

// Converge is the workflow of a batch, or of a look at one node outside of a run. Nothing is tried again: who hosts the
// run knows what was begun.
func Converge(ctx workflow.Context, in convergeInput) (result []byte, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: in.Queue,
		ScheduleToStartTimeout: in.ZoneWait, StartToCloseTimeout: watchTime, HeartbeatTimeout: in.LostAfter,
		WaitForCancellation: true, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}})
	var zone *Zone
	if in.Run == "" {
		err = workflow.ExecuteActivity(ctx, zone.Look, in).Get(ctx, &result)
	} else {
		err = workflow.ExecuteActivity(ctx, zone.Sessions, in).Get(ctx, nil)
	}
	return result, ofActivity(err)
}

// lane is the sessions of a run for the workers of a zone, in the process that hosts the run.
type lane struct {
	in     convergeInput // of its batches, without an id
	store  *journal.Store
	server *Client

	context context.Context // of what goes on between sessions, until close
	close   context.CancelFunc
	ended   sync.WaitGroup

	mu      sync.Mutex
	queued  []*sent
	open    []*batch
	sent    map[*sent]bool
	working bool
	silent  bool          // no worker took the batch that ended last
	news    chan struct{} // holds a token: there is something to do before the next look
}

// batch is one that this process follows.
type batch struct {
	id     string
	slots  int
	active int
	closed bool // to more sessions
	over   bool // its workflow has ended with err
	err    error
}

// sent is a session of a lane.
type sent struct {
	session string
	content []byte // of its slot
	in      *batch
	at      inBatch
	stop    bool // it is given up
	stopped bool // and its worker may know
	answer  chan answer
}

// answer is what came of a session.
type answer struct {
	result   *convergeResult
	err      error
	notBegun bool
}

// again reports whether the session may be tried again, because the worker that was to begin it did not. A zone whose
// workers took nothing was waited for already.
func (a answer) again() bool {
	return a.notBegun && !errors.As(a.err, new(unaskedError)) && !errors.As(a.err, new(untakenError))
}

// run runs a session and returns what came of it, at most lostLimit after ctx has ended.
func (l *lane) run(ctx context.Context, session string, content []byte) answer {
	s := &sent{session: session, content: content, answer: make(chan answer, 1)}
	l.mu.Lock()
	l.queued = append(l.queued, s)
	if !l.working {
		l.working = true
		l.ended.Go(func() { l.work(l.context) })
	}
	l.mu.Unlock()
	l.wake()
	select {
	case a := <-s.answer:
		return a
	case <-ctx.Done():
	}
	defer l.drop(s)
	if errors.Is(context.Cause(ctx), rollout.ErrGone) { // the process that goes on with the run has the session
		return answer{err: context.Cause(ctx)}
	}
	l.mu.Lock()
	s.stop = true
	l.mu.Unlock()
	l.wake()
	timer := time.NewTimer(lostLimit)
	defer timer.Stop()
	select {
	case a := <-s.answer:
		return a
	case <-timer.C:
		return answer{err: fmt.Errorf("it did not end in %s: %w", lostLimit, context.Cause(ctx))}
	}
}

// wake lets work look before its time.
func (l *lane) wake() {
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// drop forgets a session.
func (l *lane) drop(s *sent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(s)
}

func (l *lane) forget(s *sent) {
	if l.queued = slices.DeleteFunc(l.queued, func(q *sent) bool { return q == s }); l.sent[s] {
		delete(l.sent, s)
		s.in.active--
	}
}

// work sends sessions and takes results until there are no more. The database may be away for a while: the run ends
// its sessions when it was for too long.
func (l *lane) work(ctx context.Context) {
	var wait poll
	for {
		came, err := l.step(ctx)
		l.mu.Lock()
		if err != nil && !journal.Away(err) {
			for s := range l.sent {
				l.end(s, answer{err: err})
			}
			for _, s := range l.queued {
				s.answer <- answer{err: err}
			}
			l.queued = nil
		}
		if len(l.sent)+len(l.queued) == 0 || ctx.Err() != nil {
			l.working = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		timer := time.NewTimer(wait.next(came))
		select {
		case <-timer.C:
		case <-l.news:
			wait = 0
		}
		timer.Stop()
	}
}

// end gives a session its answer.
func (l *lane) end(s *sent, a answer) {
	l.forget(s)
	s.answer <- a
}

// step sends what is queued, and reports whether results came.
func (l *lane) step(ctx context.Context) (came bool, err error) {
	l.mu.Lock()
	queued := l.queued
	l.mu.Unlock()
	if len(queued) > 0 {
		if err := l.send(ctx, queued); err != nil {
			return false, err
		}
	}
	l.mu.Lock()
	var over []*sent
	var names []string
	var stops []journal.Named
	var stopping []*sent
	for s := range l.sent {
		names = append(names, s.at.result())
		if s.in.over {
			over = append(over, s)
			names = append(names, begunName(s.session))
		}
		if s.stop && !s.stopped {
			stopping = append(stopping, s)
			stops = append(stops, journal.Named{Name: s.at.stop(), Blob: journal.Blob{Zone: l.in.Zone}})
		}
	}
	l.mu.Unlock()
	if len(stops) > 0 {
		if _, err := l.store.Name(ctx, l.in.Run, stops...); err != nil {
			return false, err
		}
	}
	begun := map[*sent]inBatch{}
	for _, s := range stopping {
		if begun[s], err = l.in.begin(ctx, l.store, s.session, inBatch{}); err != nil {
			return false, err
		}
	}
	found, err := l.store.Named(ctx, l.in.Run, l.in.Zone, names...)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for s, at := range begun {
		if s.stopped = true; l.sent[s] && at != s.at {
			came = true
			l.follow(ctx, s, at)
		}
	}
	for s := range l.sent {
		if text, there := found[s.at.result()]; there {
			came = true
			l.take(ctx, s, text)
		}
	}
	for _, s := range over {
		if _, there := found[s.at.result()]; there || !l.sent[s] {
			continue
		}
		came = true
		var by inBatch
		if text, begun := found[begunName(s.session)]; !begun {
			l.end(s, answer{err: s.in.err, notBegun: true})
		} else if err := decode(text, &by); err != nil || by == s.at {
			l.end(s, answer{err: s.in.err})
		} else {
			l.follow(ctx, s, by)
		}
	}
	return came, nil
}

// take takes the result of a session.
func (l *lane) take(ctx context.Context, s *sent, text []byte) {
	var r slotResult
	switch err := decode(text, &r); {
	case err != nil:
		l.end(s, answer{err: fmt.Errorf("the result of the session cannot be read: %w", err)})
	case r.Begun != nil && *r.Begun != s.at:
		l.follow(ctx, s, *r.Begun)
	case r.Result != nil:
		l.silent = false
		l.end(s, answer{result: r.Result})
	default:
		l.end(s, answer{err: early("%s", resource.Text(r.NotBegun)), notBegun: true})
	}
}

// follow waits for the end of a session in the batch that runs it.
func (l *lane) follow(ctx context.Context, s *sent, at inBatch) {
	if at == (inBatch{}) {
		l.end(s, answer{err: errNotBegun, notBegun: true})
		return
	}
	if l.sent[s] {
		s.in.active--
	}
	i := slices.IndexFunc(l.open, func(b *batch) bool { return b.id == at.Batch })
	if i < 0 {
		i = len(l.open)
		b := &batch{id: at.Batch, closed: true}
		l.open = append(l.open, b)
		l.ended.Go(func() { l.watch(ctx, l.in, b, l.server.client.GetWorkflow(ctx, b.id, "")) })
	}
	s.in, s.at, s.stopped, l.sent[s] = l.open[i], at, false, true
	s.in.active++
}

// send puts sessions into batches: those that have room, and new ones. Those that were begun before it follows.
func (l *lane) send(ctx context.Context, queued []*sent) error {
	names := make([]string, len(queued))
	for i, s := range queued {
		names[i] = begunName(s.session)
	}
	begun, err := l.store.Named(ctx, l.in.Run, l.in.Zone, names...)
	if err != nil {
		return err
	}
	places := map[*batch][]*sent{}
	l.mu.Lock()
	l.open = slices.DeleteFunc(l.open, func(b *batch) bool { return b.active == 0 && (b.closed || b.over) })
	var order []*batch
	for i, s := range queued {
		var at inBatch
		if text, there := begun[names[i]]; there {
			l.queued = slices.DeleteFunc(l.queued, func(q *sent) bool { return q == s })
			if err := decode(text, &at); err != nil {
				s.answer <- answer{err: err}
				continue
			}
			l.follow(ctx, s, at)
			continue
		}
		b := l.room(places)
		if places[b] == nil {
			order = append(order, b)
		}
		places[b] = append(places[b], s)
	}
	l.mu.Unlock()
	for _, b := range order {
		if err := l.fill(ctx, b, places[b]); err != nil {
			return err
		}
	}
	return nil
}

// room returns a batch that takes one more session than those it is about to get.
func (l *lane) room(places map[*batch][]*sent) *batch {
	for _, b := range l.open {
		if n := len(places[b]); !b.closed && !b.over && b.active+n < batchActive && b.slots+n < batchSlots {
			return b
		}
	}
	b := &batch{id: "slipway/" + l.in.Site + "/" + l.in.Run + "/batch/" + uuid.NewString()}
	l.open = append(l.open, b)
	return b
}

// fill puts sessions into a batch, and starts it when it is new. Those for which it is closed stay queued.
func (l *lane) fill(ctx context.Context, b *batch, sessions []*sent) error {
	var slots []journal.Named
	for i, s := range sessions {
		slots = append(slots, journal.Named{Name: inBatch{b.id, b.slots + i}.slot(),
			Blob: journal.Blob{Zone: l.in.Zone, Content: s.content}})
	}
	count, err := l.store.Name(ctx, l.in.Run, slots...)
	if err != nil { // they may be there nevertheless: nobody takes them from a batch that is new, or closed with a gap
		l.mu.Lock()
		b.closed = true
		l.mu.Unlock()
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, s := range sessions {
		if b.closed = b.closed || !count[i]; b.closed {
			l.wake()
			return nil
		}
		if !slices.Contains(l.queued, s) { // it was given up meanwhile
			s.stop = true
		}
		l.queued = slices.DeleteFunc(l.queued, func(q *sent) bool { return q == s })
		s.in, s.at, l.sent[s] = b, inBatch{b.id, b.slots}, true
		b.active++
		if b.slots++; b.slots == 1 {
			l.ended.Go(func() { l.start(ctx, b) })
		}
	}
	return nil
}

// start starts the workflow of a batch, also when the server is away for a while, and watches it. When the server
// refuses it, nobody begins its sessions.
func (l *lane) start(ctx context.Context, b *batch) {
	in := l.in
	in.Batch = b.id
	l.mu.Lock()
	if l.silent {
		in.ZoneWait = max(in.ZoneWait/silentPart, shortestWait)
	}
	l.mu.Unlock()
	run, err := l.server.start(ctx, b.id, in)
	switch {
	case err == nil:
		l.watch(ctx, in, b, run)
	case ctx.Err() == nil:
		l.over(b, err)
	}
}

// watch waits for the end of a batch. Its sessions end with what their workers leave in the journal, also where the
// server refuses to say what becomes of it.
func (l *lane) watch(ctx context.Context, in convergeInput, b *batch, run client.WorkflowRun) {
	for {
		err := l.server.ends(ctx, run, nil)
		if !errors.As(err, new(unaskedError)) {
			l.over(b, l.server.untaken(ctx, in, err))
			return
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
	}
}

// over notes that the workflow of a batch has ended, or that there is none.
func (l *lane) over(b *batch, err error) {
	l.mu.Lock()
	b.over, b.err = true, err
	l.silent = errors.As(err, new(untakenError))
	l.mu.Unlock()
	l.wake()
}
