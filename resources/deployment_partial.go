package resources

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// planPart plans what does not depend on what is not known yet. Terraform takes no list whose length is not known, so
// the steps are in a warning, which names what they lack. The plan itself has what stays as it is when the rest becomes
// known.
func (d *Deployment) planPart(
	ctx context.Context, plan *deploymentModelV1, prior *deploymentModelV1, past engine.State,
) (diags diag.Diagnostics) {
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
		diags.AddWarning(summary, lacks.attribute+" is not known before the apply, and every step may depend on it."+
			uncounted(lacks.attribute, past))
		return diags
	}
	w, known, errs := d.work(ctx, part, prior, past)
	if errs.HasError() || !known {
		reason := ""
		if errs.HasError() {
			reason = ":\n" + errs.Errors()[0].Detail()
		}
		diags.AddWarning(summary, lacks.listed()+"Without that the site cannot be planned"+reason+uncounted("nodes", past))
		return diags
	}
	losses, perhapsTorn := lossesWithout(w, lacks)
	if prior != nil {
		diags.Append(protectFrom(ctx, whole, *prior, past, losses, lacks.nameless)...)
	}
	surely := sure(w, lacks)
	certain := changesWithout(w, lacks)
	certain = append(certain, w.Plan.Part(func(t task.Task) bool { return surely[keyOf(t)] }).Lines()...)
	perhaps := w.Plan.Part(func(t task.Task) bool { return !surely[keyOf(t)] && !lacks.hides(t) }).Lines()
	if len(certain) > 0 || addsWork(w, lacks, past) {
		plan.Run = types.Int64Value(run)
	}
	if prior != nil && !prior.Nodes.IsNull() {
		d.foreseePart(ctx, plan, *prior, w, lacks, surely, past)
	}
	diags.AddWarning(lacks.summary(), lacks.listed()+"The plan is made again in the apply, when everything is known. "+
		fmt.Sprintf("What is certain of run %d:\n\n", run)+stepsOf(certain)+besides(perhaps)+lacks.also()+perhapsTorn)
	return diags
}

// stepsOf lists steps that have no numbers yet. Terraform does not break lines that are indented.
func stepsOf(lines []string) string {
	if len(lines) == 0 {
		return "  no steps\n"
	}
	return "  - " + strings.Join(lines, "\n  - ") + "\n"
}

func besides(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "\nWhat may be done besides, depending on what is not known:\n\n" + stepsOf(lines)
}

// summary says how much is not known, and of what the steps are missing.
func (l lacking) summary() string {
	whole := share{len(l.brings.ids), l.resources.of}
	missing, n := shares(l.nodes, l.services, whole, share{})
	inPart := share{l.resources.lacks - whole.lacks, l.resources.of}
	known, m := shares(share{}, share{}, inPart, l.overrides)
	are := map[bool]string{true: " is ", false: " are "}
	switch {
	case n == 0 && len(l.brings.types) > 0:
		missing, n = "Resources of the services", 2
	case n == 0:
		return known + are[m == 1] + "not known yet"
	}
	their := map[bool]string{true: "its", false: "their"}
	text := missing + are[n == 1] + "not known yet: " + their[n == 1] + " steps are missing"
	if m > 0 {
		text += ". " + known + are[m == 1] + "known in part"
	}
	return text
}

// shares lists how much of each kind is not known, and counts it.
func shares(nodes, services, resources, overrides share) (text string, n int) {
	var parts []string
	for _, p := range []struct {
		share
		what string
	}{{nodes, "nodes"}, {services, "services"}, {resources, "resources of the services"}, {overrides, "overrides"}} {
		if p.lacks > 0 {
			n += p.lacks
			parts = append(parts, fmt.Sprintf("%d of %d %s", p.lacks, p.of, p.what))
		}
	}
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + " and " + parts[last], n
	}
	return strings.Join(parts, ""), n
}

// listed lists what is not known.
func (l lacking) listed() string {
	return "Not known before the apply:\n\n  " + strings.Join(engine.FirstLines(l.places), "\n  ") + "\n\n"
}

// also says what more is missing: what is taken away may turn out to stay.
func (l lacking) also() string {
	if l.brings.none() {
		return ""
	}
	return "\nNot shown: what is removed because no service that is known brings it. " + checkedInApply
}

const checkedInApply = "protect is checked in the apply, before anything is touched.\n"

// uncounted says how many nodes may be torn down where an attribute that is not known keeps a site from being planned.
func uncounted(attribute string, past engine.State) string {
	nodes := slices.Sorted(maps.Keys(planner.Destroyed(past.Applied).TornDown))
	if len(nodes) == 0 {
		return ""
	}
	name := attribute[:strings.IndexAny(attribute+".", ".[ ")]
	if name == "site" || name == "groups" || name == "nodes" {
		return fmt.Sprintf("\n\nUp to %s may be torn down: %s. %s", nodeCount(nodes),
			strings.Join(engine.FirstLines(nodes), ", "), checkedInApply)
	}
	return "\n\nWhat is removed cannot be counted. " + checkedInApply
}

