package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// ntp is a version of a service as its owner records it.
func ntp(version int, state string) services.Revision {
	return services.Revision{
		Service: "ntp", Version: version, DesiredVersion: 1, ID: "id-1", Entity: "ntp", EntityVersion: 2, EntityDigest: "e", Lifecycle: "slipway_default",
		Identity: "north", State: state, Label: "info", TransferContext: "auto",
		Active: map[string]any{"servers": []any{map[string]any{"address": "10.0.0.1", "stratum": int64(3)}},
			"big": int64(math.MaxInt64), "ratio": 0.5, "text": "<&>", "none": nil},
		Config: map[string]bool{"auto_creating": true}, Redacted: []string{"key"},
		Run: "run-0", Owner: "controller, process 7", Time: time.UnixMilli(int64(version) * 1000),
	}
}

func recordServices(t *testing.T, w *Writer, versions []services.Revision, events ...ServiceEvent) {
	t.Helper()
	if err := w.RecordServices(t.Context(), versions, events); err != nil {
		t.Fatal(err)
	}
}

func finish(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.Finish(t.Context(), "succeeded", ""); err != nil {
		t.Fatal(err)
	}
}

// names returns versions as texts that are easy to compare.
func names(versions []services.Revision) string {
	var out []string
	for _, v := range versions {
		out = append(out, fmt.Sprintf("%s/%d.%d", v.Service, v.Incarnation, v.Version))
	}
	return strings.Join(out, " ")
}

func TestServiceVersionsAreKept(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, at)
		w := start(t, s, "run-1")
		one, two := ntp(1, "start"), ntp(2, "up")
		one.Candidate, one.Active, two.Rollback = one.Active, nil, map[string]any{}
		made := ServiceEvent{Service: "ntp", Version: 0, Time: one.Time, Destination: "start", Type: "CREATE_TRANSITION",
			Message: strings.Repeat("é", messageLimit), Severity: 20, Run: "run-0"}
		moved := ServiceEvent{Service: "ntp", Version: 1, DesiredVersion: 1, Time: two.Time, Source: "start",
			Destination: "up", Type: "AUTO_TRANSITION", Correlation: "c", IsError: true, Ignored: true}
		recordServices(t, w, []services.Revision{one, two}, made, moved)
		finish(t, w)

		reader, err := at.OpenExisting(t.Context(), "lon1")
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close() //nolint:errcheck // read only
		got, err := reader.Service(t.Context(), "ntp")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(two, got); d != "" {
			t.Error(d)
		}
		log, err := reader.ServiceLog(t.Context(), "ntp", Point{2, 0}, 10)
		if err != nil || len(log) != 2 {
			t.Fatalf("%v, %v", log, err)
		}
		if d := cmp.Diff(one, log[1].Revision); d != "" {
			t.Error(d)
		}
		events, err := reader.ServiceEvents(t.Context(), "ntp", 0, 10)
		if err != nil || len(events) != 2 {
			t.Fatalf("%v, %v", events, err)
		}
		made.Message, moved.Run = strings.Repeat("é", messageLimit/2), "run-1" // bounded; the writer's own
		if d := cmp.Diff([]ServiceEvent{made, moved},
			[]ServiceEvent{events[0].ServiceEvent, events[1].ServiceEvent}); d != "" {
			t.Error(d)
		}
		if after, err := reader.ServiceEvents(t.Context(), "ntp", events[0].Seq, 10); err != nil || len(after) != 1 {
			t.Errorf("after the first event: %v, %v", after, err)
		}
	})
}

func TestWriterFillsInWhoAndWhen(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, at)
		c := &clock{t: time.UnixMilli(1e12)}
		c.use(s)
		w := start(t, s, "run-1")
		v := ntp(1, "start")
		v.Run, v.Owner, v.Time = "", "", time.Time{}
		recordServices(t, w, []services.Revision{v}, ServiceEvent{Service: "ntp", Type: "CREATE_TRANSITION"})
		got, err := s.Service(t.Context(), "ntp")
		if err != nil || got.Run != "run-1" || got.Owner != w.run.Owner || !got.Time.Equal(c.t) {
			t.Errorf("%+v, %v", got, err)
		}
		events, err := s.ServiceEvents(t.Context(), "ntp", 0, 1)
		if err != nil || events[0].Run != "run-1" || !events[0].Time.Equal(c.t) {
			t.Errorf("%+v, %v", events, err)
		}
		finish(t, w)
	})
}

