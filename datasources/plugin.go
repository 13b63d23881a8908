package datasources

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// NewPlugin returns slipway_plugin: a plugin as it stands in its folder, whole, so that a deployment can take it.
func NewPlugin() datasource.DataSource { return pluginSource{"plugin"} }

type pluginSource struct{ named }

// pluginModelV0 is a plugin. Its attributes are the keys of a plugin's document, beside path.
type pluginModelV0 struct {
	Path       types.String      `tfsdk:"path"`
	Name       string            `tfsdk:"name"`
	Version    *string           `tfsdk:"version"`
	Tasks      []stageTaskV0     `tfsdk:"tasks"`
	GraphTasks []graphTaskV0     `tfsdk:"graph_tasks"`
	Files      map[string]string `tfsdk:"files"`
}

type stageTaskV0 struct {
	Role        []string     `tfsdk:"role"`
	Stage       string       `tfsdk:"stage"`
	Type        string       `tfsdk:"type"`
	Parameters  parametersV0 `tfsdk:"parameters"`
	FailOnError bool         `tfsdk:"fail_on_error"`
}

type graphTaskV0 struct {
	ID          string             `tfsdk:"id"`
	Type        string             `tfsdk:"type"`
	Role        []string           `tfsdk:"role"`
	Groups      []string           `tfsdk:"groups"`
	Requires    []string           `tfsdk:"requires"`
	RequiredFor []string           `tfsdk:"required_for"`
	Tasks       []string           `tfsdk:"tasks"`
	Parameters  *graphParametersV0 `tfsdk:"parameters"`
	FailOnError bool               `tfsdk:"fail_on_error"`
}

type parametersV0 struct {
	Command  *string `tfsdk:"cmd"`
	Manifest *string `tfsdk:"puppet_manifest"`
	Modules  *string `tfsdk:"puppet_modules"`
	CWD      *string `tfsdk:"cwd"`
	Timeout  *int64  `tfsdk:"timeout"`
	Retries  *int64  `tfsdk:"retries"`
	Interval *int64  `tfsdk:"interval"`
}

type graphParametersV0 struct {
	parametersV0
	Strategy *strategyV0 `tfsdk:"strategy"`
}

type strategyV0 struct {
	Type   string `tfsdk:"type"`
	Amount *int64 `tfsdk:"amount"`
}

func (pluginSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	list := func(description string) schema.ListAttribute {
		return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
	}
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	fail := schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether a failure of the task is one of the run."}
	graphParameters := parametersAttributes()
	graphParameters["strategy"] = schema.SingleNestedAttribute{Computed: true,
		MarkdownDescription: "How the nodes of a group are worked on.", Attributes: map[string]schema.Attribute{
			"type":   text("`parallel` or `one_by_one`."),
			"amount": schema.Int64Attribute{Computed: true, MarkdownDescription: "With `parallel`: how many nodes at once."},
		}}
	resp.Schema = schema.Schema{
		MarkdownDescription: "A plugin as it stands in its folder: `metadata.yaml` (`name`, `version`), `tasks.yaml`, `deployment_tasks.yaml` and the files below `deployment_scripts/`. " +
			"`slipway_deployment` takes it whole in `plugins`. Everything that is wrong with its documents is reported with file, line and column.",
		Attributes: map[string]schema.Attribute{
			"path": schema.StringAttribute{Required: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
				MarkdownDescription: "The folder. Links that lead out of it, special files and files of more than 1 MiB together are errors."},
			"name":    text("Name of the plugin; that of its folder where there is no `metadata.yaml`."),
			"version": text("Version of the plugin."),
			"tasks": schema.ListNestedAttribute{Computed: true,
				MarkdownDescription: "Its stage tasks, in the order of its documents.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"role":  list("Roles of the nodes that the task runs on."),
					"stage": text("Stage, with the number that orders tasks in it."), "type": text("`shell`, `puppet` or `reboot`."),
					"parameters": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "Its settings.",
						Attributes: parametersAttributes()},
					"fail_on_error": fail,
				}}},
			"graph_tasks": schema.ListNestedAttribute{Computed: true,
				MarkdownDescription: "Its graph tasks, in the order of its documents.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"id":     text("What other tasks call it."),
					"type":   text("`shell`, `puppet`, `reboot`, `group`, `stage` or `skipped`."),
					"role":   list("Roles of the nodes that the task runs on."),
					"groups": list("Groups that it is a part of."), "requires": list("Tasks before it."),
					"required_for": list("Tasks after it."), "tasks": list("Of a group: the tasks that are parts of it."),
					"parameters": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "Its settings.",
						Attributes: graphParameters},
					"fail_on_error": fail,
				}}},
			"files": schema.MapAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "The files below `deployment_scripts/`, in which tasks run: path to content, in base64."},
		},
	}
}

func parametersAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"cmd":             schema.StringAttribute{Computed: true, MarkdownDescription: "Command of a shell task."},
		"puppet_manifest": schema.StringAttribute{Computed: true, MarkdownDescription: "Manifest of a Puppet task."},
		"puppet_modules":  schema.StringAttribute{Computed: true, MarkdownDescription: "Modules of a Puppet task."},
		"cwd":             schema.StringAttribute{Computed: true, MarkdownDescription: "Folder in which it runs."},
		"timeout":         schema.Int64Attribute{Computed: true, MarkdownDescription: "Bound on one try, in seconds."},
		"retries": schema.Int64Attribute{Computed: true,
			MarkdownDescription: "How often it is tried again after it failed."},
		"interval": schema.Int64Attribute{Computed: true, MarkdownDescription: "Time between tries, in seconds."},
	}
}

func (pluginSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var folder types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("path"), &folder)...)
	if resp.Diagnostics.HasError() {
		return
	}
	p, err := readPlugin(folder.ValueString())
	var errs invalid.Errors
	switch {
	case errors.As(err, &errs):
		for _, wrong := range errs {
			resp.Diagnostics.AddAttributeError(path.Root("path"), "Invalid plugin", wrong.Error())
		}
		return
	case err != nil:
		resp.Diagnostics.AddAttributeError(path.Root("path"), "Plugin cannot be read", err.Error())
		return
	}
	m := pluginModel(p)
	m.Path = folder
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// pluginModel returns the model of a plugin, without its path.
func pluginModel(p site.Plugin) pluginModelV0 {
	m := pluginModelV0{Name: p.Name, Version: given(p.Version), Tasks: []stageTaskV0{}, GraphTasks: []graphTaskV0{},
		Files: p.Files}
	for _, t := range p.Tasks {
		m.Tasks = append(m.Tasks, stageTaskV0{Role: t.Role, Stage: t.Stage, Type: t.Type,
			Parameters: parametersModel(t.Parameters), FailOnError: t.FailOnError})
	}
	for _, t := range p.GraphTasks {
		g := graphTaskV0{ID: t.ID, Type: t.Type, Role: t.Role, Groups: t.Groups, Requires: t.Requires,
			RequiredFor: t.RequiredFor, Tasks: t.Tasks, FailOnError: t.FailOnError}
		if len(t.Parameters) > 0 || t.Strategy != (site.Strategy{}) {
			g.Parameters = &graphParametersV0{parametersV0: parametersModel(t.Parameters), Strategy: strategyModel(t)}
		}
		m.GraphTasks = append(m.GraphTasks, g)
	}
	return m
}

func parametersModel(p site.Parameters) parametersV0 {
	text := func(name string) *string {
		if s, ok := p[name].(string); ok {
			return &s
		}
		return nil
	}
	number := func(name string) *int64 {
		if n, ok := p[name].(int64); ok {
			return &n
		}
		return nil
	}
	return parametersV0{
		Command: text("cmd"), Manifest: text("puppet_manifest"), Modules: text("puppet_modules"), CWD: text("cwd"),
		Timeout: number("timeout"), Retries: number("retries"), Interval: number("interval"),
	}
}

func strategyModel(t site.GraphTask) *strategyV0 {
	switch {
	case t.Type != plugin.Group || t.Strategy == (site.Strategy{}):
		return nil
	case t.Strategy.OneByOne:
		return &strategyV0{Type: "one_by_one"}
	}
	amount := int64(t.Strategy.Amount)
	return &strategyV0{Type: "parallel", Amount: &amount}
}

// given returns nil for an empty text.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
