package converge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func TestApplyThenNothingThenRemove(t *testing.T) {
	b := newBench(t)
	b.put("/fake/plain-there", "before")
	before := b.tree()
	items := []Item{item("plain[there]", "value", "mine"), item("plain[new]", "value", "x")}

	results, summary := b.converge(Apply, items...)
	b.wantStatuses(results, "plain[there] changed", "plain[new] changed")
	if d := (types.Difference{Parameter: "value", Is: "before", Should: "mine"}); !cmp.Equal(results[0].Differences, []types.Difference{d}) {
		t.Errorf("differences %v", results[0].Differences)
	}
	want := map[resource.ID]string{"plain[there]": items[0].Digest, "plain[new]": items[1].Digest}
	if diff := cmp.Diff(want, summary.Ledger); diff != "" || summary.Error != nil {
		t.Errorf("%v\n%s", summary.Error, diff)
	}

	applied := b.tree()
	results, _ = b.converge(Apply, items...)
	b.wantStatuses(results, "plain[there] unchanged", "plain[new] unchanged")
	b.wantLog()
	if diff := cmp.Diff(applied, b.tree()); diff != "" {
		t.Errorf("a run without changes changed:\n%s", diff)
	}

	items[0] = item("plain[there]", "value", "other")
	results, _ = b.converge(Apply, items...)
	b.wantStatuses(results, "plain[there] changed", "plain[new] unchanged")

	results, summary = b.converge(Apply, removal("plain[new]"), removal("plain[there]"), removal("plain[never]"))
	b.wantStatuses(results, "plain[new] changed", "plain[there] changed", "plain[never] unchanged")
	if len(summary.Ledger) != 0 || b.get("/fake/plain-there") != "before" || b.there("/fake/plain-new") {
		t.Errorf("ledger %v, there %q, new is there: %v", summary.Ledger, b.get("/fake/plain-there"), b.there("/fake/plain-new"))
	}
	if b.there(system.Home) {
		t.Error("slipway's directory is left, and nothing is applied")
	}
	_, summary = b.session(t.Context(), Manifest{Mode: Apply, TearDown: true})
	if diff := cmp.Diff(before, b.tree()); diff != "" || summary.Error != nil {
		t.Errorf("not as before: %v\n%s", summary.Error, diff)
	}
}

// What was as desired before slipway came is recorded, and stays at its removal.
func TestWhatWasThereBeforeStays(t *testing.T) {
	b := newBench(t)
	b.put("/fake/plain-a", "x")
	results, summary := b.converge(Apply, item("plain[a]", "value", "x"))
	b.wantStatuses(results, "plain[a] unchanged")
	if summary.Ledger["plain[a]"] == "" || b.ledgerNow().Entry("one", "plain[a]") == nil {
		t.Error("it is not recorded")
	}
	results, _ = b.converge(Apply, removal("plain[a]"))
	b.wantStatuses(results, "plain[a] changed")
	if b.get("/fake/plain-a") != "x" {
		t.Errorf("now %q", b.get("/fake/plain-a"))
	}
}

