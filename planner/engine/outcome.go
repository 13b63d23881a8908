package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// Status is how a site stands after a run.
type Status string

// The statuses of a site.
const (
	Deployed    Status = "deployed"
	Degraded    Status = "degraded" // nodes or groups that are not critical failed
	Limited     Status = "limited"  // the part that limit names is deployed
	Paused      Status = "paused"   // what may run now is deployed
	Failed      Status = "failed"
	Interrupted Status = "interrupted"
	Destroyed   Status = "destroyed" // nothing of it is left on a node that answers
)

// Outcome is what a run left behind.
type Outcome struct {
	Status Status // empty: no node was touched, or the run goes on, and nothing else is set but Messages
	Run    string // that was handed over, and has ended; empty for others
	Active string // run that was handed over and goes on
	State  State  // what to remember
	// Kept are nodes that left the site and are still to be torn down, because the run failed: name -> name in the prior
	// state, or in the creation that is replaced. They belong with the nodes of the next Prior.
	Kept map[string]string

	Groups, Nodes map[string]string // their stages
	Unreachable   []string          // nodes that did not answer, sorted
	Services      *services.Transition
	Done          []string // what the run did, a line each

	// Of a tear-down: how it went, and the unreachable nodes that answered the last check or run. As long as there are any
	// of these, the site stays; the other unreachable ones are forgotten with it.
	Report string
	Lost   []string
	Messages
}

func (o *Outcome) failed() bool { return o.Status == Failed || o.Status == Interrupted }

// keep keeps a node that left the site and is still to be torn down: its name, its name before, and its own connection,
// whose secrets only the remembered state may have.
func (o *Outcome) keep(name, was string, own site.Connection) {
	if o.Kept == nil {
		o.Kept = map[string]string{}
	}
	if o.State.Departed == nil {
		o.State.Departed = map[string]Credentials{}
	}
	o.Kept[name], o.State.Departed[name] = was, CredentialsOf(own)
}

// Begun returns what is remembered of a creation that goes on without Terraform, or that was refused: nothing is known
// of the site, and what the creation that it replaces worked on is kept.
func (o Outcome) Begun(s site.Site, replaced []site.Node) Outcome {
	o.Status, o.State.Applied = Interrupted, planner.Applied{}
	for _, n := range notAmong(replaced, s.Nodes) {
		o.keep(n.Name, n.Name, n.Connection)
	}
	for _, n := range replaced {
		if _, gone := o.Kept[n.Name]; gone || slices.Contains(site.NodeNames(s.Nodes), n.Name) {
			o.State.Applied[n.Name] = unknownLedger()
		}
	}
	return o.Of(s)
}

// conclude turns the report of a run into what to remember of nodes and groups.
func (a *application) conclude(out *Outcome, report rollout.Report) {
	state := State{Applied: planner.Applied{}, Values: a.past.Values, Machines: a.options.Machines.Known()}
	maps.DeleteFunc(state.Machines, func(name string, _ converge.Identity) bool {
		_, here := report.Nodes[name]
		return !here
	})
	out.Groups = map[string]string{}
	for _, g := range report.Groups {
		out.Groups[g.Name] = string(g.Stage)
	}
	stages := map[string]string{}
	for _, node := range slices.Sorted(maps.Keys(report.Nodes)) {
		n := report.Nodes[node]
		if n.Stage != "" {
			stages[node] = string(n.Stage)
		}
		if n.Attempted && !n.Reachable || !n.Attempted && a.prior != nil && slices.Contains(a.prior.Unreachable, node) {
			out.Unreachable = append(out.Unreachable, node)
			if n.Attempted && rollout.Unasked(n.Error) || !n.Attempted && slices.Contains(a.past.Unasked, node) {
				state.Unasked = append(state.Unasked, node)
			}
		}
		ledger := n.Applied(a.past.Applied[node])
		if a.how.CheckAll && n.Stage != strategy.Deployed {
			ledger = planner.Applied{node: ledger}.Unfinished()[node] // it is still to be checked again
		}
		if len(ledger) > 0 {
			state.Applied[node] = ledger
		}
	}
	out.Nodes = nodeStages(a.Site.Nodes, stages)
	a.concludeDeparted(&state, report)
	out.State = state
	switch {
	case report.Status == rollout.StatusInterrupted:
		out.Status = Interrupted
	case failed(report, a.Plan):
		out.Status = Failed
	case report.Status == rollout.StatusPaused:
		out.Status = Paused
	case report.Status == rollout.StatusDegraded:
		out.Status = Degraded
	case len(a.Plan.Held) > 0:
		out.Status = Paused
	case a.Plan.Limited != nil:
		out.Status = Limited
	default:
		out.Status = Deployed
	}
}

// concludeDeparted takes over what is applied on nodes that are not in the report's nodes.
func (a *application) concludeDeparted(state *State, report rollout.Report) {
	for node, ledger := range a.past.Applied {
		if _, in := report.Nodes[node]; in {
			continue
		}
		d, left := report.Departed[node]
		if left && d.Status == rollout.Kept && report.Nodes[d.Node].Ledger == nil {
			merged := maps.Clone(ledger) // the machine has it, under its other name
			maps.Copy(merged, state.Applied[d.Node])
			state.Applied[d.Node] = merged
		}
		if left && d.Status != rollout.NotTornDown {
			continue
		}
		state.Applied[node] = ledger
	}
	for name, n := range a.past.Given {
		if _, here := report.Nodes[name]; !here && len(state.Applied[name]) > 0 {
			state.give(n)
		}
	}
}

