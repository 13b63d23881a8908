package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if at := os.Getenv(runsIn); at != "" {
		l := Location{Path: at}
		if CheckURL(at) == nil {
			l = Location{URL: at}
		}
		run := startAndWait
		if os.Getenv(hostOf) != "" {
			run = startOnMachine
		}
		fmt.Fprintln(os.Stderr, run(l))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		if clusterDirectory != "" {
			if c, err := cluster(); err == nil {
				if err := c.Stop(); err != nil {
					fmt.Fprintln(os.Stderr, err)
				}
			}
			_ = os.RemoveAll(clusterDirectory) // it is temporary
		}
		os.Exit(status)
	}))
}

// clock is a time that the test moves.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.t }
func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func openAt(t *testing.T, file string) *Store {
	t.Helper()
	s, err := Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func start(t *testing.T, s *Store, id string) *Writer {
	t.Helper()
	w, err := s.Start(t.Context(), Run{ID: id, Site: "lon1", Operation: "create", Digest: "d",
		Steps: []string{"1. a", "2. b"}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestRunIsKept(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, at)
		w := start(t, s, "run-1")
		long := strings.Repeat("x", messageLimit) + "é"
		err := w.Record(t.Context(),
			Event{Kind: TaskStarted, Group: "g", Phase: 2, Node: "n1", Resource: "file[/a]", Action: "create"},
			Event{Kind: TaskFinished, Group: "g", Phase: 2, Node: "n1", Resource: "file[/a]", Status: "failed",
				Message: long, Output: "é" + strings.Repeat("y", outputLimit), Millis: 7})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(t.Context(), "failed", "report"); err != nil {
			t.Fatal(err)
		}
		if err := w.Record(t.Context(), Event{Kind: Note}); err == nil {
			t.Error("a finished run took an event")
		}

		reader, err := at.OpenExisting(t.Context(), "lon1")
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close() //nolint:errcheck // read only
		run, err := reader.Run(t.Context(), "run")
		if err != nil {
			t.Fatal(err)
		}
		if run.Status != "failed" || run.Report != "report" || run.Ended.IsZero() || len(run.Steps) != 2 ||
			run.Steps[1] != "2. b" {
			t.Errorf("run is %+v", run)
		}
		events, err := reader.Events(t.Context(), "run-1", 0, 10)
		if err != nil || len(events) != 2 {
			t.Fatalf("events %v, error %v", events, err)
		}
		last := events[1]
		if last.Node != "n1" || last.Resource != "file[/a]" || last.Status != "failed" || last.Millis != 7 ||
			last.Phase != 2 {
			t.Errorf("event is %+v", last)
		}
		if len(last.Message) != messageLimit || last.Output != strings.Repeat("y", outputLimit) {
			t.Errorf("message has %d bytes, output %d", len(last.Message), len(last.Output))
		}
		if after, err := reader.Events(t.Context(), "run-1", events[0].Seq, 10); err != nil || len(after) != 1 {
			t.Errorf("after the first event: %v, %v", after, err)
		}
	})
}

func TestFilesAreForTheUserAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "lon1.db")
	openAt(t, file)
	for path, want := range map[string]os.FileMode{filepath.Dir(file): 0o700, file: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want mode %o", path, info.Mode(), err, want)
		}
	}
	if ignore, err := os.ReadFile(filepath.Join(filepath.Dir(file), ".gitignore")); err != nil ||
		string(ignore) != "*\n" {
		t.Errorf(".gitignore is %q, %v", ignore, err)
	}
}

func TestOneRunAtATime(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		one, two := openSite(t, at), openSite(t, at)
		one.leaseTime, two.leaseTime = 24*time.Hour, 300*time.Millisecond // so that no heartbeat comes

		first := start(t, one, "run-1")
		busy := refusedWhile(t, two, func() { // every commit is a sign of life
			if err := first.Record(t.Context(), Event{Kind: Note}); err != nil {
				t.Error(err)
			}
		})
		if busy.Run != "run-1" || !strings.Contains(busy.Error(), fmt.Sprint("process ", os.Getpid())) ||
			time.Since(busy.Since) > time.Minute {
			t.Errorf("second run: %v", busy)
		}

		second := start(t, two, "run-2") // the first is silent for as long as a lease counts
		if err := first.Record(t.Context(), Event{Kind: Note}); !errors.Is(err, ErrFenced) ||
			!strings.Contains(err.Error(), "run run-2 of "+second.run.Owner) {
			t.Errorf("the run that lost its lease recorded, or the error does not name the new holder: %v", err)
		}
		if err := first.Finish(t.Context(), "succeeded", ""); !errors.Is(err, ErrFenced) {
			t.Errorf("the run that lost its lease finished: %v", err)
		}
		if run, err := two.Run(t.Context(), "run-1"); err != nil || run.Status != Abandoned || run.Ended.IsZero() {
			t.Errorf("first run: %+v, %v", run, err)
		}
		if err := second.Finish(t.Context(), "succeeded", ""); err != nil {
			t.Fatal(err)
		}
		third := start(t, one, "run-3")
		if first.fence.Number >= second.fence.Number || second.fence.Number >= third.fence.Number ||
			first.fence.Line != third.fence.Line {
			t.Errorf("fences %+v, %+v, %+v: the number must grow", first.fence, second.fence, third.fence)
		}
		if err := third.Finish(t.Context(), "succeeded", ""); err != nil {
			t.Fatal(err)
		}
	})
}

