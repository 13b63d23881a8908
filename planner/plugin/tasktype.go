package plugin

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Task types. Those of graph tasks only do nothing on a node: they tie others together.
const (
	Shell   = "shell"   // runs cmd on the nodes
	Puppet  = "puppet"  // applies puppet_manifest with puppet_modules on the nodes
	Reboot  = "reboot"  // restarts the nodes
	Group   = "group"   // nodes that are worked on together
	StageID = "stage"   // a point in the order
	Skipped = "skipped" // does nothing; what comes before and after it stays so (fuel.md A7)
)

// idleTypes are the types of Fuel's graph tasks that do nothing in slipway beside keeping their place in the order.
var idleTypes = []string{"copy_files", "upload_file", "sync", "master_shell", "move_to_bootstrap", "erase_node", "role"}

// What the settings of a task are where it does not give them (fuel.md A4).
const (
	DefaultRetries  = 3           // of shell tasks; others are not tried again
	DefaultInterval = time.Second // between tries
)

// longest bounds times, in seconds: a year.
const maxSeconds = 366 * 24 * 60 * 60

// mostRetries bounds how often a task is tried again.
const maxRetries = 1000

// parameter declares one parameter of a task type.
type parameter struct {
	name     string
	required bool
	most     int64 // of a whole number, 0 and up; 0 makes it text
}

// WholeNumber reports whether some type of task has a parameter of the name that is a whole number.
func WholeNumber(name string) bool {
	return slices.ContainsFunc(types, func(t taskType) bool {
		return slices.ContainsFunc(t.parameters, func(p parameter) bool { return p.name == name && p.most > 0 })
	})
}

type taskType struct {
	name       string
	graphOnly  bool
	parameters []parameter
}

func (t taskType) parameterNames() []string {
	names := make([]string, len(t.parameters))
	for i, p := range t.parameters {
		names[i] = p.name
	}
	return names
}

// types is the table of task types. To add one, add its line here and its work where plans are carried out.
var types = []taskType{
	{name: Shell, parameters: []parameter{
		{name: "cmd", required: true}, {name: "timeout", required: true, most: maxSeconds},
		{name: "retries", most: maxRetries}, {name: "interval", most: maxSeconds}, {name: "cwd"},
	}},
	{name: Puppet, parameters: []parameter{
		{name: "puppet_manifest", required: true}, {name: "puppet_modules", required: true},
		{name: "timeout", required: true, most: maxSeconds},
		{name: "retries", most: maxRetries}, {name: "interval", most: maxSeconds}, {name: "cwd"},
	}},
	{name: Reboot, parameters: []parameter{{name: "timeout", required: true, most: maxSeconds}}},
	{name: Group, graphOnly: true},
	{name: StageID, graphOnly: true},
	{name: Skipped, graphOnly: true},
}

// Idle reports whether the type is one of Fuel's that do nothing in slipway, whatever their parameters.
func Idle(typ string) bool { return slices.Contains(idleTypes, typ) }

// FuelTimeouts are the time limits, in seconds, of graph tasks that have none, as Fuel's executor has them
// (fuel-astute, lib/astute/config.rb).
var FuelTimeouts = map[string]int64{Shell: 300, Puppet: 90 * 60, Reboot: 900}

// Knows reports whether tasks of the type have the parameter, or one of almost the same name.
func Knows(typ, parameter string) bool {
	for _, t := range types {
		if t.name == typ {
			return resource.Nearest(parameter, t.parameterNames()) != ""
		}
	}
	return true // the type itself is an error
}

// works reports whether tasks of the type do something on nodes.
func runsOnNodes(typ string) bool { return slices.Contains(Types(), typ) }

// Types returns the types that a stage task can have.
func Types() []string { return typeNames(false) }

// typeNames returns the types that a stage task, or a graph task, can have.
func typeNames(graph bool) []string {
	var names []string
	for _, t := range types {
		if graph || !t.graphOnly {
			names = append(names, t.name)
		}
	}
	if graph {
		names = append(names, idleTypes...)
	}
	return names
}

// Settings are the parameters of a task, with what counts where they are not given.
type Settings struct {
	Command   string        // cmd of a shell task
	Manifest  string        // of a puppet task
	Modules   string        // of a puppet task
	Directory string        // in which the task runs; empty is the plugin's own folder
	Timeout   time.Duration // of one try
	Retries   int           // how often the task is tried again after it failed
	Interval  time.Duration // between tries
}

// SettingsOf returns the settings of a task of the type, whose parameters are valid.
func SettingsOf(typ string, p site.Parameters) Settings {
	s := Settings{Interval: DefaultInterval}
	if typ == Shell {
		s.Retries = DefaultRetries
	}
	text := func(name string) string {
		s, _ := p[name].(string)
		return s
	}
	s.Command, s.Manifest, s.Modules, s.Directory = text("cmd"), text("puppet_manifest"), text("puppet_modules"),
		text("cwd")
	seconds := func(name string, absent time.Duration) time.Duration {
		if n, ok := p[name].(int64); ok {
			return time.Duration(n) * time.Second
		}
		return absent
	}
	s.Timeout, s.Interval = seconds("timeout", 0), seconds("interval", s.Interval)
	if n, ok := p["retries"].(int64); ok {
		s.Retries = int(n)
	}
	return s
}

// checkType returns the errors in the type of a task and in its parameters.
func checkType(typ string, p site.Parameters, graph bool) (errs invalid.Errors) {
	if graph && Idle(typ) {
		return nil // nothing is done with its parameters
	}
	i := slices.IndexFunc(types, func(t taskType) bool { return t.name == typ && (graph || !t.graphOnly) })
	if i < 0 {
		errs.Add("type", invalid.UnknownType, "%s", resource.NoSuch("task type", typ, typeNames(graph)))
		return errs
	}
	known := types[i].parameterNames()
	for _, d := range types[i].parameters {
		value, given := p[d.name]
		switch {
		case !given && d.required:
			errs.Add("parameters."+d.name, invalid.MissingParameter, "is required by the type %s", typ)
		case given:
			if m := d.wrong(value); m != "" {
				errs.Add("parameters."+d.name, invalid.BadParameter, "%s", m)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if slices.Contains(known, name) {
			continue
		}
		message := "the type " + typ + " has no parameters"
		if len(known) > 0 {
			message = resource.NoSuch("parameter of the type "+typ, name, known)
		}
		errs.Add("parameters."+name, invalid.UnknownParameter, "%s", message)
	}
	return errs
}

func (d parameter) wrong(value any) string {
	if d.most == 0 {
		if s, ok := value.(string); !ok || s == "" {
			return "must be text that is not empty"
		}
		return ""
	}
	if n, ok := value.(int64); !ok || n < 0 || n > d.most {
		return fmt.Sprintf("must be a whole number from 0 to %d", d.most)
	}
	return ""
}
