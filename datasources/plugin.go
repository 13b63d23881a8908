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

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// NewPlugin returns slipway_plugin: a plugin as it stands in its folder, whole, so that a deployment can take it.
func NewPlugin() datasource.DataSource { return pluginSource{"plugin"} }

type pluginSource struct{ named }

func (pluginSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	fail := flag("Whether a failure of the task is one of the run.")
	graphParameters := parametersAttributes()
	graphParameters["strategy"] = schema.SingleNestedAttribute{Computed: true,
		MarkdownDescription: "How the nodes of a group, or of the task, are worked on.", Attributes: map[string]schema.Attribute{
			"type":   text("`parallel` or `one_by_one`."),
			"amount": number("With `parallel`: how many nodes at once."),
		}}
	resp.Schema = schema.Schema{
		MarkdownDescription: "A plugin as it stands in its folder: `metadata.yaml` (`name`, `version`), `tasks.yaml`, `deployment_tasks.yaml` and the files below `deployment_scripts/`. " +
			"`slipway_deployment` takes it whole in `plugins`; a task that no plugin brings is then a warning. Everything that is wrong with its documents is reported with file, line and column.",
		Attributes: map[string]schema.Attribute{
			"path": schema.StringAttribute{Required: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
				MarkdownDescription: "The folder. Links that lead out of it, special files and files of more than 1 MiB together are errors."},
			"name":    text("Name of the plugin; that of its folder where there is no `metadata.yaml`."),
			"version": text("Version of the plugin."),
			"tasks": objects("Its stage tasks, in the order of its documents.", map[string]schema.Attribute{
				"role":  list("Roles of the nodes that the task runs on."),
				"stage": text("Stage, with the number that orders tasks in it."), "type": text("`shell`, `puppet` or `reboot`."),
				"parameters": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "Its settings.",
					Attributes: parametersAttributes()},
				"fail_on_error": fail,
			}),
			"graph_tasks": objects("Its graph tasks, in the order of its documents.", map[string]schema.Attribute{
				"id":     text("What other tasks call it."),
				"type":   text("`shell`, `puppet`, `reboot`, `group`, `stage` or `skipped`; types of Fuel that do nothing in slipway keep their place in the order."),
				"role":   list("Roles of the nodes that the task runs on."),
				"groups": list("Groups that it is a part of."), "requires": list("Tasks before it."),
				"required_for": list("Tasks after it."), "tasks": list("Of a group: the tasks that are parts of it."),
				"parameters": schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "Its settings.",
					Attributes: graphParameters},
				"fail_on_error": fail,
			}),
			"files": schema.MapAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "The files below `deployment_scripts/`, in which tasks run: path to content, in base64."},
		},
	}
}

func parametersAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"cmd":             text("Command of a shell task."),
		"puppet_manifest": text("Manifest of a Puppet task."),
		"puppet_modules":  text("Modules of a Puppet task."),
		"cwd":             text("Folder in which it runs."),
		"timeout":         number("Bound on one try, in seconds."),
		"retries":         number("How often it is tried again after it failed."),
		"interval":        number("Time between tries, in seconds."),
	}
}

func (pluginSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var folder types.String
	if !asked(ctx, req, resp, map[string]any{"path": &folder}) {
		return
	}
	p, warnings, err := engine.ReadPlugin(folder.ValueString())
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
	for _, w := range warnings {
		resp.Diagnostics.AddAttributeWarning(path.Root("path"), "Plugin does more in Fuel", w.Error())
	}
	plain := document.PlainPlugin(p)
	delete(plain, "allow_unknown_tasks") // that follows from the path
	answer(ctx, req, resp, plain)
}

// given returns nil for an empty text.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