func TestCheckAndPrepareWriteNothing(t *testing.T) {
	b := newBench(t)
	b.put("/fake/plain-a", "x")
	for _, prepared := range []bool{false, true} {
		if prepared {
			b.converge(Apply, item("plain[r]", "value", "1"), item("svc[s]", "value", "1"))
			b.put("/fake/plain-r", "drifted")
		}
		before := b.tree()
		results, summary := b.converge(Check, item("plain[a]", "value", "x"), item("plain[b]", "value", "y"), removal("plain[r]"),
			item("plain[c]", "value", "z").requires("plain[b]"), item("plain[bad]", "colour", "red"))
		removed := "plain[r] unchanged"
		if prepared {
			removed = "plain[r] differs"
		}
		b.wantStatuses(results, "plain[a] unchanged", "plain[b] differs", removed, "plain[c] differs", "plain[bad] failed")
		b.wantLog()
		if prepared != (summary.Ledger["plain[r]"] != "") {
			t.Errorf("ledger %v", summary.Ledger)
		}
		results, summary = b.session(t.Context(), Manifest{Mode: Prepare})
		if len(results) > 0 || summary.Error != nil || summary.Identity.Facts.CPUs == 0 || prepared != (len(summary.Ledger) == 2) {
			t.Errorf("prepare: %v, %+v", results, summary)
		}
		if prepared {
			results, _ = b.session(t.Context(), Manifest{Mode: Check, TearDown: true})
			b.wantStatuses(results, "svc[s] differs", "plain[r] differs")
		}
		if diff := cmp.Diff(before, b.tree()); diff != "" {
			t.Errorf("prepared %v: the node changed:\n%s", prepared, diff)
		}
	}
}

func TestKeepGoing(t *testing.T) {
	b := newBench(t)
	results, summary := b.converge(Apply,
		item("plain[a]", "value", "1", "fail", "disk on fire"),
		item("plain[b]", "value", "1").requires("plain[a]"),
		item("plain[c]", "value", "1").requires("plain[b]"),
		item("plain[d]", "value", "1"),
		removal("plain[e]").requires("plain[c]"),
	)
	b.wantStatuses(results, "plain[a] failed", "plain[b] skipped", "plain[c] skipped", "plain[d] changed", "plain[e] skipped")
	if results[0].Message != "disk on fire" || !strings.Contains(results[1].Message, "plain[a]") {
		t.Errorf("messages %q, %q", results[0].Message, results[1].Message)
	}
	if digest, begun := summary.Ledger["plain[a]"]; !begun || digest != "" || summary.Error != nil {
		t.Errorf("the failed one is in the ledger as %q, %v; %v", digest, begun, summary.Error)
	}
	if _, there := summary.Ledger["plain[b]"]; there {
		t.Error("a skipped one is in the ledger")
	}
}

func TestApplyIsVerified(t *testing.T) {
	b := newBench(t)
	results, summary := b.converge(Apply, item("plain[a]", "value", "1", "deaf", true))
	b.wantStatuses(results, "plain[a] failed")
	if !strings.Contains(results[0].Message, "still differs: value") || summary.Ledger["plain[a]"] != "" {
		t.Errorf("%q, ledger %v", results[0].Message, summary.Ledger)
	}
}

func TestWhatDoesNotFitFails(t *testing.T) {
	b := newBench(t)
	b.session(t.Context(), Manifest{Site: "two", Mode: Apply, Items: []Item{item("plain[theirs]", "value", "1")}})
	for _, test := range []struct {
		item Item
		want string
	}{
		{item("spaceship[x]"), `type "spaceship" is not known on the node; known are many, pkg, plain, svc, whole`},
		{Item{Resource: resource.Resource{Type: "spaceship", Title: "x"}, Remove: true}, `type "spaceship" is not known`},
		{Item{Resource: resource.Resource{Type: "plain"}}, "no title"},
		{item("plain[x]", "vaule", "1"), `vaule: the type plain has no such parameter; did you mean "value"?`},
		{item("plain[x]", "value", []any{"1"}), "value: must be a string"},
		{item("whole[x]", "value", "1"), `type "whole" needs a whole machine: the node is a sandbox`},
		{item("plain[theirs]", "value", "2"), `the site "two" has plain[theirs] on this node as well, with other parameters: value is "2" here and "1" there`},
	} {
		for _, mode := range []Mode{Check, Apply} {
			results, _ := b.converge(mode, test.item)
			if len(results) != 1 || results[0].Status != Failed || !strings.Contains(results[0].Message, test.want) {
				t.Errorf("%s %s: %+v, want %q", mode, test.item.ID(), results, test.want)
			}
			b.wantLog()
		}
	}
	results, _ := b.converge(Apply, item("plain[x]", "value", "1"), item("plain[x]", "value", "2"))
	b.wantStatuses(results, "plain[x] changed", "plain[x] failed")
	results, _ = b.converge(Apply, removal("plain[theirs]"))
	b.wantStatuses(results, "plain[theirs] unchanged")
	if b.get("/fake/plain-theirs") != "1" {
		t.Error("the resource of another site was touched")
	}
}

