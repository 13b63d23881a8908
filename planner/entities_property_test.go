package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// anyEntity is an entity of random tasks. With loops, a task may require a later one.
func anyEntity(t *testing.T, r *rand.Rand, name string, services []string, loops bool) *catalog.Entity {
	t.Helper()
	e := catalog.Entity{Name: name, Section: catalog.Sections()[r.IntN(len(catalog.Sections()))]}
	count := 1 + r.IntN(6)
	for i := range count {
		made := catalog.Task{Name: fmt.Sprint("t", i), Once: r.IntN(8) == 0}
		if r.IntN(6) == 0 {
			made.Tag = []task.Group{task.PreNode, task.Node, task.Cluster, task.PostCluster, task.Management,
				task.UpgradeBoot}[r.IntN(6)]
		}
		title := fmt.Sprintf("%s-%d", name, i)
		if r.IntN(3) == 0 {
			title += "-${node.name}"
		}
		switch r.IntN(5) {
		case 0:
			made.Remote = &catalog.RemoteTask{Type: "shell", Limit: r.IntN(3),
				Parameters: map[string]any{"command": "x", "timeout": int64(1)}}
		case 1:
			made.Callback = &catalog.CallbackTask{Type: "http", PerNode: r.IntN(2) == 0,
				Parameters: map[string]any{"url": "http://x"}}
		case 2:
			made.Config = &catalog.ConfigTask{Type: "package", Title: title}
		default:
			made.Config = &catalog.ConfigTask{Type: "file", Title: "/" + title,
				Parameters: map[string]any{"content": "x"}}
		}
		for range r.IntN(3) {
			var q catalog.Requirement
			central := made.Callback != nil && !made.Callback.PerNode
			switch n := r.IntN(8); {
			case n == 0:
				q.Service = services[r.IntN(len(services))]
			case n == 1 && !central:
				q.Section = catalog.Sections()[r.IntN(len(catalog.Sections()))]
			case loops && r.IntN(10) == 0:
				q.Task = fmt.Sprint("t", r.IntN(count))
			case i > 0:
				q.Task = fmt.Sprint("t", r.IntN(i))
			}
			if q != (catalog.Requirement{}) && q.Task != made.Name && !slices.Contains(made.Requires, q) {
				made.Requires = append(made.Requires, q)
			}
		}
		e.Tasks = append(e.Tasks, made)
	}
	c, errs := catalog.Resolve(catalog.Definitions{Entities: []catalog.Entity{e}})
	if len(errs) > 0 {
		return anyEntity(t, r, name, services, loops) // its own tasks wait for each other
	}
	return &c.Entities[0]
}

// anyServices is a site with services of random entities, of which only earlier ones are required, so that most have a
// plan.
func anyServices(t *testing.T, r *rand.Rand) site.Site {
	t.Helper()
	s := one()
	s.Services = []site.Service{{Name: "s0", Configuration: conf{"file": titles{"/inline": {"content": "x"}},
		"package": titles{"inline": {}}}}}
	names := []string{"s0"}
	for i := range 1 + r.IntN(3) {
		name := fmt.Sprint("s", i+1)
		made := site.Service{Name: name, Entity: anyEntity(t, r, fmt.Sprint("e", i), names, r.IntN(3) == 0)}
		for _, n := range s.Nodes {
			if r.IntN(3) > 0 {
				made.Selectors = append(made.Selectors, site.Selector{NodeNames: []string{n.Name}})
			}
		}
		s.Services = append(s.Services, made)
		names = append(names, name)
	}
	return s
}

// spot is a place in the order of a run.
type spot struct {
	phase, index int
	task.Task
}

// spots are the tasks of a plan by service, node and name in the entity; inline ones have none.
func spots(p *planner.Plan, s site.Site) map[[2]string][]spot {
	out := map[[2]string][]spot{} // service, node
	for i, phase := range p.Phases {
		for j, t := range phase.Tasks {
			if t.Service != "" {
				out[[2]string{t.Service, t.Node}] = append(out[[2]string{t.Service, t.Node}], spot{i, j, t})
			}
		}
	}
	return out
}

// is reports whether a task of the plan was made from a task of an entity.
func (s spot) is(e *catalog.Entity, name, node string) bool {
	i := slices.IndexFunc(e.Tasks, func(t catalog.Task) bool { return t.Name == name })
	title := fmt.Sprintf("%s-%d", e.Name, i)
	if e.Tasks[i].Config == nil {
		title = s.Service + "/" + name
	}
	return slices.Contains([]string{title, "/" + title, title + "-" + node, "/" + title + "-" + node}, s.Resource.Title)
}