// refusedWhile starts a run on a site whose holder sends heartbeats meanwhile, and returns the refusal.
func refusedWhile(t *testing.T, s *Store, live func()) *BusyError {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := s.Start(t.Context(), Run{ID: "refused", Site: "lon1"})
		done <- err
	}()
	sign := time.NewTicker(20 * time.Millisecond)
	defer sign.Stop()
	for {
		select {
		case err := <-done:
			var busy *BusyError
			if !errors.As(err, &busy) {
				t.Fatalf("the lease was given away although its holder lives: %v", err)
			}
			return busy
		case <-sign.C:
			live()
		}
	}
}

func TestHeartbeatKeepsTheLease(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s, other := openSite(t, at), openSite(t, at)
		s.leaseTime = 300 * time.Millisecond
		other.leaseTime = time.Second
		w := start(t, s, "run-1")
		for range 3 {
			var busy *BusyError
			if _, err := other.Start(t.Context(), Run{ID: "run-2", Site: "lon1"}); !errors.As(err, &busy) {
				t.Fatalf("the lease was lost although the run lives: %v", err)
			}
		}
		if err := w.Finish(t.Context(), "succeeded", ""); err != nil {
			t.Fatal(err)
		}
	})
}

// A person may free a site; a living run loses it with force only.
func TestUnlock(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s, other := openSite(t, at), openSite(t, at)
		s.leaseTime, other.leaseTime = 24*time.Hour, 300*time.Millisecond // so that no heartbeat comes
		if held, err := other.Unlock(t.Context(), "lon1", false, 0); err != nil || held != nil {
			t.Errorf("a free site: %v, %v", held, err)
		}
		w := start(t, s, "run-1")
		_ = refusedWhile(t, other, func() {
			if err := w.Record(t.Context(), Event{Kind: Note}); err != nil {
				t.Error(err)
			}
		})
		held, err := other.Unlock(t.Context(), "lon1", true, 0)
		if err != nil || held == nil || held.Run != "run-1" || !strings.Contains(held.Owner, "process") {
			t.Fatalf("with force: %+v, %v", held, err)
		}
		if err := w.Record(t.Context(), Event{Kind: Note}); !errors.Is(err, ErrFenced) ||
			!strings.Contains(err.Error(), "was freed with") {
			t.Errorf("the run that lost its site recorded: %v", err)
		}
		if err := w.Finish(t.Context(), "succeeded", ""); !errors.Is(err, ErrFenced) {
			t.Errorf("the run that lost its site finished: %v", err)
		}
		if run, err := other.Run(t.Context(), "run-1"); err != nil || run.Status != Abandoned || run.Ended.IsZero() {
			t.Errorf("its run: %+v, %v", run, err)
		}
		silent := start(t, s, "run-2")
		if held, err := other.Unlock(t.Context(), "lon1", false, 0); err != nil || held == nil || held.Run != "run-2" {
			t.Errorf("a silent holder: %v, %v", held, err)
		}
		if err := silent.Finish(t.Context(), "succeeded", ""); !errors.Is(err, ErrFenced) {
			t.Error(err)
		}
		if err := start(t, other, "run-3").Finish(t.Context(), "succeeded", ""); err != nil {
			t.Error(err)
		}
	})
}

func TestConcurrentRecordsKeepEachCallersOrder(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, at)
		w := start(t, s, "run-1")
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				for i := range 20 {
					if err := w.Record(t.Context(), Event{Kind: Note, Node: fmt.Sprint(n), Phase: i}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if err := w.Finish(t.Context(), "succeeded", ""); err != nil {
			t.Fatal(err)
		}
		events, err := s.Events(t.Context(), "run-1", 0, 1000)
		if err != nil || len(events) != 160 {
			t.Fatalf("%d events, %v", len(events), err)
		}
		next := map[string]int{}
		for _, e := range events {
			if e.Phase != next[e.Node] {
				t.Fatalf("node %s: event %d came when %d was due", e.Node, e.Phase, next[e.Node])
			}
			next[e.Node]++
		}
	})
}

