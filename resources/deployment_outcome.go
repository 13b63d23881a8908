package resources

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// show shows the outcome of a run. older are the nodes of the prior state, or of the deployment that is replaced.
func (m *deploymentModelV1) show(out engine.Outcome, prior *deploymentModelV1,
	older values.Opaque) (diags diag.Diagnostics) {
	m.Status = types.StringValue(string(out.Status))
	m.NodeStatus, m.GroupStatus, m.Unreachable = stringMap(out.Nodes), stringMap(out.Groups), stringList(out.Unreachable)
	m.NodeFacts = factsOf(out.State.Machines, m.Nodes, m.NodeFacts)
	failed := out.Status == engine.Failed || out.Status == engine.Interrupted
	if failed && prior != nil && !prior.Drift.IsNull() {
		m.Drift = prior.Drift // what was not repaired is still there; the next refresh shows it
	}
	if m.LastRunSteps.IsUnknown() { // there was work
		m.LastRunSteps = stringList(out.Did(m.Run.ValueInt64(), values.Texts(m.Steps)))
	}
	promised := m.ServiceValues
	m.setServices(out.Services, out.State.Values, nil)
	m.ServiceValues = keepPromises(promised, m.ServiceValues)
	if len(out.Kept) == 0 {
		return nil
	}
	// Only a failed run may save what was not planned. The secrets of the connections are in the private state: Terraform
	// does not know that they are sensitive any more, and would show them in the next plan.
	nodes, err := withNodes(m.Nodes, older, out.Kept)
	if err != nil {
		diags.AddWarning("Departed nodes are not in the state", err.Error())
		return diags
	}
	m.Nodes = nodes
	numbers := maps.Clone(m.ChangedNodes.Elements())
	for _, name := range out.Kept {
		numbers[name] = m.Run // so that the next plan prints it again
	}
	m.ChangedNodes = types.MapValueMust(types.Int64Type, numbers)
	return diags
}

// forReplacement leaves out what the plan of the replacement is to print: Terraform calls a deployment whose creation
// failed tainted, and prints what is not in the state.
func (m *deploymentModelV1) forReplacement() {
	numbers := make(map[string]attr.Value)
	for name := range m.ChangedNodes.Elements() {
		numbers[name] = types.Int64Value(0)
	}
	m.Steps, m.ChangedNodes = stringList(nil), types.MapValueMust(types.Int64Type, numbers)
}

// save writes state, identity and private state.
func save(ctx context.Context, state *tfsdk.State, identity *tfsdk.ResourceIdentity, private privateWriter,
	model deploymentModelV1, remembered engine.State) diag.Diagnostics {
	model.PrivateKeyWO, model.SecretsWO = types.StringNull(), types.MapNull(types.StringType)
	diags := state.Set(ctx, &model)
	diags.Append(setIdentity(ctx, identity, "site", model.Site)...)
	diags.Append(remember(ctx, private, remembered)...)
	return diags
}

// setIdentity sets the identity; Terraform 1.11 fails without it even where nothing changed (terraform.md 5.8).
func setIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, attribute string,
	value types.String) diag.Diagnostics {
	if identity == nil {
		return nil
	}
	return identity.SetAttribute(ctx, path.Root(attribute), value)
}

var (
	serviceStatusType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"entity": types.StringType, "identity": types.StringType, "state": types.StringType, "version": types.Int64Type,
	}}
	serviceValuesType = types.MapType{ElemType: types.StringType}
)

// setServices shows the services of an inventory: their states and the values that slipway set. unknown are the
// attributes of a service that the run may change.
func (m *deploymentModelV1) setServices(t *services.Transition, values map[string]map[string]any,
	unknown map[string][]string) {
	statuses, shown := make(map[string]attr.Value), make(map[string]attr.Value)
	state := t.State()
	for _, name := range state.Names() {
		s, identity := state.Records[name], types.StringNull()
		if text := t.Identity(name); text != "" {
			identity = types.StringValue(text)
		}
		statuses[name] = types.ObjectValueMust(serviceStatusType.AttrTypes, map[string]attr.Value{
			"entity": types.StringValue(s.Entity), "identity": identity, "state": types.StringValue(s.State),
			"version": types.Int64Value(int64(s.Version)),
		})
		set := t.Allocated(name)
		maps.Copy(set, values[name])
		texts := make(map[string]attr.Value, len(set))
		for attribute, value := range set {
			texts[attribute] = types.StringValue(textOfValue(value))
		}
		for _, attribute := range unknown[name] {
			texts[attribute] = types.StringUnknown()
		}
		if t.Wanted(name) && len(texts) > 0 {
			shown[name] = types.MapValueMust(types.StringType, texts)
		}
	}
	m.ServiceStatus, m.ServiceValues = types.MapValueMust(serviceStatusType, statuses),
		types.MapValueMust(serviceValuesType, shown)
}

// textOfValue is a value of an attribute as text: what is no text is JSON.
func textOfValue(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v) // a number that JSON does not have
	}
	return string(text)
}

// keepPromises returns values of services with those that the plan promised and that did not come, because a callback
// failed for example: Terraform wants to find each of them. One that the plan did not know is null then.
func keepPromises(promised, values types.Map) types.Map {
	all := maps.Clone(values.Elements())
	for name, p := range promised.Elements() { // none where the plan knew nothing
		set, ok := p.(types.Map)
		if !ok || set.IsUnknown() {
			continue
		}
		texts := make(map[string]attr.Value)
		for attribute, text := range set.Elements() {
			if text.IsUnknown() {
				text = types.StringNull()
			}
			texts[attribute] = text
		}
		if came, ok := all[name].(types.Map); ok {
			maps.Copy(texts, came.Elements())
		}
		all[name] = types.MapValueMust(types.StringType, texts)
	}
	return types.MapValueMust(serviceValuesType, all)
}