func nodeCount(nodes []string) string {
	if len(nodes) == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", len(nodes))
}

// lossesWithout returns what a plan takes away, but for what may turn out to stay, and says which nodes may be torn
// down.
func lossesWithout(w *engine.Planned, l lacking) (losses planner.Losses, perhaps string) {
	losses = w.Losses()
	var nodes []string
	for _, name := range l.names {
		if _, is := losses.TornDown[name]; is {
			nodes = append(nodes, name)
		}
		delete(losses.TornDown, name)
		delete(losses.Unsure, name)
	}
	if slices.Sort(nodes); len(nodes) > 0 {
		perhaps = fmt.Sprintf("\nMay be torn down, depending on what is not known: %s: %s. %s", nodeCount(nodes),
			strings.Join(engine.FirstLines(nodes), ", "), checkedInApply)
	}
	for node, ids := range losses.Removed {
		ids = slices.DeleteFunc(ids, func(id planresource.ID) bool {
			typ, title, _ := strings.Cut(string(id), "[")
			return l.brings.may(planresource.Resource{Type: typ, Title: strings.TrimSuffix(title, "]")})
		})
		if losses.Removed[node] = ids; len(ids) == 0 {
			delete(losses.Removed, node)
		}
	}
	return losses, perhaps
}

// changesWithout returns what certainly becomes of services of entities, a line each.
func changesWithout(w *engine.Planned, l lacking) (lines []string) {
	for _, c := range w.Services.Changes() {
		if c.Kind != services.Delete || !l.unnamed && !l.wanted[c.Service] {
			lines = append(lines, c.String())
		}
	}
	return lines
}

// taskKey is what makes tasks of two plans the same, whatever they do.
type taskKey struct {
	node, name string
	group      task.Group
	resource   planresource.ID
}

func keyOf(t task.Task) taskKey { return taskKey{t.Node, t.Name, t.Group, t.Resource.ID()} }

// sure returns the tasks of the plan that are done whatever becomes of what is not known: those that are left when
// resources with unknown parameters come out as they are applied.
func sure(w *engine.Planned, l lacking) map[taskKey]bool {
	least, applied := w.Plan, maps.Clone(w.Applied)
	for _, phase := range w.Plan.Phases {
		for _, t := range phase.Tasks {
			if id := t.Resource.ID(); len(t.Resource.Parameters.Unknown()) > 0 && applied[t.Node][id] != "" {
				applied[t.Node] = maps.Clone(applied[t.Node])
				applied[t.Node][id] = t.Digest
				least = nil
			}
		}
	}
	if least == nil {
		least, _ = w.Again(w.Deployed, applied) // the same site has a plan already
	}
	works := make(map[string]bool)
	for _, phase := range least.Phases {
		for _, t := range phase.Tasks {
			works[t.Node] = works[t.Node] || t.Action != task.PrepareNode && l.stays(t)
		}
	}
	sure := make(map[taskKey]bool)
	for _, phase := range least.Phases {
		for _, t := range phase.Tasks {
			sure[keyOf(t)] = l.stays(t) && works[t.Node]
		}
	}
	return sure
}

// addsWork reports whether a node that is not wholly known certainly has work: it is new, and no machine that is known
// is left that it could be.
func addsWork(w *engine.Planned, l lacking, past engine.State) bool {
	known := func(name string) bool { _, there := w.Applied[name]; return there }
	if len(l.absent) == 0 || len(w.Plan.Departed)+len(past.Given) > 0 || slices.ContainsFunc(l.names, known) {
		return false
	}
	s := w.Deployed
	s.Nodes = slices.Concat(s.Nodes, l.absent)
	p, errs := w.Again(s, w.Applied)
	if len(errs.Errors()) > 0 {
		return false
	}
	changed := p.ChangedNodes()
	return slices.ContainsFunc(l.absent, func(n site.Node) bool { return slices.Contains(changed, n.Name) })
}

