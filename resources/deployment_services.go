package resources

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/services"
)

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
		s := t.Status(name)
		identity := types.StringNull()
		if s.Identity != "" {
			identity = types.StringValue(s.Identity)
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
