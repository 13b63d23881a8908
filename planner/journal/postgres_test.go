package journal

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// ownCluster returns a cluster that the test may stop, and a journal in it.
func ownCluster(t *testing.T) (*postgrestest.Cluster, Location) {
	t.Helper()
	c := postgrestest.Start(t)
	return c, Location{URL: c.URL(t)}
}

// Each error says what is wrong and shows no secret.
func TestAddressesOfPostgresAreChecked(t *testing.T) {
	c, err := cluster()
	if err != nil {
		postgrestest.Skip(t, err)
	}
	good := c.URL(t)
	for name, tt := range map[string]struct{ url, want string }{
		"no URL":           {"host=db password=hush1", "is not the URL of a PostgreSQL database"},
		"other scheme":     {"mysql://u:hush1@db/d", "is not the URL of a PostgreSQL database"},
		"bad escape":       {"postgres://u:hush1%zz@db/d", "percent-encode"},
		"bad port":         {"postgres://u:hush1/x@db/d", "percent-encode"},
		"bad sslmode":      {"postgres://u:hush1@db/d?sslmode=maybe&password=hush2", "sslmode"},
		"wrong address":    {"postgres://u:hush1@/d?host=/nowhere&password=hush2", "/nowhere"},
		"wrong port":       {"postgres://u:hush1@127.0.0.1:1/d?connect_timeout=2", "127.0.0.1:1"},
		"wrong password":   {c.Address("slipway", "hush1", "postgres"), "password authentication failed"},
		"wrong role":       {c.Address("nobody", "hush1", "postgres"), "password authentication failed"},
		"wrong database":   {strings.Replace(good, "/test", "/hardly", 1), "does not exist"},
		"certificate gone": {"postgres://u:hush1@db/d?sslmode=verify-full&sslrootcert=/nowhere", "/nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			at := Location{URL: tt.url, Setting: "journal of the provider"}
			_, writing := at.Open(t.Context(), "lon1")
			_, reading := at.OpenExisting(t.Context(), "lon1")
			_, listing := at.Sites(t.Context())
			for what, err := range map[string]error{"writing": writing, "reading": reading, "listing": listing} {
				switch {
				case err == nil || !strings.Contains(err.Error(), tt.want):
					t.Errorf("%s: no %q in: %v", what, tt.want, err)
				case what == "listing" && strings.Contains(err.Error(), "in the ledgers"):
					t.Errorf("advice for a run, which is not at work: %v", err)
				case strings.Contains(err.Error(), "hush"), strings.Contains(err.Error(), postgrestest.Password):
					t.Errorf("%s: a secret is in: %v", what, err)
				}
			}
		})
	}
	at := Location{URL: good}
	if _, err := at.OpenExisting(t.Context(), "lon1"); !errors.Is(err, ErrNoJournal) {
		t.Errorf("a site without a journal: %v", err)
	}
	if sites, err := at.Sites(t.Context()); err != nil || len(sites) != 0 {
		t.Errorf("sites %q, %v", sites, err)
	}
	openSite(t, at)
	if sites, err := at.Sites(t.Context()); err != nil || fmt.Sprint(sites) != "[lon1]" {
		t.Errorf("sites %q, %v", sites, err)
	}
	long := strings.Repeat("x", 56)
	if _, err := at.Open(t.Context(), long); err == nil || !strings.Contains(err.Error(), "it may have 55") {
		t.Errorf("a long name: %v", err)
	}
}

// Controllers that start at once create or upgrade one schema.
func TestControllersCreateTheSchemaOnce(t *testing.T) {
	at := postgres(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := at.Open(t.Context(), "lon1")
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s := openSite(t, at)
	if _, err := s.db.ExecContext(t.Context(), "UPDATE journal SET version = 99"); err != nil {
		t.Fatal(err)
	}
	for what, open := range map[string]func() (*Store, error){
		"writing": func() (*Store, error) { return at.Open(t.Context(), "lon1") },
		"reading": func() (*Store, error) { return at.OpenExisting(t.Context(), "lon1") },
	} {
		if _, err := open(); err == nil || !strings.Contains(err.Error(), "newer slipway") {
			t.Errorf("%s a newer journal: %v", what, err)
		}
	}
}

// A restart of the database in a run loses no event and records none twice.
func TestRunSurvivesARestartOfTheDatabase(t *testing.T) {
	c, at := ownCluster(t)
	w := start(t, openSite(t, at), "run-1")
	const events = 200
	recorded := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		for i := range events {
			if i == events/10 {
				close(started)
			}
			if err := w.Record(t.Context(), Event{Kind: Note, Phase: i, Message: "a\x00b\xff"}); err != nil {
				recorded <- err
				return
			}
		}
		recorded <- nil
	}()
	<-started
	if err := errors.Join(c.Stop(), c.Up()); err != nil {
		t.Fatal(err)
	}
	if err := <-recorded; err != nil {
		t.Fatal(err)
	}
	finish(t, w)
	s := openSite(t, at)
	found, err := s.Events(t.Context(), "run-1", 0, 10*events)
	if err != nil || len(found) != events {
		t.Fatalf("%d events, %v", len(found), err)
	}
	for i, e := range found {
		if e.Phase != i || e.Message != "a\uFFFDb\uFFFD" {
			t.Fatalf("event %d is %+v", i, e)
		}
	}
}