func TestNewestOfEachService(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, at)
		w := start(t, s, "run-1")
		var versions []services.Revision
		add := func(name string, incarnation, version int, deleted bool) {
			v := ntp(version, "up")
			v.Service, v.Incarnation, v.Deleted, v.Time = name, incarnation, deleted, time.UnixMilli(int64(1000*incarnation+version)).UTC()
			versions = append(versions, v)
		}
		add("web", 0, 1, false)
		add("ntp", 0, 9, false)
		add("ntp", 0, 10, true)
		add("ntp", 1, 1, false)
		add("ntp", 1, 2, false)
		add("gone", 0, 1, false)
		add("gone", 0, 2, true)
		recordServices(t, w, versions)
		for live, want := range map[bool]string{false: "gone/0.2 ntp/1.2 web/0.1", true: "ntp/1.2 web/0.1"} {
			if got, err := s.Services(t.Context(), live); err != nil || names(got) != want {
				t.Errorf("live %v: %s, %v; want %s", live, names(got), err, want)
			}
		}
		want := map[string]time.Time{"gone": time.UnixMilli(1).UTC(), "ntp": time.UnixMilli(1001).UTC(), "web": time.UnixMilli(1).UTC()}
		if got, err := s.ServicesCreated(t.Context()); err != nil || !maps.Equal(got, want) {
			t.Errorf("created: %v, %v; want %v", got, err, want)
		}
		if got, err := s.Service(t.Context(), "ntp"); err != nil || names([]services.Revision{got}) != "ntp/1.2" {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := s.Service(t.Context(), "gone"); err != nil || !got.Deleted {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := s.Service(t.Context(), "nope"); !errors.Is(err, ErrNoService) ||
			!strings.Contains(err.Error(), `"nope"`) {
			t.Errorf("nope: %v", err)
		}
		finish(t, w)
	})
}

func TestRecordingAgain(t *testing.T) {
	change := func(f func(*services.Revision)) services.Revision {
		v := ntp(1, "start")
		v.Run, v.Owner, v.Time = "", "other, process 8", time.UnixMilli(5000)
		f(&v)
		return v
	}
	for name, tt := range map[string]struct {
		again services.Revision
		fresh bool   // another run may record it
		field string // in the error of another run
	}{
		"the same": {again: change(func(*services.Revision) {})},
		"candidate": {again: change(func(v *services.Revision) { v.Candidate = map[string]any{"id": 7} }),
			fresh: true},
		"config":         {again: change(func(v *services.Revision) { v.Config = nil }), fresh: true},
		"entity digest":  {again: change(func(v *services.Revision) { v.EntityDigest = "f" }), fresh: true},
		"redacted":       {again: change(func(v *services.Revision) { v.Redacted = nil }), fresh: true},
		"state":          {again: change(func(v *services.Revision) { v.State = "up" }), field: "state"},
		"id":             {again: change(func(v *services.Revision) { v.ID = "id-2" }), field: "id"},
		"deleted":        {again: change(func(v *services.Revision) { v.Deleted = true }), field: "deleted"},
		"desired":        {again: change(func(v *services.Revision) { v.DesiredVersion = 2 }), field: "desired_version"},
		"active":         {again: change(func(v *services.Revision) { v.Active = map[string]any{} }), field: "active"},
		"empty rollback": {again: change(func(v *services.Revision) { v.Rollback = map[string]any{} }), field: "rollback"},
	} {
		t.Run(name, func(t *testing.T) {
			conform(t, func(t *testing.T, at Location) {
				s := openSite(t, at)
				first := ntp(1, "start")
				first.Run = ""
				w := start(t, s, "run-1")
				recordServices(t, w, []services.Revision{first})
				finish(t, w)

				w = start(t, s, "run-2")
				newer := ntp(2, "up")
				err := w.RecordServices(t.Context(), []services.Revision{newer, tt.again}, nil)
				var conflict *ConflictError
				got, failed := s.Service(t.Context(), "ntp")
				if failed != nil {
					t.Fatal(failed)
				}
				log, failed := s.ServiceLog(t.Context(), "ntp", Point{0, 2}, 1)
				if failed != nil || len(log) != 1 {
					t.Fatal(log, failed)
				}
				switch {
				case tt.field != "":
					if !errors.As(err, &conflict) || conflict.Field != tt.field || conflict.Run != "run-1" ||
						got.Version != 1 || log[0].Run != "run-1" {
						t.Errorf("another run: %v, now %+v", err, got)
					}
				case err != nil:
					t.Errorf("another run: %v", err)
				case tt.fresh != (log[0].Run == "run-2") || tt.fresh != log[0].Time.Equal(tt.again.Time):
					t.Errorf("version 1 is of %s, %s", log[0].Run, log[0].Time)
				}
				finish(t, w)

				same := tt.again
				same.Run = log[0].Run // a snapshot that says whose it is
				w = start(t, s, "run-3")
				recordServices(t, w, []services.Revision{same})
				finish(t, w)
				if got, err := s.ServiceLog(t.Context(), "ntp", Point{0, 2}, 1); err != nil || got[0].State != same.State ||
					got[0].ID != same.ID || (got[0].Rollback == nil) != (same.Rollback == nil) {
					t.Errorf("the same run: %+v, %v", got, err)
				}
			})
		})
	}
}

