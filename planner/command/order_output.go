package command

import (
	"io"
	"slices"
	"strconv"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
)

func (o *ordered) write(out io.Writer, f format, warnings invalid.Errors) error {
	if f == asJSON {
		return writeJSON(out, o.json(warnings))
	}
	p := &printer{w: out}
	switch {
	case f == asMarkdown && o.site != "":
		p.printf("# Tasks of plugins on site %s\n\n", f.escape(o.site))
	case f == asMarkdown:
		p.printf("# Tasks of plugins\n\n")
	case o.site != "":
		p.printf("site %s\n\n", o.site)
	}
	all := o.sections()
	for i, s := range all {
		if i > 0 {
			p.printf("\n")
		}
		p.section(f, s)
	}
	switch {
	case o.site != "" && o.plugins == 0:
		p.printf("the site has no plugins\n")
	case len(all) == 0:
		p.printf("no tasks\n")
	}
	warn(p, warnings, f)
	return p.err
}

// sections are the tables: stages, graph tasks, and the steps of their groups.
func (o *ordered) sections() []section {
	where := "ROLE"
	if o.placed {
		where = "NODES"
	}
	var out []section
	for _, s := range o.stages {
		stage := section{title: s.Stage, header: []string{"#", "PRIORITY", "TASK", "TYPE", where}}
		for i, t := range s.Tasks {
			names := t.Task.Role
			if o.placed {
				names = t.Place.Names()
			}
			stage.rows = append(stage.rows, []string{strconv.Itoa(i + 1), number(t.Priority), t.ID(), t.Task.Type,
				shortList(names, ", ")})
		}
		out = append(out, stage)
	}
	graph := section{title: "graph", header: []string{"#", "TASK", "TYPE", "AFTER"}}
	for i, t := range o.tasks {
		graph.rows = append(graph.rows, []string{strconv.Itoa(i + 1), t.ID, t.Type,
			shortList(o.graph.Before(t.ID), ", ")})
	}
	groups := section{title: "groups", header: []string{"STEP", "GROUP", "NODES"}}
	for i, step := range o.steps {
		for _, group := range groupsOf(step) {
			groups.rows = append(groups.rows, []string{strconv.Itoa(i + 1), group.Group, shortList(group.Nodes, ", ")})
		}
	}
	return slices.DeleteFunc(append(out, graph, groups), func(s section) bool { return len(s.rows) == 0 })
}

// number formats a priority without trailing zeros.
func number(f float64) string { return strconv.FormatFloat(f+0, 'f', -1, 64) }

// stepGroupJSON is the nodes of one group in one step.
type stepGroupJSON struct {
	Group string   `json:"group"`
	Nodes []string `json:"nodes"`
}

// groupsOf groups the members of a step, in their order.
func groupsOf(step []plugin.Member) []stepGroupJSON {
	var out []stepGroupJSON
	for _, m := range step {
		i := slices.IndexFunc(out, func(g stepGroupJSON) bool { return g.Group == m.Group })
		if i < 0 {
			i = len(out)
			out = append(out, stepGroupJSON{Group: m.Group})
		}
		out[i].Nodes = append(out[i].Nodes, m.Node)
	}
	return out
}

// orderJSON is the output with --output json.
type orderJSON struct {
	Site   string      `json:"site,omitempty"` // when the files describe one
	Stages []stageJSON `json:"stages"`
	// Nodes has, for every node with tasks, the tasks of all stages in their order.
	Nodes    map[string][]string `json:"nodes,omitempty"`
	Graph    []graphTaskJSON     `json:"graph"`
	Steps    [][]stepGroupJSON   `json:"steps,omitempty"`
	Warnings []errorAtJSON       `json:"warnings"`
}

type stageJSON struct {
	Stage string          `json:"stage"`
	Tasks []stageTaskJSON `json:"tasks"`
}

type stageTaskJSON struct {
	Task            string   `json:"task"` // plugin[index] or plugin-version[index]
	Plugin          string   `json:"plugin"`
	Version         string   `json:"version,omitempty"`
	Index           int      `json:"index"` // in the plugin's document, from 0
	Priority        float64  `json:"priority"`
	Type            string   `json:"type"`
	Role            []string `json:"role"`
	Nodes           []string `json:"nodes,omitempty"`
	TimeoutSeconds  float64  `json:"timeout_seconds"`
	Retries         int      `json:"retries"`
	IntervalSeconds float64  `json:"interval_seconds"`
	FailOnError     bool     `json:"fail_on_error"`
}

type graphTaskJSON struct {
	Task  string   `json:"task"`
	Type  string   `json:"type"`
	After []string `json:"after"`
}

func (o *ordered) json(warnings invalid.Errors) orderJSON {
	out := orderJSON{Site: o.site, Stages: []stageJSON{}, Graph: []graphTaskJSON{}, Warnings: errorsJSON(warnings)}
	if o.placed {
		out.Nodes = make(map[string][]string)
		out.Steps = [][]stepGroupJSON{}
	}
	for _, s := range o.stages {
		stage := stageJSON{Stage: s.Stage, Tasks: []stageTaskJSON{}}
		for _, t := range s.Tasks {
			settings := plugin.SettingsOf(t.Task.Type, t.Task.Parameters)
			j := stageTaskJSON{
				Task: t.ID(), Plugin: t.Plugin.Name, Version: t.Plugin.Version, Index: t.Index, Priority: t.Priority,
				Type: t.Task.Type, Role: t.Task.Role,
				TimeoutSeconds: settings.Timeout.Seconds(), Retries: settings.Retries, IntervalSeconds: settings.Interval.Seconds(),
				FailOnError: t.Task.FailOnError,
			}
			if o.placed {
				j.Nodes = t.Place.Names()
				for _, node := range j.Nodes {
					out.Nodes[node] = append(out.Nodes[node], t.ID())
				}
			}
			stage.Tasks = append(stage.Tasks, j)
		}
		out.Stages = append(out.Stages, stage)
	}
	for _, t := range o.tasks {
		out.Graph = append(out.Graph, graphTaskJSON{t.ID, t.Type, o.graph.Before(t.ID)})
	}
	for _, step := range o.steps {
		out.Steps = append(out.Steps, groupsOf(step))
	}
	return out
}
