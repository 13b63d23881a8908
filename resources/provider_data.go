package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// ProviderData is what the provider hands to resources and data sources when it is configured.
type ProviderData struct {
	// Connection holds the defaults for every node: the provider's configuration over the environment. A node's own
	// `connect` goes over it (site.Connection.Over).
	Connection site.Connection
	// JournalDirectory is the folder of the journals, relative to the working directory of Terraform or absolute.
	JournalDirectory string
	// JournalURL is that of the PostgreSQL database with the journals, which counts before the directory; a secret.
	JournalURL string
	// Unknown says that some of the provider's configuration is not known yet, as in the plan that also creates the key
	// it uses. Connection or Handing is then incomplete and no node may be reached. It is never set during an apply.
	Unknown bool
	// Keys encrypt what runs leave for workers; nil: there are none.
	Keys *encryption.Keys
	// Handing says how runs are handed over to another engine; nil: this process executes them.
	Handing *engine.Handing
	// Runs is shared by everything that starts runs in this process, so that main can wait for them.
	Runs *engine.Runs
	// Seen is what the plan at work has come across.
	Seen *engine.Seen
}

// connection returns the defaults of nodes' connections. key, when it is not null, is a private key in PEM that counts
// before the provider's keys, for nodes whose own connection names no key.
func (p ProviderData) connection(key types.String) site.Connection {
	if k := key.ValueString(); k != "" {
		return site.Connection{PrivateKey: k, Names: map[string]string{"private_key": "private_key_wo"}}.Over(p.Connection)
	}
	return p.Connection
}

// Journals returns where the journals are.
func (p ProviderData) Journals() journal.Location {
	setting := "journal_directory of the provider"
	if p.JournalURL != "" {
		setting = "journal of the provider, or SLIPWAY_JOURNAL,"
	}
	return journal.Location{Path: p.JournalDirectory, URL: p.JournalURL, Setting: setting, Keys: p.Keys}
}

// Configure takes what the provider shares.
func (n *node) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	data, _ := values.Shared[ProviderData]("slipway_node", req.ProviderData, &resp.Diagnostics)
	n.seen = data.Seen
}

// Quiet promises that ModifyPlan does nothing for a node that does not change.
func (*node) Quiet() {}

// ModifyPlan changes nothing: it notes how a node that changes is reached, for the refresh of its deployment.
func (n *node) ModifyPlan(_ context.Context, req resource.ModifyPlanRequest, _ *resource.ModifyPlanResponse) {
	if n.seen == nil || req.State.Raw.IsNull() || req.Plan.Raw.IsNull() || !req.Plan.Raw.IsFullyKnown() {
		return
	}
	nodes, _, errs := document.NewValues(false).Nodes([]any{values.Plain(req.State.Raw), values.Plain(req.Plan.Raw)})
	if len(errs) == 0 && nodes[0].Name == nodes[1].Name { // the deployment says what is wrong
		n.seen.Note(nodes[0], nodes[1])
	}
}
