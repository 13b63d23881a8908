package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrNoRun means that the journal has no such run.
var ErrNoRun = errors.New("no such run")

// Recorded is an event with its sequence number in the journal.
type Recorded struct {
	Seq int64 `json:"seq"` // grows with time, over all runs
	Event
}

// runRows returns the SELECT of runs. While a run has a lease, its row includes the last heartbeat and the process.
func (s *Store) runRows() string {
	process := "l.process"
	if s.schema < withProcesses {
		process = "''"
	}
	workflow := "r.workflow, r.desired, r.request, r.outcome"
	if s.schema < withWorkflows {
		workflow = "'', '', '', ''"
	}
	return "SELECT r.id, r.site, r.operation, r.owner, r.digest, r.steps, r.started_at, r.ended_at, r.status, " +
		"r.report, " + workflow + ", l.heartbeat_at, " + process +
		" FROM runs r LEFT JOIN leases l ON l.run = r.id "
}

// Runs returns at most limit runs, newest first. A run without an end has the status [Abandoned] when its process is
// processEnded or its last heartbeat is [LeaseTime] old, even if no later run has recorded that yet. This status is for
// people only: what decides about a lease is leaseWatch, which compares no clocks.
func (s *Store) Runs(ctx context.Context, limit int) ([]Run, error) {
	out, err := s.selectRuns(ctx, "ORDER BY r.started_at DESC, r.id DESC LIMIT $1", limit)
	return out, s.failed(err)
}

