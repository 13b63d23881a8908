package conformance

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/simulate"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// applied is what an apply of a site did.
type applied struct {
	plan   *planner.Plan
	report rollout.Report
	calls  map[simulate.Phase][]string // the nodes that were asked, sorted
}

// apply plans a site and runs the plan, as terraform apply does, on nodes that do what the script says. before is what earlier runs applied.
// What is wrong with the site is the error.
func apply(t testing.TB, s site.Site, script simulate.Outcomes, before planner.Applied) (applied, error) {
	t.Helper()
	plan, errs := planner.Make(s, before, nil)
	if len(errs.Errors()) > 0 {
		return applied{}, errs
	}
	nodes := &scripted{script: script, calls: map[simulate.Phase][]string{}}
	known := map[string]converge.Identity{} // else nodes are asked who they are before they are prepared
	for _, n := range s.Nodes {
		known[n.Name] = nodes.identity(n.Name)
	}
	report, err := rollout.Run(t.Context(), s, plan, rollout.Options{Executor: nodes, Recorder: forgetful{}, RunID: "run", Machines: rollout.NewMachines(known)})
	if err != nil {
		t.Fatal(err)
	}
	for _, asked := range nodes.calls {
		slices.Sort(asked)
	}
	return applied{plan, report, nodes.calls}, nil
}

// forgetful records nothing.
type forgetful struct{}

func (forgetful) Record(context.Context, ...journal.Event) error { return nil }

// scripted is an executor whose nodes do what a script says.
type scripted struct {
	script simulate.Outcomes

	mu    sync.Mutex
	calls map[simulate.Phase][]string
}

func (e *scripted) identity(node string) converge.Identity {
	return converge.Identity{Ledger: node, Machine: node, Boot: node, Root: node}
}

func (e *scripted) Close() error { return nil }

func (e *scripted) Converge(ctx context.Context, n site.Node, c converge.Manifest, each func(converge.Result)) (converge.Summary, error) {
	phase := simulate.Deploy
	if c.Mode == converge.Prepare {
		phase = simulate.Prepare
	}
	e.mu.Lock()
	if !slices.Contains(e.calls[phase], n.Name) {
		e.calls[phase] = append(e.calls[phase], n.Name)
	}
	e.mu.Unlock()
	switch e.script[phase][n.Name] {
	case simulate.Failure:
		return converge.Summary{}, &converge.SessionError{Code: converge.CodeRoot, Message: "the script says so"}
	case simulate.Timeout:
		<-ctx.Done()
		return converge.Summary{}, &converge.SessionError{Code: converge.CodeLost, Message: "its time was up"}
	}
	ledger := map[resource.ID]string{}
	for _, item := range c.Items {
		ledger[item.ID()] = item.Digest
		each(converge.Result{ID: item.ID(), Status: converge.Changed})
	}
	return converge.Summary{Protocol: converge.Protocol, Identity: e.identity(n.Name), Ledger: ledger}, nil
}

// shortTime is what a group has for a call in which a node does not finish in time.
const shortTime = 500 * time.Millisecond

// withWork returns a site of nodes and groups in which every node has one thing to do.
func withWork(nodes []site.Node, groups []site.Group, script simulate.Outcomes) site.Site {
	for i := range groups {
		for phase, limit := range map[simulate.Phase]*time.Duration{simulate.Prepare: &groups[i].PrepareTimeout, simulate.Deploy: &groups[i].DeployTimeout} {
			for _, result := range script[phase] {
				if result == simulate.Timeout {
					*limit = shortTime
				}
			}
		}
	}
	return site.Site{Name: "vectors", Nodes: nodes, Groups: groups, Services: []site.Service{{
		Name: "motd", Configuration: resource.Configuration{"file": {"/etc/motd": {"content": "welcome\n"}}},
	}}}
}
