package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// RecordedServiceEvent is an event of a service with its sequence number in the journal.
type RecordedServiceEvent struct {
	Seq int64 `json:"seq"` // grows with time, over all services
	ServiceEvent
}

// ServiceRecord is one version of a service with its events: those that led to it, and those after it that did not lead
// to the next version.
type ServiceRecord struct {
	services.Revision
	Events []RecordedServiceEvent `json:"events"` // oldest first
}

// Point is a version of one incarnation of a service.
type Point struct{ Incarnation, Version int }

// versionRows returns the SELECT of versions of services.
func (s *Store) versionRows() string {
	refers := "refers"
	if s.schema < withReferences {
		refers = "'null'"
	}
	return `SELECT service, incarnation, version, desired_version, id, entity, entity_version, entity_digest, lifecycle,
		identity, state, label, deleted, transfer_context, candidate, active, rollback, redacted, config, ` + refers +
		", run, owner, at FROM services "
}

// newestOfEach is the condition of the newest version of the newest incarnation of each service. It does one lookup per
// service, so a long history does not slow it down.
const newestOfEach = `WHERE (service, incarnation, version) IN (
	SELECT service, incarnation,
		(SELECT max(n.version) FROM services AS n WHERE n.service = d.service AND n.incarnation = d.incarnation)
	FROM (SELECT service, max(incarnation) AS incarnation FROM services GROUP BY service) AS d) `

// Services returns the newest version of each service, sorted by name. With live set, deleted services are left out.
func (s *Store) Services(ctx context.Context, live bool) ([]services.Revision, error) {
	if s.schema < withServices {
		return nil, nil
	}
	out, err := manyVersions(ctx, s.db, s.versionRows()+newestOfEach+"AND NOT (deleted AND $1) ORDER BY service", live)
	if err != nil {
		return nil, s.failed(err)
	}
	return out, nil
}