func TestAManifestThatIsNoneIsRefused(t *testing.T) {
	b := newBench(t)
	before := b.tree()
	for name, c := range map[string]Manifest{
		"protocol":  {Protocol: 2, Mode: Apply, Site: "s", Run: "r"},
		"mode":      {Protocol: 1, Mode: "destroy", Site: "s", Run: "r"},
		"site":      {Protocol: 1, Mode: Apply, Run: "r"},
		"run":       {Protocol: 1, Mode: Apply, Site: "s"},
		"tear_down": {Protocol: 1, Mode: Apply, Site: "s", Run: "r", TearDown: true, Items: []Item{item("plain[a]")}},
		"prepare":   {Protocol: 1, Mode: Prepare, Site: "s", Items: []Item{item("plain[a]")}},
	} {
		s := runWith(t.Context(), b.Session, b.types, c, func(r Result) { t.Errorf("%s: result %v", name, r) })
		if s.Error == nil || s.Error.Code != CodeProtocol || s.Ledger == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Error(diff)
	}
}

func TestNoop(t *testing.T) {
	b := newBench(t)
	b.put("/fake/plain-same", "1")
	results, summary := b.converge(Apply, item("plain[a]", "value", "1", "noop", true).notifies("svc[s]"), item("plain[same]", "value", "1", "noop", true),
		item("svc[s]").refreshOnly())
	b.wantStatuses(results, "plain[a] differs", "plain[same] unchanged", "svc[s] unchanged")
	if b.there("/fake/plain-a") {
		t.Error("a resource with noop was applied")
	}
	want := map[resource.ID]string{
		"plain[a]": resource.Watched + item("plain[a]", "value", "1", "noop", true).Digest, "plain[same]": resource.Watched + item("plain[same]", "value", "1", "noop", true).Digest,
	}
	if diff := cmp.Diff(want, summary.Ledger); diff != "" {
		t.Errorf("the next plan would have work: %s", diff)
	}
	b.put("/fake/plain-a", "by hand")
	results, summary = b.converge(Apply, removal("plain[a]"))
	b.wantStatuses(results, "plain[a] unchanged")
	if len(summary.Ledger) != 1 || b.get("/fake/plain-a") != "by hand" {
		t.Errorf("ledger %v after the removal", summary.Ledger)
	}
	results, _ = b.converge(Apply, item("plain[same]", "value", "2"))
	b.wantStatuses(results, "plain[same] changed")
	results, summary = b.session(t.Context(), Manifest{Mode: Apply, TearDown: true})
	b.wantStatuses(results, "plain[same] changed")
	if b.get("/fake/plain-same") != "1" || len(summary.Ledger) != 0 || b.there(system.Home) {
		t.Errorf("ledger %v after the tear-down", summary.Ledger)
	}
}

// What was applied before noop was set is undone when the resource goes, and a refresh that is pending for a resource with noop is no work.
func TestNoopAfterApply(t *testing.T) {
	b := newBench(t)
	b.put("/fake/svc-s", "up")
	b.converge(Apply, item("plain[a]", "value", "1").notifies("svc[s]"), item("svc[s]", "value", "down", "noop", true))
	b.converge(Apply, item("plain[a]", "value", "2", "noop", true))
	_, summary := b.converge(Check)
	want := map[resource.ID]string{
		"plain[a]": item("plain[a]", "value", "2", "noop", true).Digest, "svc[s]": resource.Watched + item("svc[s]", "value", "down", "noop", true).Digest,
	}
	if diff := cmp.Diff(want, summary.Ledger); diff != "" || b.get("/fake/plain-a") != "1" {
		t.Errorf("the next plan would have work: %s", diff)
	}
	results, _ := b.converge(Apply, removal("plain[a]"))
	b.wantStatuses(results, "plain[a] changed")
	if b.there("/fake/plain-a") {
		t.Error("what was applied is still there")
	}
	results, _ = b.converge(Apply, item("svc[s]", "value", "up"))
	b.wantStatuses(results, "svc[s] changed refreshed")
}