// foreseePart shows of nodes and groups what stays as it is, and leaves open what may change. Terraform takes a map
// with the keys that it will have in the end only, so where they are not certain, nothing of it is known.
func (d *Deployment) foreseePart(ctx context.Context, m *deploymentModelV1, prior deploymentModelV1, w *engine.Planned,
	l lacking,
	sure map[taskKey]bool, past engine.State,
) {
	if l.anyGroup {
		return
	}
	s := w.Deployed
	s.Nodes = slices.Concat(s.Nodes, l.absent)
	concerned := concerned(w, s, l)
	ends, err := rollout.Foresee(s, w.Plan, concerned)
	if err != nil {
		return
	}
	if l.entities {
		for g := range ends.Groups {
			ends.Groups[g] = ""
		}
	}
	differs := differs(ctx, w, *m, prior, l, past) || !m.Run.IsUnknown()
	if differs || sameKeys(prior.NodeStatus, ends.Nodes) {
		m.NodeStatus = steady(prior.NodeStatus, ends.Nodes)
	}
	if differs || sameKeys(prior.GroupStatus, ends.Groups) {
		m.GroupStatus = steady(prior.GroupStatus, ends.Groups)
	}
	torn := w.Plan.TornDown()
	for _, name := range l.names {
		if _, member := ends.Nodes[name]; !member {
			return // it may be torn down
		}
		torn = slices.DeleteFunc(torn, func(n string) bool { return n == name })
	}
	changed := make(map[string]attr.Value)
	for node := range concerned {
		changed[node] = types.Int64Unknown()
	}
	for key, certain := range sure {
		if certain {
			changed[key.node] = m.Run
		}
	}
	nodes := lastRuns(prior, s.Nodes, ends.Nodes, changed, torn)
	if !m.Run.IsUnknown() || sameKeys(prior.ChangedNodes, nodes) { // a run without work keeps the map
		m.ChangedNodes = types.MapValueMust(types.Int64Type, nodes)
	}
	m.keepServices(prior, w, s, concerned, l)
}

// keepServices keeps what the state shows of services of entities when the run does not concern any of them.
func (m *deploymentModelV1) keepServices(prior deploymentModelV1, w *engine.Planned, s site.Site,
	concerned map[string]bool, l lacking) {
	if l.entities || w.Services.HasChanges() {
		return
	}
	inventory := site.NewNodeIndex(s.Nodes)
	for _, service := range s.Services {
		if service.Entity != nil && slices.ContainsFunc(inventory.Members(service.Selectors),
			func(n string) bool { return concerned[n] }) {
			return
		}
	}
	var shown deploymentModelV1
	shown.setServices(w.Services, w.Site.Values, w.Returning())
	if shown.ServiceStatus.Equal(prior.ServiceStatus) && shown.ServiceValues.Equal(prior.ServiceValues) {
		m.ServiceStatus, m.ServiceValues = prior.ServiceStatus, prior.ServiceValues
	}
}

// concerned returns the nodes of a site on which the run may do anything.
func concerned(w *engine.Planned, s site.Site, l lacking) map[string]bool {
	out := w.Busy()
	for _, names := range [][]string{w.Plan.ChangedNodes(), l.names} {
		for _, name := range names {
			out[name] = true
		}
	}
	inventory, placed := site.NewNodeIndex(s.Nodes), l.partial
	if l.anywhere {
		placed = append(placed, site.Service{}) // no selectors: all nodes
	}
	for _, service := range s.Services {
		if l.entities && service.Entity != nil { // services refer to each other
			placed = append(placed, service)
		}
	}
	for _, service := range placed {
		for _, node := range inventory.Members(service.Selectors) {
			out[node] = true
		}
	}
	return out
}

// differs reports whether the deployment certainly asks for something else than the prior state, so that the apply does
// not keep the state as it is.
func differs(ctx context.Context, w *engine.Planned, m, prior deploymentModelV1, l lacking, past engine.State) bool {
	if !m.Groups.Equal(prior.Groups) || !m.Plugins.Equal(prior.Plugins) ||
		!m.Ordering.Equal(prior.Ordering) || !m.Triggers.Equal(prior.Triggers) {
		return true
	}
	before, diags := prior.nodes(ctx, past)
	if diags.HasError() {
		return false
	}
	names := make(map[string]bool, len(before))
	for _, n := range before {
		names[n.Name] = true
	}
	now := slices.Clone(l.names)
	for _, n := range w.Site.Nodes {
		now = append(now, n.Name)
	}
	return len(now) != len(names) || slices.ContainsFunc(now, func(name string) bool { return !names[name] })
}

func sameKeys[V any](prior types.Map, planned map[string]V) bool {
	before := prior.Elements()
	for key := range planned {
		if _, there := before[key]; !there {
			return false
		}
	}
	return len(before) == len(planned)
}

// steady returns the stages that are certain and the same as before; the others are unknown, since the apply may find
// nothing to do and keep what the state has.
func steady[S ~string](prior types.Map, planned map[string]S) types.Map {
	before := prior.Elements()
	out := make(map[string]S, len(planned))
	for key, stage := range planned {
		if was, there := before[key]; there && was.Equal(types.StringValue(string(stage))) || !there {
			out[key] = stage
		} else {
			out[key] = ""
		}
	}
	return stringMap(out)
}
