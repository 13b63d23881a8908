package engine

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Two nodes at one address are one error, also when they were asked which machine they are.
func TestNodesAtOneAddressAreOneError(t *testing.T) {
	id := converge.Identity{Machine: "m", Boot: "b", Root: "r"}
	machines := map[string]converge.Identity{"a": id, "b": id}
	for address, want := range map[string]int{"10.0.0.1": 1, "db1.example": 1} {
		nodes := []site.Node{{Name: "a", Address: "10.0.0.1"}, {Name: "b", Address: address}}
		if got := append(site.ValidatePlaces(nodes), oneMachine(nodes, machines)...); len(got) != want {
			t.Errorf("a at 10.0.0.1 and b at %s: %d errors, want %d: %v", address, len(got), want, got)
		}
	}
}
