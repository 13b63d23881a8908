package converge

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

func TestADamagedLedgerIsLeftAlone(t *testing.T) {
	good := `{"version":1,"entries":[{"site":"one","type":"plain","title":"a","digest":"d","before":null,"run":"r"}]}`
	for name, test := range map[string]struct{ content, want string }{
		"empty":         {"", "is damaged"},
		"cut":           {good[:len(good)-5], "is damaged"},
		"newer":         {strings.Replace(good, `"version":1`, `"version":2`, 1), "has version 2, and this slipway knows version 1 only"},
		"no version":    {`{"entries":[]}`, "has version 0"},
		"unknown field": {strings.Replace(good, `"digest"`, `"sha"`, 1), "unknown field"},
		"trailing":      {good + "{}", "after top-level value"},
		"binary":        {"\x00\x01", "is damaged"},
		"no site":       {strings.Replace(good, `"one"`, `""`, 1), "entry 0 names no site"},
		"null entry":    {`{"version":1,"entries":[null]}`, "entry 0"},
		"escape":        {`{"version":1,"made":["/etc"],"entries":[]}`, `"/etc" is not above`},
		"twice":         {`{"version":1,"entries":[` + strings.Repeat(`{"site":"one","type":"t","title":"a","digest":"","before":null,"run":"r"},`, 2) + `{"site":"x","type":"y","title":"z","digest":"","before":null,"run":"r"}]}`, "is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.put(ledger.Path, test.content)
			if err := os.Chmod(b.real(system.Home), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, c := range []Manifest{{Mode: Prepare}, {Mode: Check, Items: []Item{item("plain[x]")}}, {Mode: Apply, Items: []Item{item("plain[x]", "value", "1")}}, {Mode: Apply, TearDown: true}} {
				results, summary := b.session(t.Context(), c)
				if summary.Error == nil || summary.Error.Code != CodeLedger || !strings.Contains(summary.Error.Message, test.want) || len(results) > 0 {
					t.Errorf("%s: %+v, results %v; want %q", c.Mode, summary.Error, results, test.want)
				}
				if strings.Contains(test.want, "has version") {
					continue // it is not damaged
				}
				for _, want := range []string{"is damaged", "restore both files", "remove both and apply again", "destroy leaves"} {
					if summary.Error == nil || !strings.Contains(summary.Error.Message, want) {
						t.Errorf("%s: %+v does not say %q", c.Mode, summary.Error, want)
					}
				}
			}
			if b.get(ledger.Path) != test.content || b.there("/fake/plain-x") {
				t.Error("the ledger was overwritten, or something applied without it")
			}
		})
	}
}

