package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
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
}

// Writer records one run and keeps its lease. It is safe for concurrent use.
type Writer struct {
	store *Store
	run   Run
	fence int64

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
	steps, err := json.Marshal(run.Steps)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	run.Owner = fmt.Sprintf("%s, process %d", host, os.Getpid())
	run.Status = Running
	w := &Writer{store: s, run: run, requests: make(chan request, 256), stop: make(chan struct{}),
		stopped: make(chan struct{})}
	err = s.whenFree(ctx, run.Site, false, func(tx *sql.Tx, _ BusyError) (err error) {
		if w.fence, err = s.acquire(ctx, tx, run.Site, run.ID, run.Owner); err != nil {
			return err
		}
		if err := s.abandon(ctx, tx, run.Site); err != nil {
			return err
		}
		w.run.Started = s.now()
		_, err = tx.ExecContext(ctx, `INSERT INTO runs (id, site, operation, owner, digest, steps, started_at, status, report)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, '')`,
			run.ID, run.Site, run.Operation, run.Owner, run.Digest, steps, w.run.Started.UnixMilli(), run.Status)
		return err
	})
	if err != nil {
		return nil, s.failed(err)
	}
	go w.loop(context.WithoutCancel(ctx))
	return w, nil
}

// Record records events durably and returns then. Events of concurrent callers share one commit. With [ErrFenced] the
// lease is lost and nothing was recorded.
func (w *Writer) Record(ctx context.Context, events ...Event) error {
	if len(events) == 0 {
		return nil
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
func (w *Writer) Finish(ctx context.Context, status, report string) (err error) {
	w.once.Do(func() {
		close(w.stop)
		<-w.stopped
		err = w.store.transact(ctx, func(tx *sql.Tx) error {
			if err := w.store.release(ctx, tx, w.run.Site, w.run.ID, w.fence); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, "UPDATE runs SET status = ?, report = ?, ended_at = ? WHERE id = ?",
				status, report, w.store.now().UnixMilli(), w.run.ID)
			return err
		})
		if err != nil {
			err = w.store.failed(err)
		}
	})
	return err
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
			// The next Record reports a lost lease.
			_ = w.store.transact(ctx, func(tx *sql.Tx) error {
				return w.store.renew(ctx, tx, w.run.Site, w.run.ID, w.fence)
			})
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

func (w *Writer) commit(ctx context.Context, batch []request) {
	err := w.store.transact(ctx, func(tx *sql.Tx) error {
		if err := w.store.renew(ctx, tx, w.run.Site, w.run.ID, w.fence); err != nil {
			return err
		}
		insert, err := tx.PrepareContext(ctx, `INSERT INTO events
			(run, at, kind, group_name, phase, node, resource, service, action, status, message, output, millis)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
		if err != nil {
			return err
		}
		for _, r := range batch {
			for _, e := range r.events {
				if e.Time.IsZero() {
					e.Time = w.store.now()
				}
				if _, err := insert.ExecContext(ctx, w.run.ID, e.Time.UnixMilli(), string(e.Kind), e.Group, e.Phase,
					e.Node, e.Resource, e.Service,
					e.Action, e.Status, head(e.Message, messageLimit), tail(e.Output,
						outputLimit), e.Millis); err != nil {
					return errors.Join(err, insert.Close())
				}
			}
		}
		return insert.Close()
	})
	if err != nil {
		err = w.store.failed(err)
	}
	for _, r := range batch {
		r.done <- err
	}
}

// head and tail shorten a text to at most n bytes of whole characters: its start or its end.
func head(s string, n int) string {
	if len(s) <= n {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.ToValidUTF8(s[:n], "\uFFFD")
}

func tail(s string, n int) string {
	if len(s) > n {
		s = s[len(s)-n:]
		for len(s) > 0 && !utf8.RuneStart(s[0]) {
			s = s[1:]
		}
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
