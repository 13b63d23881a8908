package resources

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

var (
	serviceStatusType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"entity": types.StringType, "identity": types.StringType, "state": types.StringType, "version": types.Int64Type,
	}}
	serviceValuesType = types.MapType{ElemType: types.StringType}
)

// mostPasses bounds how often one run deploys services again because of what their lifecycles did.
const mostPasses = 16

// setServices shows the services of an inventory: their states and the values that slipway set. unknown are the
// attributes of a service that the run may change.
func (m *deploymentModelV1) setServices(t *services.Transition, values map[string]map[string]any, unknown map[string][]string) {
	statuses, shown := make(map[string]attr.Value), make(map[string]attr.Value)
	state := t.State()
	for _, name := range state.Names() {
		s := t.Status(name)
		identity := types.StringNull()
		if s.Identity != "" {
			identity = types.StringValue(s.Identity)
		}
		statuses[name] = types.ObjectValueMust(serviceStatusType.AttrTypes, map[string]attr.Value{
			"entity": types.StringValue(s.Entity), "identity": identity, "state": types.StringValue(s.State), "version": types.Int64Value(int64(s.Version)),
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
	m.ServiceStatus, m.ServiceValues = types.MapValueMust(serviceStatusType, statuses), types.MapValueMust(serviceValuesType, shown)
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

// returning are the attributes of services that callbacks of a plan set.
func (w *work) returning() map[string][]string {
	due := make(map[string]bool)
	for _, phase := range w.plan.Phases {
		for _, t := range phase.Tasks {
			if t.Kind == task.Callback {
				due[t.Name] = true
			}
		}
	}
	out := make(map[string][]string)
	for _, s := range w.deployed.Services {
		if s.Entity == nil || len(due) == 0 {
			continue
		}
		for _, r := range returned(s.Entity) {
			if due[s.Name+"/"+r.task] && !r.Sensitive {
				out[s.Name] = append(out[s.Name], r.Name)
			}
		}
	}
	return out
}

// passes deploys services again as long as their lifecycles ask for it: a rollback, a second step of a removal. report
// becomes that of the whole run.
func (d *Deployment) passes(ctx context.Context, run *activeRun, w *work, in rollInput, todo *planner.Plan, report *rollout.Report, options rollout.Options) (diags diag.Diagnostics) {
	brought := w.brought
	again, more := w.conclude(todo, *report, brought, nil)
	diags.Append(more...)
	w.called = todo.Called(in.past.Applied[planner.Controller], report.Callbacks)
	applied := in.appliedAfter(*report, w.called)
	if brought == nil && len(again) > 0 { // nothing changed, and yet something is to be done, as after a repair that failed
		if brought, _ = w.memory.OwnersOf(w.deployed); brought == nil {
			brought = planner.Owners{}
		}
	}
	for pass := 0; len(again) > 0 && report.Status != rollout.StatusInterrupted && run.ctx.Err() == nil && !diags.HasError(); pass++ {
		diags.Append(run.history(ctx, w.services)...)
		if pass == mostPasses {
			diags.AddError("Services do not come to rest", fmt.Sprintf("After %d deployments in one run these still ask for another: %s. Their lifecycles lead from one deployment to the next without an end.",
				pass, strings.Join(slices.Sorted(maps.Keys(again)), ", ")))
			break
		}
		deployed := w.services.Site()
		deployed.Values, _ = learn(deployed, in.past.Values, report.Values)
		w.deployed = deployed
		next, problems := w.memory.MakeFor(deployed, applied, again, brought)
		if len(problems.Errors()) > 0 {
			diags.AddError("A service cannot be deployed as its lifecycle asks", problems.Errors().Error())
			break
		}
		if now, problems := w.memory.OwnersOf(deployed); len(problems) == 0 {
			brought.Add(now)
		}
		options.Purpose = "once more for " + strings.Join(slices.Sorted(maps.Keys(again)), ", ")
		options.Resolve = func(t task.Task, values rollout.Values) (task.Task, error) { return next.Resolve(t, values) }
		followed, err := rollout.Run(run.ctx, deployed, next, options)
		if err != nil {
			followed.Status = rollout.StatusFailed
			diags.AddError("The run was stopped", err.Error())
		}
		w.did = append(w.did, next.Part(followed.Did()).Lines()...)
		again, more = w.conclude(next, followed, brought, again)
		diags.Append(more...)
		report.Follow(followed)
		w.called = next.Called(w.called, followed.Callbacks)
		applied = in.appliedAfter(*report, w.called)
	}
	return diags
}

// conclude reports to the services how their tasks went. A plan that was made for some services only, those concerned, reports
// nothing of the others; nil: it was made for all.
func (w *work) conclude(p *planner.Plan, report rollout.Report, brought planner.Owners, concerned map[string]bool) (map[string]bool, diag.Diagnostics) {
	outcomes := make(map[string]services.Outcome)
	for _, name := range w.services.State().Names() {
		if concerned != nil && !concerned[name] {
			outcomes[name] = services.Outcome{Outcome: lifecycle.Waiting}
		}
	}
	for name, tasks := range report.ByService(p, brought) {
		progress, failures := report.Progress(tasks)
		outcomes[name] = services.Outcome{Outcome: progress.Outcome(), Message: failuresText(failures)}
	}
	again := w.services.Conclude(outcomes, time.Now())
	return again, Diagnostics(w.services.Problems())
}

// failuresText names failed tasks, the first few of them.
func failuresText(failures []rollout.TaskFailure) string {
	const most = 3
	var parts []string
	for i, f := range failures {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more", len(failures)-most))
			break
		}
		where := ""
		if f.Node != "" {
			where = " on " + f.Node
		}
		parts = append(parts, fmt.Sprintf("%s%s: %s", f.Resource, where, f.Message))
	}
	return strings.Join(parts, "; ")
}

// appliedAfter is what is applied on the nodes after a run, as far as anyone knows, and what on the controller.
func (in rollInput) appliedAfter(report rollout.Report, called map[planresource.ID]string) planner.Applied {
	out := maps.Clone(in.past.Applied)
	if out == nil {
		out = planner.Applied{}
	}
	for node, n := range report.Nodes {
		out[node] = n.Applied(in.past.Applied[node])
	}
	out[planner.Controller] = called
	return out
}

// tellRolledBack fails the apply for every service whose update was taken back.
func tellRolledBack(t *services.Transition) (diags diag.Diagnostics) {
	state := t.State()
	for _, r := range t.RolledBack() {
		now := state.Records[r.Service]
		outcome := fmt.Sprintf("What version %d had is deployed again, as version %d", r.Previous, now.Version)
		if last := t.Status(r.Service); last.Label == lifecycle.Danger || last.Label == lifecycle.Warning {
			outcome = fmt.Sprintf("Deploying what version %d had failed as well: the service is in the state %s, version %d", r.Previous, last.State, now.Version)
		}
		diags.AddAttributeError(path.Root("services"), fmt.Sprintf("The update of the service %q was rolled back", r.Service),
			fmt.Sprintf("Version %d failed: %s.\n%s. The next plan shows the change again; fix its cause first, or take it back.", r.Failed, r.Message, outcome))
	}
	return diags
}

// stale refuses an apply whose services are not as the plan saw them: another run changed them since, or one that ended
// without a word.
func stale(past services.Inventory, journal []services.JournalRecord) (diags diag.Diagnostics) {
	for _, seen := range journal {
		was, known := past.Records[seen.Service]
		if !known || !past.Newer(seen) {
			continue // a service that only the journal has is taken over when it is made
		}
		diags.AddAttributeError(path.Root("services"), fmt.Sprintf("The service %q changed since the plan", seen.Service),
			fmt.Sprintf("The plan saw version %d of it, in the state %q; it is at version %d, in the state %q. Nothing was touched. Run terraform plan again, with its refresh.",
				was.Version, was.State, seen.Version, seen.State))
	}
	return diags
}

// took keeps what became of services: their inventory, and what the state shows of it.
func (done *rolled) took(w *work) {
	w.services.Learn(done.Values)
	done.Services = w.services.State()
	promised := done.model.ServiceValues
	done.model.setServices(w.services, done.Values, nil)
	done.model.ServiceValues = keepPromises(promised, done.model.ServiceValues)
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
