package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Statuses of a run besides those that rollout reports.
const (
	Running   = "running"
	Abandoned = "abandoned" // it never finished: its process died, or another run took the site over
)

const (
	messageLimit = 1 << 10 // bytes of Event.Message and ServiceEvent.Message
	outputLimit  = 4 << 10 // bytes of Event.Output
	batchLimit   = 4096    // events of one commit
)

var errFinished = errors.New("journal: the run is finished")

// Run is one execution of a plan.
type Run struct {
	ID        string    `json:"id"`
	Site      string    `json:"site"`
	Operation string    `json:"operation"` // create, update or delete
	Status    string    `json:"status"`
	Owner     string    `json:"owner"` // host and process
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended,omitzero"`   // zero while it runs
	Digest    string    `json:"digest,omitempty"` // of the plan; empty for a tear-down
	Steps     []string  `json:"steps"`
	Report    string    `json:"report,omitempty"`

	// Of a run that a workflow executes: its id, and the digests of what is desired, of the request, and, at the end, of
	// the outcome. Empty for other runs.
	Workflow string `json:"workflow,omitempty"`
	Desired  string `json:"desired,omitempty"`
	Request  string `json:"request,omitempty"`
	Outcome  string `json:"outcome,omitempty"`
}

// Writer records one run and keeps its lease. It is safe for concurrent use.
type Writer struct {
	store *Store
	run   Run
	fence ledger.Fence

	writing sync.Mutex // one transaction of the run at a time
	tried   int64      // the heartbeat of a transaction whose end is not known, else 0
	alive   time.Time  // of the last commit, on the clock of this process
	looked  int64      // the last event that Decisions has looked at

	lost    chan struct{} // closed with lostErr: nothing can be recorded any more
	lostErr error

	requests chan request
	stop     chan struct{} // closed by Finish
	stopped  chan struct{} // closed when the loop has ended
	once     sync.Once
}

type request struct {
	events []Event
	done   chan error
}

// Start takes the lease of the site, keeps it with heartbeats until Finish, and records the run. It fails with a
// [*BusyError] while another run sends heartbeats. A run whose process is gone, or which sent no heartbeat for
// [LeaseTime], loses its lease and is marked as abandoned.
func (s *Store) Start(ctx context.Context, run Run) (*Writer, error) {
	run, err := run.here()
	if err != nil {
		return nil, err
	}
	w := &Writer{store: s, run: run}
	err = s.whenFree(ctx, run.Site, false, func(tx *sql.Tx, now time.Time, _ BusyError) (err error) {
		w.run.Started = now
		w.fence, err = s.enter(ctx, tx, w.run)
		return err
	})
	if err != nil {
		return nil, s.failed(err)
	}
	return w.start(ctx), nil
}

// here returns the run as one of this process.
func (r Run) here() (Run, error) {
	host, err := os.Hostname()
	if err != nil {
		return r, fmt.Errorf("journal: %w", err)
	}
	r.Owner, r.Status = fmt.Sprintf("%s, process %d", host, os.Getpid()), Running
	return r, nil
}

