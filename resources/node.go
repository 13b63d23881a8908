package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// NewNode returns slipway_node: a machine, as desired state.
func NewNode() resource.Resource {
	return &node{held: held{object: "node", schema: nodeSchema}}
}

// node is slipway_node.
type node struct {
	held
	seen *engine.Seen
}

var (
	_ resource.ResourceWithUpgradeState = (*node)(nil)
	_ resource.ResourceWithConfigure    = (*node)(nil)
	_ resource.ResourceWithModifyPlan   = (*node)(nil)
)

// Create refuses secrets that have moved once more: validation does not see those of an object that is unknown until
// then.
func (n *node) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	resp.Diagnostics.Append(movedSecrets(req.Plan.Raw)...)
	if !resp.Diagnostics.HasError() {
		n.held.Create(ctx, req, resp)
	}
}

// Update refuses secrets that have moved once more.
func (n *node) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.Diagnostics.Append(movedSecrets(req.Plan.Raw)...)
	if !resp.Diagnostics.HasError() {
		n.held.Update(ctx, req, resp)
	}
}

// UpgradeState reads the state of earlier versions. Version 0 had no credentials: the secrets of a connection stood
// beside everything else, where the schema of today still has attributes of their names ([movedAttribute]); so it reads
// version 0 too. What else a state holds, its schema allowed, and nothing is judged again.
func (*node) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	prior := nodeSchema()
	return map[int64]resource.StateUpgrader{
		0: {PriorSchema: &prior, StateUpgrader: func(_ context.Context, req resource.UpgradeStateRequest,
			resp *resource.UpgradeStateResponse) {
			upgraded, err := tftypes.Transform(req.State.Raw, gather)
			if err != nil {
				resp.Diagnostics.AddError("The saved state cannot be read", err.Error())
			}
			resp.State.Raw = upgraded
		}},
	}
}

// gather moves the secrets of a connection, or of a hop of it, from beside everything else into its credentials.
func gather(_ *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
	entries, _ := values.Entries(v)
	object, _ := v.Type().(tftypes.Object)
	below, ok := object.AttributeTypes[nodeCredentials].(tftypes.Object)
	if !ok || v.IsNull() {
		return v, nil
	}
	secrets, given := make(map[string]tftypes.Value, len(below.AttributeTypes)), false
	for name, typ := range below.AttributeTypes {
		secrets[name], entries[name] = entries[name], tftypes.NewValue(typ, nil)
		given = given || !secrets[name].IsNull()
	}
	if given {
		entries[nodeCredentials] = tftypes.NewValue(below, secrets)
	}
	return tftypes.NewValue(object, entries), nil
}

func nodeSchema() schema.Schema {
	return schema.Schema{
		Version: 1,
		MarkdownDescription: "A machine of the site, as desired state: what it is called, where it is found and what it is. Nothing connects to it before a `slipway_deployment` takes it. " +
			"Import takes the node's name; everything else then comes from the configuration.",
		Attributes: map[string]schema.Attribute{
			"name":    nameAttribute("node"),
			"address": text("Host name or IP address. A node with transport `local` has none.", addressValidator()),
			"rack":    text("Name of the rack that the node is in, for selectors.", stringvalidator.LengthAtLeast(1)),
			"tags":    set("Tags, for selectors.", stringvalidator.LengthAtLeast(1)),
			"labels": mapping(types.StringType, "Labels, key to value, for selectors. Neither keys nor values hold a colon or have white space around them, so that a selector can name them as `key:value`.",
				values.NoNulls{}, mapvalidator.KeysAre(labelValidator()), mapvalidator.ValueStringsAre(labelValidator())),
			"roles": set("Roles, for overrides.", values.NameValidator()),
			"zone": text("Zone of the node: with an engine that has workers, those of this zone reach it, and where none is set, those for nodes without a zone. It changes nothing of what is done on the node, and nothing without workers.",
				values.NameValidator()),
			nodeConnection: nodeConnectionAttribute(),
		},
	}
}

// nameAttribute is the name of a held object: its identity, so another name is another object.
func nameAttribute(object string) schema.StringAttribute {
	return schema.StringAttribute{
		Required: true,
		MarkdownDescription: "Name of the " + object +
			", unique in its site: letters, digits, dots, underscores and hyphens, beginning with a letter or digit. Another name is another " + object + ".",
		Validators:    []validator.String{values.NameValidator()},
		PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
	}
}
