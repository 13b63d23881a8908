package converge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// logged makes a ledger of a session that was killed, and returns what was in it after each save.
func logged(t *testing.T, b *sandbox) (saved []string) {
	t.Helper()
	if _, err := b.MakeHome(); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Read(b.System)
	if err != nil {
		t.Fatal(err)
	}
	step := func(write func() error, records ...ledger.Record) {
		t.Helper()
		for _, r := range records {
			l.Change(r)
		}
		if err := write(); err != nil {
			t.Fatal(err)
		}
		saved = append(saved, shownLedger(t, l))
	}
	put := func(title, digest string) ledger.Record {
		return ledger.Record{Entry: &ledger.Entry{Site: "one", Type: "file", Title: title, Digest: digest, Before: json.RawMessage(`{"a":1}`), Run: "r", ID: resource.MakeID("file", title)}}
	}
	id := func(title string) *ledger.Key { return &ledger.Key{Site: "one", ID: resource.MakeID("file", title)} }
	step(l.Save, ledger.Record{Made: []string{"/var", "/var/lib"}})
	step(l.Save, put("a", ""), ledger.Record{Pending: id("x")}, ledger.Record{Lock: &ledger.SiteLock{Site: "one", Run: "r", Unlock: "undrain"}})
	step(l.Append, put("a", "1"))
	step(l.Save, put("b", ""), put("c", ""))
	step(l.Append, put("b", "2"), ledger.Record{Refreshed: id("x")})
	step(l.Append, put("c", "3"))
	renamed := put("new", "")
	renamed.Was = id("a")
	step(l.Save, renamed, ledger.Record{Drop: id("b")})
	step(l.Save, put("b", "4"), ledger.Record{Unlock: "one"})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return saved
}

func shownLedger(t *testing.T, l *ledger.Ledger) string {
	t.Helper()
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What a session noted is there after it was killed, and the next one folds it into the ledger.
func TestTheLogIsReplayed(t *testing.T) {
	b := newSandbox(t)
	b.mkdir("/f")
	saved := logged(t, b)
	want := saved[len(saved)-1]
	if !strings.Contains(want, `"title":"new"`) || strings.Index(want, `"title":"new"`) > strings.Index(want, `"title":"c"`) {
		t.Errorf("a renamed entry must keep its place: %s", want)
	}
	l, err := ledger.Read(b.System)
	if err != nil || shownLedger(t, l) != want {
		t.Fatalf("%v\n%s\nwant\n%s", err, shownLedger(t, l), want)
	}
	before := b.tree()
	b.inMode(Check, item("file[/f/x]", "content", "1"))
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Errorf("looking folded it:\n%s", diff)
	}
	b.apply(item("file[/f/x]", "content", "1"))
	if b.there(ledger.LogPath) {
		t.Error("the log is still there")
	}
	if l, err = ledger.Read(b.System); err != nil || len(l.Entries) != 4 || l.Generation != 2 {
		t.Errorf("%+v, %v", l, err)
	}
}

