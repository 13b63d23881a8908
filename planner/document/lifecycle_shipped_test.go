package document

import (
	"maps"
	"slices"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

func TestShippedLifecycles(t *testing.T) {
	// States and transfers as lsm.md 11 counts them.
	want := map[string][2]int{
		"simple": {17, 29}, "simple_with_delete_validate": {21, 37}, "simple_with_set_state": {11,
			16}, "simple_with_deallocation": {18, 30},
		"service": {20, 53}, "service_with_delete_validate": {24, 61}, "service_2020": {16, 34}, "cloudconnect": {26,
			49}, "basic_optimized": {7, 6},
		"slipway_default": {13, 24},
	}
	got := make(map[string][2]int)
	for _, l := range ShippedLifecycles() {
		got[l.Name] = [2]int{len(l.States), len(l.Transfers)}
		for _, p := range lifecycle.Lint(l) {
			t.Errorf("%s: %v", l.Name, p)
		}
		if found, ok := ShippedLifecycle(l.Name); !ok || found.Name != l.Name {
			t.Errorf("%s is not found", l.Name)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if _, ok := ShippedLifecycle("nothing"); ok {
		t.Error("found nothing")
	}
}

func TestTheDefaultHasTheGateOfRollbacks(t *testing.T) {
	l, ok := ShippedLifecycle(catalog.DefaultLifecycle)
	if !ok {
		t.Fatal("it is missing")
	}
	m, errs := lifecycle.New(l)
	if errs != nil || !slices.Contains(m.Gates(), lifecycle.AutoRollback) {
		t.Errorf("got %v, %v", m.Gates(), errs)
	}
}
