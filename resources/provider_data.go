package resources

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// ProviderData is what the provider hands to resources and data sources when it is configured.
type ProviderData struct {
	// Connection holds the defaults for every node: the provider's configuration over the environment. A node's own
	// `connect` goes over it (site.Connection.Over).
	Connection site.Connection
	// JournalDirectory is the folder of the journals, relative to the working directory of Terraform or absolute.
	JournalDirectory string
	Version          string // of slipway
	// Unknown says that some of the provider's configuration is not known yet, as in the plan that also creates the key
	// it uses. Connection is then incomplete and must not be used to reach a node. It is never set during an apply.
	Unknown bool
	// Runs is shared by everything that starts runs in this process, so that main can wait for them.
	Runs *Runs
	// Planned are the nodes that the plan at work reaches otherwise.
	Planned *Planned
}

// reach returns the nodes as they are reached: each with its own connection over the provider's. key, when it is not
// null, is a private key in PEM that counts before the provider's keys, for nodes whose own connection names no key.
// The nodes given are not changed.
func (p ProviderData) reach(nodes []site.Node, key types.String) []site.Node {
	defaults := p.Connection
	if k := key.ValueString(); k != "" {
		defaults = site.Connection{PrivateKey: k}.Over(defaults)
	}
	out := make([]site.Node, len(nodes))
	for i, n := range nodes {
		n.Connection = n.Connection.Over(defaults)
		out[i] = n
	}
	return out
}