// execution.md 2, rule 5: no secret in results or ledger.
func TestSecretsAreNotShown(t *testing.T) {
	b := newBench(t)
	b.put("/fake/plain-a", "hunter1")
	b.hook = func(stage, title string) error {
		if stage == "check" {
			b.Log.WriteString("the command printed hunter2 and hunter1\n")
		}
		return nil
	}
	for name, test := range map[string]struct {
		item   Item
		output bool
	}{
		"sensitive parameter": {item("plain[a]", "secret", "hunter2", "fail", "cannot set hunter2"), true},
		"sensitive resource":  {item("plain[a]", "value", "hunter2", "sensitive", true, "fail", "cannot set hunter2"), false},
		"both, check":         {item("plain[a]", "secret", "hunter2", "sensitive", true, "noop", true), false},
		"wrong kind":          {item("plain[a]", "secret", "hunter2", "number", "hunter2", "sensitive", true), false},
	} {
		results, summary := b.converge(Apply, test.item)
		shown := fmt.Sprintf("%+v %+v", results, summary)
		if strings.Contains(shown, "hunter2") || (results[0].Output != "") != test.output {
			t.Errorf("%s: %s", name, shown)
		}
		for _, d := range results[0].Differences {
			if d.Is != "(sensitive)" || d.Should != "(sensitive)" {
				t.Errorf("%s: difference %v", name, d)
			}
		}
		if b.there(ledger.Path) && strings.Contains(b.get(ledger.Path), "hunter2") {
			t.Errorf("%s: in the ledger", name)
		}
	}
}

// TestSecretsAreNotQuoted: an error may write a value in quotes.
func TestSecretsAreNotQuoted(t *testing.T) {
	b := newBench(t)
	for _, value := range []string{"hun\"ter2", "hun\\ter2", "hun\nter2"} {
		results, _ := b.converge(Apply, item("plain[a]", "secret", value, "fail", fmt.Sprintf("cannot set %q", value)))
		if got := results[0].Message; got != `cannot set "(sensitive)"` {
			t.Errorf("%q: %s", value, got)
		}
	}
}

// TestResultsDoNotActOnTerminals: commands and files of a node may hold anything.
func TestResultsDoNotActOnTerminals(t *testing.T) {
	b := newBench(t)
	b.hook = func(stage, _ string) error {
		b.Log.WriteString("\x1b]0;title\x07a\tb\r\n10%\r20%\u009b2J\u202e\n")
		return nil
	}
	r := func() Result {
		results, _ := b.converge(Apply, item("plain[a]", "value", "\x1b[2J", "fail", "\x1b[31mcannot"))
		return results[0]
	}()
	if r.Message != "[31mcannot" || !strings.HasPrefix(r.Output, "]0;titlea\tb\n10%\n20%2J\n") || r.Differences[0].Should != "[2J" {
		t.Errorf("%q, %q, %q", r.Message, r.Output, r.Differences)
	}
}

func TestResultsAreBounded(t *testing.T) {
	b := newBench(t)
	long := strings.Repeat("ä", 5000)
	b.hook = func(stage, _ string) error {
		b.Log.WriteString(long + "end")
		return nil
	}
	results, _ := b.converge(Apply, item("plain[a]", "value", long, "fail", long))
	r := results[0]
	if len(r.Message) > messageLimit || len(r.Output) > system.OutputLimit+3 || len(r.Differences[0].Should) > differenceLimit || !strings.HasSuffix(r.Output, "end") {
		t.Errorf("message %d, output %d, difference %d bytes", len(r.Message), len(r.Output), len(r.Differences[0].Should))
	}
}