// before reports whether one task is done when the other one begins.
func before(a, b spot) bool {
	if a.phase == b.phase {
		return a.Kind == task.Config && b.Kind == task.Config && a.index < b.index
	}
	return a.phase < b.phase
}

func TestPhasesKeepEveryRequirement(t *testing.T) {
	planned, checked := 0, 0
	eachRound(t, func(t *testing.T, r *rand.Rand) {
		s := anyServices(t, r)
		p, errs := planner.Make(s, nil, nil)
		if p == nil {
			if len(errs.Errors()) == 0 {
				t.Error("no plan, and no error")
			}
			return
		}
		planned++
		for i, phase := range p.Phases {
			for _, made := range phase.Tasks {
				if made.Kind != phase.Tasks[0].Kind {
					t.Errorf("phase %d is of more than one kind", i+1)
				}
			}
		}
		all := spots(p, s)
		sections := map[string]catalog.Section{}
		for _, service := range s.Services {
			sections[service.Name] = catalog.Services
			if service.Entity != nil {
				sections[service.Name] = service.Entity.Section
			}
		}
		for key, list := range all {
			at := slices.IndexFunc(s.Services, func(o site.Service) bool { return o.Name == key[0] })
			e := s.Services[at].Entity
			if e == nil {
				continue
			}
			for _, later := range list {
				made := e.Tasks[slices.IndexFunc(e.Tasks,
					func(c catalog.Task) bool { return later.is(e, c.Name, key[1]) })]
				for _, q := range made.Requires {
					for other, earlier := range all {
						for _, one := range earlier {
							same := other[1] == key[1]
							meant := false
							switch {
							case q.Task != "":
								meant = other[0] == key[0] && (same || key[1] == "" || other[1] == "") &&
									one.is(e, q.Task, other[1])
							case q.Service != "":
								meant = other[0] == q.Service && (same || key[1] == "")
							default:
								meant = same && sections[other[0]] == q.Section
							}
							if meant && one.Resource.ID() != later.Resource.ID() {
								checked++
								if !before(one, later) {
									t.Errorf("%s on %q requires %s on %q: %v", later.Resource.ID(), key[1],
										one.Resource.ID(), other[1], p.Steps())
								}
							}
						}
					}
				}
			}
		}
	})
	if planned < rounds/3 || checked < rounds {
		t.Errorf("only %d sites have a plan, and %d requirements", planned, checked)
	}
}

func TestPlansOfEntitiesAreDeterministicAndFinish(t *testing.T) {
	eachRound(t, func(t *testing.T, r *rand.Rand) {
		s := anyServices(t, r)
		if p, _ := planner.Make(s, nil, nil); p == nil {
			return
		}
		applied, drift := anyStateOf(t, r, s)
		want := text(planner.Make(s, applied, drift))
		mixed := s
		mixed.Nodes, mixed.Services = slices.Clone(s.Nodes), slices.Clone(s.Services)
		mix(r, mixed.Nodes)
		mix(r, mixed.Services)
		if d := cmp.Diff(want, text(planner.Make(mixed, applied, drift))); d != "" {
			t.Error(d)
		}
		// A run that was interrupted is finished by the next.
		var tasks []task.Task
		p := mustMake(t, s, applied, drift)
		for _, phase := range p.Phases {
			tasks = append(tasks, phase.Tasks...)
		}
		n := r.IntN(len(tasks) + 1)
		for _, made := range tasks[:n] {
			apply(applied, made)
		}
		for _, left := range tasks[n:] {
			if made := left; made.Action == task.Create || made.Action == task.Update || made.Action == task.Run &&
				applied[made.Node][made.Resource.ID()] == "" {
				if second := mustMake(t, s, applied, nil); second.Empty() {
					t.Errorf("after %d of %d tasks the next plan is empty", n, len(tasks))
				}
				break
			}
		}
		finish(t, mustMake(t, s, applied, nil), applied, nil)
		if again := mustMake(t, s, applied, nil); !again.Empty() || again.Forgotten != nil {
			t.Errorf("after whole runs there is work left: %v", again.Steps())
		}
		for _, resources := range applied {
			for id, digest := range resources {
				if id == resource.ID("") || digest == "" {
					t.Errorf("%q is recorded with %q", id, digest)
				}
			}
		}
	})
}
