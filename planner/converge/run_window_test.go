package converge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// window is a bench whose commands are scripted: they are noted, and end with the status given for them.
type window struct {
	*bench
	ran    []string
	status map[string]int
}

func newWindow(t *testing.T) *window {
	w := &window{bench: newBench(t), status: map[string]int{}}
	w.Commands = func(ctx context.Context, c system.Command) (system.Output, error) {
		if err := ctx.Err(); err != nil {
			return system.Output{}, err
		}
		command := c.Argv[len(c.Argv)-1]
		w.ran = append(w.ran, command)
		return system.Output{Status: w.status[command], Combined: "it says so"}, nil
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
		knows  string // the unlock command that this run had
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
		"only unlock":               {mode: Apply, items: one, unlock: "undrain", want: []string{"apply a", "undrain"}},
		"only unlock, goes on":      {mode: Apply, items: one, unlock: "undrain", keep: true, want: []string{"apply a"}, left: "run-1"},
		"only unlock, and ends":     {locked: "run-1", mode: Apply, items: one, unlock: "undrain", want: []string{"apply a", "undrain"}},
		"only unlock, left locked":  {locked: "run-0", mode: Apply, items: one, unlock: "undrain", keep: true, want: []string{"undrain", "apply a"}, left: "run-1"},
		"opens for work to come":    {mode: Apply, lock: "drain", unlock: "undrain", keep: true, want: []string{"drain"}, left: "run-1"},
		"and left locked":           {locked: "run-0", mode: Apply, lock: "drain", unlock: "undrain", keep: true, want: []string{"undrain", "drain"}, left: "run-1"},
		"kept without work":         {locked: "run-1", mode: Apply, lock: "drain", unlock: "undrain", keep: true, left: "run-1"},
		"unlock session, not open":  {mode: Apply, unlock: "undrain"},
		"unlock session fails":      {locked: "run-1", mode: Apply, unlock: "undrain", status: map[string]int{"undrain": 1}, want: []string{"undrain"}, code: CodeUnlock, left: "run-1"},
		"only a look":               {locked: "run-0", mode: Prepare, left: "run-0"},
		"only a check":              {locked: "run-0", mode: Check, items: one, lock: "drain", unlock: "undrain", left: "run-0"},
		"nothing to do, no locking": {mode: Apply, lock: "drain", unlock: "undrain"},
		"locked by this run, over":  {locked: "run-1", mode: Apply, unlock: "undrain", want: []string{"undrain"}},
		"remembered":                {locked: "run-0", knows: "open", mode: Apply, want: []string{"open"}},
		"remembered by this run":    {locked: "run-1", knows: "open", mode: Apply, want: []string{"open"}},
		"remembered, and better":    {locked: "run-0", knows: "open", mode: Apply, unlock: "undrain", want: []string{"undrain"}},
		"remembered, and fails":     {locked: "run-0", knows: "open", mode: Apply, status: map[string]int{"open": 1}, want: []string{"open"}, code: CodeUnlock, left: "run-0"},
		"nobody knows":              {locked: "run-0", mode: Apply, code: CodeUnlock, left: "run-0"},
		"not even this run":         {locked: "run-1", mode: Apply, code: CodeUnlock, left: "run-1"},
		"nothing is locked":         {mode: Apply},
		"remembered, new window":    {locked: "run-0", knows: "open", mode: Apply, items: one, lock: "drain", want: []string{"open", "drain", "apply a"}, left: "run-1"},
		"remembered, same window":   {locked: "run-1", knows: "open", mode: Apply, items: one, lock: "drain", want: []string{"apply a", "open"}},
		"nobody knows, new window":  {locked: "run-0", mode: Apply, items: one, lock: "drain", code: CodeUnlock, left: "run-0"},
		"work without a window":     {locked: "run-0", knows: "open", mode: Apply, items: one, want: []string{"apply a"}, left: "run-0"},
		"remembered, only a look":   {locked: "run-0", knows: "open", mode: Prepare, left: "run-0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWindow(t)
			if test.locked != "" {
				w.run = test.locked
				w.session(t.Context(), Manifest{Mode: Apply, Items: []Item{item("plain[z]", "value", "1")}, Lock: "drain", Unlock: test.knows, Keep: true})
				w.ran, w.run = nil, "run-1"
			}
			w.status = test.status
			results, summary := w.session(t.Context(), Manifest{Mode: test.mode, Items: test.items, Lock: test.lock, Unlock: test.unlock, Keep: test.keep})
			if !slices.Equal(w.ran, test.want) {
				t.Errorf("ran %q, want %q", w.ran, test.want)
			}
			var code Code
			if summary.Error != nil {
				code = summary.Error.Code
			}
			if code != test.code || w.ledgerNow().Locked["one"].Run != test.left {
				t.Errorf("%+v, locked by %q; want code %q, %q", summary.Error, w.ledgerNow().Locked["one"].Run, test.code, test.left)
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
	_, summary := w.session(ctx, Manifest{Mode: Apply, Items: []Item{item("plain[a]", "value", "1"), item("plain[b]", "value", "1")}, Lock: "drain", Unlock: "undrain"})
	if want := []string{"drain", "apply a", "undrain"}; !slices.Equal(w.ran, want) || summary.Error != nil || len(w.ledgerNow().Locked) > 0 {
		t.Errorf("ran %q, want %q; %v", w.ran, want, summary.Error)
	}
}

func TestTearDownInsideTheWindow(t *testing.T) {
	w := newWindow(t)
	w.converge(Apply, item("plain[a]", "value", "1"))
	w.ran = nil
	_, summary := w.session(t.Context(), Manifest{Mode: Apply, TearDown: true, Lock: "drain", Unlock: "undrain"})
	if want := []string{"drain", "undrain"}; !slices.Equal(w.ran, want) || summary.Error != nil || w.there(system.Home) {
		t.Errorf("ran %q, want %q; %v; home is there: %v", w.ran, want, summary.Error, w.there(system.Home))
	}
	// An unlock that fails keeps the mark, and with it the ledger.
	w.converge(Apply, item("plain[a]", "value", "1"))
	w.status["undrain"] = 1
	_, summary = w.session(t.Context(), Manifest{Mode: Apply, TearDown: true, Lock: "drain", Unlock: "undrain"})
	if summary.Error == nil || summary.Error.Code != CodeUnlock || w.ledgerNow().Locked["one"].Run == "" || len(summary.Ledger) > 0 {
		t.Errorf("%v, %+v", fmt.Sprint(summary.Error), w.ledgerNow())
	}
}

// A node that is left locked is unlocked before it is torn down, by the command that the ledger remembers. One that cannot be unlocked is torn
// down all the same, and its ledger stays for the sake of the lock; where nobody knows how to unlock it, the summary tells so once and for all.
func TestTearDownOfALockedNode(t *testing.T) {
	for name, test := range map[string]struct {
		knows  string
		by     string // the run that tears down
		status int    // of the unlock command
		fail   bool   // the item cannot be undone
		want   []string
		code   Code
		locked bool
		left   bool // the ledger
	}{
		"unlocked":             {knows: "open", by: "run-2", want: []string{"open", "undo a"}},
		"by the same run":      {knows: "open", by: "run-1", want: []string{"open", "undo a"}},
		"cannot be unlocked":   {knows: "open", by: "run-2", status: 1, want: []string{"open", "undo a"}, code: CodeUnlock, locked: true, left: true},
		"cannot be undone":     {knows: "open", by: "run-2", fail: true, want: []string{"open", "undo a"}, left: true},
		"nobody knows how":     {by: "run-2", want: []string{"undo a"}, locked: true},
		"nor can it be undone": {by: "run-2", fail: true, want: []string{"undo a"}, locked: true, left: true},
	} {
		w := newWindow(t)
		w.session(t.Context(), Manifest{Mode: Apply, Items: []Item{item("plain[a]", "value", "1")}, Lock: "drain", Unlock: test.knows, Keep: true})
		w.ran, w.status, w.run = nil, map[string]int{"open": test.status}, test.by
		w.hook = func(stage, title string) error {
			if stage != "undo" {
				return nil
			}
			w.ran = append(w.ran, "undo "+title)
			if test.fail {
				return errors.New("it sticks")
			}
			return nil
		}
		results, summary := w.session(t.Context(), Manifest{Mode: Apply, TearDown: true})
		var code Code
		if summary.Error != nil {
			code = summary.Error.Code
		}
		if !slices.Equal(w.ran, test.want) || code != test.code || summary.Locked != test.locked || w.there(system.Home) != test.left {
			t.Errorf("%s: ran %q, %v, locked %v, ledger is there: %v; want %+v", name, w.ran, summary.Error, summary.Locked, w.there(system.Home), test)
		}
		if len(results) != 1 || (results[0].Status == Failed) != test.fail || len(w.ledgerNow().Locked) > 0 != (test.left && test.locked) {
			t.Errorf("%s: %+v, ledger %+v", name, results, w.ledgerNow().Locked)
		}
	}
}

// A run that works inside one window in several sessions, of which some fail, locks once and unlocks once.
func TestOneWindowForManySessions(t *testing.T) {
	w := newWindow(t)
	inside := Manifest{Mode: Apply, Lock: "drain", Unlock: "undrain", Keep: true}
	for i, value := range []string{"1", "2"} {
		inside.Items = []Item{item("plain[a]", "value", value), item("plain[b]", "value", value, "fail", "x")}
		if _, summary := w.session(t.Context(), inside); !summary.Locked || summary.Error != nil {
			t.Errorf("session %d: locked %v, %v", i, summary.Locked, summary.Error)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w.session(ended, inside)
	if _, summary := w.session(t.Context(), Manifest{Mode: Apply, Unlock: "undrain"}); summary.Locked || summary.Error != nil {
		t.Errorf("locked %v, %v", summary.Locked, summary.Error)
	}
	if want := []string{"drain", "apply a", "apply b", "apply a", "apply b", "undrain"}; !slices.Equal(w.ran, want) {
		t.Errorf("ran %q, want %q", w.ran, want)
	}
}

// TestUnchecked: from before a session changes anything the ledger has the run whose health check is to follow, until
// the last one of a batch succeeds, or nothing of the site is left.
func TestUnchecked(t *testing.T) {
	w := newWindow(t)
	session := func(c Manifest) string {
		t.Helper()
		if c.Mode == "" {
			c.Mode = Check
		}
		_, summary := w.session(t.Context(), c)
		if _, again := w.session(t.Context(), Manifest{Mode: Check}); again.Unchecked != summary.Unchecked {
			t.Errorf("the session ended with %q, and the ledger has %q", summary.Unchecked, again.Unchecked)
		}
		return summary.Unchecked
	}
	works, last := &HealthCheck{Command: "works"}, Manifest{Health: &HealthCheck{Command: "works"}, Checked: true}
	broken := Manifest{Mode: Apply, Unchecked: true, Lock: "drain", Unlock: "undrain", Items: []Item{item("plain[a]", "value", "1")}}
	w.status["drain"] = 1
	run := session(broken)
	if run == "" {
		t.Fatal("no run is recorded before the first change")
	}
	w.status["drain"], w.status["works"] = 0, 1
	if got := session(last); got != run {
		t.Errorf("a check that failed left %q, want %q", got, run)
	}
	w.status["works"] = 0
	if got := session(Manifest{Health: works}); got != run {
		t.Errorf("a check before the soak left %q, want %q", got, run)
	}
	if got := session(last); got != "" {
		t.Errorf("the last check left %q", got)
	}
	if got := session(broken); got != run {
		t.Errorf("the next change recorded %q", got)
	}
	if got := session(Manifest{Mode: Apply, TearDown: true}); got != "" {
		t.Errorf("what was torn down left %q", got)
	}
}

// TestHealthCheck runs the check at the end, again while it fails, and only as often as it is asked to.
func TestHealthCheck(t *testing.T) {
	for name, test := range map[string]struct {
		fails, retries int
		mode           Mode
		items          []Item
		ran            []string
		message        string
	}{
		"works":         {mode: Check, ran: []string{"works"}},
		"after work":    {mode: Apply, items: []Item{item("plain[a]", "value", "1")}, ran: []string{"apply a", "works"}},
		"comes up":      {mode: Check, fails: 2, retries: 2, ran: []string{"works", "works", "works"}},
		"does not":      {mode: Check, fails: 9, retries: 1, ran: []string{"works", "works"}, message: "health check: the command ended with status 3; it printed: it says so (run 2 of 2)"},
		"not run again": {mode: Check, fails: 1, ran: []string{"works"}, message: "health check: the command ended with status 3; it printed: it says so (run 1 of 1)"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWindow(t)
			commands := w.Commands
			w.Commands = func(ctx context.Context, c system.Command) (system.Output, error) {
				if c.Timeout != time.Second {
					t.Errorf("the timeout is %s", c.Timeout)
				}
				w.status["works"] = 0
				if test.fails--; test.fails >= 0 {
					w.status["works"] = 3
				}
				return commands(ctx, c)
			}
			_, summary := w.session(t.Context(), Manifest{Mode: test.mode, Items: test.items,
				Health: &HealthCheck{Command: "works", Timeout: time.Second, Retries: test.retries, Interval: time.Millisecond}})
			message := ""
			if summary.Error != nil && summary.Error.Code == CodeHealth {
				message = summary.Error.Message
			}
			if !slices.Equal(w.ran, test.ran) || message != test.message {
				t.Errorf("ran %q, want %q; %q, want %q; %v", w.ran, test.ran, message, test.message, summary.Error)
			}
		})
	}
}
