// Package plugin knows what the tasks of plugins mean ([site.Plugin]): in which order the tasks of plugins run that do not know each other (seed 003;
// fuel.md A), on which nodes, and with what settings. It is pure.
//
// There are two kinds. A stage task says in which stage of a run it belongs, and where in it by a number (`post_deployment/100`);
// [Order] puts those of all plugins in one order. A graph task has an id and names the tasks before and after it; [NewGraph]
// connects those of all plugins and the points that every run has, [Anchors].
package plugin

import "github.com/slipway/terraform-provider-slipway/planner/site"

// Codes of problems, in the words of the conformance vectors.
const (
	BadStage    site.Code = "bad_stage"
	UnknownTask site.Code = "unknown_task"
)
