package resources

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
)

// replacementKey is where the plan notes why a replacement is refused. Terraform plans one that the provider did not
// ask for (-replace, replace_triggered_by) in two calls: one like that of any plan, and one without prior state, but
// with the private state that the first one returned. It shows errors of the second call and no warnings. A tainted
// deployment has the second call only, and no private state there.
const replacementKey = "replacement"

// refusal is an error of the second call.
type refusal struct{ Summary, Detail string }

// noteReplacement notes for the second call why a replacement is refused. Where protect allows one, it warns of what a
// replacement would do, because the second call cannot; so it does of another site name, which the plan itself refuses.
func (d *Deployment) noteReplacement(ctx context.Context, plan, prior deploymentModelV1, past engine.State,
	private privateWriter) diag.Diagnostics {
	diags := private.SetKey(ctx, replacementKey, nil)
	losses := planner.Destroyed(past.Applied)
	losses.Silent = textsOf(prior.Unreachable)
	if !plan.Site.Equal(prior.Site) {
		if steps := d.stepsOfCreation(ctx, plan, prior.Run.ValueInt64()); steps != "" {
			diags.AddWarning("Another site is created", fmt.Sprintf("site was %q and is %q now.\n%s", prior.Site.ValueString(),
				plan.Site.ValueString(), steps))
		}
		return diags
	}
	if losses.Empty() || prior.OnDestroy.ValueString() == onDestroyRetain {
		return diags
	}
	limits, known, refused := limitsOf(ctx, plan.Protect)
	if !known {
		limits = planner.Protection{Given: true}
	}
	refused.Append(protectedFromDestroy(ctx, prior)...)
	refused.Append(Diagnostics(limits.CheckReplacement(losses))...)
	if !refused.HasError() {
		diags.AddWarning("protect lets the deployment be replaced",
			fmt.Sprintf("max_torn_down_nodes allows every node to be torn down, so a replacement by -replace or "+
				"replace_triggered_by is not refused. It first %s:\n%s\n%s", losses.Undone(), strings.Join(losses.ByNode(), "\n"),
				d.stepsOfCreation(ctx, plan, prior.Run.ValueInt64())))
		return diags
	}
	var errs []refusal
	for _, e := range refused.Errors() {
		errs = append(errs, refusal{e.Summary(), e.Detail()})
	}
	raw, err := json.Marshal(errs)
	if err != nil {
		diags.AddError("The plan cannot be noted", err.Error())
		return diags
	}
	diags.Append(private.SetKey(ctx, replacementKey, raw)...)
	return diags
}

// refuseReplacement returns what the first call noted.
func refuseReplacement(ctx context.Context, private privateReader) diag.Diagnostics {
	raw, diags := private.GetKey(ctx, replacementKey)
	var errs []refusal
	if err := json.Unmarshal(raw, &errs); len(raw) > 0 && err != nil {
		diags.AddError("Private state is not readable", err.Error())
	}
	for _, e := range errs {
		diags.AddError(e.Summary, e.Detail)
	}
	return diags
}

// stepsOfCreation lists the steps of a creation that replaces a deployment where Terraform hides those that equal the
// state's: a creation is always run 1. Empty where Terraform prints all of them.
func (d *Deployment) stepsOfCreation(ctx context.Context, plan deploymentModelV1, run int64) string {
	if run != 1 {
		return ""
	}
	w, known, diags := d.work(ctx, plan, nil, engine.State{})
	if !known || diags.HasError() {
		return ""
	}
	lines := numbered(1, append(w.Services.Steps(), w.Plan.Lines()...))
	return "\nThe steps of the creation:\n\n  " + strings.Join(lines, "\n  ") + "\n"
}

// warnOfTaint explains a creation of a site that is in the state: how many runs it had there.
func (d *Deployment) warnOfTaint(ctx context.Context, plan deploymentModelV1) (diags diag.Diagnostics) {
	run, inState := d.provider.Planned.runOf(plan.Site.ValueString())
	if !inState {
		return nil
	}
	diags.AddWarning("The site is in the state, and is planned as a creation",
		"When Terraform says that the deployment is tainted, nothing is torn down for that: the creation checks what is "+
			"applied and does what is missing. After \"terraform untaint\" the plan is an update.\n"+
			d.stepsOfCreation(ctx, plan, run))
	return diags
}
