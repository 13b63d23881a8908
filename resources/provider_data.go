package resources

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
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

// connection returns the defaults of nodes' connections. key, when it is not null, is a private key in PEM that counts
// before the provider's keys, for nodes whose own connection names no key.
func (p ProviderData) connection(key types.String) site.Connection {
	if k := key.ValueString(); k != "" {
		return site.Connection{PrivateKey: k}.Over(p.Connection)
	}
	return p.Connection
}

// Journals returns where the journals are.
func (p ProviderData) Journals() journal.Directory {
	return journal.Directory{Path: p.JournalDirectory, Setting: "journal_directory of the provider"}
}
