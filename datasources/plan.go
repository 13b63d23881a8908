package datasources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// NewPlan returns slipway_plan: what a first run on a site would do.
func NewPlan() datasource.DataSource { return planSource{"plan"} }

type planSource struct{ named }

type planModelV0 struct {
	Site      types.String  `tfsdk:"site"`
	Nodes     types.Dynamic `tfsdk:"nodes"`
	Groups    types.Dynamic `tfsdk:"groups"`
	Services  types.Dynamic `tfsdk:"services"`
	Overrides types.Dynamic `tfsdk:"overrides"`
	Plugins   types.Dynamic `tfsdk:"plugins"`
	Ordering  types.String  `tfsdk:"ordering"`

	Digest       string        `tfsdk:"digest"`
	Steps        []string      `tfsdk:"steps"`
	ChangedNodes []string      `tfsdk:"changed_nodes"`
	Order        []planGroupV0 `tfsdk:"order"`
	Phases       []planPhaseV0 `tfsdk:"phases"`
}

type planGroupV0 struct {
	Name        string   `tfsdk:"name"`
	Critical    bool     `tfsdk:"critical"`
	Members     []string `tfsdk:"members"`
	Owned       []string `tfsdk:"owned"`
	MaxParallel *int64   `tfsdk:"max_parallel"`
}

type planPhaseV0 struct {
	TaskGroup string       `tfsdk:"task_group"`
	Group     *string      `tfsdk:"group"`
	Tasks     []planTaskV0 `tfsdk:"tasks"`
}

type planTaskV0 struct {
	Node      *string  `tfsdk:"node"`
	Action    string   `tfsdk:"action"`
	Resource  *string  `tfsdk:"resource"`
	Service   *string  `tfsdk:"service"`
	Overrides []string `tfsdk:"overrides"`
}

func (planSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	part := func(description string) schema.DynamicAttribute {
		return schema.DynamicAttribute{Optional: true, MarkdownDescription: description}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "What a run would do on a site on which nothing is applied yet: groups, phases and tasks in their order. No node is asked, and nothing is done; it never holds the value of a parameter. " +
			"What a deployment is about to do on nodes as they are is in the `steps` of `slipway_deployment`.",
		Attributes: map[string]schema.Attribute{
			"site": schema.StringAttribute{Required: true, MarkdownDescription: "Name of the site."},
			"nodes": schema.DynamicAttribute{Required: true,
				MarkdownDescription: "The nodes, as `slipway_deployment` takes them."},
			"groups":    part("The groups, as `slipway_deployment` takes them. Left out, all nodes form one critical group."),
			"services":  part("The services, as `slipway_deployment` takes them."),
			"overrides": part("The overrides, as `slipway_deployment` takes them."),
			"plugins":   part("The plugins, as `slipway_deployment` takes them."),
			"ordering": schema.StringAttribute{Optional: true,
				MarkdownDescription: "What a catalog says of the order of tasks, as `slipway_deployment` takes it."},

			"digest":        text("SHA-256 over everything that the run would do."),
			"steps":         list("What the run would do, in order: one line per service of an entity, then one line per phase."),
			"changed_nodes": list("Names of the nodes that the run would change, sorted."),
			"order": objects("The groups in the order in which they are rolled out.", map[string]schema.Attribute{
				"name": text("Name of the group."), "critical": flag("Whether the run fails when the group does."),
				"members":      list("All nodes that its selectors select, sorted."),
				"owned":        list("Those of them that it is the first group to hold: the nodes that it works on."),
				"max_parallel": number("How many of its nodes are worked on at once, if it is rolling."),
			}),
			"phases": objects("The phases of the run, in order.", map[string]schema.Attribute{
				"task_group": text("Task group: `prepare`, `pre_node`, `node`, `cluster`, `post_cluster` and so on."),
				"group":      text("Deployment group; null outside of the groups' blocks."),
				"tasks": objects("What is done, by node.", map[string]schema.Attribute{
					"node": text("Name of the node."), "action": text("`prepare`, `create`, `run` and so on."),
					"resource":  text("What it is done to: `type[title]`."),
					"service":   text("The service that brings it."),
					"overrides": list("Overrides that changed or made the resource, in the order applied."),
				}),
			}),
		},
	}
}

func (planSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m planModelV0
	if !asked(ctx, req, resp, map[string]any{"site": &m.Site, "nodes": &m.Nodes, "groups": &m.Groups,
		"services": &m.Services, "overrides": &m.Overrides, "plugins": &m.Plugins, "ordering": &m.Ordering}) {
		return
	}
	s := site.Site{
		Name:      m.Site.ValueString(),
		Nodes:     take(ctx, "nodes", m.Nodes, (*document.Values).Nodes, &resp.Diagnostics),
		Groups:    take(ctx, "groups", m.Groups, (*document.Values).Groups, &resp.Diagnostics),
		Services:  take(ctx, "services", m.Services, (*document.Values).Services, &resp.Diagnostics),
		Overrides: take(ctx, "overrides", m.Overrides, (*document.Values).Overrides, &resp.Diagnostics),
		Plugins:   take(ctx, "plugins", m.Plugins, (*document.Values).Plugins, &resp.Diagnostics),
	}
	var found diag.Diagnostics
	s.Ordering, _, found = values.From(ctx, m.Ordering, (*document.Values).Ordering)
	resp.Diagnostics.Append(found...)
	if resp.Diagnostics.HasError() {
		return
	}
	p, errs := engine.Plan(nil, s, engine.Settings{Unreached: true})
	resp.Diagnostics.Append(values.Diagnostics(errs)...)
	if p == nil || resp.Diagnostics.HasError() {
		return
	}
	m.show(p)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// show takes what a plan says.
func (m *planModelV0) show(made *engine.Planned) {
	p := made.Plan
	m.Digest, m.Steps, m.ChangedNodes = p.Digest, texts(made.Steps()), texts(p.ChangedNodes())
	m.Order, m.Phases = []planGroupV0{}, []planPhaseV0{}
	for _, g := range p.Groups {
		group := planGroupV0{Name: g.Name, Critical: g.Critical, Members: texts(g.Members), Owned: texts(g.Owned)}
		if n := int64(g.MaxParallel); n > 0 {
			group.MaxParallel = &n
		}
		m.Order = append(m.Order, group)
	}
	for _, phase := range p.Phases {
		out := planPhaseV0{TaskGroup: string(phase.TaskGroup), Group: given(phase.Group), Tasks: []planTaskV0{}}
		for _, t := range phase.Tasks {
			about := planTaskV0{Node: given(t.Node), Action: string(t.Action), Service: given(t.Service),
				Overrides: texts(t.Override)}
			if t.Resource.Type != "" {
				about.Resource = given(string(t.Resource.ID()))
			}
			out.Tasks = append(out.Tasks, about)
		}
		m.Phases = append(m.Phases, out)
	}
}
