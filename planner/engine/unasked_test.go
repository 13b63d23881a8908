package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// away are nodes that do not answer; unasked says that no worker is there who asks them.
type away struct{ unasked bool }

func (away) Close() error { return nil }

func (a away) Converge(_ context.Context, n site.Node, _ converge.Manifest, _ func(converge.Result)) (converge.Summary,
	error) {
	return converge.Summary{}, &transport.Error{Kind: transport.Unreachable, Node: n.Name, Message: "away", Unasked: a.unasked}
}

// A node that nobody could ask is unreachable, and the first destroy that asks it does not forget it.
func TestNodesThatNobodyAskedAreNotForgotten(t *testing.T) {
	t.Parallel()
	s := site.Site{Name: "s", Nodes: []site.Node{{Name: "a", Address: "192.0.2.1"}}, Services: []site.Service{{Name: "motd",
		Selectors: site.Selectors{{}}, Configuration: resource.Configuration{"file": {"/etc/motd": {"content": "x\n"}}}}}}
	applied := planner.Applied{"a": {"file[/etc/motd]": "1"}}
	for name, tt := range map[string]struct {
		look func(e *engine.Engine) (unreachable []string, state engine.State)
		want engine.Status // of the first destroy
	}{
		"refresh": {func(e *engine.Engine) ([]string, engine.State) {
			out := e.Check(t.Context(), engine.State{Applied: applied}, s, engine.Inspection{})
			return out.Unreachable, out.State
		}, engine.Failed},
		"apply": {func(e *engine.Engine) ([]string, engine.State) {
			out := e.Apply(t.Context(), &engine.Prior{State: engine.State{Applied: applied}, Nodes: s.Nodes}, s, engine.Run{})
			return out.Unreachable, out.State
		}, engine.Failed},
		"state of an older slipway": {func(*engine.Engine) ([]string, engine.State) {
			return []string{"a"}, engine.State{Applied: applied}
		}, engine.Destroyed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := away{unasked: true}
			e := &engine.Engine{Journals: journal.Location{Path: t.TempDir()}, Now: time.Now,
				Executor: func() rollout.Executor { return nodes }}
			unreachable, state := tt.look(e)
			if !slices.Equal(unreachable, []string{"a"}) {
				t.Fatalf("unreachable are %q", unreachable)
			}
			text, err := json.Marshal(state) // as it is on disk
			if err == nil {
				state = engine.State{}
				err = json.Unmarshal(text, &state)
			}
			if err != nil {
				t.Fatal(err)
			}
			nodes.unasked = false
			destroy := func() engine.Outcome {
				return e.Destroy(t.Context(), "s", engine.Prior{State: state, Nodes: s.Nodes, Unreachable: unreachable}, engine.Run{})
			}
			out := destroy()
			if forgotten := len(out.Lost) == 0; out.Status != tt.want || forgotten != (tt.want == engine.Destroyed) {
				t.Errorf("the first destroy ends as %q, lost are %q: %s", out.Status, out.Lost, out.Report)
			}
			unreachable, state = out.Unreachable, out.State
			if out = destroy(); out.Status != engine.Destroyed {
				t.Errorf("the second destroy ends as %q: %s", out.Status, out.Report)
			}
		})
	}
}

// A node that nobody could ask is not looked at again through its former connection: nobody is there who asks then.
func TestNodesThatNobodyAskedAreLookedAtOnce(t *testing.T) {
	t.Parallel()
	s := site.Site{Name: "s", Nodes: []site.Node{{Name: "a", Address: "192.0.2.1"}}}
	corrected := map[string]site.Node{"a": {Name: "a", Address: "192.0.2.1", Connection: site.Connection{User: "other"}}}
	for unasked, want := range map[bool]int{true: 1, false: 2} {
		looks := 0
		e := &engine.Engine{Journals: journal.Location{Path: t.TempDir()}, Now: time.Now, Executor: func() rollout.Executor {
			looks++
			return away{unasked}
		}}
		e.Check(t.Context(), engine.State{}, s, engine.Inspection{Corrected: corrected})
		if looks != want {
			t.Errorf("unasked %t: %d looks, want %d", unasked, looks, want)
		}
	}
}
