package plugin

import (
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Anchors are the tasks that every run has, each after the one before it: graph tasks tie themselves to them to say
// when they run. A plugin may bring one of them itself, as a stage; it then stands where the anchor stands.
const (
	PreDeploymentStart  = "pre_deployment_start"
	PreDeploymentEnd    = "pre_deployment_end"
	DeployStart         = "deploy_start"
	DeployEnd           = "deploy_end"
	PostDeploymentStart = "post_deployment_start"
	PostDeploymentEnd   = "post_deployment_end"
)

// Anchors returns the names of the anchors in the order of a run.
func Anchors() []string {
	return []string{PreDeploymentStart, PreDeploymentEnd, DeployStart, DeployEnd, PostDeploymentStart,
		PostDeploymentEnd}
}

// Span is the part of a run to which a graph task belongs.
type Span int

// The parts of a run.
const (
	BeforeDeploy Span = iota // it must end before deploy_start
	InDeploy                 // nothing ties it to either side
	AfterDeploy              // it must begin after deploy_end
)

// addAnchors adds the anchors that no plugin defines, and chains all anchors.
func (b *builder) addAnchors() {
	for _, id := range Anchors() {
		i, brought := b.index[id]
		if !brought {
			b.index[id] = len(b.tasks)
			b.tasks = append(b.tasks, site.GraphTask{ID: id, Type: StageID, FailOnError: true})
			b.owners = append(b.owners, origin{index: implicit})
			continue
		}
		if typ := b.tasks[i].Type; typ != StageID {
			b.report(b.owners[i], "type", invalid.BadValue, false,
				"%q is a point in the order of every run, so it cannot have the type %s; use the type %s or another id",
				id, typ, StageID)
		}
	}
}

// chainAnchors makes each anchor require the one before it.
func (b *builder) chainAnchors() {
	anchors := Anchors()
	for i, id := range anchors[1:] {
		b.edge(b.index[anchors[i]], b.index[id])
	}
}

// implicit is the index of a task that no plugin brings.
const implicit = -1

// spans returns the part of a run that each task belongs to.
func (g *Graph) spans() []Span {
	out := make([]Span, len(g.tasks))
	for i := range out {
		out[i] = InDeploy
	}
	for _, side := range []struct {
		anchor string
		edges  [][]int
		span   Span
	}{{DeployStart, g.before, BeforeDeploy}, {DeployEnd, g.after, AfterDeploy}} {
		if at, ok := g.index[side.anchor]; ok {
			for _, i := range reach(at, side.edges, nil) {
				out[i] = side.span
			}
		}
	}
	return out
}
