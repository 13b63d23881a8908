package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// replayLSM replays a vector about services: steps of one inventory, or what is wrong with a lifecycle.
func replayLSM(t testing.TB, f *file, v *vector) {
	v.inputs(t, "basis", "cite", "entities", "lifecycles", "given", "optimize", "partial", "steps", "lint")
	switch {
	case v.has("steps") == v.has("lint"):
		t.Fatal("the vector has both steps and lint, or neither")
	case v.has("lint"):
		replayLint(t, v)
	default:
		replaySteps(t, f, v)
	}
}

// replayLint compares the codes of what is wrong with a lifecycle, each once.
func replayLint(t testing.TB, v *vector) {
	k := known(t, "lint", v.keys["lint"], "lifecycle", "expect")
	node := k["lifecycle"]
	var l lifecycle.Lifecycle
	if name := ""; node.Decode(&name) == nil {
		l = lifecycleNamed(t, v, name)
	} else {
		l = lifecycleOf(t, "", node)
	}
	codes := make(map[string]bool)
	for _, p := range lifecycle.Lint(l) {
		t.Log(p)
		if p.Message == "" {
			t.Errorf("%s: no message", p.Code)
		}
		codes[string(p.Code)] = true
	}
	want := decode[[]string](t, k["expect"])
	slices.Sort(want)
	same(t, "codes", strings.Join(slices.Sorted(maps.Keys(codes)), " "), strings.Join(want, " "))
}

// replayLifecycles compares the shipped lifecycles with those of the file: the same states and transfers, in any order.
func replayLifecycles(t testing.TB, _ *file, v *vector) {
	if len(v.keys) == 0 {
		t.Fatal("no lifecycles")
	}
	for name, node := range v.keys {
		subtest(t, name, func(t testing.TB) {
			shipped, ok := document.ShippedLifecycle(name)
			if !ok {
				t.Fatal("is not shipped")
			}
			shipped.States = slices.Clone(shipped.States)
			shipped.Transfers = slices.Clone(shipped.Transfers)
			for i := range shipped.States { // what the file says nothing of
				shipped.States[i].PreviousOnValidate, shipped.States[i].PreviousOnExport = lifecycle.None, lifecycle.None
			}
			same(t, "lifecycle", sortedParts(shipped), sortedParts(lifecycleOf(t, name, node)))
			for _, p := range lifecycle.Lint(shipped) {
				t.Error(p)
			}
		})
	}
}

func sortedParts(l lifecycle.Lifecycle) lifecycle.Lifecycle {
	slices.SortFunc(l.States, func(a, b lifecycle.State) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(l.Transfers, func(a, b lifecycle.Transfer) int {
		return strings.Compare(a.Source+" "+string(a.Trigger)+" "+a.Target, b.Source+" "+string(b.Trigger)+" "+b.Target)
	})
	return l
}
