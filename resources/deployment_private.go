package resources

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// privateKey holds what a deployment remembers of its runs. Create, Read and Update always set it, because its absence
// means something: Terraform gives Delete no private state when it replaces a tainted deployment, and then no node may
// be touched (terraform.md 5.5).
const privateKey = "applied"

// memory is what a deployment remembers of its runs.
type memory struct {
	// Applied is what is applied on the nodes, as their ledgers reported, and which callbacks ran, under
	// planner.Controller.
	Applied planner.Applied
	// Values are what callbacks returned: service -> attribute -> value. None is that of a sensitive attribute.
	Values map[string]map[string]any
	// Services is the inventory of services of entities.
	Services services.Inventory
	// Secret are the resources that were made of returned values which are not kept: node -> resource.
	Secret map[string]map[planresource.ID]secretly
	// Departed are the secrets that reach nodes which left the configuration and are still to be torn down: node ->
	// secrets.
	Departed map[string]credentials
	// Machines are the nodes' machines, as they were last seen.
	Machines map[string]converge.Identity
	// Unsure are nodes that left and may be nodes of the site at their new addresses: name -> node.
	Unsure map[string]string
	// Given are the nodes of a failed creation that the next one gave up, and that are still to be torn down, with
	// their secrets.
	Given map[string]site.Node
}

// secretly are the two digests of a resource that is made of a value which is not kept.
type secretly struct {
	Planned string `json:"planned"` // as a plan has it, which does not know the value
	Applied string `json:"applied"` // as the run that knew the value applied it
	Service string `json:"service"` // that brings the resource
	Inputs  string `json:"inputs"`  // digest of everything else that the resource may be made of
}

// privateV3 is the content of privateKey. Version 1 had no values, version 2 no services.
type privateV3 struct {
	Version int                       `json:"version"`
	Applied planner.Applied           `json:"applied"`
	Values  map[string]map[string]any `json:"values,omitempty"`

	Services services.Inventory `json:"services,omitzero"`

	Secret map[string]map[planresource.ID]secretly `json:"secret,omitempty"`

	Departed map[string]credentials `json:"departed,omitempty"`

	Machines map[string]converge.Identity `json:"machines,omitempty"`

	Given map[string]site.Node `json:"given,omitempty"`

	Unsure map[string]string `json:"unsure,omitempty"`
}

const privateVersion = 3

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// recall returns what the deployment remembers; saved is false when there is no private state.
func recall(ctx context.Context, from privateReader) (m memory, saved bool, diags diag.Diagnostics) {
	raw, diags := from.GetKey(ctx, privateKey)
	if diags.HasError() || len(raw) == 0 {
		return memory{}, false, diags
	}
	var p privateV3
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&p); err != nil || p.Version < 1 || p.Version > privateVersion {
		diags.AddError("Private state is not readable",
			fmt.Sprintf("The deployment's private state has version %d (%v); this slipway reads versions 1 to %d. Use the version of slipway that wrote it, or a newer one.", p.Version, err, privateVersion))
		return memory{}, false, diags
	}
	for _, values := range p.Values {
		for name, v := range values {
			values[name] = catalog.PlainNumbers(v)
		}
	}
	return memory{Applied: p.Applied, Values: p.Values, Services: p.Services, Secret: p.Secret, Departed: p.Departed, Machines: p.Machines, Given: p.Given, Unsure: p.Unsure}, true, diags
}

// remember saves what the deployment remembers.
func remember(ctx context.Context, to privateWriter, m memory) (diags diag.Diagnostics) {
	raw, err := json.Marshal(privateV3{Version: privateVersion, Applied: m.Applied, Values: m.Values, Services: m.Services, Secret: m.Secret, Departed: m.Departed, Machines: m.Machines, Given: m.Given, Unsure: m.Unsure})
	if err != nil {
		diags.AddError("Private state cannot be saved", err.Error())
		return diags
	}
	return to.SetKey(ctx, privateKey, raw)
}
