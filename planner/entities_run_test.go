package planner_test

import (
	"context"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// obedient is nodes, a controller and a journal on which everything succeeds.
type obedient struct {
	mu      sync.Mutex
	ledgers planner.Applied
	calls   []resource.ID
}

func (o *obedient) Close() error { return nil }

func (o *obedient) Record(context.Context, ...journal.Event) error { return nil }

func (o *obedient) Call(_ context.Context, _ io.Writer, t task.Task) (map[string]any, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, planner.CallbackID(t))
	return map[string]any{"id": "seven"}, nil
}

func (o *obedient) Converge(_ context.Context, n site.Node, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ledger := maps.Clone(o.ledgers[n.Name])
	if ledger == nil {
		ledger = map[resource.ID]string{}
	}
	for _, item := range c.Items {
		if item.Remove {
			delete(ledger, item.ID())
		} else {
			ledger[item.ID()] = item.Digest
		}
		each(converge.Result{ID: item.ID(), Status: converge.Changed})
	}
	o.ledgers[n.Name] = ledger
	return converge.Summary{Protocol: converge.Protocol, Ledger: ledger, Locked: c.Keep}, nil
}

// TestPlansOfEntitiesCanBeDriven: the driver takes every plan, and when it has done all, nothing is left.
func TestPlansOfEntitiesCanBeDriven(t *testing.T) {
	driven := 0
	drive := func(t *testing.T, s site.Site, o *obedient) {
		t.Helper()
		p, _ := planner.Make(s, o.ledgers, nil)
		if p == nil {
			return
		}
		driven++
		report, err := rollout.Run(t.Context(), s, p, rollout.Options{
			Executor: o, Recorder: o, Caller: o, RunID: "run", Parallelism: 2,
			Resolve: func(p *planner.Plan, t task.Task, v rollout.Values) (task.Task, error) { return p.Resolve(t, v) },
		})
		if err != nil || report.Status != rollout.StatusSucceeded {
			t.Fatalf("%s, %v: %v", report.Status, err, p.Steps())
		}
		for _, phase := range p.Phases {
			for _, made := range phase.Tasks {
				if made.Kind == task.Callback && !slices.Contains(o.calls, planner.CallbackID(made)) {
					t.Errorf("%s was not called", made.Name)
				}
			}
		}
		o.ledgers[planner.Controller] = p.Called(o.ledgers[planner.Controller], report.Callbacks)
	}
	left := func(t *testing.T, s site.Site, o *obedient) {
		t.Helper()
		p, errs := planner.Make(s, o.ledgers, nil)
		if p != nil && !p.Empty() || p == nil && len(errs.Errors()) == 0 {
			t.Errorf("work is left: %v", p.Steps())
		}
	}
	eachRound(t, func(t *testing.T, r *rand.Rand) {
		s := anyServices(t, r)
		if r.IntN(2) == 0 {
			s.Groups[1].Rolling = &site.Rolling{MaxParallel: 1, Lock: "lock", Unlock: "unlock"}
		}
		o := &obedient{ledgers: planner.Applied{}}
		drive(t, s, o)
		left(t, s, o)
	})
	if driven < rounds/3 {
		t.Errorf("only %d sites have a plan", driven)
	}
	o, s := &obedient{ledgers: planner.Applied{}}, withEntities(t)
	s.Services[2].Entity = entitiesOf(t, appCatalog(`
    - {name: get, callback: {type: http, parameters: {url: "http://x"}, returns: {id: id}}}
    - {name: put, callback: {type: http, parameters: {url: "http://x/${self.id}"}}, requires: [{task: get}]}
    - {name: tell, callback: {type: http, per_node: true, parameters: {url: "http://x/${self.id}/${node.name}"}}}
    - {name: file, config: {type: file, title: /id, parameters: {content: "${self.id}"}}}
    - {name: run, remote: {type: shell, parameters: {command: "x ${self.id}", timeout: 1}}}`))["app"]
	s.Services[2].Attributes = nil
	mustMake(t, s, nil, nil)
	drive(t, s, o)
	s.Values = map[string]map[string]any{s.Services[2].Name: {"id": "seven"}}
	if p := mustMake(t, s, o.ledgers, nil); !p.Empty() {
		t.Errorf("work is left: %v", p.Steps())
	}
}

func TestCalled(t *testing.T) {
	s := withEntities(t)
	s.Values = map[string]map[string]any{"ntp": {"key": int64(1)}}
	before := allApplied(t, s)[planner.Controller]
	before["http[gone]"] = "d"
	applied := allApplied(t, s)
	applied[planner.Controller] = before
	delete(applied["cmp11"], "service[chrony]")
	delete(before, "http[ntp/announce]")
	p := mustMake(t, s, applied, nil) // calls allocate, register@cmp11 and announce
	after := p.Called(before, map[string]string{"ntp/allocate": "new"})
	want := maps.Clone(before)
	delete(want, "http[gone]")
	want["command[ntp/allocate]"], want["http[ntp/register@cmp11]"] = "new", ""
	if d := cmp.Diff(want, after); d != "" || before["http[gone]"] == "" {
		t.Error(d)
	}
	s.Values = nil // the callback ran, but what it returned is not known
	if p := mustMake(t, s, allApplied(t, s), nil); len(p.Phases) != 1 ||
		p.Steps()[0] != "1. management: call command ntp/allocate" {
		t.Errorf("got %v", p.Steps())
	}
}
