package journal

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
)

func BenchmarkRecord(b *testing.B) {
	b.Run("SQLite", func(b *testing.B) { benchmarkRecord(b, Location{Path: b.TempDir()}) })
	b.Run("PostgreSQL", func(b *testing.B) { benchmarkRecord(b, durable(b)) })
}

// durable returns an empty database of a server that waits for the disk, as one of a team does.
func durable(b *testing.B) Location {
	c := postgrestest.Start(b)
	if err := c.Stop(); err != nil {
		b.Fatal(err)
	}
	if err := c.Up("fsync=on"); err != nil {
		b.Fatal(err)
	}
	at := Location{URL: c.URL(b)}
	if err := c.SQL("CHECKPOINT"); err != nil {
		b.Fatal(err)
	}
	syscall.Sync() // initdb has not waited for the disk
	return at
}

func benchmarkRecord(b *testing.B, at Location) {
	s := openSite(b, at)
	w, err := s.Start(b.Context(), Run{ID: "bench", Site: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	events := make([]Event, 20)
	for i := range events {
		events[i] = Event{Kind: TaskFinished, Node: "node", Resource: "file[/etc/motd]", Status: "changed"}
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := w.Record(b.Context(), events...); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N*len(events))/b.Elapsed().Seconds(), "events/s")
	if err := w.Finish(b.Context(), "succeeded", ""); err != nil {
		b.Fatal(err)
	}
}

// eventsVariable says how many events the journal of BenchmarkLarge has. 10,000,000 need 4 GB of disk.
const eventsVariable = "SLIPWAY_BENCH_EVENTS"

// BenchmarkLarge measures what people wait for, in a database with many runs of 10,000 events each.
func BenchmarkLarge(b *testing.B) {
	const each = 10_000
	events, err := strconv.Atoi(os.Getenv(eventsVariable))
	if err != nil {
		b.Skip("NOT TESTED: " + eventsVariable + " does not say how many events to load")
	}
	s := openSite(b, durable(b))
	for _, statement := range []string{
		fmt.Sprintf(`INSERT INTO runs SELECT 'run-' || lpad(r::text, 6, '0'), 'lon1', 'update', 'ci1, process 1', 'digest',
			'["1.1 a: node phase"]', r * 60000::bigint, r * 60000::bigint + 50000, 'succeeded', 'report'
			FROM generate_series(1, %d) r`, events/each),
		fmt.Sprintf(`INSERT INTO events (run, at, kind, group_name, phase, node, resource, service, action, status, message,
			output, millis) SELECT 'run-' || lpad(r::text, 6, '0'), r * 60000::bigint + e, 'task_finished', 'compute', 1,
			'node' || e / 20, 'file[/etc/app/' || e %% 20 || '.conf]', 'app', 'create', 'changed', 'created', '', 12
			FROM generate_series(1, %d) r, generate_series(1, %d) e`, events/each, each),
		"VACUUM ANALYZE runs, events",
	} {
		if _, err := s.db.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	middle := fmt.Sprintf("run-%06d", events/each/2)
	run, err := s.Run(b.Context(), middle)
	if err != nil {
		b.Fatal(err)
	}
	first, err := s.Events(b.Context(), run.ID, 0, 1)
	if err != nil || len(first) != 1 {
		b.Fatal(first, err)
	}
	for name, read := range map[string]func() (int, error){
		"runs": func() (int, error) {
			runs, err := s.Runs(b.Context(), 20)
			return len(runs), err
		},
		"report": func() (int, error) {
			run, err := s.Run(b.Context(), middle)
			if err != nil {
				return 0, err
			}
			all, err := s.AllEvents(b.Context(), run.ID)
			return len(all) / each, err
		},
		"page of events": func() (int, error) {
			events, err := s.Events(b.Context(), middle, first[0].Seq+each/2, page)
			return len(events), err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if n, err := read(); err != nil || n == 0 {
					b.Fatal(n, err)
				}
			}
		})
	}
	w, err := s.Start(b.Context(), Run{ID: "bench", Site: "lon1"})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("what persons decided", func(b *testing.B) {
		for b.Loop() {
			if _, err := w.Decisions(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	if err := w.Finish(b.Context(), "succeeded", ""); err != nil {
		b.Fatal(err)
	}
}
