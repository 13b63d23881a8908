package converge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// window is a bench whose commands are scripted: they are noted, and end with the status given for them.
type window struct {
	*bench
	ran    []string
	status map[string]int
}

func newWindow(t *testing.T) *window {
	w := &window{bench: newBench(t), status: map[string]int{}}
	w.commands = func(ctx context.Context, c Command) (Output, error) {
		if err := ctx.Err(); err != nil {
			return Output{}, err
		}
		command := c.Argv[len(c.Argv)-1]
		w.ran = append(w.ran, command)
		return Output{Status: w.status[command], Combined: "it says so"}, nil
	}
	w.hook = func(stage, title string) error {
		if stage == "apply" {
			w.ran = append(w.ran, "apply "+title)
		}
		return nil
	}
	return w
}

func TestLockAndUnlock(t *testing.T) {
	one := []Item{item("plain[a]", "value", "1")}
	for name, test := range map[string]struct {
		locked string // by this run, before
		mode   Mode
		items  []Item
		lock   string
		unlock string
		keep   bool
		status map[string]int
		want   []string
		code   Code
		left   string // the run that holds the lock afterwards
	}{
		"both":                      {mode: Apply, items: one, lock: "drain", unlock: "undrain", want: []string{"drain", "apply a", "undrain"}},
		"check":                     {mode: Check, items: one, lock: "drain", unlock: "undrain"},
		"item fails":                {mode: Apply, items: []Item{item("plain[a]", "value", "1", "fail", "x")}, lock: "drain", unlock: "undrain", want: []string{"drain", "apply a", "undrain"}},
		"lock fails":                {mode: Apply, items: one, lock: "drain", unlock: "undrain", status: map[string]int{"drain": 1}, want: []string{"drain"}, code: CodeLock},
		"unlock fails":              {mode: Apply, items: one, lock: "drain", unlock: "undrain", status: map[string]int{"undrain": 1}, want: []string{"drain", "apply a", "undrain"}, code: CodeUnlock, left: "run-1"},
		"lock in an earlier phase":  {mode: Apply, items: one, lock: "drain", want: []string{"drain", "apply a"}, left: "run-1"},
		"locked by this run":        {locked: "run-1", mode: Apply, items: one, lock: "drain", unlock: "undrain", want: []string{"apply a", "undrain"}},
		"left locked":               {locked: "run-0", mode: Apply, items: one, lock: "drain", unlock: "undrain", want: []string{"undrain", "drain", "apply a", "undrain"}},
		"left locked, stays":        {locked: "run-0", mode: Apply, items: one, lock: "drain", unlock: "undrain", status: map[string]int{"undrain": 1}, want: []string{"undrain"}, code: CodeUnlock, left: "run-0"},
		"left locked, only unlock":  {locked: "run-0", mode: Apply, unlock: "undrain", want: []string{"undrain"}},
		"goes on elsewhere":         {mode: Apply, items: one, lock: "drain", unlock: "undrain", keep: true, want: []string{"drain", "apply a"}, left: "run-1"},
		"goes on, and elsewhere":    {locked: "run-1", mode: Apply, items: one, lock: "drain", unlock: "undrain", keep: true, want: []string{"apply a"}, left: "run-1"},
		"goes on after a failure":   {mode: Apply, items: []Item{item("plain[a]", "value", "1", "fail", "x")}, lock: "drain", unlock: "undrain", keep: true, want: []string{"drain", "apply a"}, left: "run-1"},
		"left locked, goes on":      {locked: "run-0", mode: Apply, items: one, lock: "drain", unlock: "undrain", keep: true, want: []string{"undrain", "drain", "apply a"}, left: "run-1"},
		"kept without work":         {locked: "run-1", mode: Apply, lock: "drain", unlock: "undrain", keep: true, left: "run-1"},
		"unlock session, not open":  {mode: Apply, unlock: "undrain"},
		"unlock session fails":      {locked: "run-1", mode: Apply, unlock: "undrain", status: map[string]int{"undrain": 1}, want: []string{"undrain"}, code: CodeUnlock, left: "run-1"},
		"only a look":               {locked: "run-0", mode: Prepare, left: "run-0"},
		"only a check":              {locked: "run-0", mode: Check, items: one, lock: "drain", unlock: "undrain", left: "run-0"},
		"nothing to do, no locking": {mode: Apply, lock: "drain", unlock: "undrain"},
		"locked by this run, over":  {locked: "run-1", mode: Apply, unlock: "undrain", want: []string{"undrain"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWindow(t)
			if test.locked != "" {
				w.run = test.locked
				w.session(t.Context(), Catalog{Mode: Apply, Items: []Item{item("plain[z]", "value", "1")}, Lock: "drain"})
				w.ran, w.run = nil, "run-1"
			}
			w.status = test.status
			results, summary := w.session(t.Context(), Catalog{Mode: test.mode, Items: test.items, Lock: test.lock, Unlock: test.unlock, Keep: test.keep})
			if !slices.Equal(w.ran, test.want) {
				t.Errorf("ran %q, want %q", w.ran, test.want)
			}
			var code Code
			if summary.Error != nil {
				code = summary.Error.Code
			}
			if code != test.code || w.ledgerNow().Locked["one"] != test.left {
				t.Errorf("%+v, locked by %q; want code %q, %q", summary.Error, w.ledgerNow().Locked["one"], test.code, test.left)
			}
			if summary.Locked != (test.left != "") {
				t.Errorf("the summary says locked: %v", summary.Locked)
			}
			if code != "" && len(test.want) < 3 && len(test.items) > 0 { // the work was not reached
				w.wantStatuses(results, "plain[a] skipped")
			}
		})
	}
}

