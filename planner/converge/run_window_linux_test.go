package converge

import (
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// A session that is killed inside a window leaves a ledger that tells of it: the same run goes on inside, another one unlocks first
// (litp.md 84).
func TestAWindowOutlivesItsSession(t *testing.T) {
	c := Catalog{Mode: Apply, Items: []Item{item("plain[a]", "value", "1")}, Lock: "drain", Unlock: "undrain", Keep: true}
	if role() != "" {
		s, err := New(os.Getenv("DIR"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		w := newWindow(t)
		s.commands = w.commands
		w.sandbox = &sandbox{s, os.Getenv("DIR"), t}
		hook := w.hook
		w.hook = func(stage, title string) error {
			if stage == role() {
				return unix.Kill(os.Getpid(), unix.SIGKILL)
			}
			return hook(stage, title)
		}
		w.session(t.Context(), c)
		t.Fatal("not killed")
	}
	for _, stage := range []string{"check", "capture", "apply", "applied"} {
		for run, want := range map[string][]string{"run-1": {"apply a", "undrain"}, "run-2": {"undrain", "drain", "apply a", "undrain"}} {
			w := newWindow(t)
			if state, out := childOf(t, "TestAWindowOutlivesItsSession", os.Geteuid(), stage, "DIR="+w.dir); state.ExitCode() != -1 {
				t.Fatalf("the session was not killed: %v\n%s", state, out)
			}
			if _, summary := w.session(t.Context(), Catalog{Mode: Prepare}); !summary.Locked {
				t.Errorf("%s: the summary says that the window is closed", stage)
			}
			w.run = run
			again := c
			again.Keep = false
			if stage == "applied" {
				want = slices.DeleteFunc(slices.Clone(want), func(did string) bool { return did == "apply a" })
			}
			if _, summary := w.session(t.Context(), again); !slices.Equal(w.ran, want) || summary.Locked || summary.Error != nil {
				t.Errorf("%s, %s: ran %q, want %q; locked %v, %v", stage, run, w.ran, want, summary.Locked, summary.Error)
			}
		}
	}
}