// privateKey is where a deployment has what is remembered of its site. Create, Read and Update always set it, because
// its absence means something: Terraform gives Delete no private state when it replaces a tainted deployment, and then
// no node may be touched (terraform.md 5.5).
const privateKey = "applied"

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// recall returns what is remembered; saved is false when there is no private state.
func recall(ctx context.Context, from privateReader) (past engine.State, saved bool, diags diag.Diagnostics) {
	raw, diags := from.GetKey(ctx, privateKey)
	if diags.HasError() || len(raw) == 0 {
		return past, false, diags
	}
	if err := past.UnmarshalJSON(raw); err != nil {
		diags.AddError("Private state is not readable", "The deployment's private state "+err.Error()+".")
		return past, false, diags
	}
	return past, true, diags
}

// remember saves what is to be remembered.
func remember(ctx context.Context, to privateWriter, state engine.State) (diags diag.Diagnostics) {
	diags.Append(to.SetKey(ctx, replacementKey, nil)...)
	diags.Append(setPrivate(ctx, to, privateKey, state)...)
	return diags
}

// privateValue returns what is under a key of the private state; nothing where it is missing.
func privateValue[T any](ctx context.Context, from privateReader, key string) (value T, diags diag.Diagnostics) {
	raw, diags := from.GetKey(ctx, key)
	if err := json.Unmarshal(raw, &value); len(raw) > 0 && err != nil {
		diags.AddError("Private state is not readable", err.Error())
	}
	return value, diags
}

// setPrivate saves a value under a key of the private state.
func setPrivate(ctx context.Context, to privateWriter, key string, value any) (diags diag.Diagnostics) {
	raw, err := json.Marshal(value)
	if err != nil {
		diags.AddError("Private state cannot be saved", err.Error())
		return diags
	}
	return to.SetKey(ctx, key, raw)
}

// refusal is an error that the plan notes under [replacementKey].
type refusal struct{ Summary, Detail string }

func noteRefusal(ctx context.Context, private privateWriter, refused diag.Diagnostics) diag.Diagnostics {
	var errs []refusal
	for _, e := range refused {
		errs = append(errs, refusal{e.Summary(), e.Detail()})
	}
	return setPrivate(ctx, private, replacementKey, errs)
}

// refuseReplacement returns what the first call noted.
func refuseReplacement(ctx context.Context, private privateReader) diag.Diagnostics {
	errs, diags := privateValue[[]refusal](ctx, private, replacementKey)
	for _, e := range errs {
		diags.AddError(e.Summary, e.Detail)
	}
	return diags
}

// withoutSecrets returns a node object without the secrets of its connection, in whichever form it has them.
func withoutSecrets(node tftypes.Value) (tftypes.Value, error) {
	secret := map[string]bool{nodeCredentials: true}
	for _, f := range ConnectionFields() {
		secret[f.Name] = secret[f.Name] || f.Sensitive
	}
	return tftypes.Transform(node, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		steps := at.Steps()
		if len(steps) < 2 || steps[0] != tftypes.AttributeName(nodeConnection) {
			return v, nil
		}
		if name, ok := steps[len(steps)-1].(tftypes.AttributeName); ok && secret[string(name)] {
			return tftypes.NewValue(v.Type(), nil), nil
		}
		return v, nil
	})
}

// withNodes returns the value of a deployment's nodes with some objects of an older value added, without their secrets:
// name -> the node's name in the older value.
func withNodes(nodes, older values.Opaque, names map[string]string) (values.Opaque, error) {
	now, err := nodes.Decode()
	if err != nil {
		return nodes, err
	}
	before, err := older.Decode()
	if err != nil {
		return nodes, err
	}
	added := map[string]tftypes.Value{}
	for name, old := range names {
		for _, m := range membersOf(before) {
			if nameOf(m) != old {
				continue
			}
			bare, err := withoutSecrets(m)
			if err != nil {
				return nodes, err
			}
			entries, _ := values.Entries(bare)
			entries["name"] = tftypes.NewValue(tftypes.String, name)
			added[name] = values.Object(entries)
		}
	}
	if len(added) < len(names) {
		return nodes, fmt.Errorf("the state does not say how to reach all of %q; their own ledgers have what is applied there", slices.Sorted(maps.Keys(names)))
	}
	return values.Encode(extended(now, added))
}

// membersOf returns the objects of a list or map.
func membersOf(v tftypes.Value) []tftypes.Value {
	if elements, ok := values.Elements(v); ok {
		return elements
	}
	entries, _ := values.Entries(v)
	return slices.Collect(maps.Values(entries))
}

func nameOf(object tftypes.Value) string {
	entries, _ := values.Entries(object)
	name, _ := values.Plain(entries["name"]).(string)
	return name
}

// extended returns a list or map of objects with more of them: a list as a tuple, a map as an object, because the added
// ones may have attributes of another type.
func extended(v tftypes.Value, added map[string]tftypes.Value) tftypes.Value {
	if elements, ok := values.Elements(v); ok {
		elements = slices.Clone(elements)
		for _, name := range slices.Sorted(maps.Keys(added)) {
			elements = append(elements, added[name])
		}
		elementTypes := make([]tftypes.Type, len(elements))
		for i, e := range elements {
			elementTypes[i] = e.Type()
		}
		return tftypes.NewValue(tftypes.Tuple{ElementTypes: elementTypes}, elements)
	}
	all := map[string]tftypes.Value{}
	if entries, ok := values.Entries(v); ok {
		maps.Copy(all, entries)
	}
	maps.Copy(all, added)
	return values.Object(all)
}