// ServicesCreated returns when each service was created: the time of the first version of its newest incarnation.
func (s *Store) ServicesCreated(ctx context.Context) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	if s.schema < withServices {
		return out, nil
	}
	rows, err := s.db.QueryContext(ctx, `SELECT service, at FROM services WHERE (service, incarnation, version) IN (
		SELECT service, incarnation,
			(SELECT min(n.version) FROM services AS n WHERE n.service = d.service AND n.incarnation = d.incarnation)
		FROM (SELECT service, max(incarnation) AS incarnation FROM services GROUP BY service) AS d)`)
	if err != nil {
		return nil, s.failed(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the error
	for rows.Next() {
		var service string
		var at int64
		if err := rows.Scan(&service, &at); err != nil {
			return nil, s.failed(err)
		}
		out[service] = time.UnixMilli(at).UTC()
	}
	if err := rows.Err(); err != nil {
		return nil, s.failed(err)
	}
	return out, nil
}

// Service returns the newest version of a service, or [ErrNoService].
func (s *Store) Service(ctx context.Context, name string) (services.Revision, error) {
	if s.schema < withServices {
		return services.Revision{}, fmt.Errorf("journal: service %q: %w", name, ErrNoService)
	}
	v, err := oneVersion(ctx, s.db, s.versionRows()+"WHERE service = $1 ORDER BY incarnation DESC, version DESC LIMIT 1",
		name)
	if errors.Is(err, sql.ErrNoRows) {
		return services.Revision{}, fmt.Errorf("journal: service %q: %w", name, ErrNoService)
	}
	if err != nil {
		return services.Revision{}, s.failed(err)
	}
	return v, nil
}

// ServiceLog returns at most limit versions of a service with their events, newest first. It starts below the point
// before, or with the newest version when before is zero. An unknown service has no versions.
//
// An event's Version is the version of the service when the event happened; Correlation joins the events of one
// attempt. The last attempt at a version created the next one, so its events belong to the next record. Ignored events
// and those of earlier attempts belong to the record of their Version.
func (s *Store) ServiceLog(ctx context.Context, name string, before Point, limit int) ([]ServiceRecord, error) {
	if s.schema < withServices || limit <= 0 {
		return nil, nil
	}
	if before == (Point{}) {
		before = Point{math.MaxInt, math.MaxInt}
	}
	versions, err := manyVersions(ctx, s.db, s.versionRows()+
		"WHERE service = $1 AND (incarnation, version) < ($2, $3) ORDER BY incarnation DESC, version DESC LIMIT $4",
		name, before.Incarnation, before.Version, limit)
	if err != nil {
		return nil, s.failed(err)
	}
	if len(versions) == 0 {
		return nil, nil
	}
	out := make([]ServiceRecord, len(versions))
	at := make(map[Point]int, len(versions))
	for i, v := range versions {
		out[i].Revision = v
		at[Point{v.Incarnation, v.Version}] = i
	}
	last := versions[len(versions)-1]
	events, err := s.eventsBetween(ctx, name, Point{last.Incarnation, last.Version - 1},
		Point{versions[0].Incarnation, versions[0].Version})
	if err != nil {
		return nil, s.failed(err)
	}
	follow, err := s.recorded(ctx, name, Point{versions[0].Incarnation, versions[0].Version + 1})
	if err != nil {
		return nil, s.failed(err)
	}
	final := map[Point]int{} // the last event of each version that is not ignored
	for i, e := range events {
		if !e.Ignored {
			final[Point{e.Incarnation, e.Version}] = i
		}
	}
	for _, e := range events {
		found, made := Point{e.Incarnation, e.Version}, Point{e.Incarnation, e.Version + 1}
		_, follows := at[made]
		follows = follows || follow && made == Point{versions[0].Incarnation, versions[0].Version + 1}
		i, known := at[found]
		if last, ended := final[found]; follows &&
			(e.Version == 0 || ended && !e.Ignored && sameAttempt(e, events[last])) {
			i, known = at[made], true
			if _, here := at[made]; !here { // its record is not in this page
				continue
			}
		}
		if known {
			out[i].Events = append(out[i].Events, e)
		}
	}
	return out, nil
}

// sameAttempt reports whether two events belong to one attempt. An event without correlation is an attempt of its own.
func sameAttempt(a, b RecordedServiceEvent) bool {
	return a.Seq == b.Seq || a.Correlation != "" && a.Correlation == b.Correlation
}

// ServiceEvents returns the events of a service after a sequence number, oldest first, at most limit of them.
func (s *Store) ServiceEvents(ctx context.Context, name string, after int64, limit int) ([]RecordedServiceEvent,
	error) {
	if s.schema < withServices {
		return nil, nil
	}
	out, err := s.serviceEvents(ctx, "service = $1 AND seq > $2 ORDER BY seq LIMIT $3", name, after, limit)
	if err != nil {
		return nil, s.failed(err)
	}
	return out, nil
}

func (s *Store) eventsBetween(ctx context.Context, name string, first, last Point) ([]RecordedServiceEvent, error) {
	return s.serviceEvents(ctx,
		"service = $1 AND (incarnation, version) >= ($2, $3) AND (incarnation, version) <= ($4, $5) ORDER BY seq",
		name, first.Incarnation, first.Version, last.Incarnation, last.Version)
}

// recorded reports whether the journal has a version.
func (s *Store) recorded(ctx context.Context, name string, p Point) (found bool, err error) {
	err = s.db.QueryRowContext(ctx,
		"SELECT EXISTS (SELECT 1 FROM services WHERE service = $1 AND incarnation = $2 AND version = $3)", name, p.Incarnation,
		p.Version).Scan(&found)
	return found, err
}

func (s *Store) serviceEvents(ctx context.Context, where string, args ...any) ([]RecordedServiceEvent, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT seq, service, incarnation, version, desired_version, at, source, destination, type,
		message, ignored, correlation, severity, is_error, run FROM service_events WHERE `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the error
	var out []RecordedServiceEvent
	for rows.Next() {
		var e RecordedServiceEvent
		var at int64
		if err := rows.Scan(&e.Seq, &e.Service, &e.Incarnation, &e.Version, &e.DesiredVersion, &at, &e.Source,
			&e.Destination, &e.Type, &e.Message, &e.Ignored,
			&e.Correlation, &e.Severity, &e.IsError, &e.Run); err != nil {
			return nil, err
		}
		e.Time = time.UnixMilli(at).UTC()
		out = append(out, e)
	}
	return out, rows.Err()
}

// oneVersion returns the first version that a query selects, or sql.ErrNoRows.
func oneVersion(ctx context.Context, q querier, query string, args ...any) (services.Revision, error) {
	found, err := manyVersions(ctx, q, query, args...)
	if err != nil {
		return services.Revision{}, err
	}
	if len(found) == 0 {
		return services.Revision{}, sql.ErrNoRows
	}
	return found[0], nil
}

func manyVersions(ctx context.Context, q querier, query string, args ...any) ([]services.Revision, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the error
	var out []services.Revision
	for rows.Next() {
		v, err := scanVersion(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

func scanVersion(rows *sql.Rows) (v services.Revision, err error) {
	var candidate, active, rollback *string
	var redacted, config, refers string
	var at int64
	if err := rows.Scan(&v.Service, &v.Incarnation, &v.Version, &v.DesiredVersion, &v.ID, &v.Entity, &v.EntityVersion,
		&v.EntityDigest,
		&v.Lifecycle, &v.Identity, &v.State, &v.Label, &v.Deleted, &v.TransferContext, &candidate,
		&active, &rollback, &redacted, &config, &refers, &v.Run, &v.Owner, &at); err != nil {
		return v, err
	}
	v.Time = time.UnixMilli(at).UTC()
	for _, set := range []struct {
		into *map[string]any
		text *string
	}{{&v.Candidate, candidate}, {&v.Active, active}, {&v.Rollback, rollback}} {
		if *set.into, err = readSet(set.text); err != nil {
			return v, fmt.Errorf("service %q: version %d: %w", v.Service, v.Version, err)
		}
	}
	if err := errors.Join(json.Unmarshal([]byte(redacted), &v.Redacted),
		json.Unmarshal([]byte(config), &v.Config), json.Unmarshal([]byte(refers), &v.References)); err != nil {
		return v, fmt.Errorf("service %q: version %d: %w", v.Service, v.Version, err)
	}
	return v, nil
}
