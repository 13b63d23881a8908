package converge

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// beginning is a bench whose actions act; the commands of shells do nothing.
func beginning(b *bench) *bench {
	b.types["shell"] = types.All["shell"]
	b.Commands = newWindow(b.t).Commands
	return b
}

var (
	preAction, postAction = item("shell[p/before]", "command", "x"), item("shell[p/after]", "command", "y")
	planned               = []resource.ID{preAction.ID(), "shell[p/new]", postAction.ID()}
)

// What a run plans to do on a node is begun from its first session on the node, so that no crash makes an action seem done that this run never
// came to; each is done again when it ran.
func TestPlannedActionsAreBegun(t *testing.T) {
	for _, mode := range []Mode{Prepare, Apply} {
		b := beginning(newBench(t))
		b.converge(Apply, preAction, postAction, item("plain[a]", "value", "1"))
		b.session(t.Context(), Manifest{Site: "two", Mode: Apply, Items: []Item{postAction}})
		b.run = "run-2"
		want := func(s Summary, values map[resource.ID]string) {
			t.Helper()
			values["plain[a]"] = item("plain[a]", "value", "1").Digest
			if diff := cmp.Diff(values, s.Ledger); diff != "" || s.Error != nil {
				t.Errorf("%s: %v\n%s", mode, s.Error, diff)
			}
			if diff := cmp.Diff(values, b.ledgerNow().Digests("one")); diff != "" {
				t.Errorf("%s: on the disk:\n%s", mode, diff)
			}
		}
		if _, s := b.session(t.Context(), Manifest{Mode: Check}); s.Ledger[postAction.ID()] != postAction.Digest {
			t.Fatalf("%v", s)
		}
		_, s := b.session(t.Context(), Manifest{Mode: mode, Begins: planned})
		want(s, map[resource.ID]string{preAction.ID(): "", postAction.ID(): ""})
		if b.there(ledger.LogPath) {
			t.Errorf("%s: the log is left behind", mode)
		}
		_, s = b.converge(Apply, preAction)
		want(s, map[resource.ID]string{preAction.ID(): preAction.Digest, postAction.ID(): ""})
		_, s = b.session(t.Context(), Manifest{Mode: mode, Begins: planned}) // said twice in one run, it does not undo what ran
		want(s, map[resource.ID]string{preAction.ID(): preAction.Digest, postAction.ID(): ""})
		_, s = b.converge(Apply, postAction)
		want(s, map[resource.ID]string{preAction.ID(): preAction.Digest, postAction.ID(): postAction.Digest})
		if b.ledgerNow().Digests("two")[postAction.ID()] != postAction.Digest {
			t.Errorf("%s: the other site's action is begun", mode)
		}
	}
}

// An action that was begun when an earlier run died, and ran in this one, ran in this one.
func TestAnActionThatWasBegunBefore(t *testing.T) {
	b := beginning(newBench(t))
	b.converge(Apply, postAction)
	for _, run := range []string{"run-2", "run-3"} {
		b.run = run
		b.session(t.Context(), Manifest{Mode: Prepare, Begins: planned})
	}
	b.converge(Apply, postAction)
	if _, s := b.session(t.Context(), Manifest{Mode: Prepare, Begins: planned}); s.Ledger[postAction.ID()] != postAction.Digest {
		t.Errorf("%v", s.Ledger)
	}
}

func TestWhereNothingCanBeBegun(t *testing.T) {
	b := newBench(t)
	untouched := b.tree()
	if _, s := b.session(t.Context(), Manifest{Mode: Prepare, Begins: planned}); s.Error != nil || len(s.Ledger) > 0 {
		t.Errorf("a new node: %v, %v", s.Error, s.Ledger)
	}
	if diff := cmp.Diff(untouched, b.tree()); diff != "" {
		t.Errorf("a new node was changed:\n%s", diff)
	}
	for name, c := range map[string]Manifest{
		"it is to check or tear down": {Mode: Check, Begins: planned},
		"is to check or tear down":    {Mode: Apply, TearDown: true, Begins: planned},
	} {
		if _, s := b.session(t.Context(), c); s.Error == nil || s.Error.Code != CodeProtocol || !strings.Contains(s.Error.Message, "is to check or tear down") {
			t.Errorf("%s: %v", name, s.Error)
		}
	}
	nameless := Run(t.Context(), b.System, Manifest{Protocol: Protocol, Site: "one", Mode: Prepare, Begins: planned}, nil)
	if nameless.Error == nil || !strings.Contains(nameless.Error.Message, "names no run") {
		t.Error(nameless.Error)
	}
	b.converge(Apply, item("plain[a]", "value", "1"))
	looking, err := b.Lock(t.Context(), false, "")
	if err != nil || looking == nil {
		t.Fatal(looking, err)
	}
	defer looking.Release()
	if _, s := b.session(t.Context(), Manifest{Mode: Prepare, Begins: planned}); s.Error == nil || s.Error.Code != CodeLocked {
		t.Errorf("beside another session: %v", s.Error)
	}
}

// A run that dies after a node's configuration and before its last action leaves a ledger that makes the next plan run it. All actions are
// begun in one write, which is on the disk before anything else is looked at.
func TestKilledBeforeThePlannedActions(t *testing.T) {
	config := item("plain[a]", "value", "1")
	if role() != "" {
		s, err := system.New(os.Getenv("DIR"))
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{sandbox: &sandbox{&types.Session{System: s}, os.Getenv("DIR"), t}, run: "run-2"}
		b.useTypes()
		b.hook = func(stage, _ string) error {
			switch stage {
			case role():
				return unix.Kill(os.Getpid(), unix.SIGKILL)
			case "check":
				if lines := strings.Count(b.get(ledger.LogPath), "\n"); b.Ledger.Log.Synced != lines || lines != 2 {
					t.Errorf("%d lines, %d of them synced; want the head and one line", lines, b.Ledger.Log.Synced)
				}
				os.Stdout.WriteString("looked\n")
			}
			return nil
		}
		beginning(b).session(t.Context(), Manifest{Mode: Apply, Begins: planned, Items: []Item{config, postAction}})
		t.Fatal("not killed")
	}
	for _, stage := range []string{"capture", "apply", "applied"} {
		b := beginning(newBench(t))
		b.converge(Apply, preAction, postAction)
		if state, out := child(t, os.Geteuid(), stage, "DIR="+b.dir); state.ExitCode() != -1 || out != "looked\n" {
			t.Fatalf("%s: the session was not killed: %v\n%s", stage, state, out)
		}
		_, s := b.session(t.Context(), Manifest{Mode: Prepare})
		for _, i := range []Item{preAction, postAction} {
			if digest, there := s.Ledger[i.ID()]; digest != "" || !there {
				t.Errorf("%s: %s has digest %q", stage, i.ID(), digest)
			}
		}
	}
}
