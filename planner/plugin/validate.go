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
	report := func(attribute string, code invalid.Code, message string) {
		errs = append(errs, wrong(p, attribute, code, message))
	}
	if m := checkName(p.Name); m != "" {
		report("name", invalid.BadName, m)
	}
	for _, f := range checkFiles(p.Files) {
		report(f.Attribute, f.Code, f.Message)
	}
	for i, t := range p.Tasks {
		for _, f := range checkTask(t) {
			report(fmt.Sprintf("tasks[%d].%s", i, f.Attribute), f.Code, f.Message)
		}
	}
	seen := make(map[string]bool, len(p.GraphTasks))
	for i, t := range p.GraphTasks {
		if t.ID == "" {
			report(fmt.Sprintf("graph_tasks[%d].id", i), invalid.MissingField, "is empty; give the task an id of its own")
		} else if seen[t.ID] {
			report(fmt.Sprintf("graph_tasks[%d].id", i), invalid.Duplicate,
				fmt.Sprintf("another task of the plugin has the id %q; give each an id of its own", t.ID))
		}
		seen[t.ID] = true
		if n, err := strconv.Atoi(t.ID); err == nil && n >= 1 && n <= len(p.Tasks) && strconv.Itoa(n) == t.ID {
			report(fmt.Sprintf("graph_tasks[%d].id", i), invalid.Duplicate,
				fmt.Sprintf("is the number of a stage task of the plugin, so both would be called %s/%s; use a name",
					p.FullName(), t.ID))
		}
		for _, f := range checkGraphTask(t) {
			report(fmt.Sprintf("graph_tasks[%d].%s", i, f.Attribute), f.Code, f.Message)
		}
	}
	return errs
}

// checkTask returns the errors of a stage task by itself.
func checkTask(t site.Task) []invalid.Error {
	var out []invalid.Error
	if len(t.Role) > 0 { // else it is left out by [Sequence.On], with a warning
		if _, err := ParseRoles(t.Role); err != nil {
			out = append(out, invalid.Error{Attribute: "role", Code: invalid.BadValue, Message: err.Error()})
		}
	}
	if _, err := ParseStage(t.Stage); err != nil {
		out = append(out, invalid.Error{Attribute: "stage", Code: BadStage, Message: err.Error()})
	}
	if t.Type != "" && !slices.Contains(Types(), t.Type) {
		return out // left out by [Sequence.On], with a warning
	}
	return append(out, checkType(t.Type, t.Parameters, false)...)
}

// checkGraphTask returns what is wrong with a graph task by itself.
func checkGraphTask(t site.GraphTask) []invalid.Error {
	var out []invalid.Error
	if len(t.Role) > 0 {
		if _, err := ParseRoles(t.Role); err != nil {
			out = append(out, invalid.Error{Attribute: "role", Code: invalid.BadValue, Message: err.Error()})
		}
	}
	for i, text := range t.Groups {
		if _, err := site.ParseRolePattern(text); err != nil {
			out = append(out, invalid.Error{Attribute: fmt.Sprintf("groups[%d]", i), Code: invalid.BadValue,
				Message: err.Error()})
		}
	}
	if t.Type != Group && len(t.Tasks) > 0 {
		out = append(out, invalid.Error{Attribute: "tasks", Code: invalid.BadStructure,
			Message: "only a group has tasks; use requires"})
	}
	if t.Type != Group && t.Strategy != (site.Strategy{}) {
		out = append(out, invalid.Error{Attribute: "parameters.strategy", Code: invalid.BadStructure,
			Message: "only a group has a strategy"})
	}
	if t.Strategy.Amount < 0 || t.Strategy.OneByOne && t.Strategy.Amount > 0 {
		out = append(out, invalid.Error{Attribute: "parameters.strategy.amount", Code: invalid.BadValue,
			Message: "is for the type parallel only: how many nodes at once, 1 or more"})
	}
	return append(out, checkType(t.Type, t.Parameters, true)...)
}

// validate reports what is wrong with plugins, each by itself and together.
func validate(plugins []site.Plugin) invalid.Errors {
	var errs invalid.Errors
	seen := make(map[string]bool, len(plugins))
	for _, p := range plugins {
		errs = append(errs, Validate(p)...)
		// Two versions of one plugin are let pass: their tasks come in the order in which the plugins are given.
		if seen[p.FullName()] {
			errs = append(errs, wrong(p, "name", invalid.Duplicate, "the plugin is there twice; give it once"))
		}
		seen[p.FullName()] = true
	}
	return errs
}

func wrong(p site.Plugin, attribute string, code invalid.Code, message string) invalid.Error {
	return invalid.Error{Object: "plugin", Name: p.Name, Attribute: attribute, Code: code, Message: message}
}

// nameLimit bounds names, in bytes.
const nameLimit = 253

func checkName(name string) string {
	switch {
	case name == "":
		return "a name is needed"
	case len(name) > nameLimit:
		return fmt.Sprintf("the name has %d characters; use at most %d", len(name), nameLimit)
	case slices.ContainsFunc([]byte(name), func(c byte) bool {
		return c != '_' && c != '-' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) || name[0] == '.' || name[0] == '-':
		return fmt.Sprintf("%q is not a usable name; use letters, digits, '.', '_' and '-', and begin with a letter, a digit or '_'", name)
	}
	return ""
}
