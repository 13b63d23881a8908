package catalog

import (
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/digraph"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Tags returns the task groups that a task may be tagged with, in the order of a run. Cleanup is the planner's own
// (litp.md 48).
func Tags() []task.Group {
	return []task.Group{task.Management, task.Boot, task.PreCluster, task.Prepare, task.PreNode, task.UpgradeBoot,
		task.StorageUpgrade, task.Node,
		task.Cluster, task.PostCluster}
}

// tasks reports what is wrong with the tasks of an entity from the given one on; those before it are its ancestors',
// and have been looked at.
func (m *errs) tasks(e Entity, from int) {
	v := taskCheck{errs: m, entity: e, names: make(map[string]bool)}
	for _, t := range e.Tasks[:from] {
		v.remember(t)
	}
	// A task may require one that comes later in the list.
	own := e.Tasks[from:]
	for i, t := range own {
		v.name(invalid.PathAt("tasks", i), t)
		for j, step := range t.Steps {
			v.name(invalid.PathAt(invalid.PathAt("tasks", i)+".steps", j), step)
		}
	}
	for i, t := range own {
		v.task(invalid.PathAt("tasks", i), t, false)
	}
	if cycle := requirementCycle(e.Tasks); cycle != nil && len(own) > 0 {
		m.add("tasks", Cycle, "tasks require each other: %s", strings.Join(cycle, " -> "))
	}
}

type taskCheck struct {
	*errs
	entity Entity
	names  map[string]bool
}

func (v *taskCheck) remember(t Task) {
	v.names[t.Name] = true
	for _, s := range t.Steps {
		v.names[s.Name] = true
	}
}

func (v *taskCheck) name(path string, t Task) {
	v.errs.name(path+".name", t.Name, title)
	if v.names[t.Name] && t.Name != "" {
		v.add(path+".name", Redefined,
			"%q is the name of another task of the entity, or of one that it extends; give each a name of its own", t.Name)
	}
	v.names[t.Name] = true
}

func (v *taskCheck) task(path string, t Task, step bool) {
	kinds := 0
	for _, given := range []bool{t.Config != nil, t.Remote != nil, t.Callback != nil, t.Steps != nil} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		v.add(path, BadTask, "has %d of config, remote, callback and steps; give exactly one", kinds)
	}
	if t.Tag != "" && !slices.Contains(Tags(), t.Tag) {
		v.add(path+".tag", BadValue, "%s", resource.NoSuch("task group", string(t.Tag), Tags()))
	}
	v.kind(path, t)
	if t.Steps != nil {
		v.steps(path, t, step)
	}
	onService := t.Callback != nil && !t.Callback.PerNode
	for i, q := range t.Requires {
		v.requirement(invalid.PathAt(path+".requires", i), t, q, onService)
	}
	for i, text := range t.Notify {
		if t.Config == nil {
			v.add(invalid.PathAt(path+".notify", i), BadTask, "only a config task notifies others")
		} else if !v.names[text] {
			v.reference(invalid.PathAt(path+".notify", i), text, " or the name of a task of the entity")
		}
	}
	for i, text := range t.Replaces {
		if t.Config == nil {
			v.add(invalid.PathAt(path+".replaces", i), BadTask, "only a config task replaces a resource (litp.md 61)")
			continue
		}
		v.reference(invalid.PathAt(path+".replaces", i), text, "")
	}
}

// kind checks what is about one kind of task.
func (v *taskCheck) kind(path string, t Task) {
	needed := func(at, value string) {
		if value == "" {
			v.add(path+at, BadValue, "must not be empty")
		}
	}
	if c := t.Config; c != nil {
		needed(".config.type", c.Type)
		needed(".config.title", c.Title)
	}
	if r := t.Remote; r != nil {
		needed(".remote.type", r.Type)
		if r.Limit < 0 {
			v.add(path+".remote.limit", BadValue, "%d is below 0; give 1 or more, or leave it out for no limit",
				r.Limit)
		}
	}
	c := t.Callback
	if c == nil {
		return
	}
	needed(".callback.type", c.Type)
	if c.PerNode && len(c.Returns) > 0 {
		v.add(path+".callback.returns", BadTask,
			"a callback per node gives a value for each node, but the service has one attribute; leave per_node out")
	}
	if t.ForEach != nil && len(c.Returns) > 0 {
		v.add(path+".callback.returns", BadTask,
			"for_each may make several callbacks, but the service has one attribute; leave for_each out")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Returns)) {
		at := path + ".callback.returns." + name
		a, ok := v.entity.Attribute(name)
		switch {
		case !ok:
			v.add(at, UnknownAttribute, "%s", v.unknown("attribute", name,
				Structure{Attributes: v.entity.Attributes}.Names))
		case a.Modifier != Allocated:
			v.add(at, BadValue, "%q has the modifier %s; slipway sets attributes with the modifier r only", name,
				a.Modifier)
		case a.Allocate != nil:
			v.add(at, BadValue, "%q is allocated from a pool; leave that, or this, out", name)
		case c.Returns[name] == "":
			v.add(at, BadValue, "must not be empty: the name of the value that the callback returns")
		}
	}
}

