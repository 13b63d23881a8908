package resources

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// factsAttribute is `node_facts`.
func factsAttribute() schema.MapNestedAttribute {
	return schema.MapNestedAttribute{
		Computed: true,
		MarkdownDescription: "What each node said of its machine when it was first looked at, or at the last refresh, by the name of the node: the `facts` of templates. What is not known is null. " +
			"A node that did not answer yet is null. `data.slipway_nodes` has those of today.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"os": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "The operating system.",
				Attributes: map[string]schema.Attribute{
					"family":   shown(types.StringType, "`Debian`, `RedHat`, `Alpine`, `Suse` or `Archlinux`."),
					"name":     shown(types.StringType, "`Debian`, `Ubuntu`, `Rocky`, `AlmaLinux` and so on; the `ID` of os-release where slipway knows no name."),
					"release":  shown(types.StringType, "`12`, `24.04`, `9.4`."),
					"codename": shown(types.StringType, "`bookworm`."),
				}},
			"architecture":      shown(types.StringType, "`x86_64` or `aarch64`."),
			"cpus":              shown(types.Int64Type, "How many processors are online."),
			"memory_mib":        shown(types.Int64Type, "Memory in MiB, used or not."),
			"hostname":          shown(types.StringType, "Host name without the domain."),
			"fqdn":              shown(types.StringType, "Host name with the domain, as the node's own hosts file has it; no name server is asked."),
			"virtual":           schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether it is a virtual machine or a container."},
			"virtualization":    shown(types.StringType, "Its kind, as systemd-detect-virt names it: `kvm`, `vmware`, `docker`; null for a physical machine."),
			"service_provider":  shown(types.StringType, "What runs its services, as the parameter `provider` of the type `service` names it: `systemd`, `openrc`, or `none` of them."),
			"default_interface": shown(types.StringType, "Interface of the default route, of IPv4 where there is one."),
			"default_address":   shown(types.StringType, "First address of that interface, of IPv4 where there is one."),
			"interfaces": schema.MapNestedAttribute{Computed: true,
				MarkdownDescription: "Network devices, and other interfaces that have an address, by name; at most 32, without the loopback interface.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"mac":       shown(types.StringType, "Hardware address."),
					"addresses": shown(types.ListType{ElemType: types.StringType}, "Permanent addresses of global scope, IPv4 first; at most 16."),
				}}},
		}},
	}
}

// FactsType is the type of the facts of a node.
var FactsType = objectOf(factsAttribute().NestedObject.Type())

func objectOf(t attr.Type) types.ObjectType {
	object, _ := t.(types.ObjectType) // that of a nested object is one
	return object
}

// foreseeFacts plans the facts of nodes: those that are known stay where the node has not moved. Those of the nodes
// that the run works on are found out where they are not known, and the others stay null. works is sorted. Where lacks
// says what is not known yet, work may be done on each node.
func (m *deploymentModelV1) foreseeFacts(prior *deploymentModelV1, w *engine.Planned, works []string,
	lacks *site.Lacking) {
	if prior == nil || prior.NodeFacts.IsNull() || prior.Nodes.IsNull() {
		return
	}
	before, out := prior.NodeFacts.Elements(), map[string]attr.Value{}
	foresee := func(name string, asked bool) {
		facts, there := before[name]
		_, stays := w.Site.Facts[name]
		switch {
		case there && !facts.IsNull() && (stays || !asked):
			out[name] = facts
		case asked:
			out[name] = types.ObjectUnknown(FactsType.AttrTypes)
		default:
			out[name] = types.ObjectNull(FactsType.AttrTypes)
		}
	}
	for _, n := range w.Site.Nodes {
		_, worked := slices.BinarySearch(works, n.Name)
		foresee(n.Name, lacks != nil || worked)
	}
	if lacks != nil {
		for _, n := range lacks.Absent {
			foresee(n.Name, true)
		}
		for _, name := range lacks.Names {
			foresee(name, true)
		}
	}
	m.NodeFacts = types.MapValueMust(FactsType, out)
}

// factsOf returns what the nodes of a site said of themselves, null for those that did not, where planned does not have
// it.
func factsOf(machines map[string]converge.Identity, nodes values.Opaque, planned types.Map) types.Map {
	decoded, err := nodes.Decode()
	if err != nil {
		return types.MapNull(FactsType)
	}
	out := map[string]attr.Value{}
	for _, n := range membersOf(decoded) {
		name := nameOf(n)
		out[name] = factsOn(machines[name])
	}
	for name, facts := range planned.Elements() {
		if _, there := out[name]; there && !facts.IsUnknown() {
			out[name] = facts
		}
	}
	return types.MapValueMust(FactsType, out)
}

// factsOn returns what a machine said of itself, null where it did not.
func factsOn(m converge.Identity) attr.Value {
	if m.Facts == nil {
		return types.ObjectNull(FactsType.AttrTypes)
	}
	return factValue(FactsType, m.Facts.Plain())
}

// Facts asks nodes what they are like, and changes nothing there. Those of a node that does not answer are null, and a
// warning says why.
func (p ProviderData) Facts(ctx context.Context, nodes []site.Node) (types.Map, diag.Diagnostics) {
	ctx, stop := p.Runs.Stoppable(ctx)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, defaultReadTimeout,
		&engine.TimeLimitError{Setting: "reading facts", Limit: defaultReadTimeout})
	defer cancel()
	machines, found := p.engine().Identify(ctx, nodes, engine.Settings{Connection: p.Connection, Unreached: p.Unknown})
	out := make(map[string]attr.Value, len(nodes))
	for _, n := range nodes {
		out[n.Name] = factsOn(machines[n.Name])
	}
	return types.MapValueMust(FactsType, out), values.Diagnostics(found)
}

// factValue returns a value of [converge.Identity].Facts.Plain as Terraform has it.
func factValue(typ attr.Type, plain any) attr.Value {
	switch typ := typ.(type) {
	case types.ObjectType:
		members, _ := plain.(map[string]any) // as Plain gives it, like the others
		out := map[string]attr.Value{}
		for name, of := range typ.AttrTypes {
			out[name] = factValue(of, members[name])
		}
		return types.ObjectValueMust(typ.AttrTypes, out)
	case types.MapType:
		out := map[string]attr.Value{}
		members, _ := plain.(map[string]any)
		for name, v := range members {
			out[name] = factValue(typ.ElemType, v)
		}
		return types.MapValueMust(typ.ElemType, out)
	case types.ListType:
		out := []attr.Value{}
		members, _ := plain.([]any)
		for _, v := range members {
			out = append(out, factValue(typ.ElemType, v))
		}
		return types.ListValueMust(typ.ElemType, out)
	}
	switch v := plain.(type) {
	case string:
		return types.StringValue(v)
	case bool:
		return types.BoolValue(v)
	case int64:
		return types.Int64Value(v)
	}
	if typ.Equal(types.Int64Type) {
		return types.Int64Null()
	}
	return types.StringNull()
}
