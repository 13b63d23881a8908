package resources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/slipway/terraform-provider-slipway/planner/callback/controller"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

var (
	_ resource.ResourceWithConfigure    = (*Deployment)(nil)
	_ resource.ResourceWithModifyPlan   = (*Deployment)(nil)
	_ resource.ResourceWithImportState  = (*Deployment)(nil)
	_ resource.ResourceWithIdentity     = (*Deployment)(nil)
	_ resource.ResourceWithUpgradeState = (*Deployment)(nil)
)

// Deployment is slipway_deployment: the only resource that touches nodes. Everything that it knows of the site comes
// through its configuration and its own prior state, never through a side store (terraform.md 6.2).
type Deployment struct {
	provider ProviderData
}

// NewDeployment returns the resource for the provider's table.
func NewDeployment() resource.Resource { return &Deployment{} }

// Metadata names the type.
func (d *Deployment) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_deployment"
}

// Configure takes the provider's connection defaults.
func (d *Deployment) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	d.provider, _ = values.Shared[ProviderData]("slipway_deployment", req.ProviderData, &resp.Diagnostics)
}

// engine returns the engine with what the provider gives.
func (p ProviderData) engine() *engine.Engine {
	executor := func() rollout.Executor { return rollout.NewInProcess() }
	if p.Handing != nil {
		executor = p.Handing.Executor
	}
	return &engine.Engine{
		Journals: p.Journals(), Executor: executor,
		Caller: controller.New(controller.Options{}), Now: time.Now, GiveUp: p.Runs.Ending(),
		Handing: p.Handing, Log: logged,
	}
}

// logged writes a line about a run to the log of Terraform (TF_LOG_PROVIDER).
func logged(ctx context.Context, line string, about ...any) {
	fields := map[string]any{}
	for i := 0; i+1 < len(about); i += 2 {
		fields[fmt.Sprint(about[i])] = about[i+1]
	}
	tflog.Info(ctx, line, fields)
}

// IdentitySchema declares what names a deployment outside of any state: its site.
func (d *Deployment) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest,
	resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"site": identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the site."},
	}}
}

// ImportState imports by site name. Nodes and services come from the configuration; the first apply then finds in the
// nodes' ledgers what is there already.
func (d *Deployment) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughWithIdentity(ctx, path.Root("site"), path.Root("site"), req, resp)
}

// UpgradeState reads the state of earlier versions. In version 0 runs had no numbers, and changed_nodes was a list: its
// nodes, and those with a status, were changed by some run before. What is not known stays null.
func (*Deployment) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	return map[int64]resource.StateUpgrader{
		0: {StateUpgrader: func(_ context.Context, req resource.UpgradeStateRequest, resp *resource.UpgradeStateResponse) {
			var state map[string]json.RawMessage
			var old struct {
				ChangedNodes []string          `json:"changed_nodes"`
				NodeStatus   map[string]string `json:"node_status"`
			}
			err := errors.Join(json.Unmarshal(req.RawState.JSON, &state), json.Unmarshal(req.RawState.JSON, &old))
			if string(state["changed_nodes"]) != "null" && err == nil {
				nodes := make(map[string]int, len(old.NodeStatus))
				for name := range old.NodeStatus {
					nodes[name] = 0
				}
				for _, name := range old.ChangedNodes {
					nodes[name] = 0
				}
				state["changed_nodes"], err = json.Marshal(nodes)
			}
			raw, more := json.Marshal(state)
			if err = errors.Join(err, more); err != nil {
				resp.Diagnostics.AddError("The saved state cannot be read",
					fmt.Sprintf("The state of the deployment is not one that slipway 0.1.0 wrote: %v.", err))
				return
			}
			resp.DynamicValue = &tfprotov6.DynamicValue{JSON: raw}
		}},
	}
}

