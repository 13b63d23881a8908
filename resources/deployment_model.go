package resources

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// deploymentModelV1 is the deployment at schema version 1.
type deploymentModelV1 struct {
	Site           types.String   `tfsdk:"site"`
	Nodes          values.Opaque  `tfsdk:"nodes"`
	Groups         values.Opaque  `tfsdk:"groups"`
	Services       values.Opaque  `tfsdk:"services"`
	Overrides      values.Opaque  `tfsdk:"overrides"`
	Plugins        values.Opaque  `tfsdk:"plugins"`
	Ordering       types.String   `tfsdk:"ordering"`
	Parallelism    types.Int64    `tfsdk:"parallelism"`
	ParallelGroups types.Int64    `tfsdk:"parallel_groups"`
	OnDestroy      types.String   `tfsdk:"on_destroy"`
	DriftDetection types.String   `tfsdk:"drift_detection"`
	Triggers       types.Map      `tfsdk:"triggers"`
	PrivateKeyWO   types.String   `tfsdk:"private_key_wo"`
	SecretsWO      types.Map      `tfsdk:"secrets_wo"`
	SecretsVersion types.Int64    `tfsdk:"secrets_version"`
	Timeouts       timeouts.Value `tfsdk:"timeouts"`
	Protect        types.Object   `tfsdk:"protect"`
	FailureBudget  types.Object   `tfsdk:"failure_budget"`
	Freeze         types.String   `tfsdk:"freeze"`
	Limit          types.Object   `tfsdk:"limit"`
	Approval       types.String   `tfsdk:"approval"`
	Approved       types.Map      `tfsdk:"approved_batches"`

	computedV1
}

// computedV1 is what a run determines.
type computedV1 struct {
	Run           types.Int64  `tfsdk:"run"`
	Steps         types.List   `tfsdk:"steps"`
	LastRunSteps  types.List   `tfsdk:"last_run_steps"`
	Digest        types.String `tfsdk:"digest"`
	ChangedNodes  types.Map    `tfsdk:"changed_nodes"`
	Status        types.String `tfsdk:"status"`
	GroupStatus   types.Map    `tfsdk:"group_status"`
	NodeStatus    types.Map    `tfsdk:"node_status"`
	NodeFacts     types.Map    `tfsdk:"node_facts"`
	Drift         types.List   `tfsdk:"drift"`
	Unreachable   types.List   `tfsdk:"unreachable"`
	ServiceStatus types.Map    `tfsdk:"service_status"`
	ServiceValues types.Map    `tfsdk:"service_values"`
	ActiveRun     types.String `tfsdk:"active_run"`
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
	nodes, _, diags := values.From(ctx, m.Nodes, (*document.Values).Nodes)
	return past.Reaching(nodes), diags
}

// desire returns the attributes that say what the site is, by their names.
func (m deploymentModelV1) desire() map[string]attr.Value {
	return map[string]attr.Value{"site": m.Site, "nodes": m.Nodes, "groups": m.Groups, "services": m.Services,
		"overrides": m.Overrides, "plugins": m.Plugins, "ordering": m.Ordering, "triggers": m.Triggers,
		"secrets_version": m.SecretsVersion, "failure_budget": m.FailureBudget, "freeze": m.Freeze, "limit": m.Limit,
		"approval": m.Approval, "approved_batches": m.Approved}
}

// desired returns what the model asks for as plain values.
func (m deploymentModelV1) desired(ctx context.Context) (d document.Deployment, diags diag.Diagnostics) {
	given := map[string]any{}
	desire := m.desire()
	for _, name := range slices.Sorted(maps.Keys(desire)) {
		var err error
		if given[name], err = values.Opened(ctx, desire[name]); err != nil {
			diags.AddAttributeError(path.Root(name), "Invalid "+name, err.Error())
		}
	}
	return document.DeploymentOf(given), diags
}

// Value returns the site that the model describes. known is false when any part of it is unknown; the site is then not
// to be used. A directory of the controller that cannot be read is what [Deployment.work] reports.
func (m deploymentModelV1) Value(ctx context.Context) (s site.Site, known bool, diags diag.Diagnostics) {
	d, diags := m.desired(ctx)
	reader := document.NewValues(false)
	reader.Past = true // the plan had what is wrong
	s, known, errs := reader.Site(d)
	diags.Append(values.Diagnostics(errs)...)
	s, _ = engine.ReadDirectories(s)
	return s, known, diags
}

// shown returns what the model shows of the last run.
func (m deploymentModelV1) shown() engine.Shown {
	out := engine.Shown{Status: engine.Status(m.Status.ValueString()), Run: m.Run.ValueInt64(),
		Steps: values.Texts(m.Steps), ChangedNodes: map[string]int64{}, Nodes: textMap(m.NodeStatus),
		Groups: textMap(m.GroupStatus), Unreachable: values.Texts(m.Unreachable)}
	for node, v := range m.ChangedNodes.Elements() {
		if run, ok := v.(types.Int64); ok {
			out.ChangedNodes[node] = run.ValueInt64()
		}
	}
	return out
}