func TestFilesThatAreNoJournalStay(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(text)
	if _, err := Open(t.Context(), text); err == nil || !strings.Contains(err.Error(), "text.db") {
		t.Errorf("a text file: %v", err)
	}
	if after, _ := os.ReadFile(text); string(after) != string(before) {
		t.Error("a file that is no journal was changed")
	}

	newer := filepath.Join(dir, "newer.db")
	s := openAt(t, newer)
	if _, err := s.db.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), newer); err == nil || !strings.Contains(err.Error(), "newer slipway") {
		t.Errorf("a newer journal: %v", err)
	}
	if _, err := OpenExisting(t.Context(), filepath.Join(dir, "none.db")); !errors.Is(err, ErrNoJournal) {
		t.Errorf("no journal: %v", err)
	}
}

func TestRunByBeginningOfItsID(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, at)
		if _, err := s.Run(t.Context(), ""); !errors.Is(err, ErrNoRun) {
			t.Errorf("empty journal: %v", err)
		}
		for _, id := range []string{"aa1", "aa2", "b%_"} {
			if err := start(t, s, id).Finish(t.Context(), "succeeded", ""); err != nil {
				t.Fatal(err)
			}
		}
		for id, want := range map[string]string{"aa1": "aa1", "b": "b%_", "b%": "b%_", "": "b%_"} {
			if run, err := s.Run(t.Context(), id); err != nil || run.ID != want {
				t.Errorf("%q: %q, %v; want %q", id, run.ID, err, want)
			}
		}
		if _, err := s.Run(t.Context(), "aa"); err == nil || !strings.Contains(err.Error(), "more than one") {
			t.Errorf("aa: %v", err)
		}
		if _, err := s.Run(t.Context(), "%"); !errors.Is(err, ErrNoRun) {
			t.Errorf("%%: %v", err)
		}
	})
}

// A silent run is shown as abandoned before the next run records that.
func TestSilentRunIsAbandoned(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		c := &clock{t: time.UnixMilli(1e12)}
		s, reader := openSite(t, at), openSite(t, at)
		c.use(s, reader)
		w := start(t, s, "run-1")
		status := func() string {
			t.Helper()
			run, err := reader.Run(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			runs, err := reader.Runs(t.Context(), 10)
			if err != nil || len(runs) != 1 || runs[0].Status != run.Status || !run.Ended.IsZero() {
				t.Fatalf("run is %+v, runs are %+v, error %v", run, runs, err)
			}
			return run.Status
		}
		if got := status(); got != Running {
			t.Errorf("with a lease the run is %s", got)
		}
		c.add(LeaseTime)
		if got := status(); got != Abandoned {
			t.Errorf("after its lease the run is %s", got)
		}
		if err := w.Record(t.Context(), Event{Kind: Note}); err != nil { // it was only slow
			t.Fatal(err)
		}
		if got := status(); got != Running {
			t.Errorf("after a sign of life the run is %s", got)
		}
		if err := w.Finish(t.Context(), "succeeded", ""); err != nil {
			t.Fatal(err)
		}
	})
}

// What a person decides in another process comes to the run once, in its order, and only while the run is active.
func TestDecide(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		w, person := start(t, openSite(t, at), "run-1"), openSite(t, at)
		decisions := func(want ...string) {
			t.Helper()
			var got []string
			found, err := w.Decisions(t.Context())
			for _, e := range found {
				got = append(got, fmt.Sprint(e.Kind, " ", e.Action, " ", e.Group, " ", e.Phase, " ", e.Output, " ", e.Message))
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("decided is %q, error %v, want %q", got, err, want)
			}
		}
		decide := func(e Event) {
			t.Helper()
			if err := person.Decide(t.Context(), "run-1", e); err != nil {
				t.Error(err)
			}
		}
		decisions()
		decide(Event{Action: Approve, Group: "g", Phase: 2, Output: "digest", Message: "by ann: it works"})
		if err := w.Record(t.Context(), Event{Kind: Note}); err != nil {
			t.Fatal(err)
		}
		decide(Event{Action: Hold, Message: "by bob"})
		decisions("decided approve g 2 digest by ann: it works", "decided pause  0  by bob")
		decisions()
		decide(Event{Action: Cancel})
		decisions("decided cancel  0  ")
		if err := w.Record(t.Context(), Event{Kind: Note}); err != nil {
			t.Errorf("the lease is lost: %v", err)
		}
		only, err := person.Events(t.Context(), "run-1", 0, 10, Note, Decided)
		if err != nil || len(only) != 5 || only[0].Kind != Decided || only[1].Kind != Note {
			t.Errorf("the events are %v, error %v", only, err)
		}
		if err := w.Finish(t.Context(), "succeeded", ""); err != nil {
			t.Fatal(err)
		}
		err = person.Decide(t.Context(), "run-1", Event{Action: Resume})
		if err == nil || err.Error() != "the run run-1 has ended" {
			t.Errorf("a run that has ended is decided on: %v", err)
		}
	})
}
