package resources

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// held is a resource that only holds desired state: a node, group, service or override. No host is ever touched, so no
// operation can half-fail; the deployment that takes the object does all work (terraform.md 6.1).
type held struct {
	object string // "node": the type is slipway_node
	schema func() schema.Schema
}

var (
	_ resource.ResourceWithImportState = (*held)(nil)
	_ values.Quiet                     = (*node)(nil)
)

func (h *held) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + h.object
}

func (h *held) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = h.schema()
}

func (h *held) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest,
	resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"name": identityschema.StringAttribute{RequiredForImport: true, Description: fmt.Sprintf("Name of the %s.",
			h.object)},
	}}
}

// ImportState takes the name; everything else comes from the configuration with the next apply, because there is no
// other place that knows it.
func (h *held) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughWithIdentity(ctx, path.Root("name"), path.Root("name"), req, resp)
	if resp.Diagnostics.HasError() {
		return
	}
	var name types.String
	resp.Diagnostics.Append(resp.State.GetAttribute(ctx, path.Root("name"), &name)...)
	if !values.IsName(name.ValueString()) {
		resp.Diagnostics.AddError("Invalid import id",
			fmt.Sprintf("A %s is imported by its name, and %q is not a name: it %s.", h.object, name.ValueString(), values.NameRule))
	}
}

func (h *held) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	resp.State.Raw = req.Plan.Raw
	resp.Diagnostics.Append(h.identify(ctx, &resp.State, resp.Identity)...)
}

// Idle promises that Read leaves the state as it is.
func (*held) Idle() {}

// Read leaves the state as it is: nothing outside of Terraform could have changed it.
func (h *held) Read(ctx context.Context, _ resource.ReadRequest, resp *resource.ReadResponse) {
	resp.Diagnostics.Append(h.identify(ctx, &resp.State, resp.Identity)...)
}

func (h *held) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.State.Raw = req.Plan.Raw
	resp.Diagnostics.Append(h.identify(ctx, &resp.State, resp.Identity)...)
}

// Delete forgets the object. A deployment that held it finds it gone in its own configuration and plans what follows.
func (h *held) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// identify sets the identity. That is done at every occasion: states that were written without one, and Terraform
// versions that do not keep it, need it (terraform.md 5.8).
func (h *held) identify(ctx context.Context, state *tfsdk.State, identity *tfsdk.ResourceIdentity) diag.Diagnostics {
	var name types.String
	diags := state.GetAttribute(ctx, path.Root("name"), &name)
	diags.Append(setIdentity(ctx, identity, "name", name)...)
	return diags
}
