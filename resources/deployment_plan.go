package resources

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// ModifyPlan shows what the apply will do. It runs in plan and, in another process, again in apply; when the second
// answer equals the prior state, Terraform skips the update without a word (terraform.md 5.3). So it is a function of
// configuration, prior state and private state, and nothing else: no node, no clock, no memory.
func (d *Deployment) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest,
	resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(planDestroy(ctx, req)...)
		resp.Diagnostics.Append(d.handed(nil, d.provider.Connection)...)
		return
	}
	var plan deploymentModelV1
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	var prior *deploymentModelV1
	var past engine.State
	if !req.State.Raw.IsNull() {
		prior = &deploymentModelV1{}
		resp.Diagnostics.Append(req.State.Get(ctx, prior)...)
		plan.keepSame(*prior)
		var diags diag.Diagnostics
		past, _, diags = recall(ctx, req.Private)
		resp.Diagnostics.Append(diags...)
		if resp.Diagnostics.HasError() {
			return
		}
	}
	desired, diags := plan.desired(ctx)
	resp.Diagnostics.Append(diags...)
	if prior != nil {
		resp.Diagnostics.Append(d.noteReplacement(ctx, plan, *prior, desired, past, resp.Private)...)
	} else if resp.Diagnostics.Append(refuseReplacement(ctx, req.Private)...); !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(d.warnOfTaint(plan, desired)...)
		resp.Diagnostics.Append(d.warnOfHanded(ctx, plan.Site)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	w, known, diags := d.work(ctx, plan, desired, nil, prior, past)
	resp.Diagnostics.Append(diags...)
	var given types.Map
	var key types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("secrets_wo"), &given)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("private_key_wo"), &key)...)
	resp.Diagnostics.Append(d.handed(w, d.provider.connection(key))...)
	if known && !resp.Diagnostics.HasError() && !given.IsUnknown() {
		secrets := secretsOf(given)
		secrets.Later, secrets.Null = append(secrets.Later, secrets.Null...), nil // the apply may know what is null here
		resp.Diagnostics.Append(values.Diagnostics(secrets.Missing(w.Site, engine.SecretsWO))...)
		resp.Diagnostics.Append(values.Diagnostics(w.Plan.RefusedSecrets(secrets.Content))...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if !known {
		resp.Diagnostics.Append(d.planPart(ctx, &plan, desired, prior, past)...)
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
		return
	}
	if resp.Diagnostics.Append(values.Diagnostics(w.Frozen(w.Lines()))...); resp.Diagnostics.HasError() {
		return
	}
	if prior != nil && !w.HasChanges() && !w.Drifted() && prior.shown().Settled() &&
		plan.sameDesire(*prior) && prior.ActiveRun.ValueString() == "" {
		plan.computedV1 = prior.computedV1 // nothing is to be done
	} else {
		plan.setPlan(w, prior)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(d.missingFiles(w)...)
	resp.Diagnostics.Append(values.Diagnostics(w.Sources())...)
	if prior != nil {
		resp.Diagnostics.Append(protect(ctx, plan, *prior, past, w.Losses(), false)...)
		resp.Diagnostics.Append(values.Diagnostics(w.ReachedOtherwise())...)
	}
	if prior != nil && plan.OnDestroy.ValueString() == onDestroyRetain {
		resp.Diagnostics.Append(values.Diagnostics(w.Retaining())...)
	}
}

// missingFiles warns of files that connections of nodes name and that are missing, unless workers have them.
func (d *Deployment) missingFiles(w *engine.Planned) diag.Diagnostics {
	if d.provider.Unknown || d.provider.Handing != nil {
		return nil
	}
	return values.Diagnostics(w.MissingFiles(d.provider.Connection))
}

// handed refuses what does not reach workers, where they execute runs; w is nil where nothing is planned.
func (d *Deployment) handed(w *engine.Planned, defaults site.Connection) diag.Diagnostics {
	return values.Diagnostics(d.provider.engine().Handed(w, defaults))
}

// work plans. known is false, and there is no plan, when the site is not wholly known. lacks is what the part of a site
// lacks, of which parameters of configuration resources may be unknown; nil for a whole site.
func (d *Deployment) work(ctx context.Context, plan deploymentModelV1, desired document.Deployment, lacks *site.Lacking,
	prior *deploymentModelV1, past engine.State) (w *engine.Planned, known bool, diags diag.Diagnostics) {
	s, known, errs := document.NewValues(lacks != nil).Site(desired)
	if known {
		var unread invalid.Errors
		s, unread = engine.ReadDirectories(s)
		errs = append(errs, unread...)
	}
	diags = values.Diagnostics(errs)
	if diags.HasError() || !known || plan.Triggers.IsUnknown() {
		return nil, false, diags
	}
	before, ds := prior.before(ctx, plan, s, past)
	if diags.Append(ds...); diags.HasError() {
		return nil, false, diags
	}
	if lacks != nil {
		s.Partly, s.Unknown = true, lacks.Unknown()
	}
	w, errs = engine.Plan(before, s, d.settings(plan, prior, types.StringNull()))
	diags.Append(values.Diagnostics(errs)...)
	if w != nil && prior != nil && !w.Plan.Empty() && !plan.sameDesire(*prior) {
		was, _, ds := prior.Value(ctx)
		if ds.HasError() {
			was = site.Site{}
		}
		w.Since(was)
	}
	return w, true, diags
}

// settings are what a plan depends on beside the site. key is private_key_wo.
func (d *Deployment) settings(plan deploymentModelV1, prior *deploymentModelV1, key types.String) engine.Settings {
	return engine.Settings{
		CheckAll:   prior != nil && !plan.Triggers.Equal(prior.Triggers),
		Connection: d.provider.connection(key), Unreached: d.provider.Unknown,
		Cache: d.provider.Runs.Cache(plan.Site.ValueString()),
	}
}

// before returns what a plan starts from: nil when there is no prior state.
func (m *deploymentModelV1) before(ctx context.Context, plan deploymentModelV1, desired site.Site, past engine.State) (
	out *engine.Prior, diags diag.Diagnostics) {
	if m == nil {
		return nil, nil
	}
	out = &engine.Prior{State: past, Nodes: desired.Nodes, Imported: m.Nodes.IsNull(),
		Unreachable: values.Texts(m.Unreachable), Active: m.ActiveRun.ValueString()}
	if !plan.Nodes.Equal(m.Nodes) {
		out.Nodes, diags = m.nodes(ctx, past)
	}
	drift, ds := m.driftItems(ctx)
	out.Drift = engine.DriftOf(drift)
	diags.Append(ds...)
	return out, diags
}

// setPlan shows what is done and, where it is certain, how it ends.
func (m *deploymentModelV1) setPlan(w *engine.Planned, prior *deploymentModelV1) {
	m.setUnknown()
	m.awaits(prior)
	m.foreseeFacts(prior, w, w.Plan.ChangedNodes(), nil)
	m.Digest = types.StringValue(w.Plan.Digest)
	m.Drift = prior.driftOutside(w)
	m.setServices(w.Services, w.Site.Values, w.Returning())
	created := prior == nil
	if created {
		prior = &deploymentModelV1{}
		m.ServiceValues = types.MapUnknown(serviceValuesType)
	}
	if !w.HasChanges() && !created && !prior.Nodes.IsNull() {
		m.keepRun(*prior)
	} else {
		run, steps, changed := w.Number(prior.shown())
		m.Run, m.Steps, m.ChangedNodes = types.Int64Value(run), stringList(steps), runMap(changed)
	}
	if created || prior.Nodes.IsNull() { // what the ledgers have comes on top, and services that only a journal has
		m.ServiceStatus = types.MapUnknown(serviceStatusType)
		return
	}
	if nodes, groups := w.Foresee(); nodes != nil {
		m.NodeStatus, m.GroupStatus = stringMap(nodes), stringMap(groups)
	}
	statuses := maps.Clone(m.ServiceStatus.Elements())
	moving, known := w.Concerned(func(service string) bool { return statuses[service] != nil })
	if m.ServiceStatus = types.MapUnknown(serviceStatusType); known {
		for service := range moving {
			statuses[service] = types.ObjectUnknown(serviceStatusType.AttrTypes)
		}
		m.ServiceStatus = types.MapValueMust(serviceStatusType, statuses)
	}
}

// driftOutside returns the drift that a plan does not cover.
func (m *deploymentModelV1) driftOutside(w *engine.Planned) types.List {
	out := []attr.Value{}
	if w.Plan.Limited == nil {
		return types.ListValueMust(driftType, out)
	}
	for _, v := range m.drift() {
		if o, ok := v.(types.Object); ok {
			if node, ok := o.Attributes()["node"].(types.String); ok && !w.Plan.Limited[node.ValueString()] {
				out = append(out, v)
			}
		}
	}
	return types.ListValueMust(driftType, out)
}

// planPart plans what does not depend on what is not known yet. The plan itself has what stays as it is when the rest
// becomes known.
func (d *Deployment) planPart(ctx context.Context, plan *deploymentModelV1, desired document.Deployment,
	prior *deploymentModelV1, past engine.State) (diags diag.Diagnostics) {
	whole := *plan
	plan.setUnknown()
	plan.awaits(prior)
	if prior == nil || !prior.Drift.IsNull() {
		plan.Drift = types.ListValueMust(driftType, []attr.Value{})
	}
	var before engine.Shown
	if prior != nil {
		before = prior.shown()
	}
	run := types.Int64Value(before.Run + 1)
	if prior == nil || prior.Nodes.IsNull() {
		plan.Run = run
	}
	part, lacks, err := document.KnownPart(desired, false)
	if err != nil {
		diags.AddError("Invalid deployment", err.Error())
		return diags
	}
	if lacks.Attribute != "" {
		return values.Diagnostics(engine.Unplanned(lacks, past, ""))
	}
	w, known, errs := d.work(ctx, whole, part, &lacks, prior, past)
	if errs.HasError() && len(lacks.Loose) > 0 { // what a node has for certain may not do without the rest
		if part, lacks, err = document.KnownPart(desired, true); err == nil {
			w, known, errs = d.work(ctx, whole, part, &lacks, prior, past)
		}
	}
	if errs.HasError() {
		return values.Diagnostics(engine.Unplanned(lacks, past, errs.Errors()[0].Detail()))
	}
	if !known {
		return values.Diagnostics(engine.Unplanned(lacks, past, ""))
	}
	diags.Append(d.missingFiles(w)...)
	diags.Append(values.Diagnostics(w.Sources())...)
	diags.Append(d.handed(w, site.Connection{})...)
	p := w.Part(lacks, past)
	if !lacks.Nameless {
		plan.foreseeFacts(prior, w, nil, &lacks)
	}
	switch ends := w.Site.Ends(); {
	case ends && len(prior.drift()) > 0:
		plan.Drift = types.ListUnknown(driftType) // whether it waits may depend on what is not known
	case !plan.Drift.IsUnknown():
		plan.Drift = prior.driftOutside(w)
	}
	if prior != nil {
		losses, _ := p.Losses()
		diags.Append(protect(ctx, whole, *prior, past, losses, lacks.Nameless)...)
	}
	if w.Site.Ends() && !lacks.SureOfNodes() {
		return append(diags,
			values.Diagnostics(engine.Unplanned(lacks, past, "which nodes come before a pause for approval depends on it"))...)
	}
	if p.HasWork() {
		diags.Append(values.Diagnostics(p.Frozen([]string{"what is certain of run " + run.String()}))...)
		plan.Run = run
	}
	if prior != nil && !prior.Nodes.IsNull() {
		plan.foreseePart(ctx, p, *prior, before, past)
	}
	diags.Append(values.Diagnostics(p.Warning(before.Run + 1))...)
	return diags
}

// foreseePart shows of nodes, groups and services what stays as it is, and leaves open what may change.
func (m *deploymentModelV1) foreseePart(ctx context.Context, p *engine.Part, prior deploymentModelV1,
	before engine.Shown, past engine.State) {
	nodes, diags := prior.nodes(ctx, past)
	if diags.HasError() {
		return
	}
	ends := p.Foresee(before, !m.Groups.Equal(prior.Groups) || !m.Plugins.Equal(prior.Plugins) ||
		!m.Ordering.Equal(prior.Ordering) || !m.Triggers.Equal(prior.Triggers), site.NodeNames(nodes))
	if ends.Nodes != nil {
		m.NodeStatus = stringMap(ends.Nodes)
	}
	if ends.Groups != nil {
		m.GroupStatus = stringMap(ends.Groups)
	}
	if ends.ChangedNodes != nil {
		m.ChangedNodes = runMap(ends.ChangedNodes)
	}
	var shown deploymentModelV1
	if shown.setServices(p.Planned.Services, p.Site.Values, p.Returning()); ends.Services &&
		shown.ServiceStatus.Equal(prior.ServiceStatus) && shown.ServiceValues.Equal(prior.ServiceValues) {
		m.ServiceStatus, m.ServiceValues = prior.ServiceStatus, prior.ServiceValues
	}
}

// warnOfTaint explains a creation of a site that is in the state with steps, of which Terraform hides those that are
// equal.
func (d *Deployment) warnOfTaint(plan deploymentModelV1, desired document.Deployment) diag.Diagnostics {
	run, _ := d.provider.Seen.RunOf(plan.Site.ValueString())
	if run == 0 {
		return nil
	}
	return values.Diagnostics(engine.Tainted(d.stepsOfCreation(plan, desired, run)))
}

// stepsOfCreation is [engine.StepsOfCreation]; empty where the site is not known.
func (d *Deployment) stepsOfCreation(plan deploymentModelV1, desired document.Deployment, run int64) string {
	s, known, errs := document.NewValues(false).Site(desired)
	if !known || len(errs) > 0 || plan.Triggers.IsUnknown() {
		return ""
	}
	s, _ = engine.ReadDirectories(s) // the plan reports what cannot be read
	return engine.StepsOfCreation(s, d.settings(plan, nil, types.StringNull()), run)
}

// replacementKey is where the plan notes why a replacement is refused. Terraform plans one that the provider did not
// ask for (-replace, replace_triggered_by) in two calls: one like that of any plan, and one without prior state, but
// with the private state that the first one returned. It shows errors of the second call and no warnings. A tainted
// deployment has the second call only, and no private state there.
const replacementKey = "replacement"

// noteReplacement notes for the second call why a replacement is refused. Where protect allows one, it warns of what a
// replacement would do, because the second call cannot; so it does of another site name, which the plan itself refuses.
func (d *Deployment) noteReplacement(ctx context.Context, plan, prior deploymentModelV1, desired document.Deployment,
	past engine.State, private privateWriter) diag.Diagnostics {
	diags := private.SetKey(ctx, replacementKey, nil)
	creation := func() string { return d.stepsOfCreation(plan, desired, prior.Run.ValueInt64()) }
	if !plan.Site.Equal(prior.Site) {
		renamed := engine.Renamed(prior.Site.ValueString(), plan.Site.ValueString(), creation())
		return append(diags, values.Diagnostics(renamed)...)
	}
	limits, ds := limitsOf(ctx, plan, &prior)
	if diags.Append(ds...); diags.HasError() {
		return diags
	}
	noted := values.Diagnostics(limits.CheckReplacement(past, values.Texts(prior.Unreachable), creation))
	if !noted.HasError() {
		diags.Append(noted...)
		return diags
	}
	diags.Append(noteRefusal(ctx, private, noted.Errors())...)
	return diags
}