func TestEventsAreRecordedOnce(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, at)
		w := start(t, s, "run-1")
		e := ServiceEvent{Service: "ntp", Version: 1, Time: time.UnixMilli(1000), Type: "AUTO_TRANSITION",
			Message: strings.Repeat("x", 2*messageLimit)}
		later := e
		later.Time = time.UnixMilli(1001)
		for range 2 {
			recordServices(t, w, nil, e, later)
		}
		finish(t, w)
		if events, err := s.ServiceEvents(t.Context(), "ntp", 0, 10); err != nil || len(events) != 2 ||
			!events[1].Time.After(events[0].Time) {
			t.Errorf("%v, %v", events, err)
		}
	})
}

func TestServiceRecordsAreFenced(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		one, two := openSite(t, at), openSite(t, at)
		one.leaseTime, two.leaseTime = 24*time.Hour, 300*time.Millisecond // so that no heartbeat comes
		first := start(t, one, "run-1")
		_ = refusedWhile(t, two, func() { recordServices(t, first, []services.Revision{ntp(1, "start")}) }) // a sign of life
		second := start(t, two, "run-2")
		if err := first.RecordServices(t.Context(), []services.Revision{ntp(2, "up")}, nil); !errors.Is(err, ErrFenced) {
			t.Errorf("the run that lost its lease recorded: %v", err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := second.RecordServices(cancelled, []services.Revision{ntp(2, "up")}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled call: %v", err)
		}
		finish(t, second)
		if err := second.RecordServices(t.Context(), []services.Revision{ntp(2, "up")}, nil); !errors.Is(err, errFinished) {
			t.Errorf("a finished run: %v", err)
		}
		if got, err := two.Service(t.Context(), "ntp"); err != nil || got.Version != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		if err := first.Finish(t.Context(), "failed", ""); !errors.Is(err, ErrFenced) {
			t.Error(err)
		}
	})
}

func TestInvalidServiceRecords(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, at)
		w := start(t, s, "run-1")
		bad := func(f func(*services.Revision)) services.Revision { v := ntp(2, "up"); f(&v); return v }
		err := w.RecordServices(t.Context(), []services.Revision{
			ntp(1, "start"), bad(func(v *services.Revision) { v.Version = 0 }), bad(func(v *services.Revision) { v.State = "" }),
			bad(func(v *services.Revision) { v.Incarnation = -1 }), bad(func(v *services.Revision) { v.Service = "" }),
		}, []ServiceEvent{{Service: "ntp"}, {Type: "AUTO_TRANSITION"}, {Service: "ntp", Type: "X", Version: -1}})
		for _, want := range []string{"versions begin with 1", "has no state", "incarnations begin with 0",
			"has no service", "has no type", "an event AUTO_TRANSITION has no service", "neither may be below 0"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in %v", want, err)
			}
		}
		nan := bad(func(v *services.Revision) { v.Candidate = map[string]any{"x": math.NaN()} })
		if err := w.RecordServices(t.Context(), []services.Revision{ntp(1, "start"), nan}, nil); err == nil ||
			!strings.Contains(err.Error(), `service "ntp": version 2: candidate attributes`) {
			t.Errorf("a value that JSON has not: %v", err)
		}
		if got, err := s.Services(t.Context(), false); err != nil || len(got) != 0 {
			t.Errorf("%v, %v: nothing must be recorded with an error", got, err)
		}
		finish(t, w)
	})
}