// enter gives a run that starts the lease of its site and records it.
func (s *Store) enter(ctx context.Context, tx *sql.Tx, run Run) (fence ledger.Fence, err error) {
	for _, t := range []*string{&run.Operation, &run.Owner, &run.Digest, &run.Desired} {
		*t = clean(*t)
	}
	steps, err := jsonText(cleanAll(run.Steps))
	if err != nil {
		return fence, err
	}
	if fence, err = s.acquire(ctx, tx, run.Started, run); err != nil {
		return fence, err
	}
	if err := s.abandon(ctx, tx, run.Started, run.Site); err != nil {
		return fence, err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO runs (id, site, operation, owner, digest, steps, started_at, status, report,
		workflow, desired, request) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '', $9, $10, $11)`,
		run.ID, run.Site, run.Operation, run.Owner, run.Digest, steps, run.Started.UnixMilli(), run.Status,
		run.Workflow, run.Desired, run.Request)
	return fence, err
}

// start starts the heartbeats of a writer whose run has the lease.
func (w *Writer) start(ctx context.Context) *Writer {
	w.lost, w.requests = make(chan struct{}), make(chan request, 256)
	w.stop, w.stopped, w.alive = make(chan struct{}), make(chan struct{}), time.Now()
	go w.loop(context.WithoutCancel(ctx))
	return w
}

// Fence identifies the lease of the run.
func (w *Writer) Fence() ledger.Fence { return w.fence }

// Lost is closed when a heartbeat finds that the run lost its lease, or that the database was away for too long. The
// run must stop then. [Writer.Record] without events returns why.
func (w *Writer) Lost() <-chan struct{} { return w.lost }

// Record records events durably and returns then. Events of concurrent callers share one commit. With [ErrFenced] the
// lease is lost and nothing was recorded.
func (w *Writer) Record(ctx context.Context, events ...Event) error {
	if len(events) == 0 {
		select {
		case <-w.lost:
			return w.lostErr
		default:
			return nil
		}
	}
	r := request{events: events, done: make(chan error, 1)}
	select {
	case w.requests <- r:
	case <-w.stop:
		return errFinished
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.done:
		return err
	case <-w.stopped:
		return errFinished
	}
}

// Finish records how the run ended and releases the lease. Later calls do nothing.
func (w *Writer) Finish(ctx context.Context, status, report string) error {
	return w.FinishWith(ctx, status, report, "")
}

// FinishWith is [Writer.Finish] with the digest of the outcome.
func (w *Writer) FinishWith(ctx context.Context, status, report, outcome string) (err error) {
	w.once.Do(func() {
		close(w.stop)
		<-w.stopped
		err = w.write(ctx, func(tx *sql.Tx, now time.Time) error {
			if err := w.store.release(ctx, tx, w.run.Site); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, "UPDATE runs SET status = $1, report = $2, ended_at = $3, outcome = $5 WHERE id = $4",
				clean(status), clean(report), now.UnixMilli(), w.run.ID, outcome)
			return err
		})
		err = w.store.failed(err)
	})
	return err
}

// retryTime is the time between two attempts to connect again.
const retryTime = 200 * time.Millisecond

// write runs f in a transaction that renews the lease, and fails with [ErrFenced] when another run has it. When the
// connection is lost it tries again, until two thirds of leaseTime after the last commit: before another run may take
// the site over. f is committed once, also when the connection is lost during the commit.
func (w *Writer) write(ctx context.Context, f func(tx *sql.Tx, now time.Time) error) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	for w.tried = 0; ; {
		err := w.attempt(ctx, f)
		if err == nil {
			w.alive = time.Now()
			return nil
		}
		if !w.store.lost(err) || ctx.Err() != nil {
			return err
		}
		if away := time.Since(w.alive); away > w.store.leaseTime*2/3 {
			return fmt.Errorf("no connection for %s: %w", away.Round(time.Second), err)
		}
		select {
		case <-time.After(retryTime):
		case <-ctx.Done():
			return err
		}
	}
}

// attempt is one transaction of write. It does nothing when the one before was committed after all.
func (w *Writer) attempt(ctx context.Context, f func(tx *sql.Tx, now time.Time) error) error {
	if w.store.attemptTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.store.attemptTime)
		defer cancel()
	}
	return w.store.transact(ctx, func(tx *sql.Tx, now time.Time) error {
		l, _, err := w.store.lease(ctx, tx, w.run.Site)
		switch {
		case err != nil:
			return err
		case l.fence == w.fence.Number && l.heartbeat == w.tried && w.tried != 0:
			return nil
		case l.fence != w.fence.Number || l.run != w.run.ID:
			return w.store.fenced(ctx, tx, w.run)
		}
		w.tried = max(l.heartbeat+1, now.UnixMilli())
		if _, err := tx.ExecContext(ctx, "UPDATE leases SET heartbeat_at = $1 WHERE site = $2", w.tried,
			w.run.Site); err != nil {
			return err
		}
		return f(tx, now)
	})
}

// loop commits requests and sends heartbeats.
func (w *Writer) loop(ctx context.Context) {
	defer close(w.stopped)
	heartbeat := time.NewTicker(w.store.leaseTime / 10)
	defer heartbeat.Stop()
	for {
		select {
		case r := <-w.requests:
			w.commit(ctx, w.gather(r))
		case <-heartbeat.C:
			err := w.write(ctx, func(*sql.Tx, time.Time) error { return nil })
			if w.lostErr == nil && (errors.Is(err, ErrFenced) || err != nil && w.store.lost(err)) {
				w.lostErr = w.store.failed(err)
				close(w.lost)
			}
		case <-w.stop:
			for {
				select {
				case r := <-w.requests:
					w.commit(ctx, w.gather(r))
				default:
					return
				}
			}
		}
	}
}

// gather takes the requests that are waiting, so that they share one commit.
func (w *Writer) gather(first request) []request {
	batch, n := []request{first}, len(first.events)
	for n < batchLimit {
		select {
		case r := <-w.requests:
			batch, n = append(batch, r), n+len(r.events)
		default:
			return batch
		}
	}
	return batch
}

// rowsLimit is the number of events of one statement. SQLite looks for the name of each parameter among all of them, so
// that the time of a statement grows with the square of its rows.
const rowsLimit = 32

func (w *Writer) commit(ctx context.Context, batch []request) {
	var events []Event
	for _, r := range batch {
		events = append(events, r.events...)
	}
	err := w.write(ctx, func(tx *sql.Tx, now time.Time) error {
		for rows := range slices.Chunk(events, rowsLimit) {
			if err := insert(ctx, tx, w.run.ID, now, rows); err != nil {
				return err
			}
		}
		return nil
	})
	err = w.store.failed(err)
	for _, r := range batch {
		r.done <- err
	}
}

// insert adds events of a run.
func insert(ctx context.Context, tx *sql.Tx, run string, now time.Time, events []Event) error {
	var statement strings.Builder
	statement.WriteString(`INSERT INTO events
		(run, at, kind, group_name, phase, node, resource, service, action, status, message, output, millis) VALUES`)
	var args []any
	for i, e := range events {
		if e.Time.IsZero() {
			e.Time = now
		}
		row := []any{run, e.Time.UnixMilli(), string(e.Kind), clean(e.Group), e.Phase, clean(e.Node),
			clean(e.Resource), clean(servicesText(e.Services)), clean(e.Action), clean(e.Status), head(e.Message, messageLimit),
			tail(e.Output, outputLimit), e.Millis}
		for k := range row {
			separator := ", "
			switch {
			case k == 0 && i == 0:
				separator = " ("
			case k == 0:
				separator = "), ("
			}
			fmt.Fprintf(&statement, "%s$%d", separator, len(args)+k+1)
		}
		args = append(args, row...)
	}
	statement.WriteString(")")
	_, err := tx.ExecContext(ctx, statement.String(), args...)
	return err
}

// clean returns a text that people read, as the journal has it: one that a database takes, and that acts on no terminal
// ([resource.Visible]), whoever reads it. Every text of runs, events and checks goes through it.
func clean(s string) string { return resource.Visible(storable(s)) }

// cleanAll cleans a list; the result is never nil.
func cleanAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = clean(t)
	}
	return out
}

// storable returns a text without what PostgreSQL does not take: NUL and invalid UTF-8.
func storable(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}

// storeAll makes values of services storable, of which every other character stays.
func storeAll(texts ...*string) {
	for _, t := range texts {
		*t = storable(*t)
	}
}

// Decisions returns what persons have decided about the run since the last call, oldest first. It is for one goroutine.
func (w *Writer) Decisions(ctx context.Context) (decisions []Recorded, err error) {
	ctx, cancel := context.WithTimeout(ctx, LeaseTime/3) // the answer of a lost connection never comes
	defer cancel()
	last := w.looked
	err = w.store.db.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM events WHERE run = $1", w.run.ID).Scan(&last)
	if err == nil && last > w.looked {
		decisions, err = w.store.Events(ctx, w.run.ID, w.looked, batchLimit, Decided)
	}
	if err != nil {
		return nil, w.store.failed(err)
	}
	if n := len(decisions); n > 0 {
		last = max(last, decisions[n-1].Seq)
	}
	w.looked = last
	return decisions, nil
}

// Decide records what a person decides about an active run, from another process than that of the run.
func (s *Store) Decide(ctx context.Context, run string, e Event) error {
	active := 0
	err := s.transact(ctx, func(tx *sql.Tx, now time.Time) error {
		err := tx.QueryRowContext(ctx, "SELECT count(*) FROM leases WHERE run = $1", run).Scan(&active)
		if err != nil || active == 0 {
			return err
		}
		e.Kind = Decided
		return insert(ctx, tx, run, now, []Event{e})
	})
	if err == nil && active == 0 {
		return fmt.Errorf("the run %s has ended", run)
	}
	return s.failed(err)
}

// head and tail shorten a text to at most n bytes of whole characters: its start or its end.
func head(s string, n int) string {
	if len(s) <= n {
		return clean(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return clean(s[:n])
}

func tail(s string, n int) string {
	if len(s) > n {
		s = s[len(s)-n:]
		for len(s) > 0 && !utf8.RuneStart(s[0]) {
			s = s[1:]
		}
	}
	return clean(s)
}
