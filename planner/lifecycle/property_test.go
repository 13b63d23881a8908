package lifecycle_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

func pick[T any](rnd *rand.Rand, from []T) T { return from[rnd.IntN(len(from))] }

// anyLifecycle makes a lifecycle at random: sometimes a sound one.
func anyLifecycle(rnd *rand.Rand) lifecycle.Lifecycle {
	l := lifecycle.Lifecycle{Name: "any", Initial: "s0"}
	sets := append(lifecycle.AllSets()[:2], lifecycle.None)
	count := 2 + rnd.IntN(6)
	for i := range count {
		s := lifecycle.State{Name: fmt.Sprintf("s%d", i), ValidateSelf: pick(rnd, sets),
			ValidateOthers: pick(rnd, sets), Export: rnd.IntN(2) == 0, Purge: rnd.IntN(5) == 0}
		if i == count-1 {
			s.Deleted, s.Export, s.Purge = true, rnd.IntN(20) == 0, false
		}
		if rnd.IntN(4) == 0 {
			s.Export, s.ValidateSelf, s.ValidateOthers, s.ModelState = false, "", "", pick(rnd, lifecycle.ModelStates())
			if s.Deleted {
				s.ModelState = lifecycle.Inactive
			}
		}
		l.States = append(l.States, s)
	}
	some := func() string { return l.States[rnd.IntN(count)].Name }
	op := func() lifecycle.Operation {
		if rnd.IntN(2) == 0 {
			return lifecycle.NoOperation
		}
		return pick(rnd, lifecycle.Operations())
	}
	type start struct {
		source  string
		trigger lifecycle.Trigger
	}
	taken := make(map[start]bool)
	for i := range count - 1 {
		for range 1 + rnd.IntN(4) {
			// Mostly forward, so that every state is reached and autos do not go in circles.
			t := lifecycle.Transfer{Source: l.States[i].Name, Target: l.States[i+1+rnd.IntN(count-1-i)].Name,
				Trigger: pick(rnd, lifecycle.Triggers()), Operation: op()}
			if t.Trigger != lifecycle.Auto {
				t.Target = some()
			}
			if rnd.IntN(2) == 0 {
				t.Target = l.States[i+1].Name
			}
			if key := (start{t.Source, t.Trigger}); taken[key] && rnd.IntN(30) > 0 {
				continue
			} else {
				taken[key] = true
			}
			t.Validate = (t.Trigger == lifecycle.Auto || t.Trigger == lifecycle.APISetState) && rnd.IntN(2) == 0
			if t.Validate || t.Trigger == lifecycle.ResourceBased {
				t.Error, t.ErrorOperation = some(), op()
				t.ErrorPreserves = rnd.IntN(4) == 0
			}
			if t.Trigger == lifecycle.Auto && rnd.IntN(3) == 0 {
				t.Config = pick(rnd, []string{"g1", "g2"})
			}
			t.Preserves = rnd.IntN(4) == 0
			l.Transfers = append(l.Transfers, t)
		}
	}
	return l
}

