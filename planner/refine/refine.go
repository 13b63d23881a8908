// Package refine turns services into configuration tasks: it checks what each service brings, places it on the nodes that the
// service selects, and gives every node its tasks. A service is checked and digested once, however many nodes it is
// placed on. It is pure.
package refine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Services are the services of a site, checked and ready to be placed. Services are known by their index, which follows
// their names.
type Services struct {
	services []service
	placed   map[string][]int // node -> services, ascending
}

type service struct {
	name  string
	tasks []task.Task // sorted by type and title; Node is empty
}

// New checks the configuration of services and works out which nodes they are placed on. A resource that does not fit its
// schema becomes a task without a digest, so that references to it are not reported as well.
func New(services []site.Service, nodes []site.Node, schemas map[string]resource.Schema) (*Services, site.Problems) {
	sorted := slices.Clone(services)
	slices.SortStableFunc(sorted, func(a, b site.Service) int { return strings.Compare(a.Name, b.Name) })
	out := &Services{placed: make(map[string][]int, len(nodes))}
	var problems site.Problems
	inventory := site.NewInventory(nodes)
	for i, s := range sorted {
		tasks, p := configure(s, schemas)
		problems = append(problems, p...)
		out.services = append(out.services, service{s.Name, tasks})
		for _, node := range inventory.Members(s.Selectors) {
			out.placed[node] = append(out.placed[node], i)
		}
	}
	return out, problems
}

// On returns the services that are placed on a node, ascending. The result must not be changed.
func (s *Services) On(node string) []int { return s.placed[node] }

// Clash is a resource that two services bring to one node.
type Clash struct {
	Resource      resource.Resource
	First, Second string // services
}

// Problem tells of the clash at the second service.
func (c Clash) Problem() site.Problem {
	return site.Problem{
		Object: "service", Name: c.Second, Attribute: site.ConfigurationPath(c.Resource.Type, c.Resource.Title, ""),
		Code: site.DuplicateResource,
		Message: fmt.Sprintf("the service %q brings %s as well; keep it in one of them, or place them on different nodes",
			c.First, c.Resource.ID()),
	}
}

// Tasks returns the tasks of a node that has the given services, by service, type and title, and the resources that more
// than one of them brings. Of these, the task of the first service counts. The caller owns the slice, not what its tasks
// point to.
func (s *Services) Tasks(services []int) ([]task.Task, []Clash) {
	n := 0
	for _, i := range services {
		n += len(s.services[i].tasks)
	}
	tasks := make([]task.Task, 0, n)
	var clashes []Clash
	bringer := make(map[resource.ID]string, n)
	for _, i := range services {
		for _, t := range s.services[i].tasks {
			id := t.Resource.ID()
			if first, ok := bringer[id]; ok {
				clashes = append(clashes, Clash{t.Resource, first, t.Service})
				continue
			}
			bringer[id] = t.Service
			tasks = append(tasks, t)
		}
	}
	return tasks, clashes
}

// configure makes the tasks of one service.
func configure(s site.Service, schemas map[string]resource.Schema) ([]task.Task, site.Problems) {
	var tasks []task.Task
	var problems site.Problems
	for _, typ := range slices.Sorted(maps.Keys(s.Configuration)) {
		schema, known := schemas[typ]
		if !known {
			problems = append(problems, site.UnknownTypeProblem("service", s.Name, site.ConfigurationPath(typ, "", ""), typ, schemas))
		}
		for _, title := range slices.Sorted(maps.Keys(s.Configuration[typ])) {
			r := resource.Resource{Type: typ, Title: title, Parameters: s.Configuration[typ][title]}
			t := task.Task{Group: task.Node, Service: s.Name, Resource: r}
			if known {
				mistakes := check(s.Name, schema, r)
				if len(mistakes) == 0 {
					t.Resource = schema.Normalize(r)
					t.Digest = resource.Digest(t.Resource)
				}
				problems = append(problems, mistakes...)
			}
			tasks = append(tasks, t)
		}
	}
	return tasks, problems
}

func check(service string, schema resource.Schema, r resource.Resource) site.Problems {
	var problems site.Problems
	for _, e := range schema.Validate(r) {
		p := site.ParameterProblem("service", service, r.Type, r.Title, e)
		if v, given := r.Parameters[e.Parameter]; given && v == nil {
			p.Code = site.NullValue
		}
		problems = append(problems, p)
	}
	return problems
}
