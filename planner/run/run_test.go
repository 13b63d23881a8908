package run

import (
	"slices"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// A failure budget that one group spends ends what waits in another one at once, not with the next event.
func TestBudgetSpentByAnotherGroup(t *testing.T) {
	group := func(name, node string, rolling *site.Rolling) site.Group {
		return site.Group{Name: name, DeployTimeout: time.Minute, Rolling: rolling,
			Selectors: site.Selectors{{NodeNames: []string{node}}}}
	}
	s := site.Site{Name: "s", Nodes: []site.Node{{Name: "a"}, {Name: "b"}}, Groups: []site.Group{group("g", "a", nil),
		group("h", "b", &site.Rolling{MaxParallel: 1, Lock: "drain", Unlock: "undrain"})}}
	phase := func(in task.Group, group, node string, kind task.Kind) planner.Phase {
		return planner.Phase{TaskGroup: in, Group: group, Tasks: []task.Task{{Node: node, Kind: kind, Name: "p/" + node}}}
	}
	p := planFor(s, []planner.Phase{phase(task.PreNode, "g", "a", task.Callback), phase(task.Node, "g", "a", task.Config),
		phase(task.Node, "h", "b", task.Callback)})
	none := 0
	p.MayFail = &none
	program, err := Compile(s, p, Settings{Parallelism: 1, ParallelGroups: 2})
	if err != nil {
		t.Fatal(err)
	}
	m, at := New(program), time.Time{}
	running := m.Handle(Event{Kind: Begin}, at)
	end := func(node string, purpose Purpose, kind Kind) []Command {
		t.Helper()
		i := slices.IndexFunc(running, func(c Command) bool {
			return c.Kind == Start && c.Node == node && c.ID.Purpose == purpose && c.Session.Kind == kind
		})
		if i < 0 {
			t.Fatalf("%s %s of %s does not run: %+v", purpose, kind, node, running)
		}
		r := Result{Outcome: Succeeded, Sent: true}
		if running[i].Keep {
			r.Lock = IsLocked
		}
		out := m.Handle(Event{Kind: Ended, ID: running[i].ID, Result: r}, at)
		running = append(running, out...)
		return out
	}
	end("a", Work, Prepare)
	end("b", Work, Prepare)
	end("b", LockFirst, Callback) // the callback of b waits for that of a
	at = at.Add(2 * time.Minute)
	out := end("a", Work, Callback)
	if !slices.ContainsFunc(out, func(c Command) bool { return c.Kind == PhaseFinished && c.Phase == 2 && c.Failed }) {
		t.Errorf("phase 2 of g does not end when the budget is spent: %+v", out)
	}
}
