package datasources

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// NewNodes returns slipway_nodes: the nodes that selectors select. facts is the type of the facts of a node.
func NewNodes(facts types.ObjectType) datasource.DataSource {
	return &nodesSource{named: "nodes", facts: facts}
}

type nodesSource struct {
	named
	facts    types.ObjectType
	provider Provider
}

var _ datasource.DataSourceWithConfigure = (*nodesSource)(nil)

// Configure learns from the provider how nodes are reached.
func (s *nodesSource) Configure(_ context.Context, req datasource.ConfigureRequest,
	resp *datasource.ConfigureResponse) {
	s.provider, _ = configured(s.named, req, resp)
}

type nodesModelV0 struct {
	Nodes     types.Dynamic `tfsdk:"nodes"`
	Selectors []selectorV0  `tfsdk:"selectors"`
	Names     []string      `tfsdk:"names"`
	Selected  types.Dynamic `tfsdk:"selected"`
	Gather    types.Bool    `tfsdk:"gather_facts"`
	Facts     types.Map     `tfsdk:"facts"`
}

// selectorV0 is one selector; what is not given is nil.
type selectorV0 struct {
	NodeNames  []string `tfsdk:"node_names"`
	NodeTags   []string `tfsdk:"node_tags"`
	NodeLabels []string `tfsdk:"node_labels"`
	RackNames  []string `tfsdk:"rack_names"`
}

func (s *nodesSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	criterion := func(description string) schema.ListAttribute {
		return schema.ListAttribute{Optional: true, ElementType: types.StringType,
			Validators:          []validator.List{values.NoNulls{}},
			MarkdownDescription: description + " A criterion that is left out or empty is ignored."}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "The nodes that selectors select: those that `slipway_group` and `slipway_service` would have with these `selectors`. It connects to nothing, but with `gather_facts` to the nodes that it selects.",
		Attributes: map[string]schema.Attribute{
			"nodes": schema.DynamicAttribute{Required: true,
				MarkdownDescription: "The nodes to select from: whole `slipway_node` objects, or objects with the same attributes, of which only `name` is required, as a list or a map."},
			"selectors": schema.ListNestedAttribute{Required: true, Validators: []validator.List{values.NoNulls{}},
				MarkdownDescription: "Which nodes: those that any of the selectors selects; `[]` selects all. A selector selects the nodes that meet all of its criteria; a criterion is met by any one of its values.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"node_names":  criterion("Names of nodes."),
					"node_tags":   criterion("Tags, any of which the node has."),
					"node_labels": criterion("Labels as `key:value`, any of which the node has."),
					"rack_names":  criterion("Names of racks."),
				}}},
			"names": list("Names of the selected nodes, sorted."),
			"selected": schema.DynamicAttribute{Computed: true, Sensitive: true,
				MarkdownDescription: "The selected nodes as they were given, by name, for `slipway_deployment.nodes`. Sensitive, because `connect` may hold secrets."},
			"gather_facts": schema.BoolAttribute{Optional: true,
				MarkdownDescription: "Whether each plan asks the selected nodes for their `facts`, which takes a session with each. Nothing is changed there, no site need know the nodes, and a node that does not answer is a warning. Default: `false`."},
			"facts": schema.MapAttribute{Computed: true, ElementType: s.facts,
				MarkdownDescription: "With `gather_facts`, what each selected node says of its machine, by the name of the node, with the attributes of [`node_facts`](../resources/deployment#nestedatt--node_facts) of `slipway_deployment`; null for a node that does not answer. Without it, null."},
		},
	}
}

func (s *nodesSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m nodesModelV0
	if !asked(ctx, req, resp, map[string]any{"nodes": &m.Nodes, "selectors": &m.Selectors, "gather_facts": &m.Gather}) {
		return
	}
	nodes := take(ctx, "nodes", m.Nodes, (*document.Values).Nodes, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	selectors := make(site.Selectors, len(m.Selectors))
	for i, by := range m.Selectors {
		selectors[i] = site.Selector{NodeNames: by.NodeNames, NodeTags: by.NodeTags, NodeLabels: by.NodeLabels,
			RackNames: by.RackNames}
	}
	for _, p := range selectors.Validate("selectors", "", nodes) {
		detail := p.Attribute + ": " + p.Message + "."
		if p.Warning {
			resp.Diagnostics.AddAttributeWarning(path.Root("selectors"), "Nothing selected", detail)
		} else {
			resp.Diagnostics.AddAttributeError(path.Root("selectors"), "Invalid selector", detail)
		}
	}
	resp.Diagnostics.Append(values.Diagnostics(site.ValidateNodeNames(nodes))...)
	if resp.Diagnostics.HasError() {
		return
	}
	m.Names = texts(selectors.Members(nodes))
	m.Selected = selected(ctx, m.Nodes, nodes, m.Names)
	if m.Facts = types.MapNull(s.facts); m.Gather.ValueBool() {
		chosen := slices.DeleteFunc(nodes, func(n site.Node) bool {
			_, is := slices.BinarySearch(m.Names, n.Name)
			return !is
		})
		var found diag.Diagnostics
		m.Facts, found = s.provider.Facts(ctx, chosen)
		resp.Diagnostics.Append(found...)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// selected returns the nodes of some names as they were given, by name. nodes are what was read of given, in its order.
func selected(ctx context.Context, given types.Dynamic, nodes []site.Node, names []string) types.Dynamic {
	objects := make(map[string]attr.Value, len(nodes))
	for i, v := range membersOf(given.UnderlyingValue()) {
		if i < len(nodes) {
			objects[nodes[i].Name] = v
		}
	}
	values, kinds := make(map[string]attr.Value, len(names)), make(map[string]attr.Type, len(names))
	for _, name := range names {
		if v, ok := objects[name]; ok {
			values[name], kinds[name] = v, v.Type(ctx)
		}
	}
	return types.DynamicValue(types.ObjectValueMust(kinds, values))
}

// membersOf returns the values in a list, or those of a map in the order of its keys.
func membersOf(v attr.Value) []attr.Value {
	switch v := v.(type) {
	case interface{ Elements() []attr.Value }:
		return v.Elements()
	case interface{ Elements() map[string]attr.Value }:
		return inOrder(v.Elements())
	case types.Object:
		return inOrder(v.Attributes())
	}
	return nil
}

func inOrder(members map[string]attr.Value) []attr.Value {
	var out []attr.Value
	for _, key := range slices.Sorted(maps.Keys(members)) {
		out = append(out, members[key])
	}
	return out
}