// selectRuns returns the runs that a query selects, which continues after FROM.
func (s *Store) selectRuns(ctx context.Context, query string, args ...any) ([]Run, error) {
	now, err := s.clock(ctx, s.db)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.QueryContext(ctx, s.runRows()+query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the error
	var out []Run
	for rows.Next() {
		r, err := s.scanRun(rows, now)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// Run returns the run with this id, or the only run whose id starts with it. An empty id means the newest run. The
// status is that of [Store.Runs].
func (s *Store) Run(ctx context.Context, id string) (Run, error) {
	found, err := s.selectRuns(ctx,
		"WHERE substr(r.id, 1, length($1)) = $1 ORDER BY r.started_at DESC, r.id DESC LIMIT 2", id)
	switch {
	case err != nil:
		return Run{}, s.failed(err)
	case len(found) == 0 && id == "":
		return Run{}, fmt.Errorf("journal: %w: it holds none yet", ErrNoRun)
	case len(found) == 0:
		return Run{}, fmt.Errorf("journal: run %q: %w", id, ErrNoRun)
	case len(found) > 1 && id != "" && found[0].ID != id:
		return Run{}, fmt.Errorf("journal: run %q: more than one run begins like this; give more of the id", id)
	}
	return found[0], nil
}

// Last returns the newest run of a site, but for one, which may be empty.
func (s *Store) Last(ctx context.Context, site, but string) (Run, error) {
	found, err := s.selectRuns(ctx, "WHERE r.site = $1 AND r.id <> $2 ORDER BY r.started_at DESC, r.id DESC LIMIT 1", site,
		but)
	switch {
	case err != nil:
		return Run{}, s.failed(err)
	case len(found) == 0:
		return Run{}, fmt.Errorf("journal: site %q: %w", site, ErrNoRun)
	}
	return found[0], nil
}

// Events returns the events of a run after a sequence number, oldest first, at most limit of them; of some kinds only,
// where kinds are given.
func (s *Store) Events(ctx context.Context, run string, after int64, limit int, kinds ...Kind) ([]Recorded, error) {
	only, args := "", []any{run, after, limit}
	for i, k := range kinds {
		args = append(args, string(k))
		only += fmt.Sprintf("%s$%d", map[bool]string{true: " AND kind IN (", false: ", "}[i == 0], len(args))
	}
	if only != "" {
		only += ")"
	}
	service := "service"
	if s.schema < withServices {
		service = "''"
	}
	rows, err := s.db.QueryContext(ctx, `SELECT seq, at, kind, group_name, phase, node, resource, `+service+`, action,
		status, message, output, millis
		FROM events WHERE run = $1 AND seq > $2`+only+` ORDER BY seq LIMIT $3`, args...)
	if err != nil {
		return nil, s.failed(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the error
	var out []Recorded
	for rows.Next() {
		var e Recorded
		var at int64
		var owners string
		if err := rows.Scan(&e.Seq, &at, &e.Kind, &e.Group, &e.Phase, &e.Node, &e.Resource, &owners, &e.Action,
			&e.Status, &e.Message, &e.Output, &e.Millis); err != nil {
			return nil, s.failed(err)
		}
		e.Time, e.Services = time.UnixMilli(at).UTC(), servicesOf(owners)
		out = append(out, e)
	}
	return out, s.failed(rows.Err())
}

func (s *Store) scanRun(rows *sql.Rows, now time.Time) (r Run, err error) {
	var steps string
	var started int64
	var ended, heartbeat sql.NullInt64
	var process sql.NullString
	if err := rows.Scan(&r.ID, &r.Site, &r.Operation, &r.Owner, &r.Digest, &steps, &started, &ended, &r.Status,
		&r.Report, &r.Workflow, &r.Desired, &r.Request, &r.Outcome, &heartbeat, &process); err != nil {
		return r, err
	}
	r.Started = time.UnixMilli(started).UTC()
	if ended.Valid {
		r.Ended = time.UnixMilli(ended.Int64).UTC()
	} else if !heartbeat.Valid || processEnded(process.String) ||
		r.Workflow == "" && now.Sub(time.UnixMilli(heartbeat.Int64)).Abs() >= s.leaseTime {
		r.Status = Abandoned
	}
	if err := json.Unmarshal([]byte(steps), &r.Steps); err != nil {
		return r, err
	}
	r.Steps = append([]string{}, r.Steps...) // never nil
	return r, nil
}

// Kind says what an event reports.
type Kind string

// The kinds of events of a run, in the order in which they appear.
const (
	RunStarted    Kind = "run_started"
	Planned       Kind = "planned" // what the run will do: a phase or health checks, with nodes ([PlannedPhase]), services, or a group
	PhaseStarted  Kind = "phase_started"
	TaskStarted   Kind = "task_started"  // recorded before the task starts
	Output        Kind = "output"        // what a task prints while it runs; Action names a command of its session
	TaskFinished  Kind = "task_finished" // recorded as soon as its outcome is known
	NodeFinished  Kind = "node_finished" // a node reached its last stage of the run
	PhaseFinished Kind = "phase_finished"
	GroupFinished Kind = "group_finished"
	RunFinished   Kind = "run_finished"
	Paused        Kind = "paused"  // a batch of a group is done, and waits for approval of the plan with the digest in Output
	Decided       Kind = "decided" // by a person, while the run was active: an Action
	Note          Kind = "note"    // something a person should know: a forgotten node, a failed unlock
)

// Actions of events of the kind Decided.
const (
	Approve = "approve" // of a batch, for the plan with the digest in Output
	Hold    = "pause"
	Resume  = "resume"
	Cancel  = "cancel"
)

// Soak is the Action of a Note that says for how long a batch of a group soaks.
const Soak = "soak"

// TextChanged is the message of a task that changed a text. The output of its event is then a unified diff.
const TextChanged = "content"

// Event is one thing that happened in a run. It contains no secret.
type Event struct {
	Time  time.Time `json:"time"`
	Kind  Kind      `json:"kind"`
	Group string    `json:"group,omitempty"` // deployment group
	// number of the phase in the plan, from 1; 0 outside. Of Paused and Decided: of the batch
	Phase    int    `json:"phase,omitempty"`
	Node     string `json:"node,omitempty"`
	Resource string `json:"resource,omitempty"` // type[title]
	// the services that the task belongs to, more than one where they share it; empty in journals of schema 1
	Services []string `json:"services,omitempty"`
	Action   string   `json:"action,omitempty"`  // task.Action; of Planned: task.Group
	Status   string   `json:"status,omitempty"`  // converge.Status of a task, stage of a node or group, status of a run
	Message  string   `json:"message,omitempty"` // bounded: 1 KiB
	// of the commands of the task, or a diff (TextChanged); bounded: converge.OutputLimit
	Output string `json:"output,omitempty"`
	Millis int64  `json:"millis,omitempty"`
}

// Of reports whether the task of an event belongs to a service.
func (e Event) Of(service string) bool { return slices.Contains(e.Services, service) }

// servicesText is a list of services in the database: names have no line breaks.
func servicesText(names []string) string { return strings.Join(names, "\n") }

func servicesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