// failed reports whether the run ends in an error. A node that left the site and is not torn down counts too: only a
// failed run may keep it.
func failed(r rollout.Report, p *planner.Plan) bool {
	for _, name := range p.Departed {
		if r.Departed[name].Status == rollout.NotTornDown {
			return true
		}
	}
	return r.Status == rollout.StatusFailed || r.Status == rollout.StatusInterrupted
}

// learn notes what a run, which started with p, did on the controller: which callbacks ran, and what they returned.
func (a *application) learn(out *Outcome, p *planner.Plan, report rollout.Report) {
	var misfits []misfit
	out.State.Values, misfits = learn(a.Deployed, a.past.Values, report.Values)
	for _, m := range misfits {
		undone(a.called, m.callback())
		out.warn("A callback returned what the service cannot take",
			"%s\nIt is not kept, and the callback runs again with the next apply.", m)
	}
	if delete(out.State.Applied, planner.Controller); len(a.called) > 0 {
		out.State.Applied[planner.Controller] = a.called
	}
	out.State.Secret = secrets(a.past.Secret, a.Deployed, p, out.State)
}

// keepDeparted keeps nodes that left the site and could not be torn down, with the secrets that reach them, so that the
// next plan tries again. Those that wait outside of the limit are kept apart, because a successful run has no nodes in
// the state but those of the site.
func (a *application) keepDeparted(out *Outcome, report rollout.Report) {
	left := slices.DeleteFunc(slices.Clone(a.Plan.Waiting), func(name string) bool {
		_, here := report.Nodes[name]
		return here || slices.ContainsFunc(a.Site.Nodes, func(n site.Node) bool { return n.Name == name })
	})
	waiting := len(left)
	if failed(report, a.Plan) {
		left = append(left, a.Plan.Departed...)
	}
	was := map[string]string{} // the name of a node that left -> in the prior state
	for _, n := range a.prior.Nodes {
		was[n.Name] = n.Name
	}
	for _, l := range a.Left {
		was[l.Name] = l.Node
	}
	for i, name := range left {
		if _, given := out.State.Given[name]; given || len(out.State.Applied[name]) == 0 {
			continue
		}
		prior := slices.IndexFunc(a.prior.Nodes, func(n site.Node) bool { return n.Name == was[name] })
		if node, is := a.Unsure[name]; is {
			if out.State.Unsure == nil {
				out.State.Unsure = map[string]string{}
			}
			out.State.Unsure[name] = node
		}
		if id, known := a.past.Machines[was[name]]; known {
			out.State.Machines[name] = id
		}
		if i < waiting && prior >= 0 {
			n := a.prior.Nodes[prior]
			n.Name = name
			out.State.give(n)
			continue
		}
		var own site.Connection
		if prior >= 0 {
			own = a.prior.Nodes[prior].Connection
		}
		out.keep(name, was[name], own)
	}
}

// report says how the run went, when there is something to say.
func (o *Outcome) report(ctx context.Context, r rollout.Report) {
	const rest = "\nThe state holds what was reached. Apply again; the next plan shows the rest."
	var over *TimeLimitError
	switch {
	case o.Status == Interrupted && errors.As(context.Cause(ctx), &over):
		o.fail("The run ran out of time", "%v.\n\n%v%s", over, r, rest)
	case o.Status == Interrupted:
		o.fail("The run was interrupted", "%v%s", r, rest)
	case o.Status == Failed:
		o.fail("The site was not rolled out",
			"%v\nThe state holds what was reached. Fix the cause and apply again; the next plan shows the rest.", r)
	case o.Status == Paused:
		o.warn("The run is paused", "%v\nNothing more may be started now. The next plan shows the rest.", r)
	case o.Status == Degraded:
		o.warn("The site was rolled out in part", "%v\nNo critical group failed. The next plan shows the rest.", r)
	case len(r.Warnings) > 0:
		o.warn("The site was rolled out, with remarks", "%v", r)
	}
}

// tainted adds to the error of a creation what Terraform will show next.
func (o *Outcome) tainted() {
	for _, e := range o.Messages {
		if m, ok := e.(*Message); ok && !m.Warning && strings.HasSuffix(m.Detail, "the next plan shows the rest.") {
			m.Detail += " Terraform plans to replace the deployment then, because its creation failed: nothing is torn down " +
				"for that, and what is done is not done again."
		}
	}
}

// reportRollbacks fails the run for every service whose update was rolled back.
func (o *Outcome) reportRollbacks(t *services.Transition) {
	state := t.State()
	for _, r := range t.RolledBack() {
		now := state.Records[r.Service]
		outcome := fmt.Sprintf("What version %d had is deployed again, as version %d", r.Previous, now.Version)
		if last := t.StateOf(r.Service); last.Label == lifecycle.Danger || last.Label == lifecycle.Warning {
			outcome = fmt.Sprintf("Deploying what version %d had failed as well: the service is in the state %s, version %d",
				r.Previous, last.Name, now.Version)
		}
		o.Messages = append(o.Messages, &Message{Attribute: "services",
			Summary: fmt.Sprintf("The update of the service %q was rolled back", r.Service),
			Detail: fmt.Sprintf("Version %d failed: %s.\n%s. The next plan shows the change again; fix its cause first, "+
				"or take it back.", r.Failed, r.Message, outcome)})
	}
}
