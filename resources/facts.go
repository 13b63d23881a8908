package resources

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
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
		MarkdownDescription: "What each node said of its machine when a creation or a refresh last looked at it, by the name of the node: the `facts` of templates, by the names that Puppet and Ansible give. What is not known is null. " +
			"A node that did not answer yet is null.",
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

// factsType is the type of the facts of a node.
var factsType = objectOf(factsAttribute().NestedObject.Type())

func objectOf(t attr.Type) types.ObjectType {
	object, _ := t.(types.ObjectType) // that of a nested object is one
	return object
}

// foreseeFacts plans the facts of nodes: those that are known stay, those of the nodes that the run works on are found
// out, and the others stay null. works is sorted. Where lacks says what is not known yet, work may be done on each
// node.
func (m *deploymentModelV1) foreseeFacts(prior *deploymentModelV1, w *engine.Planned, works []string,
	lacks *site.Lacking) {
	if prior == nil || prior.NodeFacts.IsNull() || prior.Nodes.IsNull() {
		return
	}
	before, out := prior.NodeFacts.Elements(), map[string]attr.Value{}
	for _, n := range w.Site.Nodes {
		facts, known := before[n.Name]
		_, worked := slices.BinarySearch(works, n.Name)
		switch {
		case known && !facts.IsNull() && w.Site.Facts[n.Name] != nil:
			out[n.Name] = facts
		case lacks != nil || worked:
			out[n.Name] = types.ObjectUnknown(factsType.AttrTypes)
		default:
			out[n.Name] = types.ObjectNull(factsType.AttrTypes)
		}
	}
	if lacks != nil {
		for _, n := range lacks.Absent { // of which the address may be another one
			out[n.Name] = types.ObjectUnknown(factsType.AttrTypes)
		}
		for _, name := range lacks.Names {
			out[name] = types.ObjectUnknown(factsType.AttrTypes)
		}
	}
	m.NodeFacts = types.MapValueMust(factsType, out)
}

// factsOf returns what the nodes of a site said of themselves, null for those that did not, where planned does not have
// it.
func factsOf(machines map[string]converge.Identity, nodes values.Opaque, planned types.Map) types.Map {
	decoded, err := nodes.Decode()
	if err != nil {
		return types.MapNull(factsType)
	}
	out := map[string]attr.Value{}
	for _, n := range membersOf(decoded) {
		name := nameOf(n)
		if f := machines[name].Facts; f != nil {
			out[name] = factValue(factsType, f.Plain())
		} else {
			out[name] = types.ObjectNull(factsType.AttrTypes)
		}
	}
	for name, facts := range planned.Elements() {
		if _, there := out[name]; there && !facts.IsUnknown() {
			out[name] = facts
		}
	}
	return types.MapValueMust(factsType, out)
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