// stimulus does something at random with one of a few services, and returns which one it was.
func stimulus(rnd *rand.Rand, v *lifecycle.Inventory, e lifecycle.Entity) (string, lifecycle.Result, error) {
	id, m := pick(rnd, []string{"a", "b", "c"}), e.Machine
	in, _ := v.Instance(id)
	call := lifecycle.Call{ID: id, Version: in.Version, At: time.Unix(int64(rnd.IntN(1000)), 0)}
	if rnd.IntN(10) == 0 {
		call.Version = rnd.IntN(in.Version + 2)
	}
	state := func() string {
		return pick(rnd, append(m.Targets(in.State), pick(rnd, m.Lifecycle().States).Name))
	}
	outcome := func() lifecycle.Outcome {
		return pick(rnd, []lifecycle.Outcome{lifecycle.Succeeded, lifecycle.Succeeded, lifecycle.Failed,
			lifecycle.Waiting, "x"})
	}
	calls := []func() (lifecycle.Result, error){
		func() (lifecycle.Result, error) {
			return v.Create(lifecycle.Create{ID: id, Entity: e,
				Attributes: object{"name": pick(rnd, []string{"n", "m", id}), "size": int64(rnd.IntN(3))}})
		},
		func() (lifecycle.Result, error) {
			return v.Update(call, object{"name": pick(rnd, []any{"n", "m", id}),
				pick(rnd, []string{"size", "note", "vni"}): pick(rnd, []any{int64(1), int64(2), "x"})}, "")
		},
		func() (lifecycle.Result, error) { return v.Delete(call) },
		func() (lifecycle.Result, error) { return v.SetState(call, state()) },
		func() (lifecycle.Result, error) {
			return v.SetConfig(call, map[string]bool{pick(rnd, []string{"g1", "g2", "g3"}): rnd.IntN(2) == 0})
		},
		func() (lifecycle.Result, error) {
			return v.Validated(call, lifecycle.Validation{OK: rnd.IntN(3) > 0,
				ForVersion: pick(rnd, []int{0, in.Version, 1})})
		},
		func() (lifecycle.Result, error) {
			candidate := maps.Clone(in.Candidate)
			if candidate != nil {
				candidate["vni"] = int64(rnd.IntN(3))
			}
			return v.Validated(call, lifecycle.Validation{OK: rnd.IntN(3) > 0, Candidate: candidate})
		},
		func() (lifecycle.Result, error) {
			return v.Deployed(call, outcome(), pick(rnd, []int{0, in.DesiredVersion, 1}))
		},
		func() (lifecycle.Result, error) {
			return v.ForceState(call, state(), pick(rnd, append(lifecycle.Operations(), lifecycle.NoOperation)))
		},
		func() (lifecycle.Result, error) {
			if rnd.IntN(4) > 0 {
				return v.SetConfig(call, in.Config)
			}
			return v.Forget(call)
		},
	}
	result, err := pick(rnd, calls)()
	return id, result, err
}

// TestMachinesKeepTheirRules gives random stimuli to services of random and of shipped lifecycles.
func TestMachinesKeepTheirRules(t *testing.T) {
	machines, refused := 0, 0
	follow := func(seed uint64, l lifecycle.Lifecycle) {
		m, errs := lifecycle.New(l)
		if errs != nil {
			refused++
			return
		}
		machines++
		// Twice, because the same calls on the same inventory have the same results.
		if d := cmp.Diff(walk(t, seed, m), walk(t, seed, m)); d != "" {
			t.Fatalf("seed %d: two walks differ:\n%s", seed, d)
		}
		if t.Failed() {
			t.Fatalf("seed %d: %+v", seed, l)
		}
	}
	for seed := range uint64(1500) {
		follow(seed, anyLifecycle(rand.New(rand.NewPCG(seed, 1))))
	}
	for i, l := range document.ShippedLifecycles() {
		for seed := range uint64(10) {
			follow(uint64(i)*100+seed, l)
		}
	}
	t.Logf("%d machines, %d lifecycles refused", machines, refused)
	if machines < 200 || refused < 200 {
		t.Errorf("%d machines and %d refused lifecycles tell too little", machines, refused)
	}
}

// walk gives a machine 60 stimuli, and checks what holds after each.
func walk(t *testing.T, seed uint64, m *lifecycle.Machine) []lifecycle.Event {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 2))
	v := lifecycle.NewInventory()
	e := lifecycle.Entity{Entity: resolvedPlain(t), Machine: m}
	var events []lifecycle.Event
	stuck := make(map[string]bool) // where an automatic transfer was aborted
	for range 60 {
		before := make(map[string]lifecycle.Instance)
		for _, in := range v.Instances() {
			before[in.ID] = in
		}
		id, result, err := stimulus(rnd, v, e)
		events = append(events, result.Events...)
		var refusal invalid.Errors
		if err != nil {
			if !errors.As(err, &refusal) || refusal[0].Message == "" || len(result.Trace) > 0 {
				t.Errorf("a refusal that is none: %v, %+v", err, result)
			}
			after := make(map[string]lifecycle.Instance)
			for _, in := range v.Instances() {
				after[in.ID] = in
			}
			if d := cmp.Diff(before, after); d != "" {
				t.Errorf("%s was refused, and changed something:\n%s", id, d)
			}
			continue
		}
		hops := make(map[string]int)
		for _, h := range result.Trace {
			hops[h.ID]++
			delete(stuck, h.ID)
		}
		for _, e := range result.Events {
			if e.Step == lifecycle.Aborted {
				stuck[e.Service] = true
			}
		}
		for _, in := range v.Instances() {
			old := before[in.ID]
			if old.ID == "" {
				old.Version, old.DesiredVersion = 1, 1
			}
			if in.Version != old.Version+hops[in.ID] {
				t.Errorf("%s: version %d after %d with %d transfers", in.ID, in.Version, old.Version, hops[in.ID])
			}
			if moved := in.DesiredVersion - old.DesiredVersion; moved < 0 || moved > hops[in.ID] {
				t.Errorf("%s: desired version %d after %d with %d transfers", in.ID, in.DesiredVersion,
					old.DesiredVersion, hops[in.ID])
			}
			atRest(t, m, in, stuck[in.ID])
		}
		for _, e := range result.Events {
			if e.Correlation != lifecycle.Correlation(e.Service, e.Version) || e.Step == "" || e.Type == "" {
				t.Errorf("%+v", e)
			}
		}
		if _, err := v.Validation(id); (err != nil) != !ids(v)[id] {
			t.Errorf("validation of %s: %v", id, err)
		}
		members, _ := v.Export()
		for _, member := range members {
			if in, _ := v.Instance(member.ID); in.Deleted || in.Active == nil {
				t.Errorf("%s is exported: %+v", member.ID, in)
			}
		}
	}
	return events
}