// sameDesire reports whether two models ask for the same.
func (m deploymentModelV1) sameDesire(o deploymentModelV1) bool {
	other := o.desire()
	for name, v := range m.desire() {
		if !v.Equal(other[name]) {
			return false
		}
	}
	return m.Parallelism.Equal(o.Parallelism) && m.ParallelGroups.Equal(o.ParallelGroups) &&
		m.OnDestroy.Equal(o.OnDestroy) && m.DriftDetection.Equal(o.DriftDetection) && m.Timeouts.Equal(o.Timeouts) &&
		m.Protect.Equal(o.Protect)
}

// keepSame keeps what the prior state has of objects that only got new attributes, not set, in a later version of
// slipway: they are no change.
func (m *deploymentModelV1) keepSame(prior deploymentModelV1) {
	now := []*values.Opaque{&m.Nodes, &m.Groups, &m.Services, &m.Overrides, &m.Plugins}
	for i, before := range []values.Opaque{prior.Nodes, prior.Groups, prior.Services, prior.Overrides, prior.Plugins} {
		if same(*now[i], before) {
			*now[i] = before
		}
	}
}

// same reports whether two values are equal but for members that are null in one and missing in the other.
func same(a, b values.Opaque) bool {
	if a.Equal(b) {
		return true
	}
	left, err := a.Decode()
	if err != nil {
		return false
	}
	right, err := b.Decode()
	was, is := values.WithoutNulls(values.Plain(left)), values.WithoutNulls(values.Plain(right))
	return err == nil && reflect.DeepEqual(was, is)
}

// drift returns the elements of the drift of the state; m may be nil.
func (m *deploymentModelV1) drift() []attr.Value {
	if m == nil {
		return nil
	}
	return m.Drift.Elements()
}

// driftItems returns the drift of the state.
func (m deploymentModelV1) driftItems(ctx context.Context) ([]engine.DriftItem, diag.Diagnostics) {
	if m.Drift.IsNull() || m.Drift.IsUnknown() {
		return nil, nil
	}
	var items []driftModel
	diags := m.Drift.ElementsAs(ctx, &items, false)
	out := make([]engine.DriftItem, len(items))
	for i, d := range items {
		out[i] = engine.DriftItem{Node: d.Node.ValueString(), Resource: planresource.ID(d.Resource.ValueString()),
			Change: d.Change.ValueString()}
	}
	return out, diags
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

func stringList(in []string) types.List {
	values := make([]attr.Value, len(in))
	for i, s := range in {
		values[i] = types.StringValue(s)
	}
	return types.ListValueMust(types.StringType, values)
}

// mapOf returns a map of values.
func mapOf[V any](typ attr.Type, in map[string]V, value func(V) attr.Value) types.Map {
	out := make(map[string]attr.Value, len(in))
	for key, v := range in {
		out[key] = value(v)
	}
	return types.MapValueMust(typ, out)
}

// stringMap returns a map of texts; those that are empty are not known yet.
func stringMap(in map[string]string) types.Map {
	return mapOf(types.StringType, in, func(s string) attr.Value {
		if s == "" {
			return types.StringUnknown()
		}
		return types.StringValue(s)
	})
}

// runMap returns a map of the numbers of runs; those that may not take place are not known yet.
func runMap(in map[string]int64) types.Map {
	return mapOf(types.Int64Type, in, func(run int64) attr.Value {
		if run == engine.UnknownRun {
			return types.Int64Unknown()
		}
		return types.Int64Value(run)
	})
}

// textMap returns the texts of a map.
func textMap(m types.Map) map[string]string {
	out := make(map[string]string, len(m.Elements()))
	for key, v := range m.Elements() {
		out[key] = textOf(v)
	}
	return out
}

// secretsOf returns the secrets of a deployment that Terraform gave.
func secretsOf(m types.Map) engine.Secrets {
	given := m.Elements()
	s := engine.Secrets{Known: true, Content: make(map[string]string, len(given))}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch v := given[name]; {
		case v.IsNull():
			s.Null = append(s.Null, name)
		case v.IsUnknown():
			s.Later = append(s.Later, name)
		default:
			s.Content[name] = textOf(v)
		}
	}
	return s
}

// setUnknown marks everything that a run determines as known after apply.
func (m *deploymentModelV1) setUnknown() {
	m.Run, m.Digest, m.Status = types.Int64Unknown(), types.StringUnknown(), types.StringUnknown()
	m.Steps, m.LastRunSteps, m.Unreachable = types.ListUnknown(types.StringType), types.ListUnknown(types.StringType),
		types.ListUnknown(types.StringType)
	m.Drift = types.ListUnknown(driftType)
	m.ChangedNodes = types.MapUnknown(types.Int64Type)
	m.GroupStatus, m.NodeStatus = types.MapUnknown(types.StringType), types.MapUnknown(types.StringType)
	m.ServiceStatus, m.ServiceValues = types.MapUnknown(serviceStatusType), types.MapUnknown(serviceValuesType)
	m.NodeFacts = types.MapUnknown(FactsType)
}

// awaits says what becomes of the run that the prior state calls active: the apply waits for it.
func (m *deploymentModelV1) awaits(prior *deploymentModelV1) {
	if m.ActiveRun = types.StringNull(); prior != nil && !prior.ActiveRun.IsNull() {
		m.ActiveRun = types.StringValue("")
	}
}

// keepRun takes over what the prior state has of the last run.
func (m *deploymentModelV1) keepRun(prior deploymentModelV1) {
	m.Run, m.Steps, m.LastRunSteps, m.ChangedNodes = prior.Run, prior.Steps, prior.LastRunSteps, prior.ChangedNodes
}
