package document

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
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
	// Warnings are about what Fuel does with the documents and slipway does not.
	Warnings invalid.Errors

	root  place
	tasks map[string]reference // by their place in the plugin, `tasks[0]`
}

// MetadataFile is the file of a Fuel plugin that names it.
const MetadataFile = "metadata.yaml"

// TaskFiles are the files of a Fuel plugin that hold its tasks, in the order in which they are joined.
var TaskFiles = []string{"tasks.yaml", "deployment_tasks.yaml"}

// otherFiles are the files of a Fuel plugin, of package versions 1 to 6, that order no tasks.
var otherFiles = []string{"environment_config.yaml", "network_roles.yaml", "node_roles.yaml", "volumes.yaml",
	"components.yaml", "nic_config.yaml", "bond_config.yaml", "node_config.yaml", "node_tags.yaml"}

// PluginFiles returns the names of all documents that a Fuel plugin may have in its folder, those with its tasks first.
func PluginFiles() []string { return slices.Concat(TaskFiles, []string{MetadataFile}, otherFiles) }

// ParsePlugin reads the tasks of one plugin (seed 003; fuel.md A4, A7) from one or more sources, each of them one
// document: either a mapping with the keys name, version, tasks, graph_tasks, allow_unknown_tasks and files (path ->
// content in base64), or a list of tasks as Fuel's tasks.yaml and deployment_tasks.yaml are; there, a task with an id
// is a graph task. The tasks of all sources are joined in their order. A source that is called like another file of a
// Fuel plugin is read as that: of metadata.yaml name and version count, the others order nothing. fallback is the
// plugin's name where no document gives one.
//
// A list is read as Fuel reads it: of an id or a key that is there twice the last one counts, graph tasks may name
// tasks that no plugin brings, and what slipway does not do is a warning.
//
// What the tasks mean by themselves is checked too, see [plugin.Validate]; of tasks that could not be read well nothing
// more is said. The error is of type [invalid.Errors].
func ParsePlugin(sources []Source, fallback string) (*Plugin, error) {
	out := &Plugin{Plugin: site.Plugin{Name: fallback}, tasks: make(map[string]reference)}
	var errs invalid.Errors
	order := make(map[string]int, len(sources))
	packageVersion := ""
	for i, source := range sources {
		order[source.Name] = i
		r := pluginReader{reader: reader{file: source.Name, fuel: true}, Plugin: out}
		r.source(source, &packageVersion)
		r.errs.SortByPosition(nil)
		errs = append(errs, r.errs...)
		out.Warnings = append(out.Warnings, r.warnings...)
	}
	if strings.HasPrefix(packageVersion, "1.") {
		out.addPrimary()
	}
	misread := errs
	for _, p := range plugin.Validate(out.Plugin) {
		if !out.misread(p, misread) {
			errs = append(errs, out.Locate(p))
		}
	}
	if len(misread) > 0 {
		errs.SortByPosition(order)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	out.Warnings.SortByPosition(order)
	return out, nil
}

// addPrimary makes tasks for controllers run on the primary one, too: the tasks of package version 1 are from a time
// when it had that role as well (fuel.md A4).
func (p *Plugin) addPrimary() {
	const role = "controller"
	for i, t := range p.Plugin.Tasks {
		if slices.Contains(t.Role, role) && !slices.Contains(t.Role, "primary-"+role) {
			p.Plugin.Tasks[i].Role = append(t.Role, "primary-"+role)
		}
	}
}

// source reads one source of a plugin.
func (r *pluginReader) source(source Source, packageVersion *string) {
	documents := r.documents(source.Data)
	file := filepath.Base(source.Name)
	if len(documents) == 1 && isPlugin(documents[0]) {
		file = ""
	}
	ofFuel := slices.Contains(PluginFiles(), file)
	switch {
	case len(r.errs) > 0:
	case len(documents) > 1:
		r.report(documents[1], "", Schema, "is a second document; keep one in a file")
	case len(documents) == 0 && (!ofFuel || file == MetadataFile):
		r.report(nil, "", Schema, "the document is empty; a plugin is a list of tasks, or has the key \"tasks\"")
	case len(documents) == 0:
	case file == MetadataFile:
		if fs, ok := r.mapping(documents[0], ""); ok {
			r.root = place{file: r.file, node: documents[0]}
			r.read(documents[0], fs, "", key{"name", true, r.into(&r.Plugin.Plugin.Name)},
				key{"version", false, r.into(&r.Plugin.Plugin.Version)},
				key{"package_version", false, r.into(packageVersion)})
		}
	case slices.Contains(otherFiles, file):
		r.warn(nil, "", invalid.NoEffect, "is not used: it orders no tasks, and slipway has its own roles, networks and volumes")
	default:
		r.stageOnly = file == TaskFiles[0]
		r.tasksIn(documents[0])
	}
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
	at := reference{place: p.root}
	task, rest, _ := strings.Cut(wrong.Attribute, ".")
	if found, ok := p.tasks[task]; ok {
		at, wrong.Attribute = found, rest
	}
	wrong = at.locate(wrong)
	wrong.Object, wrong.Name, wrong.Attribute = "", "", join(at.path, wrong.Attribute)
	return wrong
}

// isPlugin reports whether a document is that of a plugin by its keys, however its file is called.
func isPlugin(n *yaml.Node) bool {
	_, tasks := child(n, "tasks")
	_, graphTasks := child(n, "graph_tasks")
	return tasks != nil || graphTasks != nil
}

type pluginReader struct {
	reader
	*Plugin
	stageOnly bool // the tasks of a list are stage tasks wherever they have a stage
}

func (r *pluginReader) tasksIn(n *yaml.Node) {
	if r.root.node == nil || n.Kind == yaml.MappingNode {
		r.root = place{file: r.file, node: n}
	}
	if n.Kind != yaml.SequenceNode {
		r.fuel = false
		r.object(n, "", r.pluginKeys(&r.Plugin.Plugin, r.each(r.task), r.each(r.graphTask))...)
		return
	}
	for i, item := range r.list(n, "") {
		_, id := child(item, "id")
		_, stage := child(item, "stage")
		if id != nil && (stage == nil || !r.stageOnly) {
			r.Plugin.Plugin.AllowUnknownTasks = true
			r.graphTask(item, index("", i))
		} else {
			r.task(item, index("", i))
		}
	}
}

func (r *pluginReader) task(n *yaml.Node, path string) {
	r.tasks[fmt.Sprintf("tasks[%d]", len(r.Plugin.Plugin.Tasks))] = reference{path, place{file: r.file, node: n}}
	r.Plugin.Plugin.Tasks = append(r.Plugin.Plugin.Tasks, r.stageTask(n, path))
}

// graphTask reads a graph task. In a list, one with the id of an earlier one replaces it.
func (r *pluginReader) graphTask(n *yaml.Node, path string) {
	all := &r.Plugin.Plugin.GraphTasks
	task := r.reader.graphTask(n, path)
	i := len(*all)
	if r.fuel && task.ID != "" {
		i = slices.IndexFunc(*all, func(t site.GraphTask) bool { return t.ID == task.ID })
	}
	if i < 0 || i == len(*all) {
		i = len(*all)
		*all = append(*all, task)
	} else {
		at := r.tasks[graphTaskAt(i)]
		r.warn(n, join(path, "id"), invalid.Duplicate, "another task has the id %q, at %s:%d; this one counts, in its place",
			task.ID, at.file, at.node.Line)
		(*all)[i] = task
	}
	r.tasks[graphTaskAt(i)] = reference{path, place{file: r.file, node: n}}
}

func graphTaskAt(i int) string { return invalid.PathAt("graph_tasks", i) }

// plugin reads a plugin of a site, which must have a name.
func (r *reader) plugin(n *yaml.Node, path string) (p site.Plugin) {
	keys := r.pluginKeys(&p, listInto(r, &p.Tasks, r.stageTask), listInto(r, &p.GraphTasks, r.graphTask))
	keys[0].required = true
	if r.converts { // from data.slipway_plugin, which reads plugins of Fuel
		keys = append(keys, key{"path", false, func(*yaml.Node, string) { p.AllowUnknownTasks = true }})
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
		key{"parameters", true, r.intoTaskParameters(n, &t.Parameters, nil)},
	)...)
	return t
}

