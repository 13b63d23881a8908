package journal

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// usable checks that the journal of a killed run can be read and that the next run starts.
func usable(t *testing.T, file string) {
	t.Helper()
	reader, err := OpenExisting(t.Context(), file)
	switch {
	case err == nil:
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	case !errors.Is(err, ErrNoJournal):
		t.Errorf("reading what a killed run left: %v", err)
	}
	s := openAt(t, file)
	if err := start(t, s, "next").Finish(t.Context(), "succeeded", ""); err != nil {
		t.Error(err)
	}
}

// A run that is killed in its first milliseconds leaves an empty journal, which counts as missing.
func TestAnEmptyJournalIsMissing(t *testing.T) {
	for name, leave := range map[string]func(file string) error{
		"0 bytes": func(file string) error { return os.WriteFile(file, nil, 0o600) },
		"no schema": func(file string) error {
			s, err := open(t.Context(), file, "rwc")
			if err != nil {
				return err
			}
			return s.Close()
		},
		"schema that was not committed": func(file string) error {
			s, err := open(t.Context(), file, "rwc")
			if err != nil {
				return err
			}
			tx, err := s.db.BeginTx(t.Context(), nil)
			if err != nil {
				return err
			}
			_, err = tx.ExecContext(t.Context(), sqliteSchemas[0])
			return errors.Join(err, tx.Rollback(), s.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "lon1.db")
			if err := leave(file); err != nil {
				t.Fatal(err)
			}
			if _, err := OpenExisting(t.Context(), file); !errors.Is(err, ErrNoJournal) {
				t.Errorf("reading: %v, want an error that is %v", err, ErrNoJournal)
			}
			usable(t, file)
		})
	}
}

// runsIn is the environment variable with the directory, or the URL, of the journal in which a child process starts a
// run.
const runsIn = "JOURNAL_TEST_RUNS_IN"

// startAndWait is that process: it prints ready, starts a run and waits to be killed.
func startAndWait(at Location) error {
	fmt.Println("ready")
	s, err := at.Open(context.Background(), "lon1")
	if err != nil {
		return err
	}
	if _, err := s.Start(context.Background(), Run{ID: "killed", Site: "lon1"}); err != nil {
		return err
	}
	fmt.Println("started")
	select {}
}

// startProcess starts a process that starts a run in a journal, and returns it with its output.
func startProcess(t *testing.T, at Location) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), runsIn+"="+at.Path+at.URL), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the process printed %q, error %v", lines.Text(), lines.Err())
	}
	return cmd, lines
}

// kill ends a process as a crash does, and waits for its end.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}

// The lease of a process that ended on this machine is free at once.
func TestADeadProcessHasNoLease(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		cmd, lines := startProcess(t, at)
		if !lines.Scan() || lines.Text() != "started" {
			t.Fatalf("the process printed %q, error %v", lines.Text(), lines.Err())
		}
		kill(t, cmd)
		s := openSite(t, at)
		if run, err := s.Run(t.Context(), "killed"); err != nil || run.Status != Abandoned {
			t.Errorf("the killed run is %q, error %v", run.Status, err)
		}
		started := time.Now()
		w, err := s.Start(t.Context(), Run{ID: "next", Site: "lon1"})
		if err != nil {
			t.Fatalf("the next run: %v", err)
		}
		if waited := time.Since(started); waited > LeaseTime/3 {
			t.Errorf("the next run waited for %s", waited)
		}
		if err := w.Finish(t.Context(), "succeeded", ""); err != nil {
			t.Error(err)
		}
	})
}

// What counts is how long the holder of a lease has been silent, not the dates that it recorded.
func TestDatesInALeaseDoNotCount(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		silent, s := openSite(t, at), openSite(t, at)
		silent.leaseTime, s.leaseTime = 24*time.Hour, 300*time.Millisecond // so that no heartbeat comes
		w := start(t, silent, "silent")
		year2030 := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
		if _, err := silent.db.ExecContext(t.Context(), "UPDATE leases SET heartbeat_at = $1", year2030); err != nil {
			t.Fatal(err)
		}
		next, err := s.Start(t.Context(), Run{ID: "next", Site: "lon1"})
		if err != nil {
			t.Fatalf("the next run: %v", err)
		}
		if err := w.Finish(t.Context(), "succeeded", ""); !errors.Is(err, ErrFenced) {
			t.Errorf("the silent run finished: %v", err)
		}
		if err := next.Finish(t.Context(), "succeeded", ""); err != nil {
			t.Error(err)
		}
	})
}

