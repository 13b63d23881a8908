package resources

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/task"
	"github.com/slipway/terraform-provider-slipway/resources/sealed"
)

// lacking says what of a deployment is not known yet.
type lacking struct {
	nodes, allNodes       int
	services, allServices int
	names                 []string // of the nodes
	nameless              bool     // the name of a node is not known either
	attribute             string   // that is not known as a whole, or of which any part may concern every step; empty when there is none
}

// knownPart returns the deployment without the nodes and services that are not wholly known.
func (m deploymentModelV1) knownPart(ctx context.Context) (part deploymentModelV1, l lacking, err error) {
	for _, a := range []struct {
		name  string
		value attr.Value
	}{
		{"site", m.Site}, {"groups", m.Groups}, {"overrides", m.Overrides}, {"plugins", m.Plugins}, {"ordering", m.Ordering}, {"triggers", m.Triggers},
	} {
		raw, err := opened(ctx, a.value)
		if err != nil {
			return m, l, err
		}
		if !raw.IsFullyKnown() {
			l.attribute = a.name
			return m, l, nil
		}
	}
	part = m
	for _, list := range []struct {
		name       string
		value      *sealed.Value
		lacks, all *int
	}{
		{"nodes", &part.Nodes, &l.nodes, &l.allNodes}, {"services", &part.Services, &l.services, &l.allServices},
	} {
		raw, err := list.value.Open()
		if err != nil {
			return m, l, err
		}
		if !raw.IsKnown() {
			l.attribute = list.name
			return m, l, nil
		}
		var known tftypes.Value
		var dropped []tftypes.Value
		known, dropped, *list.all = knownMembers(raw)
		*list.lacks = len(dropped)
		if list.name == "nodes" {
			l.names, l.nameless = namesOf(dropped)
		}
		if *list.value, err = sealed.Seal(known); err != nil {
			return m, l, err
		}
	}
	return part, l, nil
}

// knownMembers returns a list or map of objects without those that are not wholly known, these, and how many there are in all.
func knownMembers(v tftypes.Value) (known tftypes.Value, dropped []tftypes.Value, all int) {
	if elements, ok := elementsOf(v); ok {
		var kept []tftypes.Value
		var elementTypes []tftypes.Type
		for _, e := range elements {
			if !e.IsFullyKnown() {
				dropped = append(dropped, e)
				continue
			}
			kept, elementTypes = append(kept, e), append(elementTypes, e.Type())
		}
		return tftypes.NewValue(tftypes.Tuple{ElementTypes: elementTypes}, kept), dropped, len(elements)
	}
	entries, ok := entriesOf(v)
	if !ok || v.IsNull() {
		return v, nil, 0
	}
	kept := map[string]tftypes.Value{}
	for key, e := range entries {
		if e.IsFullyKnown() {
			kept[key] = e
		} else {
			dropped = append(dropped, e)
		}
	}
	return objectOf(kept), dropped, len(entries)
}

// namesOf returns the names of objects that are known, and whether the name of any is not.
func namesOf(objects []tftypes.Value) (names []string, nameless bool) {
	for _, o := range objects {
		entries, _ := entriesOf(o)
		var name string
		if v, ok := entries["name"]; !ok || !v.IsKnown() || v.As(&name) != nil {
			nameless = true
			continue
		}
		names = append(names, name)
	}
	return names, nameless
}

// planPart plans what does not depend on what is not known yet. Terraform takes no list that is known in part, so the steps are in a warning, which says what they lack. The
// plan itself has what stays as it is when the rest becomes known.
func (d *Deployment) planPart(ctx context.Context, plan *deploymentModelV1, prior *deploymentModelV1, past memory) (diags diag.Diagnostics) {
	whole := *plan
	plan.setUnknown()
	run := int64(1)
	if prior != nil {
		run = prior.Run.ValueInt64() + 1
	}
	if prior == nil || !prior.Drift.IsNull() {
		plan.Drift = types.ListValueMust(driftType, []attr.Value{})
	}
	if prior == nil || prior.Nodes.IsNull() {
		plan.Run = types.Int64Value(run)
	}
	part, lacks, err := whole.knownPart(ctx)
	if err != nil {
		diags.AddError("Invalid deployment", err.Error())
		return diags
	}
	const summary = "The steps are not known yet"
	if lacks.attribute != "" {
		diags.AddWarning(summary, lacks.attribute+" is not known before the apply, and every step may depend on it.")
		return diags
	}
	w, known, problems := d.work(ctx, part, prior, past, types.StringNull(), time.Time{})
	if problems.HasError() || !known {
		diags.AddWarning(summary, lacks.String()+", and without them the site cannot be planned.")
		return diags
	}
	if prior != nil {
		diags.Append(protectFrom(ctx, whole, *prior, past, w.lossesWithout(lacks), lacks.nameless)...)
	}
	lines := w.certain(lacks)
	if len(lines) > 0 {
		plan.Run = types.Int64Value(run)
	}
	for i, line := range lines {
		lines[i] = fmt.Sprintf("  %d. %s", run, line) // Terraform does not break lines that are indented
	}
	if len(lines) == 0 {
		lines = []string{"  no steps"}
	}
	whose := "their"
	if lacks.nodes+lacks.services == 1 {
		whose = "its"
	}
	diags.AddWarning(lacks.String()+": "+whose+" steps are missing", "The plan is made again in the apply, when everything is known. What is certain of it:\n\n"+strings.Join(lines, "\n")+lacks.also())
	return diags
}

func (l lacking) String() string {
	var parts []string
	for _, p := range []struct {
		what      string
		lacks, of int
	}{{"nodes", l.nodes, l.allNodes}, {"services", l.services, l.allServices}} {
		if p.lacks > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d %s", p.lacks, p.of, p.what))
		}
	}
	are := " are"
	if l.nodes+l.services == 1 {
		are = " is"
	}
	return strings.Join(parts, " and ") + are + " not known yet"
}

// also says what more is missing: what is taken away may turn out to stay.
func (l lacking) also() string {
	var parts []string
	if l.nodes > 0 {
		parts = append(parts, "the steps of nodes that are torn down")
	}
	if l.services > 0 {
		parts = append(parts, "resources and services that are removed")
	}
	return "\n\nNot shown either: " + strings.Join(parts, ", and ") + "."
}

// lossesWithout returns what a plan takes away, but for the nodes that are lacking, and without removals when services are lacking: theirs may stay.
func (w *work) lossesWithout(l lacking) planner.Losses {
	losses := w.plan.Losses(w.applied)
	for _, name := range l.names {
		delete(losses.TornDown, name)
	}
	if l.services > 0 {
		losses.Removed = nil
	}
	return losses
}

// certain returns the steps of a plan that stay when what is lacking becomes known: a machine or resource may come under another name, so nothing is taken away for certain.
func (w *work) certain(l lacking) []string {
	var lines []string
	for _, c := range w.turn.Changes() {
		if c.Kind != services.Delete || l.services == 0 {
			lines = append(lines, c.String())
		}
	}
	stays := func(t task.Task) bool {
		return !(t.Action == task.Forget && l.nodes > 0 || t.Action == task.Remove && l.services > 0)
	}
	works := make(map[string]bool)
	for _, phase := range w.plan.Phases {
		for _, t := range phase.Tasks {
			works[t.Node] = works[t.Node] || t.Action != task.PrepareNode && stays(t)
		}
	}
	return append(lines, w.plan.Part(func(t task.Task) bool { return stays(t) && works[t.Node] }).Lines()...)
}
