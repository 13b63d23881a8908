package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func newOrder() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "order FILE...",
		Short: "Tell in which order the tasks of plugins run",
		Long: "Tell in which order the tasks of plugins run: by stage and number, then by the name of the plugin, then as in its document; and the tasks\n" +
			"that name those before and after them. FILE is the YAML document of a plugin, or its tasks.yaml or deployment_tasks.yaml; - is standard\n" +
			"input. A document that does not give the plugin's name has that of its file, or of its folder when the file is one of these two.\n" +
			"With --nodes, tasks are shown on the nodes that they run on; a task that has no node is left out, with a warning.\n\n" +
			"Exit status: 0 done, 2 a document is not valid or could not be read.",
		Args: files,
	}
	output := outputFlag(cmd)
	var inventory []string
	cmd.Flags().StringSliceVar(&inventory, "nodes", nil, "`FILE` with the nodes: a site document, or what terraform show -json prints of a plan; may be given several times")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if slices.Contains(args, "-") && slices.Contains(inventory, "-") {
			return bad(errors.New("standard input is named twice"))
		}
		documents, err := parsePlugins(cmd, args)
		if err != nil {
			return err
		}
		o, problems := orderOf(documents)
		if len(inventory) > 0 && len(problems.Errors()) == 0 {
			s, err := parse(cmd, inventory, document.Options{})
			if err != nil {
				return err
			}
			if !s.Inventory {
				return bad(fmt.Errorf("no document holds nodes; name one with the key \"nodes\" beside %s", strings.Join(inventory, ", ")))
			}
			problems = append(problems, o.place(s.Site.Nodes)...)
		}
		errs, warnings := split(locateInPlugins(documents, problems))
		if len(errs) > 0 {
			return bad(errs)
		}
		if *output == asJSON {
			return writeJSON(cmd.OutOrStdout(), o.json(warnings))
		}
		p := &printer{w: cmd.OutOrStdout()}
		o.table(p)
		warn(p, warnings, *output)
		return p.err
	}
	return cmd
}

// parsePlugins reads the documents of plugins. Problems are an error of status 2.
func parsePlugins(cmd *cobra.Command, names []string) ([]*document.Plugin, error) {
	type files struct {
		sources  []document.Source
		fallback string
	}
	var groups []*files
	byFolder := make(map[string]*files)
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, bad(fmt.Errorf("%s is named twice", name))
		}
		s, err := source(cmd, name)
		if err != nil {
			return nil, bad(err)
		}
		fallback, folder, err := pluginOf(name)
		if err != nil {
			return nil, bad(err)
		}
		g, ok := byFolder[folder]
		if !ok || folder == "" {
			g = &files{fallback: fallback}
			groups = append(groups, g)
			byFolder[folder] = g
		}
		g.sources = append(g.sources, s)
	}
	var out []*document.Plugin
	var problems document.Problems
	for _, g := range groups {
		d, err := document.ParsePlugin(g.sources, g.fallback)
		var found document.Problems
		switch {
		case errors.As(err, &found):
			problems = append(problems, found...)
		case err != nil:
			return nil, bad(err)
		default:
			out = append(out, d)
		}
	}
	if len(problems) > 0 {
		return nil, bad(problems)
	}
	return out, nil
}

// pluginOf returns the name that a file gives to its plugin. Fuel's two files of one folder are one plugin, so these have a folder.
func pluginOf(file string) (name, folder string, err error) {
	base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	switch base {
	case "-":
		return "stdin", "", nil
	case "tasks", "deployment_tasks":
	default:
		return base, "", nil
	}
	absolute, err := filepath.Abs(file)
	folder = filepath.Dir(absolute)
	return filepath.Base(folder), folder, err
}

// locateInPlugins gives problems of plugins their places.
func locateInPlugins(documents []*document.Plugin, found site.Problems) document.Problems {
	var out document.Problems
	for _, p := range found {
		at := slices.IndexFunc(documents, func(d *document.Plugin) bool { return d.Plugin.Name == p.Name })
		if p.Code == site.Duplicate { // the one that came too much
			for i, d := range documents {
				if d.Plugin.Name == p.Name {
					at = i
				}
			}
		}
		if at >= 0 {
			out = append(out, documents[at].Locate(p))
		}
	}
	return out
}

// ordered is the answer.
type ordered struct {
	stages []plugin.Sequence
	graph  *plugin.Graph
	placed bool
	steps  [][]plugin.Member
}