// Without the database a run stops before another one may take its site over.
func TestRunStopsWithoutTheDatabase(t *testing.T) {
	c, at := ownCluster(t)
	s := openSite(t, at)
	s.leaseTime = 3 * time.Second
	w := start(t, s, "run-1")
	if err := w.Record(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	<-w.Lost()
	if took := time.Since(since); took > s.leaseTime {
		t.Errorf("it took %s to notice", took)
	}
	for what, err := range map[string]error{"what is lost": w.Record(t.Context()),
		"an event": w.Record(t.Context(), Event{Kind: Note}), "the end": w.Finish(t.Context(), "failed", "")} {
		if err == nil || !strings.Contains(err.Error(), "no connection for") ||
			strings.Contains(err.Error(), postgrestest.Password) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := c.Up(); err != nil {
		t.Fatal(err)
	}
}

// The holder of a lease that died on another machine, where nobody sees its process end, loses it when it is silent.
func TestSilentHolderOnAnotherMachine(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, at)
		w := start(t, s, "run-1")
		if _, err := s.db.ExecContext(t.Context(), "UPDATE leases SET process = 'another boot of another 1'"); err != nil {
			t.Fatal(err)
		}
		close(w.stop) // it sends no heartbeat any more
		<-w.stopped
		other := openSite(t, at)
		other.leaseTime = time.Second
		finish(t, start(t, other, "run-2"))
		if _, err := s.Run(t.Context(), "run-1"); err != nil {
			t.Error(err)
		}
	})
}

// A lost lease is noticed by a run that records nothing.
func TestLostLeaseStopsAQuietRun(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, at)
		s.leaseTime = time.Second
		w := start(t, s, "run-1")
		if _, err := openSite(t, at).Unlock(t.Context(), "lon1", true, 0); err != nil {
			t.Fatal(err)
		}
		<-w.Lost()
		if err := w.Record(t.Context()); !errors.Is(err, ErrFenced) {
			t.Error(err)
		}
		if err := w.Finish(t.Context(), "failed", ""); !errors.Is(err, ErrFenced) {
			t.Error(err)
		}
	})
}

