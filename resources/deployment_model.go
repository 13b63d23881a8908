package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/passthrough"
)

// deploymentModelV1 is the deployment at schema version 1.
type deploymentModelV1 struct {
	Site           types.String      `tfsdk:"site"`
	Nodes          passthrough.Value `tfsdk:"nodes"`
	Groups         passthrough.Value `tfsdk:"groups"`
	Services       passthrough.Value `tfsdk:"services"`
	Overrides      passthrough.Value `tfsdk:"overrides"`
	Plugins        passthrough.Value `tfsdk:"plugins"`
	Ordering       types.String      `tfsdk:"ordering"`
	Parallelism    types.Int64       `tfsdk:"parallelism"`
	ParallelGroups types.Int64       `tfsdk:"parallel_groups"`
	OnDestroy      types.String      `tfsdk:"on_destroy"`
	DriftDetection types.String      `tfsdk:"drift_detection"`
	Triggers       types.Map         `tfsdk:"triggers"`
	PrivateKeyWO   types.String      `tfsdk:"private_key_wo"`
	Timeouts       timeouts.Value    `tfsdk:"timeouts"`
	Protect        types.Object      `tfsdk:"protect"`

	Run          types.Int64  `tfsdk:"run"`
	Steps        types.List   `tfsdk:"steps"`
	LastRunSteps types.List   `tfsdk:"last_run_steps"`
	Digest       types.String `tfsdk:"digest"`
	ChangedNodes types.Map    `tfsdk:"changed_nodes"`
	Status       types.String `tfsdk:"status"`
	GroupStatus  types.Map    `tfsdk:"group_status"`
	NodeStatus   types.Map    `tfsdk:"node_status"`
	Drift        types.List   `tfsdk:"drift"`
	Unreachable  types.List   `tfsdk:"unreachable"`

	ServiceStatus types.Map `tfsdk:"service_status"`
	ServiceValues types.Map `tfsdk:"service_values"`

	partly bool // unknown parameters of configuration resources do not keep the site from being planned
}

// driftModel is one element of drift.
type driftModel struct {
	Node     types.String `tfsdk:"node"`
	Resource types.String `tfsdk:"resource"`
	Change   types.String `tfsdk:"change"`
}

var driftType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"node": types.StringType, "resource": types.StringType, "change": types.StringType,
}}

// nodes returns the nodes of a state, with the secrets that are remembered of those that left the configuration.
func (m deploymentModelV1) nodes(ctx context.Context, past engine.State) ([]site.Node, diag.Diagnostics) {
	nodes, _, diags := NodesFrom(ctx, path.Root("nodes"), m.Nodes)
	return past.Reaching(nodes), diags
}

// Value returns the site that the model describes. known is false when any part of it is unknown; the site is then not
// to be used.
func (m deploymentModelV1) Value(ctx context.Context) (s site.Site, known bool, diags diag.Diagnostics) {
	s.Name = m.Site.ValueString()
	known = !m.Site.IsUnknown()
	take := func(partKnown bool, d diag.Diagnostics) {
		known = known && partKnown
		diags.Append(d...)
	}
	var ok bool
	var d diag.Diagnostics
	s.Nodes, ok, d = NodesFrom(ctx, path.Root("nodes"), m.Nodes)
	take(ok, d)
	s.Groups, ok, d = GroupsFrom(ctx, path.Root("groups"), m.Groups)
	take(ok, d)
	s.Services, ok, d = servicesFrom(ctx, path.Root("services"), m.Services, m.partly)
	take(ok, d)
	s.Overrides, ok, d = overridesFrom(ctx, path.Root("overrides"), m.Overrides, m.partly)
	take(ok, d)
	s.Plugins, ok, d = PluginsFrom(ctx, path.Root("plugins"), m.Plugins)
	take(ok, d)
	s.Ordering, ok, d = OrderingFrom(path.Root("ordering"), m.Ordering)
	take(ok, d)
	return s, known, diags
}

// sameDesire reports whether two models ask for the same.
func (m deploymentModelV1) sameDesire(o deploymentModelV1) bool {
	return m.Site.Equal(o.Site) && m.Nodes.Equal(o.Nodes) && m.Groups.Equal(o.Groups) && m.Services.Equal(o.Services) &&
		m.Overrides.Equal(o.Overrides) && m.Plugins.Equal(o.Plugins) && m.Ordering.Equal(o.Ordering) &&
		m.Parallelism.Equal(o.Parallelism) && m.ParallelGroups.Equal(o.ParallelGroups) && m.OnDestroy.Equal(o.OnDestroy) &&
		m.DriftDetection.Equal(o.DriftDetection) && m.Triggers.Equal(o.Triggers) && m.Timeouts.Equal(o.Timeouts) &&
		m.Protect.Equal(o.Protect)
}

// keepSame keeps what the prior state has of objects that only got new attributes, not set, in a later version of
// slipway: they are no change.
func (m *deploymentModelV1) keepSame(prior deploymentModelV1) {
	now := []*passthrough.Value{&m.Nodes, &m.Groups, &m.Services, &m.Overrides, &m.Plugins}
	for i, before := range []passthrough.Value{prior.Nodes, prior.Groups, prior.Services, prior.Overrides, prior.Plugins} {
		if now[i].Same(before) {
			*now[i] = before
		}
	}
}

// driftOf returns the drift of the state for the planner.
func (m deploymentModelV1) driftOf(ctx context.Context) (planner.Drift, diag.Diagnostics) {
	if m.Drift.IsNull() || m.Drift.IsUnknown() {
		return nil, nil
	}
	var items []driftModel
	diags := m.Drift.ElementsAs(ctx, &items, false)
	drift := planner.Drift{}
	for _, i := range items {
		node := i.Node.ValueString()
		drift[node] = append(drift[node], planresource.ID(i.Resource.ValueString()))
	}
	return drift, diags
}

// setDrift shows drift.
func (m *deploymentModelV1) setDrift(items []engine.DriftItem) {
	values := make([]attr.Value, len(items))
	for i, d := range items {
		values[i] = types.ObjectValueMust(driftType.AttrTypes, map[string]attr.Value{
			"node": types.StringValue(d.Node), "resource": types.StringValue(string(d.Resource)),
			"change": types.StringValue(d.Change),
		})
	}
	m.Drift = types.ListValueMust(driftType, values)
}

// textsOf returns the texts of a list; none where it is null or unknown.
func textsOf(l types.List) (out []string) {
	for _, v := range l.Elements() {
		if s, ok := v.(types.String); ok {
			out = append(out, s.ValueString())
		}
	}
	return out
}

func stringList(in []string) types.List {
	values := make([]attr.Value, len(in))
	for i, s := range in {
		values[i] = types.StringValue(s)
	}
	return types.ListValueMust(types.StringType, values)
}

// stringMap returns a map of texts; those that are empty are not known yet.
func stringMap[S ~string](in map[string]S) types.Map {
	values := make(map[string]attr.Value, len(in))
	for k, s := range in {
		values[k] = types.StringValue(string(s))
		if s == "" {
			values[k] = types.StringUnknown()
		}
	}
	return types.MapValueMust(types.StringType, values)
}