func TestUnlockRunsWhenTheSessionEnds(t *testing.T) {
	w := newWindow(t)
	ctx, cancel := context.WithCancel(t.Context())
	hook := w.hook
	w.hook = func(stage, title string) error {
		if stage == "apply" {
			cancel()
		}
		return errors.Join(hook(stage, title))
	}
	_, summary := w.session(ctx, Catalog{Mode: Apply, Items: []Item{item("plain[a]", "value", "1"), item("plain[b]", "value", "1")}, Lock: "drain", Unlock: "undrain"})
	if want := []string{"drain", "apply a", "undrain"}; !slices.Equal(w.ran, want) || summary.Error != nil || len(w.ledgerNow().Locked) > 0 {
		t.Errorf("ran %q, want %q; %v", w.ran, want, summary.Error)
	}
}

func TestTearDownInsideTheWindow(t *testing.T) {
	w := newWindow(t)
	w.converge(Apply, item("plain[a]", "value", "1"))
	w.ran = nil
	_, summary := w.session(t.Context(), Catalog{Mode: Apply, TearDown: true, Lock: "drain", Unlock: "undrain"})
	if want := []string{"drain", "undrain"}; !slices.Equal(w.ran, want) || summary.Error != nil || w.there(home) {
		t.Errorf("ran %q, want %q; %v; home is there: %v", w.ran, want, summary.Error, w.there(home))
	}
	// An unlock that fails keeps the mark, and with it the ledger.
	w.converge(Apply, item("plain[a]", "value", "1"))
	w.status["undrain"] = 1
	_, summary = w.session(t.Context(), Catalog{Mode: Apply, TearDown: true, Lock: "drain", Unlock: "undrain"})
	if summary.Error == nil || summary.Error.Code != CodeUnlock || w.ledgerNow().Locked["one"] == "" || len(summary.Ledger) > 0 {
		t.Errorf("%v, %+v", fmt.Sprint(summary.Error), w.ledgerNow())
	}
}

// A run that works inside one window in several sessions, of which some fail, locks once and unlocks once.
func TestOneWindowForManySessions(t *testing.T) {
	w := newWindow(t)
	inside := Catalog{Mode: Apply, Lock: "drain", Unlock: "undrain", Keep: true}
	for i, value := range []string{"1", "2"} {
		inside.Items = []Item{item("plain[a]", "value", value), item("plain[b]", "value", value, "fail", "x")}
		if _, summary := w.session(t.Context(), inside); !summary.Locked || summary.Error != nil {
			t.Errorf("session %d: locked %v, %v", i, summary.Locked, summary.Error)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w.session(ended, inside)
	if _, summary := w.session(t.Context(), Catalog{Mode: Apply, Unlock: "undrain"}); summary.Locked || summary.Error != nil {
		t.Errorf("locked %v, %v", summary.Locked, summary.Error)
	}
	if want := []string{"drain", "apply a", "apply b", "apply a", "apply b", "undrain"}; !slices.Equal(w.ran, want) {
		t.Errorf("ran %q, want %q", w.ran, want)
	}
}
