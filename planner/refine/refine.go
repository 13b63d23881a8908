// Package refine makes the tasks of every node from the services of a site. It is pure.
//
// A service is inline configuration, or an instance of an entity ([Refined]), which is refined to tasks through the
// templates of the entity. What does not depend on a node is validated and digested once.
package refine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Services are the validated services of a site. They are identified by their index in the order of their names.
type Services struct {
	site     string
	schemas  Schemas
	services []service
	placed   map[string][]int // node -> services, ascending
}

// service is a service of configuration as it is, which has tasks, or of an entity.
type service struct {
	name    string
	errs    invalid.Errors
	tasks   []task.Task  // of configuration: sorted by type and title; Node is empty
	given   site.Service // of an entity: as it was refined, or tried to be
	refined *Refined     // nil when there were errors
	inputs  string       // what it was refined from, see [Memo]
}

// New validates the services of a site and assigns them to nodes. Values of the site count as attributes. A resource
// that does not fit its schema becomes a task without a digest, so that references to it are not reported too. Services
// in memo are not refined again; memo may be nil.
func New(s site.Site, nodes []site.Node, schemas Schemas, memo *Memo) (*Services, invalid.Errors) {
	sorted := slices.Clone(s.Services)
	slices.SortStableFunc(sorted, func(a, b site.Service) int { return strings.Compare(a.Name, b.Name) })
	out := &Services{site: s.Name, schemas: schemas, placed: make(map[string][]int, len(nodes))}
	var errs invalid.Errors
	inventory := site.NewNodeIndex(nodes)
	for i, given := range sorted {
		var made service
		if given.Entity == nil {
			made.tasks, made.errs = configure(given, schemas.Config)
		} else {
			made = memo.instantiate(s, given, schemas)
		}
		made.name = given.Name
		errs = append(errs, made.errs...)
		out.services = append(out.services, made)
		for _, node := range inventory.Members(given.Selectors) {
			out.placed[node] = append(out.placed[node], i)
		}
	}
	memo.forget(s)
	return out, errs
}

// instantiate refines a service of an entity.
func instantiate(s site.Site, given site.Service, schemas Schemas) service {
	var errs invalid.Errors
	if !given.Complete {
		errs = invalid.Errors(given.Entity.ReadOnly(given.Attributes)).Of("service", given.Name, "attributes.")
	}
	given = withValues(given, s.Values[given.Name])
	refined, more := NewInstance(s.Name, given, schemas)
	return service{errs: append(errs, more...), given: given, refined: refined}
}

// On returns the services that are placed on a node, ascending. The result must not be changed.
func (s *Services) On(node string) []int { return s.placed[node] }

// Name returns the name of a service.
func (s *Services) Name(service int) string { return s.services[service].name }

// Has reports whether there is a service of that name.
func (s *Services) Has(name string) bool {
	_, ok := s.find(name)
	return ok
}

func (s *Services) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.services, name,
		func(a service, name string) int { return strings.Compare(a.name, name) })
}

// Len returns the number of services.
func (s *Services) Len() int { return len(s.services) }

// Central returns the callbacks of a whole service.
func (s *Services) Central(service int) []EntityTask {
	if r := s.services[service].refined; r != nil {
		return r.Central()
	}
	return nil
}

// DependOnNode reports whether the tasks of any of the services depend on the node.
func (s *Services) DependOnNode(services []int) bool {
	return slices.ContainsFunc(services, func(i int) bool {
		r := s.services[i].refined
		return r != nil && r.varies
	})
}

// Again is a task about a resource that the task of an earlier service is about, too.
type Again struct {
	First, At int         // the positions of the earliest such task, and of this one
	Path      string      // where its service has it
	Detail    *EntityTask // nil for inline configuration
}

// Load is the tasks of services on a node.
type Load struct {
	Tasks   []task.Task                 // by service; not to be changed
	Details map[resource.ID]*EntityTask // of the tasks that entities bring, without those of Again; nil for none
	Again   []Again                     // in the order of the tasks
}