// A crash of the node tears off what was not synced, at any byte, or leaves zeros there; what was synced is never lost.
func TestATornLogIsReadAsFarAsItGoes(t *testing.T) {
	b := newSandbox(t)
	saved := logged(t, b)
	whole := []byte(b.get(ledger.LogPath))
	texts := bytes.SplitAfter(whole, []byte("\n"))
	for cut := range whole {
		for _, tail := range []string{"", "\x00\x00\n", "\x00\x00"} {
			b.put(ledger.LogPath, string(whole[:cut])+tail)
			l, err := ledger.Read(b.System)
			if err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			complete := bytes.Count(whole[:cut], []byte("\n")) - 1 // without the head
			want := `{"version":1,"generation":0,"entries":null}`
			if complete > 0 {
				want = saved[complete-1]
			}
			// A line is whole without its end, too.
			if got := shownLedger(t, l); got != want && (tail != "" || complete < 0 || cut+1 < len(whole) && whole[cut] != '\n' || got != saved[complete]) {
				t.Fatalf("cut at %d, then %q: %s, want %s", cut, tail, got, want)
			}
		}
	}
	// The fifth and sixth records were only noted when the seventh was torn: any of them may be missing.
	for _, bad := range [][]int{{5}, {6}, {7}, {5, 7}, {5, 6, 7}} {
		damaged := slices.Clone(texts[:8])
		for _, i := range bad {
			damaged[i] = []byte("\x00\x00\x00\n")
		}
		b.put(ledger.LogPath, string(bytes.Join(damaged, nil)))
		if l, err := ledger.Read(b.System); err != nil || shownLedger(t, l) != saved[bad[0]-2] {
			t.Errorf("without %v: %v, %s", bad, err, shownLedger(t, l))
		}
	}
	// What was synced, and is not there any more, is damage.
	for _, bad := range []int{0, 1, 2, 4, 7} {
		damaged := slices.Clone(texts)
		damaged[bad] = []byte("\x00\x00\x00\n")
		b.put(ledger.LogPath, string(bytes.Join(damaged, nil)))
		if _, err := ledger.Read(b.System); err == nil || !strings.Contains(err.Error(), "is damaged") {
			t.Errorf("line %d: %v", bad, err)
		}
	}
}

func TestALogThatDoesNotBelongToTheLedger(t *testing.T) {
	for name, test := range map[string]struct{ log, want string }{
		"of the ledger before": {`{"version":1,"generation":2}` + "\n" + `{"synced":0,"records":[{"unlock":"one"}]}` + "\n", ""},
		"of another version":   {`{"version":2,"generation":3}` + "\n", "has version 2, and this slipway knows version 1 only"},
		"of a newer slipway":   {`{"version":1,"generation":3}` + "\n" + `{"synced":0,"records":[{"unlock":"one","rotated":{"key":"2"}}]}` + "\n", `line 2: json: unknown field "rotated"; a newer slipway wrote it`},
		"its last line":        {`{"version":1,"generation":3}` + "\n" + `{"synced":0,"records":[{"unlock":"two"}]}` + "\n" + `{"synced":0,"records":[],"era":2}`, "line 3: "},
		"planted":              {`{"version":1,"generation":3}` + "\n" + `{"synced":0,"records":[{"made":["/etc"]}]}` + "\n", `"/etc" is not above`},
		"entry of nothing":     {`{"version":1,"generation":3}` + "\n" + `{"synced":0,"records":[{"entry":{"site":"one"}}]}` + "\n", "an entry names no site"},
	} {
		b := newSandbox(t)
		if _, err := b.MakeHome(); err != nil {
			t.Fatal(err)
		}
		b.put(ledger.Path, `{"version":1,"generation":3,"locked":{"one":"r"},"entries":[]}`)
		b.put(ledger.LogPath, test.log)
		l, err := ledger.Read(b.System)
		if test.want == "" && (err != nil || l.Locked["one"].Run != "r") || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
}

// A ledger that cannot be written any more, in the middle of a session, ends it, and what it tells stays true.
func TestTheLogIsFullInBetween(t *testing.T) {
	b := newBench(t)
	var items []Item
	for i := range 5 {
		items = append(items, item(fmt.Sprintf("plain[%d]", i), "value", "1"))
	}
	b.hook = func(stage, title string) error {
		if stage == "applied" && title == "2" {
			return b.Ledger.Log.File.Close() // the next write fails
		}
		return nil
	}
	results, summary := b.converge(Apply, items...)
	b.wantStatuses(results, "plain[0] changed", "plain[1] changed", "plain[2] failed", "plain[3] skipped", "plain[4] skipped")
	if summary.Error == nil || summary.Error.Code != CodeLedger {
		t.Errorf("%+v", summary.Error)
	}
	b.hook = nil
	if l := b.ledgerNow(); l.Entry("one", "plain[1]").Digest == "" || l.Entry("one", "plain[2]").Digest != "" {
		t.Errorf("%+v", l.Entries)
	}
	results, _ = b.converge(Apply, items...)
	b.wantStatuses(results, "plain[0] unchanged", "plain[1] unchanged", "plain[2] unchanged", "plain[3] changed", "plain[4] changed")
}
