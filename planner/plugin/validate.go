package plugin

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Validate returns all errors of a plugin by itself, in the order of its tasks (fuel.md F-01). An unknown type of a
// stage task is reported by a run only (fuel.md F-07). Errors have the object "plugin", and attributes such as
// `tasks[2].stage` and `graph_tasks[0].parameters.cmd`.
func Validate(p site.Plugin) invalid.Errors {
	var errs invalid.Errors
	if m := site.CheckFileName(p.Name); m != "" {
		errs.Add("name", invalid.BadName, "%s", m)
	}
	errs = append(errs, checkFiles(p.Files)...)
	for i, t := range p.Tasks {
		errs = append(errs, checkTask(t).Of("", "", fmt.Sprintf("tasks[%d].", i))...)
	}
	seen := make(map[string]bool, len(p.GraphTasks))
	for i, t := range p.GraphTasks {
		at := fmt.Sprintf("graph_tasks[%d].", i)
		if t.ID == "" {
			errs.Add(at+"id", invalid.MissingField, "is empty; give the task an id of its own")
		} else if seen[t.ID] {
			errs.Add(at+"id", invalid.Duplicate,
				"another task of the plugin has the id %q; give each an id of its own", t.ID)
		}
		seen[t.ID] = true
		if n, err := strconv.Atoi(t.ID); err == nil && n >= 1 && n <= len(p.Tasks) && strconv.Itoa(n) == t.ID {
			errs.Add(at+"id", invalid.Duplicate,
				"is the number of a stage task of the plugin, so both would be called %s/%s; use a name", p.FullName(), t.ID)
		}
		errs = append(errs, checkGraphTask(t).Of("", "", at)...)
	}
	return errs.Of("plugin", p.Name, "")
}

// checkRole returns the errors of the roles of a task.
func checkRole(roles []string) (errs invalid.Errors) {
	if len(roles) > 0 { // else [Sequence.On] leaves a stage task out, with a warning
		if _, err := ParseRoles(roles); err != nil {
			errs.Add("role", invalid.BadValue, "%s", err)
		}
	}
	return errs
}

// checkTask returns the errors of a stage task by itself.
func checkTask(t site.Task) invalid.Errors {
	errs := checkRole(t.Role)
	if _, err := ParseStage(t.Stage); err != nil {
		errs.Add("stage", BadStage, "%s", err)
	}
	if t.Type != "" && !slices.Contains(Types(), t.Type) {
		return errs // left out by [Sequence.On], with a warning
	}
	return append(errs, checkType(t.Type, t.Parameters, false)...)
}

// checkGraphTask returns what is wrong with a graph task by itself.
func checkGraphTask(t site.GraphTask) invalid.Errors {
	errs := checkRole(t.Role)
	for attribute, names := range map[string][]string{"groups": t.Groups, "requires": t.Requires,
		"required_for": t.RequiredFor, "tasks": t.Tasks} {
		for i, text := range names {
			if _, err := site.ParseRolePattern(text); err != nil {
				errs.Add(invalid.PathAt(attribute, i), invalid.BadValue, "%s", err)
			}
		}
	}
	errs.Sort()
	if t.Type != Group && len(t.Tasks) > 0 {
		errs.Add("tasks", invalid.BadStructure, "only a group has tasks; use requires")
	}
	if t.Type != Group && !runsOnNodes(t.Type) && t.Strategy != (site.Strategy{}) {
		errs.Add("parameters.strategy", invalid.BadStructure, "only a group, or a task that runs on nodes, has a strategy")
	}
	if t.Strategy.Amount < 0 || t.Strategy.OneByOne && t.Strategy.Amount > 0 {
		errs.Add("parameters.strategy.amount", invalid.BadValue,
			"is for the type parallel only: how many nodes at once, 1 or more")
	}
	return append(errs, checkType(t.Type, t.Parameters, true)...)
}

// validate reports what is wrong with plugins, each by itself and together.
func validate(plugins []site.Plugin) invalid.Errors {
	var errs invalid.Errors
	seen := make(map[string]bool, len(plugins))
	for _, p := range plugins {
		errs = append(errs, Validate(p)...)
		// Two versions of one plugin are let pass: their tasks come in the order in which the plugins are given.
		if seen[p.FullName()] {
			errs = append(errs, invalid.Error{Object: "plugin", Name: p.Name, Attribute: "name", Code: invalid.Duplicate,
				Message: "the plugin is there twice; give it once"})
		}
		seen[p.FullName()] = true
	}
	return errs
}