// A run may be killed at any moment of its first milliseconds.
func TestAKillWhileTheJournalIsMade(t *testing.T) {
	for i := range 12 {
		file := filepath.Join(t.TempDir(), "new", "lon1.db")
		cmd, _ := startProcess(t, Location{Path: filepath.Dir(file)})
		<-time.After(time.Duration(i) * 2 * time.Millisecond) // from the first call to the first run
		kill(t, cmd)
		if _, err := os.Stat(filepath.Dir(file)); err == nil {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), ".gitignore")); err != nil {
				t.Errorf("the directory of journals is not kept out of version control: %v", err)
			}
		}
		reader, err := OpenExisting(t.Context(), file)
		if err != nil && !errors.Is(err, ErrNoJournal) {
			t.Errorf("killed after %d ms: %v", 2*i, err)
		}
		if err == nil {
			if err := reader.Close(); err != nil {
				t.Error(err)
			}
		}
		s, err := Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDatabaseOfAnotherProgram: its error says what it is and what deleting it costs, whatever its version and whoever
// opens it; and nothing is changed in it.
func TestDatabaseOfAnotherProgram(t *testing.T) {
	for _, version := range []int{0, 3, 99} {
		file := filepath.Join(t.TempDir(), "lon1.db")
		db, err := sql.Open("sqlite", file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf("CREATE TABLE moz_places (a); CREATE TABLE b (a); PRAGMA user_version = %d", version)); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		for what, open := range map[string]func(context.Context, string) (*Store, error){"write": Open, "read": OpenExisting} {
			_, err := open(t.Context(), file)
			for _, want := range []string{file, "a SQLite database of another program, with the tables b, moz_places",
				"Deleting it costs what that program has in it", "choose another journal_directory"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("version %d, opened to %s: no %q in %v", version, what, want, err)
				}
			}
		}
	}
}

// A user who cannot use a journal considers deleting it: the error says what that costs.
func TestErrorsOfTheFileNameTheCostOfDeletingIt(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "folder.db")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	_, asFolder := OpenExisting(t.Context(), folder)
	if asFolder == nil || !strings.Contains(asFolder.Error(), "is a directory") {
		t.Errorf("a directory in the place of the journal: %v", asFolder)
	}
	newer := filepath.Join(dir, "newer.db")
	s := openAt(t, newer)
	if _, err := s.db.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken.db") // tables are missing
	b := openAt(t, broken)
	if _, err := b.db.ExecContext(t.Context(),
		"DROP TABLE leases; DROP TABLE events; DROP TABLE service_events"); err != nil {
		t.Fatal(err)
	}
	_, starting := b.Start(t.Context(), Run{ID: "r", Site: "lon1"})
	_, reading := b.Events(t.Context(), "r", 0, 1)
	_, services := b.ServiceEvents(t.Context(), "web", 0, 1)
	opening := func(open func() (*Store, error)) error { _, err := open(); return err }
	for what, err := range map[string]error{
		"text":             opening(func() (*Store, error) { return Open(t.Context(), text) }),
		"folder":           opening(func() (*Store, error) { return Open(t.Context(), folder) }),
		"text.db/x":        opening(func() (*Store, error) { return Open(t.Context(), filepath.Join(text, "x.db")) }),
		"newer":            opening(func() (*Store, error) { return Open(t.Context(), newer) }),
		"newer, reading":   opening(func() (*Store, error) { return OpenExisting(t.Context(), newer) }),
		"broken, start":    starting,
		"broken, events":   reading,
		"broken, services": services,
	} {
		file := filepath.Join(dir, strings.Split(what, ",")[0]+".db")
		if err == nil || !strings.Contains(err.Error(), file) ||
			!strings.Contains(err.Error(), "Deleting it costs the history of runs and services") {
			t.Errorf("%s: the error names neither the file nor the cost of deleting it: %v", what, err)
		}
	}
}