// A reader that goes on after the last number that it saw misses no event, whatever the order in which writers commit.
func TestPagesSkipNoEventThatCommitsLate(t *testing.T) {
	at := postgres(t)
	s := openSite(t, at)
	w := start(t, s, "run-1")
	const writers, rounds = 4, 25
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			other, err := at.Open(t.Context(), "lon1")
			if err != nil {
				t.Error(err)
				return
			}
			defer other.Close() //nolint:errcheck // what it wrote is committed
			for range rounds {
				if err := other.transact(t.Context(), func(tx *sql.Tx, now time.Time) error {
					if err := insert(t.Context(), tx, "run-1", now, []Event{{Kind: Note}}); err != nil {
						return err
					}
					<-time.After(time.Duration(rand.IntN(8)) * time.Millisecond) // the commit is late
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { all.Wait(); close(written) }()
	seen, after := 0, int64(0)
	for last := false; ; {
		events, err := s.Events(t.Context(), "run-1", after, 3)
		if err != nil {
			t.Fatal(err)
		}
		if seen += len(events); len(events) > 0 {
			after = events[len(events)-1].Seq
			continue
		}
		if last {
			break
		}
		select {
		case <-written:
			last = true
		default:
		}
	}
	if seen != writers*rounds {
		t.Errorf("%d events of %d", seen, writers*rounds)
	}
	finish(t, w)
}

// columns returns the definitions of the tables of a journal in PostgreSQL.
func columns(t *testing.T, s *Store) (out []string) {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), `SELECT format('%s.%s %s %s %s %s', table_name, column_name, data_type,
		is_nullable, column_default, collation_name) FROM information_schema.columns WHERE table_schema = current_schema()
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err returns the error
	for rows.Next() {
		var definition string
		if err := rows.Scan(&definition); err != nil {
			t.Fatal(err)
		}
		out = append(out, definition)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOldJournalsOfPostgresAreUpgraded checks that a journal of each older version is read as it is, and that the next
// run upgrades it, keeps its runs and takes a fence above its last one.
func TestOldJournalsOfPostgresAreUpgraded(t *testing.T) {
	want := columns(t, openSite(t, postgres(t)))
	for version := withProcesses + 1; version < SchemaVersion; version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			at := postgres(t)
			old := openSite(t, at)
			lease := "INSERT INTO leases (site, fence, run, owner, heartbeat_at, process) VALUES ('lon1', $1, '', '', 0, '')"
			last := time.Now().Add(time.Hour).UnixMilli()
			for _, statement := range []string{"DROP SCHEMA slipway_lon1 CASCADE", "CREATE SCHEMA slipway_lon1",
				strings.Join(postgresSchemas[:version], ""), fmt.Sprint("UPDATE journal SET version = ", version),
				`INSERT INTO runs (id, site, operation, owner, digest, steps, started_at, ended_at, status, report)
				VALUES ('run-1', 'lon1', 'create', 'host', 'd', '["a"]', 5, 6, 'succeeded', 'report')`,
				strings.Replace(lease, "$1", fmt.Sprint(last), 1)} {
				if _, err := old.db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			reader, err := at.OpenExisting(t.Context(), "lon1")
			if err != nil {
				t.Fatal(err)
			}
			if r, err := reader.Run(t.Context(), ""); err != nil || r.ID != "run-1" || r.Report != "report" {
				t.Errorf("%+v, %v", r, err)
			}
			if v, err := reader.version(t.Context(), reader.db); err != nil || v != version {
				t.Errorf("version %d, %v: reading must change nothing", v, err)
			}
			if err := reader.Close(); err != nil {
				t.Error(err)
			}
			for range 2 { // the second time there is nothing to do
				if d := cmp.Diff(want, columns(t, openSite(t, at))); d != "" {
					t.Fatal(d)
				}
			}
			s := openSite(t, at)
			w := start(t, s, "run-2")
			if w.fence.Number != last+1 || w.fence.Line == "" {
				t.Errorf("fence %+v after %d", w.fence, last)
			}
			finish(t, w)
			if runs, err := s.Runs(t.Context(), 10); err != nil || len(runs) != 2 {
				t.Errorf("%+v, %v", runs, err)
			}
		})
	}
}

// Prune deletes runs that ended long ago, with any number of events, and nothing else.
func TestPrune(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, at)
		c := &clock{t: time.UnixMilli(1e12)}
		c.use(s)
		w := start(t, s, "old")
		recordServices(t, w, []services.Revision{ntp(1, "start")})
		if err := w.Record(t.Context(), make([]Event, pruneLimit+1)...); err != nil {
			t.Fatal(err)
		}
		finish(t, w)
		c.add(time.Hour)
		finish(t, start(t, s, "newer"))
		c.add(time.Hour)
		active := start(t, s, "active")
		c.add(time.Hour)
		for _, tt := range []struct {
			age  time.Duration
			runs int
		}{{4 * time.Hour, 0}, {150 * time.Minute, 1}, {150 * time.Minute, 0}, {0, 1}} {
			if n, err := s.Prune(t.Context(), tt.age); err != nil || n != tt.runs {
				t.Errorf("older than %s: %d runs, %v, want %d", tt.age, n, err, tt.runs)
			}
		}
		if runs, err := s.Runs(t.Context(), 10); err != nil || len(runs) != 1 || runs[0].ID != "active" {
			t.Errorf("%+v, %v", runs, err)
		}
		if events, err := s.Events(t.Context(), "old", 0, 10); err != nil || len(events) != 0 {
			t.Errorf("%d events of a run that is deleted, %v", len(events), err)
		}
		if v, err := s.Service(t.Context(), "ntp"); err != nil || v.Version != 1 {
			t.Errorf("the history of services: %+v, %v", v, err)
		}
		finish(t, active)
	})
}

// TestConnectionsAreKept checks that a store does not connect anew for each burst of calls: a connection costs the
// server a process.
func TestConnectionsAreKept(t *testing.T) {
	c, err := cluster()
	if err != nil {
		postgrestest.Skip(t, err)
	}
	s := openSite(t, Location{URL: c.URL(t)})
	var all []*sql.Conn
	for range connectionsLimit {
		conn, err := s.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, conn)
	}
	for _, conn := range all {
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.db.Stats().OpenConnections; got != connectionsLimit {
		t.Errorf("%d connections are left of %d", got, connectionsLimit)
	}
}