func ids(v *lifecycle.Inventory) map[string]bool {
	out := make(map[string]bool)
	for _, in := range v.Instances() {
		out[in.ID] = true
	}
	return out
}

// atRest checks a service that settled.
func atRest(t *testing.T, m *lifecycle.Machine, in lifecycle.Instance, stopped bool) {
	t.Helper()
	s, ok := m.State(in.State)
	if !ok || in.Deleted != s.Deleted {
		t.Errorf("%+v", in)
	}
	auto, has := m.Transfer(in.State, lifecycle.Auto)
	switch open := has && (auto.Config == "" || !isClosed(in.Config, auto.Config)); {
	case in.Deleted && in.Pending != nil:
		t.Errorf("a deleted service waits: %+v", in.Pending)
	case in.Deleted || stopped:
	case open && !auto.Validate:
		t.Errorf("%s rests in %s, which an open transfer leads out of", in.ID, in.State)
	case open && in.Pending == nil:
		t.Errorf("%s waits for nothing in %s", in.ID, in.State)
	}
	if p := in.Pending; p != nil && (p.Version != in.Version || p.Error == "") {
		t.Errorf("%+v waits for %+v", in, *p)
	}
}

func isClosed(gates map[string]bool, gate string) bool {
	open, said := gates[gate]
	return said && !open
}

func resolvedPlain(t *testing.T) *catalog.Entity {
	t.Helper()
	return resolved(t, plain("p", "any"))[0]
}

// TestEveryStateCanBeLeftForGood: in shipped lifecycles some stimuli lead from every state to a deleted one.
func TestEveryStateCanBeLeftForGood(t *testing.T) {
	for _, l := range document.ShippedLifecycles() {
		ends := make(map[string]bool)
		for _, s := range l.States {
			ends[s.Name] = s.Deleted
		}
		for range l.States {
			for _, transfer := range l.Transfers {
				ends[transfer.Source] = ends[transfer.Source] || ends[transfer.Target] || ends[transfer.Error]
			}
		}
		for state, end := range ends {
			if !end {
				t.Errorf("%s: nothing leads from %s to the end", l.Name, state)
			}
		}
	}
}

// TestAcceptedLifecyclesReachAllStates: what New takes has no state that a service never comes to.
func TestAcceptedLifecyclesReachAllStates(t *testing.T) {
	for seed := range uint64(1500) {
		l := anyLifecycle(rand.New(rand.NewPCG(seed, 1)))
		if _, errs := lifecycle.New(l); errs != nil {
			continue
		}
		reached := map[string]bool{l.Initial: true}
		for range l.States {
			for _, transfer := range l.Transfers {
				if reached[transfer.Source] {
					reached[transfer.Target], reached[transfer.Error] = true, true
				}
			}
		}
		for _, s := range l.States {
			if !reached[s.Name] {
				t.Fatalf("seed %d: %s is never reached: %+v", seed, s.Name, l)
			}
		}
	}
}
