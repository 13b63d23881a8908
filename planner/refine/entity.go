package refine

import (
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/catalog/template"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// BadTemplate is the code of a template that cannot be evaluated, or whose result cannot be used.
const BadTemplate invalid.Code = catalog.BadTemplate

// mostTasks is the most tasks of a service on one node.
const mostTasks = 10_000

// Schemas are the schemas of what a task of an entity can be about, by kind and type.
type Schemas struct {
	Config   map[string]resource.Schema
	Remote   map[string]resource.Schema // actions on nodes
	Callback map[string]resource.Schema
}

// EntityTask is a task of a service of an entity, with its requirements.
type EntityTask struct {
	// Task is complete but for Node, Action, Requires and Notifies: these are for the planner. Where it has pending
	// parameters, refine again at the start of its phase, when the attributes are known. Name, and title of Resource,
	// of remote tasks and callbacks is `<service>/<task>`, with `["key"]` behind it where for_each makes several.
	Task     task.Task
	Template string // name of the task in the entity
	Path     string // of the task in the entity: `entity.tasks[2].steps[0]`
	Section  catalog.Section
	// Needs are all requirements. Those of a config task on config tasks stand in its parameters require and notify,
	// too.
	Needs    []Need
	Replaces []resource.ID
	Once     bool              // not remembered: every run carries it out
	Returns  map[string]string // of a callback: attribute -> name of the value
	Awaits   []string          // the attributes that pending parameters wait for: `self.vni`, sorted

	// what finish resolves, once the resources of all tasks are known
	notify []string       // as evaluated: names of tasks, or references
	known  map[string]any // parameter that is pending -> what is known of what it is made from
}

// Need is a requirement of a task: what comes before it.
type Need struct {
	Task string // a task of the same entity, by its name there; empty for what is none
	// one of its tasks, or a resource on the same node; empty for all of what Task, Section or Service says
	Resource resource.ID
	Section  catalog.Section // all tasks in the section, on the same node
	Service  string          // all tasks of the service, on the same node
}

// Refined is a refined service of an entity. What does not depend on a node is computed once.
type Refined struct {
	Attributes map[string]any // complete, see [catalog.Structure.Check]

	service   string
	section   catalog.Section
	schemas   Schemas
	scope     template.Scope
	tasks     []template.Task
	byName    map[string][]int // of a task, or a list of steps -> tasks
	raw       [][]EntityTask   // by task; nil for those that read the node
	shared    [][]EntityTask   // by task; nil for those that vary
	everyNode []EntityTask     // when no template reads the node
	central   []EntityTask
	varying   []bool // by task: it reads the node, or refers to a task that does
	varies    bool   // some template reads the node
}

// NewInstance validates the attributes of a service against its entity, evaluates every template that does not read the
// node, and validates the results against the schemas. With errors there is no result. Errors have the object
// "service". Those of attributes, and of parameters that only copy an attribute, are at `attributes.x`; others are at
// the template, such as `entity.tasks[2].config.parameters.content`. Whether the user may set an attribute is checked
// elsewhere: see [catalog.Structure.ReadOnly].
func NewInstance(siteName string, in site.Service, schemas Schemas) (*Refined, invalid.Errors) {
	if in.Entity.Abstract {
		return nil, invalid.Errors{{Object: "service", Name: in.Name, Attribute: "entity", Code: invalid.BadValue,
			Message: fmt.Sprintf("the entity %q is abstract; give one that extends it", in.Entity.Name)}}
	}
	var errs invalid.Errors
	tasks, wrong := template.Compile(*in.Entity, 0)
	for _, m := range wrong {
		errs = append(errs, invalid.Error{Object: "service", Name: in.Name, Attribute: "entity." + m.Attribute,
			Code: BadTemplate, Message: m.Text()})
	}
	attributes, more := in.Entity.Check(in.Attributes)
	errs = append(errs, invalid.Errors(more).Of("service", in.Name, "attributes.")...)
	if len(errs) > 0 {
		return nil, errs
	}
	r := &Refined{
		Attributes: attributes, service: in.Name, section: in.Entity.Section, schemas: schemas,
		scope: template.NewScope(in.Entity.Structure, attributes, in.Name, siteName), tasks: tasks,
	}
	r.link()
	r.raw, r.shared = make([][]EntityTask, len(tasks)), make([][]EntityTask, len(tasks))
	for i := range tasks {
		if !tasks[i].ReadsNode() {
			r.raw[i] = r.make(i, r.scope, &errs)
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	for i := range tasks {
		if r.varying[i] {
			continue
		}
		r.shared[i] = r.finish(i, r.raw, &errs)
		if r.tasks[i].Central {
			r.central = append(r.central, r.shared[i]...)
		}
	}
	if len(errs) == 0 && !r.varies {
		r.everyNode, errs = r.gather(r.shared)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return r, nil
}

// link records the tasks that each name stands for, and those that vary from node to node.
func (r *Refined) link() {
	r.byName, r.varying = make(map[string][]int), make([]bool, len(r.tasks))
	for i, t := range r.tasks {
		r.byName[t.Definition.Name] = append(r.byName[t.Definition.Name], i)
		if t.List != "" {
			r.byName[t.List] = append(r.byName[t.List], i)
		}
	}
	for i, t := range r.tasks {
		var refersTo []int
		for _, q := range t.Requires {
			refersTo = append(refersTo, r.byName[q.Definition.Task]...)
		}
		for _, n := range t.Definition.Notify {
			refersTo = append(refersTo, r.byName[n]...)
		}
		if t.Previous >= 0 {
			refersTo = append(refersTo, t.Previous)
		}
		r.varying[i] = t.ReadsNode() || !t.Central && slices.ContainsFunc(refersTo,
			func(other int) bool { return r.tasks[other].ReadsNode() })
		r.varies = r.varies || r.varying[i]
	}
}

// On returns the tasks of the service on a node, in the order of the entity. Nodes share them when no template reads
// the node; the caller must not change them.
func (r *Refined) On(n site.Node) ([]EntityTask, invalid.Errors) {
	if !r.varies {
		return r.everyNode, nil
	}
	scope := r.scope.WithNode(n.Name, n.Address, n.Rack, n.Tags, n.Roles, n.Labels)
	raw := slices.Clone(r.raw)
	var errs invalid.Errors
	for i := range r.tasks {
		if r.tasks[i].ReadsNode() && !r.tasks[i].Central {
			raw[i] = r.make(i, scope, &errs)
		}
	}
	if len(errs) > 0 {
		return nil, onNode(errs, n.Name)
	}
	all := slices.Clone(r.shared)
	for i := range r.tasks {
		if r.varying[i] && !r.tasks[i].Central {
			all[i] = r.finish(i, raw, &errs)
		}
	}
	if len(errs) > 0 {
		return nil, onNode(errs, n.Name)
	}
	tasks, errs := r.gather(all)
	return tasks, onNode(errs, n.Name)
}

// Central returns the callbacks of the whole service, in the order of the entity. They belong to no node.
func (r *Refined) Central() []EntityTask { return r.central }

func onNode(errs invalid.Errors, node string) invalid.Errors {
	for i := range errs {
		errs[i].Message += fmt.Sprintf(" (on node %q)", node)
	}
	return errs
}

// gather returns the tasks of a node as one list, and reports duplicate resources.
func (r *Refined) gather(all [][]EntityTask) ([]EntityTask, invalid.Errors) {
	var out []EntityTask
	var errs invalid.Errors
	first := make(map[resource.ID]int)
	for i, list := range all {
		if r.tasks[i].Central {
			continue
		}
		for _, t := range list {
			id := t.Task.Resource.ID()
			if j, ok := first[id]; ok {
				errs = append(errs, r.wrong("entity."+r.tasks[i].Path, invalid.DuplicateResource,
					"%s is there already, from %s; make each resource once, with a title of its own", id,
					"entity."+r.tasks[j].Path))
				continue
			}
			first[id] = i
			out = append(out, t)
		}
		if len(out) > mostTasks {
			return nil, append(errs, r.wrong("entity."+r.tasks[i].Path, invalid.BadValue,
				"the service has more than %d tasks on one node", mostTasks))
		}
	}
	return out, errs
}

func (r *Refined) wrong(path string, code invalid.Code, format string, args ...any) invalid.Error {
	return invalid.Error{Object: "service", Name: r.service, Attribute: path, Code: code,
		Message: fmt.Sprintf(format, args...)}
}
