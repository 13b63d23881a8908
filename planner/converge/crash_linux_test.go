package converge

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

// A session that is killed at any point leaves a ledger from which the next one goes on: nothing that it changed is unknown, what
// was there before is not lost, and a refresh is done at last (execution.md 2, rules 4 and 6).
func TestKilledAtAnyPoint(t *testing.T) {
	items := []Item{
		item("plain[conf]", "value", "mine").notifies("svc[s]"),
		item("pkg[p]", "value", "mine"), item("pkg[q]", "value", "mine"),
		item("svc[s]", "value", "up").requires("plain[conf]"),
	}
	at := func(dir string) *bench {
		s, err := system.New(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		b := &bench{sandbox: &sandbox{&types.Session{System: s}, dir, t}, run: "run-1"}
		b.useTypes()
		return b
	}
	if role() != "" {
		b := at(os.Getenv("DIR"))
		seen := 0
		b.hook = func(stage, title string) error {
			if stage+" "+title == role() {
				if seen++; seen > 1 || !strings.HasPrefix(role(), "check ") {
					return unix.Kill(os.Getpid(), unix.SIGKILL)
				}
			}
			return nil
		}
		if os.Getenv("TEAR") != "" {
			b.session(t.Context(), Manifest{Mode: Apply, TearDown: true})
		} else {
			b.converge(Apply, items...)
		}
		t.Fatal("not killed")
	}
	for _, point := range []string{
		"capture conf", "apply conf", "applied conf", "check conf", // the second check: applied, and not recorded
		"capture p", "capture q", "batch [p q]", "check p", "check q", "refresh s",
		"undo conf", "undone conf", "undo s", "undone s", "undo q", "undone p",
	} {
		t.Run(strings.ReplaceAll(point, " ", "_"), func(t *testing.T) {
			b := newBench(t)
			b.put("/fake/plain-conf", "theirs")
			b.put("/fake/pkg-p", "theirs")
			b.put("/fake/svc-s", "up")
			before := b.tree()
			tear := ""
			if strings.HasPrefix(point, "und") {
				tear = "yes"
				b.converge(Apply, items...)
			}
			if state, out := childOf(t, "TestKilledAtAnyPoint", os.Geteuid(), point, "DIR="+b.dir, "TEAR="+tear); state.ExitCode() != -1 {
				t.Fatalf("the session was not killed: %v\n%s", state, out)
			}

			l := b.ledgerNow() // it can be read, whatever happened
			for path, id := range map[string]string{"/fake/plain-conf": "plain[conf]", "/fake/pkg-p": "pkg[p]", "/fake/pkg-q": "pkg[q]"} {
				if !b.there(path) || b.get(path) != "mine" {
					continue
				}
				typ, title, _ := strings.Cut(strings.TrimSuffix(id, "]"), "[")
				known := false
				for _, e := range l.Entries {
					known = known || e.Type == typ && e.Title == title
				}
				if !known {
					t.Errorf("%s was changed, and the ledger does not know", id)
				}
			}
			if verb, title, _ := strings.Cut(point, " "); verb == "undo" || verb == "undone" {
				for _, e := range l.Entries {
					if e.Title == title && e.Digest != "" {
						t.Errorf("%s is half undone, and the ledger calls it applied", e.ID)
					}
				}
			}
			if tear == "" {
				refreshes := 0
				b.hook = func(stage, _ string) error {
					if stage == "refresh" {
						refreshes++
					}
					return nil
				}
				b.run = "run-2"
				results, summary := b.converge(Apply, items...)
				for _, r := range results {
					if r.Status != Changed && r.Status != Unchanged {
						t.Errorf("%+v", r)
					}
				}
				if refreshes != 1 || len(b.ledgerNow().Pending) > 0 {
					t.Errorf("%d refreshes, pending %v", refreshes, b.ledgerNow().Pending)
				}
				for _, i := range items {
					if summary.Ledger[i.ID()] != i.Digest {
						t.Errorf("%s has digest %q", i.ID(), summary.Ledger[i.ID()])
					}
				}
			}
			_, summary := b.session(t.Context(), Manifest{Mode: Apply, TearDown: true})
			if diff := cmp.Diff(before, b.tree()); diff != "" || summary.Error != nil {
				t.Errorf("not as before: %v\n%s", summary.Error, diff)
			}
		})
	}
}