func orderOf(documents []*document.Plugin) (*ordered, site.Problems) {
	plugins := make([]site.Plugin, len(documents))
	for i, d := range documents {
		plugins[i] = d.Plugin
	}
	stages, problems := plugin.Order(plugins)
	if len(problems) > 0 {
		return nil, problems
	}
	graph, problems := plugin.NewAnchored(plugins)
	return &ordered{stages: stages, graph: graph}, problems
}

// place places the tasks on nodes, and returns warnings of those that have none.
func (o *ordered) place(nodes []site.Node) site.Problems {
	var problems site.Problems
	o.placed = true
	for i, s := range o.stages {
		placed, warnings := s.On(nodes)
		o.stages[i] = placed
		problems = append(problems, warnings...)
	}
	o.steps = o.graph.Waves(o.graph.Members(nodes))
	return problems
}

func (o *ordered) table(p *printer) {
	where := "ROLE"
	if o.placed {
		where = "NODES"
	}
	first := true
	heading := func(text string) {
		if !first {
			p.printf("\n")
		}
		first = false
		p.printf("%s\n", text)
	}
	for _, s := range o.stages {
		if len(s.Tasks) == 0 {
			continue
		}
		heading(s.Stage)
		var rows [][]string
		for i, t := range s.Tasks {
			names := t.Task.Role
			if o.placed {
				names = t.Place.Names()
			}
			rows = append(rows, []string{strconv.Itoa(i + 1), number(t.Priority), t.ID(), t.Task.Type, shortList(names, ", ")})
		}
		p.rows("#\tPRIORITY\tTASK\tTYPE\t"+where, rows)
	}
	if tasks := o.graph.Tasks(); len(tasks) > 0 {
		heading("graph")
		var rows [][]string
		for i, t := range tasks {
			rows = append(rows, []string{strconv.Itoa(i + 1), t.ID, t.Type, shortList(o.graph.Before(t.ID), ", ")})
		}
		p.rows("#\tTASK\tTYPE\tAFTER", rows)
	}
	if len(o.steps) > 0 {
		heading("groups")
		var rows [][]string
		for i, step := range o.steps {
			for _, group := range groupsOf(step) {
				rows = append(rows, []string{strconv.Itoa(i + 1), group.Group, shortList(group.Nodes, ", ")})
			}
		}
		p.rows("STEP\tGROUP\tNODES", rows)
	}
	if first {
		p.printf("no tasks\n")
	}
}

// number writes a priority as people do.
func number(f float64) string { return strconv.FormatFloat(f+0, 'f', -1, 64) }

// stepGroupJSON is what one step does in one group.
type stepGroupJSON struct {
	Group string   `json:"group"`
	Nodes []string `json:"nodes"`
}

// groupsOf gathers the members of a step by group, in their order.
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

// orderJSON is the answer as the command prints it with --output json.
type orderJSON struct {
	Stages []stageJSON `json:"stages"`
	// Nodes has, for every node with tasks, the tasks of all stages in their order.
	Nodes    map[string][]string `json:"nodes,omitempty"`
	Graph    []graphTaskJSON     `json:"graph"`
	Steps    [][]stepGroupJSON   `json:"steps,omitempty"`
	Warnings []problemJSON       `json:"warnings"`
}

type stageJSON struct {
	Stage string          `json:"stage"`
	Tasks []stageTaskJSON `json:"tasks"`
}

type stageTaskJSON struct {
	Task            string   `json:"task"` // plugin[index]
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

func (o *ordered) json(warnings document.Problems) orderJSON {
	out := orderJSON{Stages: []stageJSON{}, Graph: []graphTaskJSON{}, Warnings: problemsJSON(warnings)}
	if o.placed {
		out.Nodes = make(map[string][]string)
		out.Steps = [][]stepGroupJSON{}
	}
	for _, s := range o.stages {
		stage := stageJSON{Stage: s.Stage, Tasks: []stageTaskJSON{}}
		for _, t := range s.Tasks {
			settings := plugin.SettingsOf(t.Task.Type, t.Task.Parameters)
			j := stageTaskJSON{
				Task: t.ID(), Plugin: t.Plugin.Name, Version: t.Plugin.Version, Index: t.Index, Priority: t.Priority, Type: t.Task.Type, Role: t.Task.Role,
				TimeoutSeconds: settings.Timeout.Seconds(), Retries: settings.Retries, IntervalSeconds: settings.Interval.Seconds(), FailOnError: t.Task.FailOnError,
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
	for _, t := range o.graph.Tasks() {
		out.Graph = append(out.Graph, graphTaskJSON{t.ID, t.Type, o.graph.Before(t.ID)})
	}
	for _, step := range o.steps {
		out.Steps = append(out.Steps, groupsOf(step))
	}
	return out
}