func TestBatch(t *testing.T) {
	b := newBench(t)
	b.put("/fake/pkg-c", "1")
	b.converge(Apply, item("pkg[z]", "value", "1"))
	results, summary := b.converge(Apply,
		item("pkg[a]", "value", "1"), item("pkg[b]", "value", "1"), item("pkg[c]", "value", "1"),
		item("pkg[d]", "value", "1", "fail", "no such package"), item("pkg[bad]", "colour", "x"),
		item("pkg[e]", "value", "1"), item("pkg[f]", "value", "1").requires("pkg[e]"), item("pkg[g]", "value", "1").requires("pkg[d]"),
		item("plain[x]", "value", "1"), item("pkg[h]", "value", "1"), removal("pkg[z]"), item("pkg[i]", "value", "1"))
	b.wantStatuses(results, "pkg[a] changed", "pkg[b] changed", "pkg[c] unchanged", "pkg[d] failed", "pkg[bad] failed", "pkg[e] changed",
		"pkg[f] changed", "pkg[g] skipped", "plain[x] changed", "pkg[h] changed", "pkg[z] changed", "pkg[i] changed")
	b.wantLog("batch [a b d e h]", "apply f", "apply x", "undo z", "apply i")
	if results[3].Message != "no such package" || summary.Ledger["pkg[d]"] != "" || summary.Ledger["pkg[a]"] == "" {
		t.Errorf("%q, ledger %v", results[3].Message, summary.Ledger)
	}
	b.hook = func(stage, title string) error {
		if stage == "batch" {
			return errors.New("answers nothing")
		}
		return nil
	}
	results, _ = b.converge(Apply, item("pkg[a]", "value", "2"), item("pkg[b]", "value", "2"))
	b.wantStatuses(results, "pkg[a] failed", "pkg[b] failed")
}

// TestBatchOvertakes: what may be applied together is, also when other resources come in between. Their order stays, and
// so does that of the results.
func TestBatchOvertakes(t *testing.T) {
	b := newBench(t)
	results, _ := b.converge(Apply,
		item("pkg[a]", "value", "1"), item("plain[a]", "value", "1").requires("pkg[a]").notifies("svc[a]"),
		item("svc[a]", "value", "1").requires("plain[a]"), item("pkg[b]", "value", "1"),
		item("pkg[late]", "value", "1").requires("plain[a]"), item("pkg[c]", "value", "1", "fail", "no such package"),
		item("plain[c]", "value", "1").requires("pkg[c]"), item("many[barrier]", "value", "1"), item("pkg[d]", "value", "1"))
	b.wantStatuses(results, "pkg[a] changed", "plain[a] changed", "svc[a] changed refreshed", "pkg[b] changed", "pkg[late] changed",
		"pkg[c] failed", "plain[c] skipped", "many[barrier] changed", "pkg[d] changed")
	b.wantLog("batch [a b c]", "apply a", "apply a", "refresh a", "apply late", "prefetch [barrier]", "apply barrier", "prefetch [barrier]",
		"apply d")
}

func TestPrefetch(t *testing.T) {
	b := newBench(t)
	b.put("/fake/many-a", "1")
	b.put("/fake/many-b", "1")
	items := []Item{item("many[a]", "value", "1"), item("many[bad]", "colour", "x"), item("many[b]", "value", "1"), removal("many[r]"), item("many[c]", "value", "1"), item("many[d]", "value", "1")}
	b.converge(Check, items...)
	b.wantLog("prefetch [a b c d]")
	b.converge(Apply, items...)
	b.wantLog("prefetch [a b c d]", "apply c", "prefetch [c d]", "apply d", "prefetch [d]")
}

