package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// machinesOf returns which machines nodes are, of those that have not moved: what is known belongs to the address under
// which it was seen, and not to the name. before are the nodes of the prior state; all nodes carry the connections that
// count for them.
func (s State) machinesOf(before, now []site.Node) map[string]converge.Identity {
	at := make(map[string]converge.Identity, len(s.Machines))
	for _, n := range before {
		if id, known := s.Machines[n.Name]; known {
			at[n.Place()] = id
		}
	}
	out := make(map[string]converge.Identity, len(at))
	for _, n := range now {
		if id, known := at[n.Place()]; known {
			out[n.Name] = id
		}
	}
	return out
}

// reached reports whether a run or refresh reached a node at the address that it has in the state.
func (s State) reached(node string) bool {
	_, seen := s.Machines[node]
	return seen || s.Applied.Known(node)
}

// apart reports whether two nodes were seen to be two machines.
func (s State) apart(a, b string) bool {
	one, aSeen := s.Machines[a]
	other, bSeen := s.Machines[b]
	return aSeen && bSeen && !one.MayBe(other)
}

// oneMachine reports nodes that were seen to be one machine under several addresses. Those at one address are reported
// by [site.ValidatePlaces].
func oneMachine(nodes []site.Node, machines map[string]converge.Identity) (errs invalid.Errors) {
	nodes = slices.SortedFunc(slices.Values(nodes), func(a, b site.Node) int { return strings.Compare(a.Name, b.Name) })
	first := make(map[[2]string]site.Node, len(machines)) // boot id and root -> node
	for _, n := range nodes {
		id := machines[n.Name]
		if !id.Running() {
			continue
		}
		running := [2]string{id.Boot, id.Root}
		other, taken := first[running]
		if taken && other.Name != n.Name && other.Place() != n.Place() {
			errs = append(errs, invalid.Error{Object: "node", Name: n.Name, Attribute: "address", Code: invalid.SameMachine,
				Message: fmt.Sprintf("is the same machine as node %q, as both said when they were last asked; "+
					"a machine is one node, so keep one of the two", other.Name)})
		}
		if !taken {
			first[running] = n
		}
	}
	return errs
}
