package provider

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// taskValue is a task as the function returns it.
type taskValue struct {
	Plugin      string            `tfsdk:"plugin"`
	Version     *string           `tfsdk:"version"`
	Index       int64             `tfsdk:"index"`
	Priority    *big.Float        `tfsdk:"priority"`
	Type        string            `tfsdk:"type"`
	Role        []string          `tfsdk:"role"`
	Nodes       []string          `tfsdk:"nodes"`
	Parameters  map[string]string `tfsdk:"parameters"`
	FailOnError bool              `tfsdk:"fail_on_error"`
}

func taskAttributes() map[string]attr.Type {
	texts := types.ListType{ElemType: types.StringType}
	return map[string]attr.Type{
		"plugin": types.StringType, "version": types.StringType, "index": types.Int64Type, "priority": types.NumberType,
		"type": types.StringType,
		"role": texts, "nodes": texts, "parameters": types.MapType{ElemType: types.StringType},
		"fail_on_error": types.BoolType,
	}
}

// stagesValue is what the function returns.
type stagesValue struct {
	PreDeployment  []taskValue `tfsdk:"pre_deployment"`
	PostDeployment []taskValue `tfsdk:"post_deployment"`
}

// newStageOrder returns provider::slipway::stage_order.
func newStageOrder() function.Function {
	tasks := types.ListType{ElemType: types.ObjectType{AttrTypes: taskAttributes()}}
	return &callable{"stage_order", function.Definition{
		Summary: "Tasks of plugins in the order in which they run.",
		MarkdownDescription: "Returns the stage tasks of plugins in the order in which they run, as an object with the lists `pre_deployment` and `post_deployment`: by the number after the slash of their stage, then by the name of their plugin, then as in " +
			"their document. Every task has `plugin`, `version`, `index` (in its document, from 0), `priority`, `type`, `role`, `nodes`, `parameters` (as text) and `fail_on_error`. The guide [Plugins](../guides/plugins) says what tasks are made of.",
		Parameters: []function.Parameter{
			function.DynamicParameter{Name: "plugins",
				MarkdownDescription: "List of plugins: `data.slipway_plugin` objects, or objects with `name`, `tasks` and, optionally, `version`. `tasks` is what `yamldecode` makes of a `tasks.yaml`."},
			function.DynamicParameter{Name: "nodes", AllowNullValue: true,
				MarkdownDescription: "Nodes, as a list or map: `slipway_node` resources, or objects with the same attributes, of which only `name` is required. " + secretNodes + " " +
					"A task without a node is left out, and `master` stands for the machine that Terraform runs on. With `null`, tasks are not placed, and their `nodes` are null."},
		},
		Return: function.ObjectReturn{AttributeTypes: map[string]attr.Type{plugin.PreDeployment: tasks,
			plugin.PostDeployment: tasks}},
	}, stageOrder}
}

func stageOrder(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var pluginsGiven, nodesGiven types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &pluginsGiven, &nodesGiven); resp.Error != nil {
		return
	}
	plugins, err := pluginsFrom(ctx, pluginsGiven)
	if err != nil {
		resp.Error = wrong(0, err)
		return
	}
	sequences, errs := plugin.Order(plugins)
	if len(errs) > 0 {
		resp.Error = wrong(0, errs)
		return
	}
	place := !nodesGiven.IsNull() && !nodesGiven.IsUnderlyingValueNull()
	var nodes []site.Node
	if place {
		if nodes, resp.Error = nodesOf(ctx, 1, nodesGiven); resp.Error != nil {
			return
		}
	}
	byStage := make(map[string][]taskValue, len(sequences))
	for _, s := range sequences {
		byStage[s.Stage] = []taskValue{}
		if place {
			s, _ = s.On(nodes) // only warnings, of tasks without nodes
		}
		for _, t := range s.Tasks {
			v := taskValue{
				Plugin: t.Plugin.Name, Index: int64(t.Index), Priority: big.NewFloat(t.Priority + 0), Type: t.Task.Type,
				Role: t.Task.Role, Parameters: make(map[string]string, len(t.Task.Parameters)), FailOnError: t.Task.FailOnError,
			}
			if t.Plugin.Version != "" {
				v.Version = &t.Plugin.Version
			}
			if place {
				v.Nodes = t.Place.Names()
			}
			for name, value := range t.Task.Parameters {
				v.Parameters[name] = fmt.Sprint(value)
			}
			byStage[s.Stage] = append(byStage[s.Stage], v)
		}
	}
	resp.Error = resp.Result.Set(ctx, stagesValue{byStage[plugin.PreDeployment], byStage[plugin.PostDeployment]})
}

// pluginsFrom reads the plugins of an argument.
func pluginsFrom(ctx context.Context, given types.Dynamic) ([]site.Plugin, error) {
	value, err := plainOf(ctx, given)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok {
		return nil, errors.New("must be a list of plugins: [{ name = \"lma\", tasks = yamldecode(file(\"lma/tasks.yaml\")) }]")
	}
	out := make([]site.Plugin, 0, len(list))
	var all []error
	for i, element := range list {
		if members, ok := element.(map[string]any); ok {
			delete(members, "path") // data.slipway_plugin says where it found the plugin
		}
		source, err := sourceOf(fmt.Sprintf("plugins[%d]", i), element)
		if err != nil {
			return nil, err
		}
		d, err := document.ParsePlugin([]document.Source{source}, "")
		if err != nil {
			all = append(all, misread(err))
			continue
		}
		out = append(out, d.Plugin)
	}
	return out, errors.Join(all...)
}