// Schema declares the attributes.
func (d *Deployment) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		Version: 1,
		MarkdownDescription: "Rolls a site out: nodes in groups, in order, with services and overrides on them. This is the only resource of slipway that " +
			"touches nodes. `terraform plan` shows the ordered `steps`, `terraform apply` executes them, refresh finds `drift`, and destroying the deployment undoes on every node " +
			"what slipway did there.",
		Attributes: map[string]schema.Attribute{
			"site": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the site. The ledgers on the nodes and the journal are kept under it; changing it tears the old site down and builds the new one.",
				Validators:          []validator.String{values.NameValidator()},
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
			},
			"nodes": wholeObjects(true, "All nodes of the site: whole `slipway_node` objects, as a list or a map (`slipway_node.this` of a `for_each`)."),
			"groups": wholeObjects(false, "The deployment groups: whole `slipway_group` objects. The order of a list decides which of two independent groups goes first; a map is taken in the order of its keys. "+
				"Left out, all nodes form one critical group that must succeed as a whole."),
			"services": wholeObjects(false, "The services: whole `slipway_service` objects, as a map or a list."+
				" Give a map: of a list Terraform prints the neighbours of one that changes as well, as a whole."),
			"overrides": wholeObjects(false, "The overrides: whole `slipway_override` objects, as a map or a list, like `services`."),
			"plugins": wholeObjects(false, "The plugins: whole `data.slipway_plugin` objects, as a list or a map, or objects with the keys of a plugin's document. Their tasks run in an order of their own, on the nodes with their roles; "+
				"the guide [Plugins and stages](../guides/plugins) says when."),
			"ordering": text("What a catalog says of the order of tasks beyond their requirements: `data.slipway_catalog.site.ordering`, as it is. The guide [Catalogs](../guides/catalog) says what it may contain. "+
				"A rule that cannot be kept is an error that names the tasks.", orderingRule()),
			"parallelism": amount("How many nodes are worked on at once, 1 to 1000. Default 10.", 10, 1000),
			"parallel_groups": amount("How many groups are worked on at once, 1 to 100. Default 1: one after the other. Only groups that have nothing to do with each other go at once: neither depends on the other, "+
				"they share no node, and no task of one requires one of the other or reads what its callbacks return. How a run ends does not depend on it.", 1, 100),
			"on_destroy":      choice("What destroying the deployment does on the nodes: `teardown` (default) undoes everything that slipway did there, `retain` leaves the nodes as they are.", onDestroyTeardown, onDestroyRetain),
			"drift_detection": choice("`full` (default) checks every applied configuration resource on every node at refresh; `off` connects to no node at refresh.", driftFull, driftOff),
			"triggers":        mapping(types.StringType, "Arbitrary values; when one changes, the next apply checks every configuration resource on every node again. Use this and not `replace_triggered_by`, which would tear the whole site down first."),
			"private_key_wo": schema.StringAttribute{
				Optional: true, Sensitive: true, WriteOnly: true,
				MarkdownDescription: "Private key, PEM, for nodes whose own connection gives no key. Write-only: it is in no state and no plan file, and for the same reason Terraform gives it to create and update only. Refresh and destroy " +
					"use the provider's connection, which may itself be set from an ephemeral value and is the better place for a key.",
				Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			// It is not Sensitive: Terraform would plan an empty update of every deployment that has a state already.
			"secrets_wo": schema.MapAttribute{
				Optional: true, WriteOnly: true, ElementType: types.StringType,
				MarkdownDescription: "Secrets by name, to which parameters of configuration may refer: `content = { secret = \"db_password\" }`; see \"Secrets\" in the guide on configuration. Write-only, for Terraform 1.11 and later: they are in no state and no plan file, and may be ephemeral. " +
					"A change of them is no change of the plan: raise `secrets_version`.",
				Validators: []validator.Map{mapvalidator.AlsoRequires(path.MatchRoot("secrets_version"))},
			},
			"secrets_version": number("Version of `secrets_wo`. What refers to a secret is applied again when it changes.", int64validator.AtLeast(1)),
			"timeouts":        timeoutsAttribute(ctx),
			"protect":         protectAttribute(),
			"limit": object("What the plan covers, like `--limit` of Ansible: these nodes, and all nodes of these groups. Everything else stays as it is, also drift and nodes that left, until a plan covers it. "+
				"A warning says what waits, and `status` is `limited`. A service of an entity that changes must be covered as a whole.", map[string]schema.Attribute{
				"nodes": schema.SetAttribute{Optional: true, ElementType: types.StringType,
					MarkdownDescription: "Names of nodes. One that left the site and is still to be torn down may be named, too."},
				"groups": schema.SetAttribute{Optional: true, ElementType: types.StringType,
					MarkdownDescription: "Names of groups."},
			}),
			"freeze": text("Why nothing may be done, such as `\"end of quarter, until 2 January\"`. A plan with work is then an error that shows the reason and the steps; one without work stays empty. "+
				"Destroying the deployment is refused, too; what counts there is the state.", stringvalidator.LengthAtLeast(1)),
			"approval": text("What a run does where it is to pause, after a batch that is to be approved or outside of the `maintenance` window of a group: `wait` (default) waits until it may go on; `end` ends the apply successfully, with `status` `paused`, and the next plan shows the rest. "+
				"A run that waits is bounded by `timeouts`.", stringvalidator.OneOf(site.ApprovalWait, site.ApprovalEnd)),
			"approved_batches": mapping(types.Int64Type, "With `approval = \"end\"`, the last batch that is approved of each group with `approve` in its `rolling`: `{ compute = 2 }`. The plan goes as far as the next batch that is to be approved; "+
				"what comes after it, and groups that depend on the group, stay as they are until then. 0, or no number, approves none: take it back with the next change, which is to be approved anew. The guide [Deployment groups](../guides/groups) says more."),
			"failure_budget": object("How many nodes may fail in one run, over all groups. Once more have failed, nothing new is started in any group; what runs is finished and unlocked, and the apply fails. "+
				"Of two limits the smaller one counts. The guide [Deployment groups](../guides/groups) says more.", map[string]schema.Attribute{
				"nodes":   number("How many nodes may fail, 0 or more.", int64validator.AtLeast(0)),
				"percent": number("Which share of the nodes that are in a group may fail, in percent, rounded down.", int64validator.Between(0, 100)),
			}),

			"run": shown(types.Int64Type, "Number of the last run that had work, from 1. A plan with work shows the next one: each of its `steps` begins with it and each node in `changed_nodes` has it, so "+
				"that Terraform prints them all, whatever the last run did."),
			"steps": shown(types.ListType{ElemType: types.StringType}, "What the run does, in order: one line per service of an entity, then one line per group and phase, each with the number of the run in front (`8.1 ntp-node: prepare 1 node (ntp1)`). "+
				"In state: what the last plan with work showed; empty after a creation that failed. A run drops the steps of earlier runs, but no more than 20 or than it has of its own, because a plan prints each one that is dropped: what remains follows its own, and its number says so."),
			"last_run_steps": shown(types.ListType{ElemType: types.StringType}, "What the last run with work really did, in the form of `steps`: without what it found as it should be, what failed and what it did not come to, and with what a rollback did. Where it did all of `steps`, it is one line: `8.1 to 8.6, as in steps`. "+
				"Known after apply while there is work."),
			"digest": shown(types.StringType, "SHA-256 over everything that the run does. An apply whose own calculation gives another digest stops before it touches a node."),
			"changed_nodes": shown(types.MapType{ElemType: types.Int64Type}, "For each node the number of the run that changed it last. A plan prints the nodes that its run changes: they get its number, and those that left the site leave the map with the next run that has work. "+
				"0 says that no run with a number changed the node yet. Where something is not known before the apply, the nodes that it may concern are known after apply."),
			"status":       shown(types.StringType, "`deployed`; `limited` when that is so as far as `limit` goes; `paused` when a group was left for a later apply because a batch is not approved, or its `maintenance` window is closed (`approval`); `degraded` when nodes or groups that are not critical failed and wait for the next apply; `failed` or `interrupted` after an apply that ended in an error."),
			"group_status": shown(types.MapType{ElemType: types.StringType}, "Stage of each group after the last run: `NOT_STARTED`, `PREPARED`, `DEPLOYED` or `FAILED`."),
			"node_status":  shown(types.MapType{ElemType: types.StringType}, "Stage of each node after the last run: `NOT_STARTED`, `PREPARED`, `DEPLOYED` or `FAILED`; `NO_GROUP` of a node that is in no group."),
			"node_facts":   factsAttribute(),
			"service_status": schema.MapNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The services of entities after the last run, by name. A service that is still being deleted is among them.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"entity":   shown(types.StringType, "Name of the entity that the service is of."),
					"identity": shown(types.StringType, "What names the service among those of its entity; null where the entity has no identity, or a sensitive one."),
					"state":    shown(types.StringType, "State of the service in its lifecycle."),
					"version":  shown(types.Int64Type, "How many transfers the service went through, from 1."),
				}},
			},
			"service_values": shown(types.MapType{ElemType: serviceValuesType}, "What slipway chose or callbacks returned for attributes with the modifier `r`: service, then attribute; inside of embedded entities its place, such as `sites[host=a].port`. Texts as they are, everything else as JSON. In the plan of a creation all of it is known after apply, because a journal may know services of the site that no state has; later, values that a pool gives are known at plan time and stay; those of sensitive "+
				"attributes are not among them."),
			"drift": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "Configuration resources that are no longer as slipway left them, found at the last refresh. A plan that repairs them shows the list becoming empty.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"node":     shown(types.StringType, "Name of the node."),
					"resource": shown(types.StringType, "The configuration resource, `type[title]`."),
					"change":   shown(types.StringType, "What differs: parameter, what it is and what it should be. Contents are shown as digests, followed by a diff of texts that every user of the node may read; secrets not at all."),
				}},
			},
			"active_run":  shown(types.StringType, "Id of a run that is active without Terraform, as the last refresh found it, empty when that has ended; null where none was. Only with `engine` of the provider. A plan shows it becoming empty: the apply waits for the run, when it was started with the same configuration."),
			"unreachable": shown(types.ListType{ElemType: types.StringType}, "Names of the nodes that did not answer at the last refresh or run, sorted. Such a node is neither drifted nor gone."),
		},
	}
}

// timeoutsAttribute is `timeouts`, with the description that its module does not give it.
func timeoutsAttribute(ctx context.Context) schema.Attribute {
	attribute := timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true,
		CreateDescription: "Bound on the whole run that creates the site. Default `12h`; the groups' own time limits usually end it first.",
		ReadDescription:   "Bound on one refresh. Default `5m`. Nodes that have not answered by then count as unreachable.",
		UpdateDescription: "Bound on the whole run that updates the site. Default `12h`.",
		DeleteDescription: "Bound on the tear-down. Default `1h`.",
	})
	if nested, ok := attribute.(schema.SingleNestedAttribute); ok {
		nested.MarkdownDescription = "Bounds on whole operations, as durations such as `90m`. A run that comes to its bound is stopped like an interrupted one."
		return nested
	}
	return attribute
}

const (
	onDestroyTeardown = "teardown"
	onDestroyRetain   = "retain"
	driftFull         = "full"
	driftOff          = "off"
)
