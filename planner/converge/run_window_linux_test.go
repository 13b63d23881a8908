package converge

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

// A session that is killed inside a window leaves a ledger that tells of it: the same run goes on inside, another one unlocks first
// (litp.md 84).
func TestAWindowOutlivesItsSession(t *testing.T) {
	c := Manifest{Mode: Apply, Items: []Item{item("plain[a]", "value", "1")}, Lock: "drain", Unlock: "undrain", Keep: true}
	if role() != "" {
		s, err := system.New(os.Getenv("DIR"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		w := newWindow(t)
		s.Commands = w.Commands
		w.sandbox = &sandbox{&types.Session{System: s}, os.Getenv("DIR"), t}
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
			if _, summary := w.session(t.Context(), Manifest{Mode: Prepare}); !summary.Locked {
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

// A ledger of the older form tells only which run locked the node.
func TestALedgerThatRemembersNoUnlockCommand(t *testing.T) {
	for text, want := range map[string]ledger.Lock{
		`"run-0"`:                       {Run: "run-0"},
		`{"run":"run-0"}`:               {Run: "run-0"},
		`{"run":"r","unlock":"a && b"}`: {Run: "r", Unlock: "a && b"},
	} {
		l, err := ledger.Parse([]byte(`{"version":1,"locked":{"one":` + text + `},"entries":[]}`))
		if err != nil || l.Locked["one"] != want {
			t.Errorf("%s: %+v, %v", text, l, err)
			continue
		}
		if again, err := ledger.Parse([]byte(shownLedger(t, l))); err != nil || again.Locked["one"] != want {
			t.Errorf("%s: written and read again: %+v, %v", text, again, err)
		}
	}
	for _, text := range []string{`1`, `["r"]`, `{"run":1}`, `{"ran":"r"}`} {
		if _, err := ledger.Parse([]byte(`{"version":1,"locked":{"one":` + text + `},"entries":[]}`)); err == nil || !strings.Contains(err.Error(), "is damaged") {
			t.Errorf("%s: %v", text, err)
		}
	}
	w := newWindow(t)
	w.converge(Apply, item("plain[a]", "value", "1"))
	w.put(ledger.Path, strings.Replace(w.get(ledger.Path), `"entries"`, `"locked":{"one":"run-0"},"entries"`, 1))
	w.put(ledger.LogPath, `{"version":1,"generation":1}`+"\n"+`{"synced":1,"records":[{"lock":{"site":"two","run":"run-0"}}]}`+"\n")
	w.ran = nil
	for _, site := range []string{"one", "two"} {
		if _, s := w.session(t.Context(), Manifest{Site: site, Mode: Apply}); s.Error == nil || s.Error.Code != CodeUnlock || !strings.Contains(s.Error.Message, `run "run-0" locked the node`) || !s.Locked {
			t.Errorf("%s: %v", site, s.Error)
		}
		if _, s := w.session(t.Context(), Manifest{Site: site, Mode: Apply, Unlock: "undrain"}); s.Error != nil || s.Locked {
			t.Errorf("%s: %v", site, s.Error)
		}
	}
	if want := []string{"undrain", "undrain"}; !slices.Equal(w.ran, want) {
		t.Errorf("ran %q", w.ran)
	}
}