func TestAHomeThatOthersControlIsRefused(t *testing.T) {
	needRoot(t)
	for name, prepare := range map[string]func(b *bench) error{
		"other owner": func(b *bench) error { b.mkdir(system.Home); return os.Chown(b.real(system.Home), foreigner, foreigner) },
		"writable":    func(b *bench) error { b.mkdir(system.Home); return os.Chmod(b.real(system.Home), 0o777) },
		"a link":      func(b *bench) error { b.mkdir("/elsewhere"); b.link(system.Home, "/elsewhere"); return nil },
		"a file":      func(b *bench) error { b.put(system.Home, ""); return nil },
		"foreign ledger": func(b *bench) error {
			b.put(ledger.Path, `{"version":1,"entries":[]}`)
			return os.Chown(b.real(ledger.Path), foreigner, foreigner)
		},
		"linked ledger": func(b *bench) error { b.put("/x", `{"version":1,"entries":[]}`); b.link(ledger.Path, "/x"); return nil },
		"linked lock":   func(b *bench) error { b.put("/x", "x"); b.link(system.LockPath, "/x"); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if err := prepare(b); err != nil {
				t.Fatal(err)
			}
			before := b.tree()
			_, summary := b.converge(Apply, item("plain[a]", "value", "1"))
			if summary.Error == nil || summary.Error.Code != CodeLedger {
				t.Errorf("%+v", summary.Error)
			}
			after := b.tree()
			if _, was := before[system.LockPath]; !was {
				delete(after, system.LockPath)
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNothingIsAppliedWithoutALedger(t *testing.T) {
	needRoot(t)
	b := newBench(t)
	b.hook = func(stage, title string) error {
		if stage == "capture" && title == "b" {
			return b.Ledger.Log.File.Close() // the next write fails
		}
		return nil
	}
	results, summary := b.converge(Apply, item("plain[a]", "value", "1"), item("plain[b]", "value", "1"), item("plain[c]", "value", "1"))
	b.wantStatuses(results, "plain[a] changed", "plain[b] failed", "plain[c] skipped")
	b.wantLog("apply a")
	if summary.Error == nil || summary.Error.Code != CodeLedger {
		t.Errorf("%+v", summary.Error)
	}
}

// What cannot be recorded, and so not be put back, is not changed; the error says of what that is so, and what to do.
func TestNothingIsChangedThatCannotBeRecorded(t *testing.T) {
	b := newBench(t)
	b.hook = func(stage, _ string) error {
		if stage == "capture" {
			return errors.New("input/output error")
		}
		return nil
	}
	r, _ := b.converge(Apply, item("plain[a]", "value", "1"))
	want := "a was not changed, because what is there now cannot be recorded, which undo needs; " +
		"resolve this, then apply again: input/output error"
	if r[0].Status != Failed || r[0].Message != want {
		t.Errorf("%s: %s", r[0].Status, r[0].Message)
	}
	b.wantLog()
}

func TestLedgerForm(t *testing.T) {
	b := newBench(t)
	b.put("/fake/plain-a", "old")
	b.converge(Apply, item("plain[a]", "value", "1").notifies("svc[s]"))
	l := b.ledgerNow()
	digest := item("plain[a]", "value", "1").Digest
	kept := l.Entries[0].Before
	want := `{"version":1,"id":"` + l.ID + `","generation":1,"made":["/var","/var/lib"],"refresh_pending":[{"site":"one","id":"svc[s]"}],"entries":[{"site":"one","type":"plain","title":"a","digest":"` +
		digest + `","before":` + string(kept) + `,"run":"run-1","wants":{"value":"\"1\""}}]}` + "\n"
	if got := b.get(ledger.Path); got != want {
		t.Errorf("ledger\n%s\nwant\n%s", got, want)
	}
	for path, mode := range map[string]uint32{system.Home: 0o700, ledger.Path: 0o600, system.LockPath: 0o600} {
		if info, err := b.Lstat(path); err != nil || system.ChmodBits(info.Mode) != mode {
			t.Errorf("%s: %v, %v", path, info.Mode, err)
		}
	}
}

// execution.md 2, rule 4: a second controller is told that the node is busy, and the lock ends with its holder.
func TestLock(t *testing.T) {
	b := newBench(t)
	if _, err := b.MakeHome(); err != nil {
		t.Fatal(err)
	}
	held, err := b.Lock(t.Context(), true, `site "other", run "r9"`)
	if err != nil {
		t.Fatal(err)
	}
	before := b.tree()
	for _, mode := range []Mode{Prepare, Check, Apply} {
		c := Manifest{Mode: mode}
		if mode != Prepare {
			c.Items = []Item{item("plain[a]", "value", "1")}
		}
		results, summary := b.session(t.Context(), c)
		if summary.Error == nil || summary.Error.Code != CodeLocked || !strings.Contains(summary.Error.Message, `site "other", run "r9"`) || len(results) > 0 {
			t.Errorf("%s: %+v", mode, summary.Error)
		}
	}
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Error(diff)
	}
	held.Release()
	results, _ := b.converge(Apply, item("plain[a]", "value", "1"))
	b.wantStatuses(results, "plain[a] changed")

	// Two that only look do not disturb each other, and keep out one that changes.
	looking, err := b.Lock(t.Context(), false, "")
	if err != nil || looking == nil {
		t.Fatal(looking, err)
	}
	defer looking.Release()
	if _, summary := b.converge(Check, item("plain[a]", "value", "1")); summary.Error != nil {
		t.Errorf("check beside check: %v", summary.Error)
	}
	if _, summary := b.converge(Apply, item("plain[a]", "value", "1")); summary.Error == nil || summary.Error.Code != CodeLocked {
		t.Errorf("apply beside check: %v", summary.Error)
	}
}

// A lock that was waited for may be on a file that a tear-down has removed meanwhile.
func TestLockOfARemovedFileIsNone(t *testing.T) {
	b := newBench(t)
	if _, err := b.MakeHome(); err != nil {
		t.Fatal(err)
	}
	b.put(system.LockPath, "")
	b.hook = nil
	old, err := unix.Open(b.real(system.LockPath), unix.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(old)
	if err := os.Remove(b.real(system.LockPath)); err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(old, unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	// Who holds the removed file keeps nobody out, and whoever locks now has the file that is there.
	l, err := b.Lock(t.Context(), true, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if !strings.HasPrefix(b.get(system.LockPath), "x, process ") {
		t.Errorf("lock says %q", b.get(system.LockPath))
	}
}
