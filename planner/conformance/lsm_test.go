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
	codes := make(map[string]bool)
	if name := ""; node.Decode(&name) == nil {
		for _, p := range lifecycle.Lint(lifecycleNamed(t, v, name)) {
			codes[string(p.Code)] = true
		}
	} else if _, err := lifecycleOf(t, "lint", node); err != nil {
		for _, c := range complaints(t, err) {
			t.Log(c.text)
			codes[c.kind] = true
		}
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
			recorded, err := lifecycleOf(t, name, node)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "lifecycle", sortedParts(shipped), sortedParts(recorded))
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
