package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// State is what is remembered of a site between runs, beside its desired state. It has secrets. Losing it costs a
// survey of the nodes' ledgers.
type State struct {
	// Applied is what is applied on the nodes, by their ledgers, and which callbacks ran, under planner.Controller.
	Applied planner.Applied `json:"applied"`
	// Values are what callbacks returned: service -> attribute -> value. None is that of a sensitive attribute.
	Values map[string]map[string]any `json:"values,omitempty"`
	// Services is the inventory of services of entities.
	Services services.Inventory `json:"services,omitzero"`
	// Secret are the resources that were made of returned values which are not kept: node -> resource.
	Secret map[string]map[resource.ID]SecretDigests `json:"secret,omitempty"`
	// Departed are the secrets that reach nodes which left the site and are still to be torn down: node -> secrets.
	Departed map[string]Credentials `json:"departed,omitempty"`
	// Machines are the nodes' machines, as they were last seen.
	Machines map[string]converge.Identity `json:"machines,omitempty"`
	// Given are the nodes of a failed creation that the next one gave up, and that are still to be torn down, with
	// their secrets.
	Given map[string]site.Node `json:"given,omitempty"`
	// Unsure are nodes that left and may be nodes of the site at their new addresses: name -> node.
	Unsure map[string]string `json:"unsure,omitempty"`
	// Unasked are those of the unreachable nodes that nobody could ask, sorted: a destroy that they do not answer
	// forgets none of them.
	Unasked []string `json:"unasked,omitempty"`
}

// Silent returns those of the unreachable nodes that were asked: a destroy forgets them when they do not answer it
// either.
func (s State) Silent(unreachable []string) []string {
	return slices.DeleteFunc(slices.Clone(unreachable), func(node string) bool { return slices.Contains(s.Unasked, node) })
}

// fields are those of a State, without its methods.
type fields State

// versioned is the JSON form of a State. Version 1 had no values, version 2 no services.
type versioned struct {
	Version int `json:"version"`
	fields
}

const stateVersion = 3

// UnmarshalJSON reads a state of versions 1 to 3.
func (s *State) UnmarshalJSON(text []byte) error {
	var p versioned
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&p); err != nil || p.Version < 1 || p.Version > stateVersion {
		return fmt.Errorf("has version %d (%v); this slipway reads versions 1 to %d. "+
			"Use the version of slipway that wrote it, or a newer one", p.Version, err, stateVersion)
	}
	for _, values := range p.Values {
		for name, v := range values {
			values[name] = resource.PlainNumbers(v)
		}
	}
	*s = State(p.fields)
	return nil
}

// MarshalJSON writes a state in its newest version.
func (s State) MarshalJSON() ([]byte, error) {
	return json.Marshal(versioned{stateVersion, fields(s)})
}

// Credentials are the secrets of a node's own connection.
type Credentials struct {
	PrivateKey   string   `json:"private_key,omitempty"`
	Passphrase   string   `json:"passphrase,omitempty"`
	SudoPassword string   `json:"sudo_password,omitempty"`
	Bastions     []string `json:"bastions,omitempty"` // private keys, by hop
}

// CredentialsOf returns the secrets of a connection.
func CredentialsOf(c site.Connection) Credentials {
	out := Credentials{PrivateKey: c.PrivateKey, Passphrase: c.Passphrase, SudoPassword: c.SudoPassword}
	for _, b := range c.Bastions {
		out.Bastions = append(out.Bastions, b.PrivateKey)
	}
	return out
}

// Reaching returns nodes with the secrets that are remembered for those that departed.
func (s State) Reaching(nodes []site.Node) []site.Node {
	out := slices.Clone(nodes)
	for i, n := range out {
		secrets, ok := s.Departed[n.Name]
		if !ok {
			continue
		}
		c := &out[i].Connection
		c.PrivateKey, c.Passphrase, c.SudoPassword = secrets.PrivateKey, secrets.Passphrase, secrets.SudoPassword
		c.Bastions = slices.Clone(c.Bastions)
		for hop := range min(len(c.Bastions), len(secrets.Bastions)) {
			c.Bastions[hop].PrivateKey = secrets.Bastions[hop]
		}
	}
	return out
}

// WithoutSecrets returns what of the state holds no secret. Nodes that left are then reached with the defaults of
// connections.
func (s State) WithoutSecrets() State {
	s.Departed = nil
	s.Services = s.Services.WithoutSensitive()
	given := make(map[string]site.Node, len(s.Given))
	for name, n := range s.Given {
		given[name] = WithoutCredentials([]site.Node{n})[0]
	}
	s.Given = given
	return s
}

// WithoutCredentials returns nodes without the secrets of their connections.
func WithoutCredentials(nodes []site.Node) []site.Node {
	out := slices.Clone(nodes)
	for i := range out {
		c := &out[i].Connection
		c.PrivateKey, c.Passphrase, c.SudoPassword = "", "", ""
		c.Bastions = slices.Clone(c.Bastions)
		for hop := range c.Bastions {
			c.Bastions[hop].PrivateKey = ""
		}
	}
	return out
}

// WithGiven returns nodes, and after them the nodes that were given up and are still to be torn down, by name. One
// whose name the nodes have again is not added.
func (s State) WithGiven(nodes []site.Node) []site.Node {
	out := slices.Clone(nodes)
	for _, name := range slices.Sorted(maps.Keys(s.Given)) {
		if !slices.ContainsFunc(nodes, func(n site.Node) bool { return n.Name == name }) {
			out = append(out, s.Given[name])
		}
	}
	return out
}

// give remembers a node that was given up and is still to be torn down.
func (s *State) give(n site.Node) {
	if s.Given == nil {
		s.Given = map[string]site.Node{}
	}
	s.Given[n.Name] = n
}

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

// factsOf returns what machines are like, by node, of those that said it.
func factsOf(machines map[string]converge.Identity) map[string]*resource.Facts {
	out := make(map[string]*resource.Facts, len(machines))
	for node, id := range machines {
		if id.Facts != nil {
			out[node] = id.Facts
		}
	}
	return out
}

// reached reports whether a run or refresh reached a node at the address that it has in the state.
func (s State) reached(node string) bool {
	_, seen := s.Machines[node]
	return seen || s.Applied.Known(node) || s.Applied.Unread(node)
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
