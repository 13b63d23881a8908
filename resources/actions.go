package resources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// Actions are what Terraform 1.14 can do besides changing resources.
func Actions() []func() action.Action {
	return []func() action.Action{
		func() action.Action { return &checkAction{namedAction{name: "check"}} },
		func() action.Action { return &rebootAction{namedAction{name: "reboot"}} },
		func() action.Action { return &unlockAction{namedAction{name: "unlock"}} },
	}
}

// namedAction has what all actions have: a name, and what the provider shares with them.
type namedAction struct {
	name     string // "check": the type is slipway_check
	provider ProviderData
}

func (a *namedAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + a.name
}

func (a *namedAction) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	a.provider, _ = values.Shared[ProviderData]("An action", req.ProviderData, &resp.Diagnostics)
}

// deploymentAttribute takes a deployment with its nodes and all else that it has.
func deploymentAttribute() schema.DynamicAttribute {
	return schema.DynamicAttribute{Required: true, MarkdownDescription: "The `slipway_deployment`, as a whole."}
}

// site returns the site of the attribute `deployment`.
func (a *namedAction) site(ctx context.Context, of attr.Value) (s site.Site, diags diag.Diagnostics) {
	at := path.Root("deployment")
	value, err := values.Opened(ctx, of)
	if err != nil {
		diags.AddAttributeError(at, "Invalid deployment", err.Error())
		return s, diags
	}
	given, is := value.(map[string]any)
	name, _ := given["site"].(string)
	if !is || name == "" || given["nodes"] == nil {
		diags.AddAttributeError(at, "Invalid deployment", "Give a slipway_deployment as a whole, that was applied: deployment = slipway_deployment.NAME.")
		return s, diags
	}
	delete(given, "freeze") // an action is about the whole site
	delete(given, "limit")
	s, known, errs := document.NewValues(false).Site(document.DeploymentOf(given))
	diags.Append(values.Diagnostics(errs)...)
	s, _ = engine.ReadDirectories(s) // what cannot be read is not checked
	if !known && !diags.HasError() {
		diags.AddAttributeError(at, "Invalid deployment", "Some of it is not known. An action runs when all is known.")
	}
	return s, diags
}

// settings are what the nodes are reached with.
func (a *namedAction) settings(siteName string) engine.Settings {
	return engine.Settings{Connection: a.provider.Connection, Cache: a.provider.Runs.Cache(siteName)}
}

// checkAction is slipway_check.
type checkAction struct{ namedAction }

func (*checkAction) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Compares the nodes of a deployment with what is applied on them, and changes nothing. Drift is an error, and so is what the last run began and did not finish. What the deployment asks for and does not have yet is no drift.",
		Attributes:          map[string]schema.Attribute{"deployment": deploymentAttribute()},
	}
}

// Invoke reports each resource that drifted or was not finished, and is an error when there is one or a node does not
// answer.
func (a *checkAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var given types.Dynamic
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("deployment"), &given)...)
	if resp.Diagnostics.HasError() {
		return
	}
	s, diags := a.site(ctx, given.UnderlyingValue())
	if resp.Diagnostics.Append(diags...); diags.HasError() {
		return
	}
	ctx, stop := a.provider.Runs.Stoppable(ctx)
	defer stop()
	e := a.provider.engine()
	past, _, adopted := e.Adopt(ctx, s.Name, engine.State{})
	resp.Diagnostics.Append(values.Diagnostics(adopted)...)
	looked := e.Check(ctx, past, s, engine.Inspection{Settings: a.settings(s.Name)})
	resp.Diagnostics.Append(values.Diagnostics(looked.Messages)...)
	if !looked.Done {
		resp.Diagnostics.AddError("Drift was not checked", "The warnings say why.")
		return
	}
	found := looked.Differences()
	lines := make([]string, len(found))
	for i, d := range found {
		change, _, _ := strings.Cut(d.Change, "\n")
		lines[i] = fmt.Sprintf("node %q: %s: %s", d.Node, d.Resource, change)
		resp.SendProgress(action.InvokeProgressEvent{Message: lines[i]})
	}
	if len(lines) > 0 {
		resp.Diagnostics.AddError("The site differs from what was applied",
			strings.Join(engine.FirstLines(lines), "\n")+"\n\nThe next apply repairs it.")
	}
	if len(looked.Unreachable) > 0 {
		resp.Diagnostics.AddError("Not every node could be checked",
			"These do not answer: "+strings.Join(engine.FirstLines(looked.Unreachable), ", ")+".")
	}
	if len(lines)+len(looked.Unreachable) == 0 {
		resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf("site %s: no drift on %d nodes", s.Name,
			len(s.Nodes))})
	}
}