// unusedKeys are the keys of Fuel's graph tasks that slipway reads and does nothing with.
var unusedKeys = map[string]string{
	"reexecute_on":    "a task runs again when it changes, or when its node has other work",
	"refresh_on":      "a task does not run again because an override changes a type",
	"test_pre":        "slipway does not test Fuel's tasks",
	"test_post":       "slipway does not test Fuel's tasks",
	"fault_tolerance": "the success criteria of slipway's groups decide how many nodes may fail",
	"version":         "", // it says that Fuel may run the task node by node, which slipway does anyway
}

func (r *reader) graphTask(n *yaml.Node, path string) site.GraphTask {
	t := site.GraphTask{FailOnError: true}
	name, skipped := nameOf(n, path), false
	keys := r.keys(&t,
		key{"role", false, r.intoRole(&t.Role, false)},
		key{"parameters", false, r.intoTaskParameters(n, &t.Parameters, &t.Strategy)},
		key{"stage", false, func(n *yaml.Node, path string) {
			r.report(n, path, Schema, "a task with an id has no stage; name the tasks before and after it in requires "+
				"and required_for, or leave the id out")
		}},
		key{"skipped", false, func(n *yaml.Node, path string) { skipped = r.boolean(n, path) }},
		key{"condition", false, func(n *yaml.Node, path string) {
			if at := r.resolve(n); at != nil && isScalar(at, "!!bool") {
				skipped = skipped || !r.boolean(n, path)
				return
			}
			r.ignore(n, path, "slipway does not evaluate the condition of a task, so these tasks always run", name)
		}},
	)
	// later ones win, as in Fuel
	for _, alias := range []string{"roles", "tags"} {
		keys = append(keys, key{alias, false, r.intoRole(&t.Role, false)})
	}
	if r.fuel {
		keys = slices.DeleteFunc(keys, func(k key) bool { return k.name == "groups" })
		keys = append(keys, key{"groups", false, r.intoRole(&t.Groups, false)})
	}
	for _, relation := range []struct {
		names []string
		into  *[]string
	}{{[]string{"cross-depends", "cross_depends"}, &t.Requires},
		{[]string{"cross-depended-by", "cross_depended_by"}, &t.RequiredFor}} {
		for _, k := range relation.names {
			keys = append(keys, key{k, false, r.intoRelations(relation.into, name)})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(unusedKeys)) {
		keys = append(keys, key{k, false, func(n *yaml.Node, path string) {
			if why := unusedKeys[k]; why != "" {
				r.ignore(n, path, fmt.Sprintf("%s is not used: %s", k, why), name)
			}
		}})
	}
	if r.fuel {
		for i, k := range keys {
			keys[i].read = r.asFuel(k, name)
		}
	}
	r.tolerant = r.fuel
	r.object(n, path, keys...)
	r.tolerant = false
	if skipped && t.Type != plugin.Group && t.Type != plugin.StageID {
		t.Type, t.Parameters, t.Strategy = plugin.Skipped, nil, site.Strategy{}
	}
	return t
}

// nameOf returns what warnings call a task: its id, or else its path.
func nameOf(task *yaml.Node, path string) string {
	if _, id := child(task, "id"); id != nil && follow(id).Kind == yaml.ScalarNode {
		return follow(id).Value
	}
	return path
}

// asFuel returns what reads a key as Fuel does: null is no value, and slipway does not evaluate YAQL.
func (r *reader) asFuel(k key, task string) readFunc {
	return func(n *yaml.Node, path string) {
		switch at := r.resolve(n); {
		case at == nil || isScalar(at, "!!null"):
		case k.name != "condition" && isYAQL(at):
			r.ignore(n, path, fmt.Sprintf("slipway does not evaluate YAQL, so %s is not used", k.name), task)
		default:
			k.read(n, path)
		}
	}
}

// isYAQL reports whether a value of a document of Fuel is an expression.
func isYAQL(n *yaml.Node) bool {
	_, expression := child(n, "yaql_exp")
	return expression != nil
}

// intoRelations adds the names of cross-depends or cross-depended-by. slipway finishes a task on all nodes before the
// next one, so it does not matter on which nodes Fuel looks for what is named.
func (r *reader) intoRelations(into *[]string, task string) readFunc {
	return r.each(func(n *yaml.Node, path string) {
		r.object(n, path, key{"role", false, func(*yaml.Node, string) {}}, key{"tags", false, func(*yaml.Node, string) {}},
			key{"policy", false, func(*yaml.Node, string) {}},
			key{"name", true, func(n *yaml.Node, path string) {
				if at := r.resolve(n); at != nil && isYAQL(at) {
					r.ignore(n, path, "slipway does not evaluate YAQL, so this relation falls away", task)
					return
				}
				name, ok := r.text(n, path)
				_, err := site.ParseRolePattern(name)
				switch {
				case !ok || name == task || slices.Contains(*into, name):
				case err != nil:
					r.report(n, path, invalid.BadValue, "%s", err)
				default:
					*into = append(*into, name)
				}
			}})
	})
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

// intoTaskParameters reads the parameters of a task: texts, whole numbers and the strategy. Those of a type that does
// nothing in slipway are passed over.
func (r *reader) intoTaskParameters(task *yaml.Node, target *site.Parameters, strategy *site.Strategy) readFunc {
	return func(n *yaml.Node, path string) {
		fs, ok := r.mapping(n, path)
		if !ok {
			return
		}
		typ := ""
		if _, value := child(task, "type"); value != nil {
			typ = follow(value).Value
		}
		*target = make(site.Parameters, len(fs.list))
		for _, f := range fs.list {
			at, value := join(path, f.name), r.resolve(f.value)
			switch {
			case value == nil || r.fuel && isScalar(value, "!!null"):
			case strategy != nil && f.name == "strategy":
				r.strategyOf(f.value, at, strategy)
			case plugin.Idle(typ) || r.fuel && typ == plugin.Skipped:
			case r.fuel && isYAQL(value):
				r.ignore(f.value, at, fmt.Sprintf("slipway does not evaluate YAQL, so the parameter %q is not used", f.name), nameOf(task, path))
			case r.fuel && !plugin.Knows(typ, f.name):
				r.ignore(f.key, at, fmt.Sprintf("tasks of the type %s have no parameter %q, so it is not used", typ, f.name), nameOf(task, path))
			default:
				r.taskParameter(f, at, nameOf(task, path), *target)
			}
		}
		if limit, ok := plugin.FuelTimeouts[typ]; ok && r.fuel && strategy != nil {
			if _, given := (*target)["timeout"]; !given {
				(*target)["timeout"] = limit
			}
		}
	}
}

// placeholder is what Fuel replaces in parameters (nailgun, lcm/task_serializer.py).
var placeholder = regexp.MustCompile(`\{(CLUSTER_ID|OPENSTACK_VERSION|MASTER_IP|CN_HOSTNAME|SETTINGS[^}]*)\}`)

// taskParameter reads one parameter of a task.
func (r *reader) taskParameter(f field, path, task string, into site.Parameters) {
	value, ok := r.value(f.value, path, 0)
	if r.converts || r.fuel {
		value = asParameter(f.name, value)
	}
	switch v := value.(type) {
	case string, int64:
		into[f.name] = value
		text, _ := v.(string)
		for _, found := range placeholder.FindAllString(text, -1) {
			if r.fuel {
				r.ignore(f.value, path, fmt.Sprintf("slipway does not replace %s, so it stays in the text", found), task)
			}
		}
	default:
		if ok {
			r.report(f.value, path, Schema, "must be text or a whole number")
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

// PlainPlugin returns a plugin with the keys of its document, as plain values.
func PlainPlugin(p site.Plugin) map[string]any {
	tasks, graph := []any{}, []any{}
	of := func(t any, role []string, parameters any) map[string]any {
		out, _ := PlainOf(t).(map[string]any)
		out["role"], out["parameters"] = role, parameters
		return out
	}
	for _, t := range p.Tasks {
		tasks = append(tasks, of(t, t.Role, t.Parameters))
	}
	for _, t := range p.GraphTasks {
		var parameters map[string]any
		if len(t.Parameters) > 0 || t.Strategy != (site.Strategy{}) {
			parameters = map[string]any{}
			maps.Copy(parameters, t.Parameters)
		}
		switch {
		case t.Strategy == (site.Strategy{}):
		case t.Strategy.OneByOne:
			parameters["strategy"] = map[string]any{"type": "one_by_one"}
		default:
			parameters["strategy"] = map[string]any{"type": "parallel", "amount": t.Strategy.Amount}
		}
		graph = append(graph, of(t, t.Role, parameters))
	}
	return map[string]any{"name": p.Name, "version": plainOf(reflect.ValueOf(p.Version)), "tasks": tasks, "graph_tasks": graph,
		"allow_unknown_tasks": p.AllowUnknownTasks, "files": p.Files}
}