func TestServiceLog(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, at)
		w := start(t, s, "run-1")
		event := func(incarnation, version int, message, correlation string, ignored bool) ServiceEvent {
			return ServiceEvent{Service: "ntp", Incarnation: incarnation, Version: version, Type: "AUTO_TRANSITION",
				Message: message, Correlation: correlation, Ignored: ignored}
		}
		again := ntp(1, "start")
		again.Incarnation = 1
		recordServices(t, w, []services.Revision{ntp(1, "start"), ntp(2, "creating"), ntp(3, "up"), ntp(7, "up"), again},
			event(0, 0, "created", "a", false), event(0, 0, "defaults", "", false),
			event(0, 1, "aborted", "b", false), event(0, 1, "trigger", "c", false), event(0, 1, "stale", "d",
				true), event(0, 1, "said twice", "c", true), event(0, 1, "executed", "c", false),
			event(0, 2, "result", "", false), event(0, 2, "late", "z", true), event(0, 3, "unchanged", "e", true), event(0,
				3, "last before a gap", "f", false),
			event(1, 0, "made anew", "a", false), event(1, 1, "at work", "g", false), event(0, 5, "of no version", "",
				false))
		finish(t, w)
		texts := func(records []ServiceRecord) (out []string) {
			for _, r := range records {
				line := names([]services.Revision{r.Revision})
				for _, e := range r.Events {
					line += "; " + e.Message
				}
				out = append(out, line)
			}
			return out
		}
		all := []string{
			"ntp/1.1; made anew; at work",
			"ntp/0.7",
			"ntp/0.3; result; unchanged; last before a gap",
			"ntp/0.2; trigger; executed; late",
			"ntp/0.1; created; defaults; aborted; stale; said twice",
		}
		log, err := s.ServiceLog(t.Context(), "ntp", Point{}, 100)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(all, texts(log)); d != "" {
			t.Error(d)
		}
		// Every page size gives the same result.
		for size := 1; size <= len(all); size++ {
			var got []string
			for before := (Point{}); ; {
				page, err := s.ServiceLog(t.Context(), "ntp", before, size)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				got = append(got, texts(page)...)
				last := page[len(page)-1]
				before = Point{last.Incarnation, last.Version}
			}
			if d := cmp.Diff(all, got); d != "" {
				t.Errorf("%d at once: %s", size, d)
			}
		}
		for _, c := range []struct {
			name  string
			limit int
		}{{"nope", 5}, {"ntp", 0}} {
			if log, err := s.ServiceLog(t.Context(), c.name, Point{}, c.limit); err != nil || len(log) != 0 {
				t.Errorf("%v: %v, %v", c, log, err)
			}
		}
	})
}

