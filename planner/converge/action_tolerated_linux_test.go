package converge

import (
	"context"
	"errors"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

func (i Item) tolerated() Item { i.Tolerate = true; return i }

// An action that may fail, and did, is done as far as the ledger goes; everything else that failed is not.
func TestAToleratedFailureIsDone(t *testing.T) {
	b := newBench(t)
	b.types["shell"], b.types["puppet"] = types.All["shell"], types.All["puppet"]
	b.Commands = func(context.Context, system.Command) (system.Output, error) { return system.Output{Status: 3}, nil }
	shell, config := item("shell[p/t]", "command", "x", "retries", 0), item("plain[a]", "fail", "x")
	validate := item("shell[p/t]", "command", "x", "timeout", -1)
	puppet, nameless := item("puppet[p/t]", "manifest", "/x.pp"), shell
	nameless.Title = ""
	for name, test := range map[string]struct {
		item Item
		done bool
	}{
		"an action":              {shell.tolerated(), true},
		"that must not fail":     {shell, false},
		"configuration":          {config.tolerated(), false},
		"parameters that do not": {validate.tolerated(), true},
		"without its program":    {puppet.tolerated(), true},
		"without a title":        {nameless.tolerated(), false},
		"of no type":             {item("chef[p/t]").tolerated(), false},
	} {
		for _, recorded := range []bool{false, true} {
			if b.session(t.Context(), Manifest{Mode: Apply, TearDown: true}); recorded {
				b.converge(Apply, item("shell[p/t]", "command", "before", "retries", 0).tolerated())
			}
			results, s := b.converge(Apply, test.item)
			if len(results) != 1 || results[0].Status != Failed || results[0].Message == "" || s.Error != nil {
				t.Errorf("%s: %+v, %v", name, results, s.Error)
			}
			if done := s.Ledger[test.item.ID()] == test.item.Digest; done != test.done || done != (b.ledgerNow().Digests("one")[test.item.ID()] == test.item.Digest) {
				t.Errorf("%s, recorded before: %v: ledger %v", name, recorded, s.Ledger)
			}
		}
	}
}

// Below a sandbox folder no command runs, and an action that may fail is not planned there for ever.
func TestAToleratedActionOfASandbox(t *testing.T) {
	b := newSandbox(t)
	act := item("shell[p/t]", "command", "x").tolerated()
	b.wantStatus(Apply, act, Failed)
	if s := Run(t.Context(), b.System, Manifest{Protocol: Protocol, Site: "one", Mode: Prepare}, nil); s.Ledger[act.ID()] != act.Digest {
		t.Errorf("%v", s.Ledger)
	}
}

// What was given up with its session, or held up by something else, is to run again.
func TestAToleratedActionThatDidNotRun(t *testing.T) {
	b := newBench(t)
	b.types["shell"] = types.All["shell"]
	ctx, cancel := context.WithCancelCause(t.Context())
	b.Commands = func(ctx context.Context, _ system.Command) (system.Output, error) {
		cancel(errors.New("the run was stopped"))
		return system.Output{}, ctx.Err()
	}
	given, held := item("shell[p/given]", "command", "x").tolerated(), item("shell[p/held]", "command", "x").requires("plain[a]").tolerated()
	results, s := b.session(ctx, Manifest{Mode: Apply, Items: []Item{item("plain[a]", "fail", "x"), held, given}})
	b.wantStatuses(results, "plain[a] failed", "shell[p/held] skipped", "shell[p/given] failed")
	if digest, there := s.Ledger[given.ID()]; digest != "" || !there {
		t.Errorf("given up: %v", s.Ledger)
	}
	if _, there := s.Ledger[held.ID()]; there {
		t.Errorf("held up: %v", s.Ledger)
	}
}

// A restart that could not be asked for, and may fail, is over: a restart by other means is not taken for it later.
func TestAToleratedRestart(t *testing.T) {
	b := newBooted(t)
	b.fail = errors.New("no bus")
	reboot := item("reboot[p/r]").tolerated()
	if s := b.want(applying(reboot), "reboot[p/r] failed"); s.Ledger[reboot.ID()] != reboot.Digest {
		t.Errorf("%v", s.Ledger)
	}
	b.fail = nil
	b.boot()
	b.want(applying(reboot), "reboot[p/r] restarting")
}
