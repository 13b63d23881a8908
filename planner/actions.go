package planner

import (
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// collectActions collects the actions of plugins in the order of a run: `pre_deployment/P` in pre_node and
// `post_deployment/P` in post_cluster, one after the other (design.md 5.5; fuel.md A5), then graph tasks where the
// anchors put them (fuel.md A7).
func (b *desiredBuilder) collectActions() {
	if len(b.site.Plugins) == 0 {
		b.after = b.orderGroups(nil)
		return
	}
	graph, errs := plugin.NewGraph(b.site.Plugins)
	b.errs = append(b.errs, errs...)
	if graph == nil {
		return
	}
	stages, errs := plugin.Order(b.site.Plugins)
	b.errs = append(b.errs, errs...)
	var owned []site.Node
	for _, n := range b.nodes {
		if _, ok := b.owner[n.Name]; ok {
			owned = append(owned, n)
		}
	}
	byStage := make(map[string][]plugin.Ordered, len(stages))
	for _, s := range stages {
		placed, warnings := s.OnNodes(owned)
		b.errs = append(b.errs, warnings...)
		byStage[s.Stage] = placed.Tasks
	}
	works, warnings := graph.On(owned)
	b.errs = append(b.errs, warnings...)
	b.errs = append(b.errs, b.checkGraphOrder(works)...)
	b.after, b.works = b.orderGroups(works), works

	for _, step := range []struct {
		group task.Group
		stage string
		span  plugin.Span
	}{
		{task.PreNode, plugin.PreDeployment, plugin.BeforeDeploy},
		{task.Cluster, "", plugin.InDeploy},
		{task.PostCluster, plugin.PostDeployment, plugin.AfterDeploy},
	} {
		for _, o := range byStage[step.stage] {
			b.addAction(o.Plugin.Name, fmt.Sprintf("tasks[%d]", o.Index), o.Place.Nodes, task.Task{
				Name: o.Name(), Group: step.group, Resource: o.Resource(), Tolerate: !o.Task.FailOnError,
			})
		}
		for _, w := range works {
			if w.Span == step.span {
				b.addAction(w.Plugin.Name, fmt.Sprintf("graph_tasks[%d]", w.Index), w.Nodes, task.Task{
					Name: w.Name(), Group: step.group, Resource: w.Resource(), Limit: w.Limit,
					Tolerate: !w.Task.FailOnError,
				})
			}
		}
	}
}

// addAction validates an action and adds it for nodes. place is the path of the task in the plugin.
func (b *desiredBuilder) addAction(name, place string, nodes []string, t task.Task) {
	schema := b.actionSchemas[t.Resource.Type]
	for _, e := range schema.Validate(t.Resource) {
		e.Attribute = plugin.ParameterOf(e.Attribute)
		p := site.ParameterError("plugin", name, t.Resource.Type, t.Resource.Title, e)
		p.Attribute = place + ".parameters." + e.Attribute
		b.errs = append(b.errs, p)
	}
	t.Kind, t.Action, t.Resource = task.Remote, task.Run, schema.Normalize(t.Resource)
	t.Digest = resource.Digest(t.Resource)
	found := newNodeErrors(len(b.site.Nodes))
	for _, n := range nodes {
		b.nodeActions[n] = append(b.nodeActions[n], len(b.actions))
		if b.nodesByName[n].IsFolder() {
			found.add(invalid.Error{Object: "plugin", Name: name, Attribute: place, Code: invalid.BadValue,
				Message: b.onSandbox([]string{string(t.Resource.ID())})}, []string{n})
		}
	}
	b.errs = append(b.errs, found.all()...)
	b.actions = append(b.actions, t)
}

// dueActions returns the actions that a node runs: all of them when the node has other changes, else those whose digest
// is not recorded.
func (d *desired) dueActions(node string, applied map[resource.ID]string, busy bool) (actions []int) {
	for _, i := range d.nodeActions[node] {
		t := d.actions[i]
		if busy || applied[t.Resource.ID()] != t.Digest {
			actions = append(actions, i)
		}
	}
	return actions
}