// Tasks returns the tasks of a node with the given services.
func (s *Services) Tasks(services []int, n site.Node) (Load, invalid.Errors) {
	count := 0
	lists := make([][]EntityTask, len(services))
	var errs invalid.Errors
	for at, i := range services {
		if r := s.services[i].refined; r != nil {
			var wrong invalid.Errors
			lists[at], wrong = r.On(n)
			errs = append(errs, wrong...)
		}
		count += len(s.services[i].tasks) + len(lists[at])
	}
	if len(services) == 1 && len(lists[0]) == 0 {
		return Load{Tasks: s.services[services[0]].tasks}, errs // nothing brings the same
	}
	load := Load{Tasks: make([]task.Task, 0, count)}
	index := make(map[resource.ID]int, count)
	add := func(t task.Task, path func() string, detail *EntityTask) bool {
		id, at := t.Resource.ID(), len(load.Tasks)
		load.Tasks = append(load.Tasks, t)
		first, again := index[id]
		if again {
			load.Again = append(load.Again, Again{first, at, path(), detail})
			return false
		}
		index[id] = at
		return true
	}
	for at, i := range services {
		for _, t := range s.services[i].tasks {
			add(t, func() string { return site.ConfigurationPath(t.Resource.Type, t.Resource.Title, "") }, nil)
		}
		for j := range lists[at] {
			t := &lists[at][j]
			if !add(t.Task, func() string { return t.Path }, t) {
				continue
			}
			if load.Details == nil {
				load.Details = make(map[resource.ID]*EntityTask, len(lists[at]))
			}
			load.Details[t.Task.Resource.ID()] = t
		}
	}
	return load, errs
}

// configure makes the tasks of one service.
func configure(s site.Service, schemas map[string]resource.Schema) ([]task.Task, invalid.Errors) {
	count := 0
	for _, titles := range s.Configuration {
		count += len(titles)
	}
	tasks := make([]task.Task, 0, count)
	var errs invalid.Errors
	for _, typ := range slices.Sorted(maps.Keys(s.Configuration)) {
		schema, known := schemas[typ]
		if !known {
			errs = append(errs, site.UnknownTypeError("service", s.Name, site.ConfigurationPath(typ, "", ""),
				typ, schemas))
		}
		titles := s.Configuration[typ]
		for _, title := range slices.Sorted(maps.Keys(titles)) {
			r := resource.Resource{Type: typ, Title: title, Parameters: titles[title]}
			tasks = append(tasks, task.Task{Group: task.Node, Service: s.Name, Resource: r})
			if !known {
				continue
			}
			normal, wrong := schema.Conform(r)
			if len(wrong) == 0 {
				t := &tasks[len(tasks)-1]
				t.Resource, t.Digest = normal, resource.Digest(normal)
			}
			errs = append(errs, parameterErrors(s.Name, r, wrong)...)
		}
	}
	return tasks, errs
}

// parameterErrors returns the errors for parameter errors of a resource of a service.
func parameterErrors(service string, r resource.Resource, wrong []invalid.Error) invalid.Errors {
	var errs invalid.Errors
	for _, e := range wrong {
		p := site.ParameterError("service", service, r.Type, r.Title, e)
		if v, given := r.Parameters[e.Attribute]; given && v == nil {
			p.Code = invalid.NullValue
		}
		errs = append(errs, p)
	}
	return errs
}

// withValues returns the service with values of attributes that slipway sets. Other values are left out, because the
// entity may have changed since.
func withValues(s site.Service, values map[string]any) site.Service {
	attributes := make(map[string]any, len(s.Attributes)+len(values))
	maps.Copy(attributes, s.Attributes)
	for name, value := range values {
		if a, ok := s.Entity.Attribute(name); ok && a.Modifier == catalog.Allocated {
			attributes[name] = value
		}
	}
	s.Attributes = attributes
	return s
}

// Again refines a service with what its callbacks returned, by the names of the values. It returns nil for a service
// without an entity. The error names attributes and never values.
func (s *Services) Again(name string, returned map[string]any) (*Refined, error) {
	i, ok := s.find(name)
	if !ok || s.services[i].refined == nil {
		return nil, nil
	}
	old := s.services[i]
	values := make(map[string]any)
	for _, t := range old.refined.central {
		for attribute, value := range t.Returns {
			if v, ok := returned[value]; ok {
				values[attribute] = v
			}
		}
	}
	if len(values) == 0 {
		return old.refined, nil
	}
	refined, errs := NewInstance(s.site, withValues(old.given, values), s.schemas)
	if len(errs) == 0 {
		return refined, nil
	}
	wrong := make([]string, len(errs))
	for i, p := range errs {
		wrong[i] = fmt.Sprintf("%s (%s)", p.Attribute, p.Code)
	}
	return nil, fmt.Errorf("the service %q cannot take what its callbacks returned for %s: see %s", name,
		strings.Join(slices.Sorted(maps.Keys(values)), ", "), strings.Join(wrong, ", "))
}
