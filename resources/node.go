package resources

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// NewNode returns slipway_node: a machine, as desired state.
func NewNode() resource.Resource {
	return &node{held: held[nodeModelV1]{object: "node", schema: nodeSchema}}
}

// node is slipway_node.
type node struct {
	held[nodeModelV1]
	planned *Planned
}

var (
	_ resource.ResourceWithUpgradeState = (*node)(nil)
	_ resource.ResourceWithConfigure    = (*node)(nil)
	_ resource.ResourceWithModifyPlan   = (*node)(nil)
)

// nodeModelV1 is a node at schema version 1.
type nodeModelV1 struct {
	Name       types.String    `tfsdk:"name"`
	Address    types.String    `tfsdk:"address"`
	Rack       types.String    `tfsdk:"rack"`
	Tags       types.Set       `tfsdk:"tags"`
	Labels     types.Map       `tfsdk:"labels"`
	Roles      types.Set       `tfsdk:"roles"`
	Connection *connectModelV1 `tfsdk:"connect"`
}

// Value returns the node that a wholly known model describes.
func (m nodeModelV1) Value(ctx context.Context) (site.Node, invalid.Errors) {
	n := site.Node{Name: m.Name.ValueString(), Address: m.Address.ValueString(), Rack: m.Rack.ValueString()}
	n.Tags, _ = stringsOf(m.Tags)
	n.Roles, _ = stringsOf(m.Roles)
	slices.Sort(n.Tags) // a set arrives in an order of its own
	slices.Sort(n.Roles)
	if elements := m.Labels.Elements(); len(elements) > 0 {
		n.Labels = make(map[string]string, len(elements))
		for _, key := range slices.Sorted(maps.Keys(elements)) {
			if s, ok := elements[key].(types.String); ok {
				n.Labels[key] = s.ValueString()
			}
		}
	}
	var errs invalid.Errors
	if m.Connection != nil {
		n.Connection, errs = m.Connection.Value(ctx)
		for i := range errs {
			errs[i].Attribute = namePath(nodeConnection, errs[i].Attribute)
		}
	}
	return n, errs
}

// Create refuses secrets that have moved once more: validation does not see those of an object that is unknown until
// then.
func (n *node) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	resp.Diagnostics.Append(movedSecrets(path.Empty(), req.Plan.Raw)...)
	if !resp.Diagnostics.HasError() {
		n.held.Create(ctx, req, resp)
	}
}

// Update refuses secrets that have moved once more.
func (n *node) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.Diagnostics.Append(movedSecrets(path.Empty(), req.Plan.Raw)...)
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
		0: {PriorSchema: &prior, StateUpgrader: func(ctx context.Context, req resource.UpgradeStateRequest,
			resp *resource.UpgradeStateResponse) {
			var r reading
			resp.State.Raw = r.conform("", req.State.Raw, prior.Type().TerraformType(ctx))
		}},
	}
}

func nodeSchema() schema.Schema {
	return schema.Schema{
		Version: 1,
		MarkdownDescription: "A machine of the site, as desired state: what it is called, where it is found and what it is. Nothing connects to it before a `slipway_deployment` takes it. " +
			"Import takes the node's name; everything else then comes from the configuration.",
		Attributes: map[string]schema.Attribute{
			"name": nameAttribute("node"),
			"address": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Host name or IP address. A node with transport `local` has none.",
				Validators:          []validator.String{addressValidator()},
			},
			"rack": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Name of the rack that the node is in, for selectors.",
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			"tags": schema.SetAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Tags, for selectors.",
				Validators: []validator.Set{setvalidator.NoNullValues(),
					setvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1))},
			},
			"labels": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Labels, key to value, for selectors. Neither keys nor values hold a colon or have white space around them, so that a selector can name them as `key:value`.",
				Validators: []validator.Map{mapvalidator.NoNullValues(), mapvalidator.KeysAre(labelValidator()),
					mapvalidator.ValueStringsAre(labelValidator())},
			},
			"roles": schema.SetAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Roles, for overrides.",
				Validators:          []validator.Set{setvalidator.NoNullValues(), setvalidator.ValueStringsAre(NameValidator())},
			},
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
		Validators:    []validator.String{NameValidator()},
		PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
	}
}