// steps checks an ordered list of tasks (litp.md 49).
func (v *taskCheck) steps(path string, t Task, step bool) {
	switch {
	case step:
		v.add(path+".steps", BadTask, "a step has no steps itself; write them one after the other")
		return
	case len(t.Steps) == 0:
		v.add(path+".steps", BadTask, "is empty; give a task, or leave it out")
	}
	// An ordered list says by itself only when it runs and what comes before it.
	for _, extra := range []struct {
		key   string
		given bool
	}{{"for_each", t.ForEach != nil}, {"notify", t.Notify != nil}, {"replaces", t.Replaces != nil}, {"persist",
		t.Once}, {"tolerate", t.Tolerate}, {"tag", t.Tag != ""}} {
		if extra.given {
			v.add(invalid.PathTo(path, extra.key), BadTask, "is not for a list of steps; write it in the step that it is about")
		}
	}
	for i, s := range t.Steps {
		v.task(invalid.PathAt(path+".steps", i), s, true)
	}
}

func (v *taskCheck) requirement(path string, t Task, q Requirement, onService bool) {
	given := 0
	for _, s := range []string{q.Task, string(q.Section), q.Service, q.Resource} {
		if s != "" {
			given++
		}
	}
	if given != 1 {
		v.add(path, BadTask, "has %d of task, section, service and resource; give exactly one", given)
		return
	}
	switch {
	case q.Task == t.Name:
		v.add(path+".task", BadTask, "the task requires itself")
	case q.Task != "" && !v.names[q.Task]:
		v.add(path+".task", BadTask, "%s", v.unknown("task of the entity", q.Task,
			func() []string { return slices.Sorted(maps.Keys(v.names)) }))
	case q.Section != "":
		v.section(path+".section", q.Section)
	case q.Resource != "":
		v.reference(path+".resource", q.Resource, "")
	}
	if onService && (q.Section != "" || q.Resource != "") {
		v.add(path, BadTask,
			"is about tasks on the same node, but the callback is one for the whole service; require a task, or write per_node: true")
	}
}

// reference checks `type[title]` where it is no template.
func (v *taskCheck) reference(path, text, or string) {
	if strings.Contains(text, "${") || strings.Contains(text, "%{") {
		return
	}
	if _, _, err := resource.ParseID(text); err != nil {
		v.add(path, BadValue, "%q is not a reference of the form type[title]%s", text, or)
	}
}

// requirementCycle returns the names of tasks that require each other by name, the first one again at the end, nil when
// there are none (litp.md 109).
func requirementCycle(tasks []Task) []string {
	leaves := make(map[string][]string) // name of a task or list of steps -> tasks
	for _, t := range tasks {
		leaves[t.Name] = []string{t.Name}
		if t.Steps != nil {
			leaves[t.Name] = nil
		}
		for _, s := range t.Steps {
			leaves[s.Name] = []string{s.Name}
			leaves[t.Name] = append(leaves[t.Name], s.Name)
		}
	}
	needs := make(map[string][]string)
	for _, t := range tasks {
		for _, name := range leaves[t.Name] {
			for _, q := range t.Requires {
				needs[name] = append(needs[name], leaves[q.Task]...)
			}
		}
		for i, s := range t.Steps {
			for _, q := range s.Requires {
				needs[s.Name] = append(needs[s.Name], leaves[q.Task]...)
			}
			if i > 0 {
				needs[s.Name] = append(needs[s.Name], t.Steps[i-1].Name)
			}
		}
	}
	if cycles := digraph.CyclesOf(needs); len(cycles) > 0 {
		return cycles[0]
	}
	return nil
}