// old writes a journal of a version without services.
func old(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "version1.sql"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "lon1.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), string(text)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// tables returns the definitions of a database, its columns as SQLite sees them.
func tables(t *testing.T, s *Store) (out []string) {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(),
		"SELECT m.name, c.name, c.type, c.pk FROM sqlite_master m, pragma_table_info(m.name) c")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the error
	for rows.Next() {
		var table, column, kind string
		var key int
		if err := rows.Scan(&table, &column, &kind, &key); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(table, ".", column, " ", kind, " ", key))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func TestOldJournalIsRead(t *testing.T) {
	file := old(t)
	reader, err := OpenExisting(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close() //nolint:errcheck // read only
	if run, err := reader.Run(t.Context(), ""); err != nil || run.ID != "run-1" || run.Report != "report" {
		t.Errorf("%+v, %v", run, err)
	}
	if events, err := reader.Events(t.Context(), "run-1", 0, 10); err != nil || len(events) != 1 ||
		events[0].Resource != "file[/a]" || len(events[0].Services) != 0 || events[0].Millis != 7 {
		t.Errorf("%+v, %v", events, err)
	}
	if all, err := reader.Services(t.Context(), false); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := reader.Service(t.Context(), "ntp"); !errors.Is(err, ErrNoService) {
		t.Error(err)
	}
	if log, err := reader.ServiceLog(t.Context(), "ntp", Point{}, 10); err != nil || len(log) != 0 {
		t.Errorf("%v, %v", log, err)
	}
	if events, err := reader.ServiceEvents(t.Context(), "ntp", 0, 10); err != nil || len(events) != 0 {
		t.Errorf("%v, %v", events, err)
	}
	if version, err := reader.version(t.Context(), reader.db); err != nil || version != 1 {
		t.Errorf("version %d, %v: reading must change nothing", version, err)
	}
}

func TestOldJournalIsUpgraded(t *testing.T) {
	file := old(t)
	for range 2 { // the second time there is nothing to do
		s := openAt(t, file)
		if d := cmp.Diff(tables(t, openAt(t, filepath.Join(t.TempDir(), "new.db"))), tables(t, s)); d != "" {
			t.Fatal(d)
		}
	}
	s := openAt(t, file)
	if run, err := s.Run(t.Context(), "run-1"); err != nil || run.Status != "succeeded" {
		t.Errorf("%+v, %v", run, err)
	}
	w := start(t, s, "run-2")
	if w.fence.Number <= 41 || w.fence.Line == "" {
		t.Errorf("fence %+v after 41", w.fence)
	}
	recordServices(t, w, []services.Revision{ntp(1, "start")})
	if err := w.Record(t.Context(), Event{Kind: TaskFinished, Services: []string{"ntp", "a, b"}}); err != nil {
		t.Fatal(err)
	}
	finish(t, w)
	if events, err := s.Events(t.Context(), "run-2", 0, 10); err != nil || len(events) != 1 ||
		!slices.Equal(events[0].Services, []string{"ntp", "a, b"}) {
		t.Errorf("%+v, %v", events, err)
	}
	if events, err := s.Events(t.Context(), "run-1", 0, 10); err != nil || len(events) != 1 || len(events[0].Services) != 0 {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestNewerJournalIsNotRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lon1.db")
	s := openAt(t, file)
	if _, err := s.db.ExecContext(t.Context(), fmt.Sprintf("PRAGMA user_version = %d", SchemaVersion+1)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenExisting(t.Context(), file); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprint("this slipway reads versions 1 to ", SchemaVersion)) {
		t.Error(err)
	}
}

// A version that an older slipway recorded has no references, which is not the same as to refer to nothing; the next run
// adds them, and changes nothing else of it.
func TestReferencesOfOlderVersions(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		old, err := at.Open(t.Context(), "lon1")
		if err != nil {
			t.Fatal(err)
		}
		w := start(t, old, "run-1")
		recordServices(t, w, []services.Revision{ntp(1, "up")})
		finish(t, w)
		back := map[bool]string{true: "PRAGMA user_version = 8", false: "UPDATE journal SET version = 8"}[at.URL == ""]
		for _, statement := range []string{"ALTER TABLE services DROP COLUMN refers", "DROP TABLE looks", back} {
			if _, err := old.db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
		want := ntp(1, "up")
		expect := func(s *Store) {
			t.Helper()
			for what, got := range map[string]func() (services.Revision, error){
				"newest": func() (services.Revision, error) { return s.Service(t.Context(), "ntp") },
				"all": func() (services.Revision, error) {
					all, err := s.Services(t.Context(), true)
					return all[0], err
				},
				"log": func() (services.Revision, error) {
					log, err := s.ServiceLog(t.Context(), "ntp", Point{}, 1)
					return log[0].Revision, err
				},
			} {
				v, err := got()
				if d := cmp.Diff(want, v); d != "" || err != nil {
					t.Errorf("%s: %v %s", what, err, d)
				}
			}
		}
		reader, err := at.OpenExisting(t.Context(), "lon1")
		if err != nil {
			t.Fatal(err)
		}
		expect(reader)
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
		s := openSite(t, at)
		expect(s)
		w = start(t, s, "run-2")
		now := want
		now.Run, now.Owner, now.References = "", "", []string{"router", "switch"}
		recordServices(t, w, []services.Revision{now})
		want.References = now.References
		expect(s)
		none := ntp(2, "up")
		none.References = []string{}
		recordServices(t, w, []services.Revision{none})
		want = none
		expect(s)
		finish(t, w)
	})
}
