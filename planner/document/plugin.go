package document

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Plugin is a plugin that was read from documents. It knows the positions of its tasks, see [Plugin.Locate].
type Plugin struct {
	Plugin site.Plugin

	root  place
	tasks map[string]taskPlace // by their place in the plugin, `tasks[0]`
}

// taskPlace is the position of a task.
type taskPlace struct {
	place
	path string
}

// ParsePlugin reads the tasks of one plugin (seed 003; fuel.md A4, A7) from one or more sources, each of them one
// document: either a mapping with the keys name, version, tasks, graph_tasks and files (path -> content in base64), or
// a list of tasks as Fuel's tasks.yaml and deployment_tasks.yaml are; there, a task with an id is a graph task. The
// tasks of all sources are joined in their order. fallback is the plugin's name where no document gives one.
//
// What the tasks mean by themselves is checked too, see [plugin.Validate]; of tasks that could not be read well nothing
// more is said. The error is of type [invalid.Errors].
func ParsePlugin(sources []Source, fallback string) (*Plugin, error) {
	out := &Plugin{Plugin: site.Plugin{Name: fallback}, tasks: make(map[string]taskPlace)}
	var errs invalid.Errors
	for _, source := range sources {
		r := pluginReader{reader: reader{file: source.Name}, Plugin: out}
		if n, ok := r.only(source.Data, "a plugin is a list of tasks, or has the key \"tasks\""); ok {
			r.read(n)
		}
		r.errs.SortByPosition(nil)
		errs = append(errs, r.errs...)
	}
	misread := errs
	for _, p := range plugin.Validate(out.Plugin) {
		if !out.misread(p, misread) {
			errs = append(errs, out.Locate(p))
		}
	}
	if len(misread) > 0 {
		order := make(map[string]int, len(sources))
		for i, source := range sources {
			order[source.Name] = i
		}
		errs.SortByPosition(order)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return out, nil
}

// misread reports whether reading had an error with the task of the error, or any error if it concerns no task.
func (p *Plugin) misread(wrong invalid.Error, errs invalid.Errors) bool {
	task, _, _ := strings.Cut(wrong.Attribute, ".")
	at, ok := p.tasks[task]
	if !ok {
		return len(errs) > 0
	}
	return slices.ContainsFunc(errs, func(m invalid.Error) bool {
		return m.File == at.file && (m.Attribute == at.path || strings.HasPrefix(m.Attribute, at.path+"."))
	})
}

// Locate returns the position of an error of the plugin: that of its attribute, else the nearest one.
func (p *Plugin) Locate(wrong invalid.Error) invalid.Error {
	at := taskPlace{place: p.root}
	task, rest, _ := strings.Cut(wrong.Attribute, ".")
	if found, ok := p.tasks[task]; ok {
		at, wrong.Attribute = found, rest
	}
	wrong = at.locate(wrong)
	wrong.Object, wrong.Name, wrong.Attribute = "", "", join(at.path, wrong.Attribute)
	return wrong
}

type pluginReader struct {
	reader
	*Plugin
}

func (r *pluginReader) read(n *yaml.Node) {
	if r.root.node == nil || n.Kind == yaml.MappingNode {
		r.root = place{file: r.file, node: n}
	}
	if n.Kind == yaml.SequenceNode {
		for i, item := range r.list(n, "") {
			if _, id := child(item, "id"); id != nil {
				r.graphTask(item, index("", i))
			} else {
				r.task(item, index("", i))
			}
		}
		return
	}
	r.object(n, "", r.pluginKeys(&r.Plugin.Plugin, r.each(r.task), r.each(r.graphTask))...)
}

func (r *pluginReader) task(n *yaml.Node, path string) {
	r.tasks[fmt.Sprintf("tasks[%d]", len(r.Plugin.Plugin.Tasks))] = taskPlace{place{file: r.file, node: n}, path}
	r.Plugin.Plugin.Tasks = append(r.Plugin.Plugin.Tasks, r.stageTask(n, path))
}

func (r *pluginReader) graphTask(n *yaml.Node, path string) {
	r.tasks[fmt.Sprintf("graph_tasks[%d]", len(r.Plugin.Plugin.GraphTasks))] = taskPlace{place{file: r.file, node: n}, path}
	r.Plugin.Plugin.GraphTasks = append(r.Plugin.Plugin.GraphTasks, r.reader.graphTask(n, path))
}

// plugin reads a plugin of a site, which must have a name.
func (r *reader) plugin(n *yaml.Node, path string) (p site.Plugin) {
	keys := r.pluginKeys(&p, listInto(r, &p.Tasks, r.stageTask), listInto(r, &p.GraphTasks, r.graphTask))
	keys[0].required = true
	if r.converts { // from data.slipway_plugin
		keys = append(keys, key{"path", false, func(*yaml.Node, string) {}})
	}
	r.object(n, path, keys...)
	return p
}

// pluginKeys are the keys of a plugin, the name first.
func (r *reader) pluginKeys(p *site.Plugin, tasks, graphTasks readFunc) []key {
	return r.keys(p, key{"tasks", false, tasks}, key{"graph_tasks", false, graphTasks})
}

func (r *reader) stageTask(n *yaml.Node, path string) site.Task {
	t := site.Task{FailOnError: true}
	r.object(n, path, r.keys(&t,
		key{"role", true, r.intoRole(&t.Role, true)},
		key{"parameters", true, r.intoTaskParameters(&t.Parameters, nil)},
	)...)
	return t
}

func (r *reader) graphTask(n *yaml.Node, path string) site.GraphTask {
	t := site.GraphTask{FailOnError: true}
	r.object(n, path, r.keys(&t,
		key{"role", false, r.intoRole(&t.Role, false)},
		key{"parameters", false, r.intoTaskParameters(&t.Parameters, &t.Strategy)},
		key{"stage", false, func(n *yaml.Node, path string) {
			r.report(n, path, Schema, "a task with an id has no stage; name the tasks before and after it in requires "+
				"and required_for, or leave the id out")
		}},
	)...)
	return t
}

// intoRole reads a role: a text or a list. If anything is true, other values mean no node and a run warns (fuel.md A4).
func (r *reader) intoRole(target *[]string, anything bool) readFunc {
	return func(n *yaml.Node, path string) {
		at := r.resolve(n)
		switch {
		case at == nil:
		case at.Kind == yaml.SequenceNode:
			*target = r.texts(n, path)
		case isScalar(at, "!!str"):
			*target = []string{at.Value}
		case !anything:
			r.wrongKind(n, at, path, "a role, or a list of roles")
		}
	}
}

// intoTaskParameters reads parameters: texts, whole numbers and, for groups, the strategy.
func (r *reader) intoTaskParameters(target *site.Parameters, strategy *site.Strategy) readFunc {
	return func(n *yaml.Node, path string) {
		fs, ok := r.mapping(n, path)
		if !ok {
			return
		}
		*target = make(site.Parameters, len(fs.list))
		for _, f := range fs.list {
			at := join(path, f.name)
			if strategy != nil && f.name == "strategy" {
				r.strategyOf(f.value, at, strategy)
				continue
			}
			value, ok := r.value(f.value, at, 0)
			if r.converts {
				value = asParameter(f.name, value)
			}
			switch value.(type) {
			case string, int64:
				(*target)[f.name] = value
			default:
				if ok {
					r.report(f.value, at, Schema, "must be text or a whole number")
				}
			}
		}
	}
}

// asParameter converts between a number and its text if the parameter needs the other.
func asParameter(name string, value any) any {
	switch v := value.(type) {
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && plugin.WholeNumber(name) {
			return n
		}
	case int64:
		if !plugin.WholeNumber(name) {
			return strconv.FormatInt(v, 10)
		}
	}
	return value
}

func (r *reader) strategyOf(n *yaml.Node, path string, into *site.Strategy) {
	r.object(n, path,
		key{"type", true, func(n *yaml.Node, path string) {
			text, ok := r.text(n, path)
			if ok && text != "parallel" && text != "one_by_one" {
				r.report(n, path, invalid.BadValue, "%q is not a strategy; use parallel or one_by_one", text)
			}
			into.OneByOne = text == "one_by_one"
		}},
		key{"amount", false, func(n *yaml.Node, path string) {
			amount, ok := r.integer(n, path, math.MaxInt32)
			if ok && amount == 0 {
				r.report(n, path, invalid.BadValue,
					"is 0; give how many nodes go at once, 1 or more, or leave it out for all of them")
			}
			into.Amount = amount
		}},
	)
}

// Metadata is what slipway uses of a plugin's metadata.yaml (fuel.md A4).
type Metadata struct {
	Name    string
	Version string // may be empty
}

// ParseMetadata reads a plugin's metadata.yaml: name and version, if set. It ignores other keys. The error is of type
// [invalid.Errors].
func ParseMetadata(source Source) (Metadata, error) {
	var m Metadata
	r := reader{file: source.Name}
	if n, ok := r.only(source.Data, "a plugin's metadata have the key \"name\""); ok {
		if fs, ok := r.mapping(n, ""); ok {
			r.read(n, fs, "", key{"name", true, r.into(&m.Name)}, key{"version", false, r.into(&m.Version)})
		}
	}
	return m, r.result()
}