func TestAErrorInATypeCostsOneItem(t *testing.T) {
	b := newBench(t)
	b.hook = func(stage, title string) error {
		if stage == "apply" && title == "a" {
			panic("index out of range")
		}
		return nil
	}
	results, _ := b.converge(Apply, item("plain[a]", "value", "1"), item("plain[b]", "value", "1"))
	b.wantStatuses(results, "plain[a] failed", "plain[b] changed")
	if !strings.Contains(results[0].Message, "index out of range") {
		t.Error(results[0].Message)
	}
}

func TestTheSessionEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	b := newBench(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	b.hook = func(stage, title string) error {
		if stage == "apply" && title == "b" {
			cancel(errors.New("the controller is gone"))
			return context.Cause(ctx)
		}
		return nil
	}
	results, summary := b.session(ctx, Manifest{Mode: Apply, Items: []Item{item("plain[a]", "value", "1"), item("plain[b]", "value", "1"), item("plain[c]", "value", "1")}})
	b.wantStatuses(results, "plain[a] changed", "plain[b] failed", "plain[c] skipped")
	if !strings.Contains(results[2].Message, "the controller is gone") || summary.Error != nil {
		t.Errorf("%q, %v", results[2].Message, summary.Error)
	}
	b.hook = nil
	results, _ = b.converge(Apply, item("plain[a]", "value", "1"), item("plain[b]", "value", "1"), item("plain[c]", "value", "1"))
	b.wantStatuses(results, "plain[a] unchanged", "plain[b] changed", "plain[c] changed")
}

func TestTearDown(t *testing.T) {
	b := newBench(t)
	b.put("/fake/plain-a", "before")
	before := b.tree()
	b.put(system.Home+"/helper-abc", "binary") // as the controller places it
	if err := os.Chmod(b.real(system.Home), 0o700); err != nil {
		t.Fatal(err)
	}
	b.session(t.Context(), Manifest{Site: "two", Mode: Apply, Items: []Item{item("plain[x]", "value", "1")}})
	b.converge(Apply, item("plain[a]", "value", "1").notifies("svc[s]"), item("plain[b]", "value", "1"), item("plain[c]", "value", "1"))

	b.hook = func(stage, title string) error {
		if stage == "undo" && title == "b" {
			return errors.New("is busy")
		}
		return nil
	}
	results, summary := b.session(t.Context(), Manifest{Mode: Apply, TearDown: true})
	b.wantStatuses(results, "plain[c] changed", "plain[b] failed", "plain[a] changed")
	if len(summary.Ledger) != 1 || b.get("/fake/plain-a") != "before" {
		t.Errorf("ledger %v, a %q", summary.Ledger, b.get("/fake/plain-a"))
	}
	b.hook = nil
	results, summary = b.session(t.Context(), Manifest{Mode: Apply, TearDown: true})
	b.wantStatuses(results, "plain[b] changed")
	if l := b.ledgerNow(); len(summary.Ledger) != 0 || len(l.Entries) != 1 || l.Entries[0].Site != "two" || len(l.Pending) > 0 {
		t.Errorf("ledger %v, on disk %+v", summary.Ledger, l)
	}
	results, summary = b.session(t.Context(), Manifest{Site: "two", Mode: Apply, TearDown: true})
	b.wantStatuses(results, "plain[x] changed")
	// /var and /var/lib were made by this test, so they stay; all that is slipway's is gone.
	after := b.tree()
	delete(after, "/var")
	delete(after, "/var/lib")
	if diff := cmp.Diff(before, after); diff != "" || summary.Error != nil {
		t.Errorf("%v\n%s", summary.Error, diff)
	}
	results, summary = b.session(t.Context(), Manifest{Site: "two", Mode: Apply, TearDown: true})
	if len(results) > 0 || summary.Error != nil || b.there(system.Home) {
		t.Errorf("once more: %v, %v", results, summary.Error)
	}
}
