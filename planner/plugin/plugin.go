// Package plugin gives the tasks of plugins ([site.Plugin]) their order, nodes and settings (seed 003; fuel.md A).
// Plugins do not know each other. It is pure.
//
// There are two kinds of tasks. A stage task names a stage of the run and a number in it (`post_deployment/100`);
// [Order] orders those of all plugins. A graph task has an id and names the tasks before and after it; [NewGraph]
// connects those of all plugins with the [Anchors] that every run has.
package plugin

import "github.com/slipway/terraform-provider-slipway/planner/invalid"

// Codes of errors, in the words of the conformance vectors.
const (
	BadStage    invalid.Code = "bad_stage"
	UnknownTask invalid.Code = "unknown_task"
)
