// Package plugin knows tasks that plugins bring: in which order the tasks of plugins run that do not know each other (seed 003;
// fuel.md A), on which nodes, and with what settings. It is pure.
//
// There are two kinds. A stage task says in which stage of a run it belongs, and where in it by a number (`post_deployment/100`);
// [Order] puts those of all plugins in one order. A graph task has an id and names the tasks before and after it; [NewGraph]
// connects those of all plugins.
package plugin

import "github.com/slipway/terraform-provider-slipway/planner/site"

// Plugin is what one plugin brings.
type Plugin struct {
	Name       string
	Version    string // may be empty
	Tasks      []Task
	GraphTasks []GraphTask
}

// FullName is the name that messages of a run show: name-version (fuel.md A4, diagnostic_name).
func (p Plugin) FullName() string {
	if p.Version == "" {
		return p.Name
	}
	return p.Name + "-" + p.Version
}

// Task is a stage task as written.
type Task struct {
	Role        []string // see [ParseRoles]
	Stage       string   // see [ParseStage]
	Type        string   // see [Types]
	Parameters  Parameters
	FailOnError bool // whether a failure of the task is one of the run; documents that do not say mean true
}

// GraphTask is a task that names those before and after it, as written.
type GraphTask struct {
	ID          string
	Type        string   // see [GraphTypes]
	Role        []string // see [ParseRoles]; a group without roles has the nodes with the role of its id
	Groups      []string // groups that it is a part of: their ids, or /regex/ over them, anchored at the start
	Requires    []string // ids of the tasks before it
	RequiredFor []string // ids of the tasks after it
	Tasks       []string // of a group only: ids of the tasks that are parts of it
	Strategy    Strategy // of a group only
	Parameters  Parameters
	FailOnError bool
}

// Strategy tells how the nodes of a group are worked on.
type Strategy struct {
	OneByOne bool // else in parallel
	Amount   int  // in parallel: at most so many nodes at once, 1 or more; 0 is all
}

// Parameters are the parameters of a task: strings and int64 only.
type Parameters map[string]any

// Codes of problems, in the words of the conformance vectors.
const (
	BadStage    site.Code = "bad_stage"
	UnknownTask site.Code = "unknown_task"
)