// rebootAction is slipway_reboot.
type rebootAction struct{ namedAction }

func (*rebootAction) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Restarts nodes of a deployment, one after the other, and waits until each is back. No run may be at work on the site meanwhile. The first node that fails ends it.",
		Attributes: map[string]schema.Attribute{
			"deployment": deploymentAttribute(),
			"nodes": schema.ListAttribute{Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Names of the nodes, in the order of their restarts; one that is named again restarts once. Default: all nodes of the deployment, by name."},
			"timeout": schema.StringAttribute{Optional: true, Validators: []validator.String{durationValidator()},
				MarkdownDescription: "How long each node may take to be back, such as `10m`. Default: 10 minutes."},
		},
	}
}

// defaultRestart is how long a node may take to restart.
const defaultRestart = 10 * time.Minute

// Invoke restarts the nodes.
func (a *rebootAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m struct {
		Deployment types.Dynamic `tfsdk:"deployment"`
		Nodes      []string      `tfsdk:"nodes"`
		Timeout    types.String  `tfsdk:"timeout"`
	}
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	s, diags := a.site(ctx, m.Deployment.UnderlyingValue())
	if resp.Diagnostics.Append(diags...); diags.HasError() {
		return
	}
	limit := defaultRestart
	if text := m.Timeout.ValueString(); text != "" {
		limit, _ = document.ParseDuration(text) // it was validated
	}
	if m.Nodes == nil {
		for _, n := range s.Nodes {
			m.Nodes = append(m.Nodes, n.Name)
		}
		slices.Sort(m.Nodes)
	}
	ctx, end := a.provider.Runs.Working(ctx)
	defer end()
	resp.Diagnostics.Append(values.Diagnostics(a.provider.engine().Reboot(ctx, s, m.Nodes, limit, a.settings(s.Name),
		func(node string) {
			resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf("node %q is back", node)})
		}))...)
}

// unlockAction is slipway_unlock.
type unlockAction struct{ namedAction }

func (*unlockAction) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Frees a site from a run that is gone or hangs, as `runs unlock` of the companion does. The next run does this itself when the run gave no sign of life for 30 seconds.",
		Attributes: map[string]schema.Attribute{
			"site":  schema.StringAttribute{Required: true, MarkdownDescription: "Name of the site."},
			"force": schema.BoolAttribute{Optional: true, MarkdownDescription: "Free the site also from a run that gives signs of life; it then stops. Default: false."},
		},
	}
}

// Invoke frees the site.
func (a *unlockAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m struct {
		Site  string     `tfsdk:"site"`
		Force types.Bool `tfsdk:"force"`
	}
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	store, err := a.provider.Journals().OpenExisting(ctx, m.Site)
	if err == nil {
		err = store.Close()
	}
	if err == nil {
		store, err = a.provider.Journals().Open(ctx, m.Site)
	}
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("site"), "The site cannot be freed", err.Error()+".")
		return
	}
	holder, err := store.Unlock(ctx, m.Site, m.Force.ValueBool(), 0)
	if err := errors.Join(err, store.Close()); err != nil {
		resp.Diagnostics.AddError("The site cannot be freed", err.Error())
		return
	}
	message := fmt.Sprintf("site %s: no run holds it", m.Site)
	if holder != nil {
		message = fmt.Sprintf("site %s: free. It was held by run %s of %s, running since %s", m.Site, holder.Run,
			holder.Owner, holder.Since.Format(time.RFC3339))
	}
	resp.SendProgress(action.InvokeProgressEvent{Message: message})
}
