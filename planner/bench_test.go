package planner_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// big is a site of 1,000 nodes in 50 groups with 20 configuration resources each, and an override for each group.
func big() site.Site {
	const groups, nodes, files = 50, 1000, 10
	s := site.Site{Name: "big"}
	for g := range groups {
		group := fmt.Sprintf("group%02d", g)
		selectors := site.Selectors{{NodeTags: []string{group}}}
		settings := site.Group{Name: group, Selectors: selectors,
			SuccessCriteria: &site.SuccessCriteria{PercentSuccessfulNodes: ptr(75)}}
		if g > 0 {
			settings.DependsOn = []string{fmt.Sprintf("group%02d", (g-1)/2)}
		}
		s.Groups = append(s.Groups, settings)
		c := conf{
			"file": titles{}, "exec": titles{}, "user": titles{"app": {"gid": "app"}, "web": {}},
			"group":   titles{"app": {}},
			"package": titles{"nginx": {}, "chrony": {}}, "service": titles{"nginx": {"ensure": "running"}},
		}
		for i := range files {
			c["file"][fmt.Sprintf("/etc/app/file%d", i)] = params{
				"content": fmt.Sprintf("%s %d", group, i), "mode": "0644", "owner": "app", "require": "package[nginx]",
				"notify": "service[nginx]",
			}
		}
		for i := range 4 {
			c["exec"][fmt.Sprintf("step %d", i)] = params{"command": "/bin/true",
				"creates": fmt.Sprintf("/var/lib/app/%d", i)}
		}
		s.Services = append(s.Services, site.Service{Name: "app of " + group, Selectors: selectors, Configuration: c})
		s.Overrides = append(s.Overrides, site.Override{
			Name: "tuning of " + group, Groups: []string{group},
			Configuration: conf{"file": titles{"/etc/app/file0": {"mode": "0600"}}},
		})
	}
	for n := range nodes {
		s.Nodes = append(s.Nodes, site.Node{
			Name: fmt.Sprintf("node%04d", n), Rack: fmt.Sprintf("rack%02d", n%40),
			Tags: []string{fmt.Sprintf("group%02d", n%groups)}, Roles: []string{"app"},
		})
	}
	return s
}

// eachNodeItsOwn is big with an override for each node, so that no two nodes share a catalog.
func eachNodeItsOwn() site.Site {
	s := big()
	for _, n := range s.Nodes {
		s.Overrides = append(s.Overrides, site.Override{
			Name: "of " + n.Name, Nodes: []string{n.Name},
			Configuration: conf{"file": titles{"/etc/app/file1": {"content": n.Name}}},
		})
	}
	return s
}

func BenchmarkMake(b *testing.B) {
	applied := allApplied(b, big())
	for _, bb := range []struct {
		name    string
		site    site.Site
		applied planner.Applied
	}{
		{"first", big(), nil},
		{"unchanged", big(), applied},
		{"each-node-its-own", eachNodeItsOwn(), nil},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p, errs := planner.Make(bb.site, bb.applied, nil); p == nil {
					b.Fatal(errs)
				}
			}
		})
	}
}

func BenchmarkSteps(b *testing.B) {
	p := mustMake(b, big(), nil, nil)
	b.ReportAllocs()
	for b.Loop() {
		p.Steps()
	}
}

// Sizes of the sites below: each node has 20 tasks with 60 requirements among them.
const tasksOnNode, requirementsOnNode = 20, 60

// plain is the configuration of one node in a site of a given size. With an owner, no other node has the same.
func plain(owner string) conf {
	files := titles{}
	title := func(i int) string { return fmt.Sprintf("/srv/app/file%02d", i) }
	left := requirementsOnNode
	for i := range tasksOnNode {
		var requires []any
		for j := i - 1; j >= max(0, i-4) && left > (tasksOnNode-1-i)*3; j-- {
			requires = append(requires, "file["+title(j)+"]")
			left--
		}
		p := params{"content": fmt.Sprintf("%s %d\n", owner, i), "mode": "0644"}
		if len(requires) > 0 {
			p["require"] = requires
		}
		files[title(i)] = p
	}
	return conf{"file": files}
}

// sized is a site with the given number of tasks in groups of 100 nodes. Either every node has a service of its own, or
// all share one.
func sized(tasks int, shared bool) site.Site {
	const members = 100
	s := site.Site{Name: "sized"}
	if shared {
		s.Services = []site.Service{{Name: "app", Configuration: plain("all")}}
	}
	for n := range tasks / tasksOnNode {
		name, group := fmt.Sprintf("node%06d", n), fmt.Sprintf("group%04d", n/members)
		s.Nodes = append(s.Nodes, site.Node{Name: name, Tags: []string{group}})
		if n%members == 0 {
			s.Groups = append(s.Groups, site.Group{Name: group, Selectors: site.Selectors{{NodeTags: []string{group}}}})
		}
		if !shared {
			s.Services = append(s.Services, site.Service{Name: "app of " + name,
				Selectors: site.Selectors{{NodeNames: []string{name}}}, Configuration: plain(name)})
		}
	}
	return s
}

// BenchmarkSize is the growth of planning with the size of a site: nothing applied, and everything.
func BenchmarkSize(b *testing.B) {
	for _, tasks := range []int{10_000, 100_000, 1_000_000} {
		for _, shared := range []bool{false, true} {
			for _, unchanged := range []bool{false, true} {
				name := fmt.Sprintf("tasks=%d/own", tasks)
				if shared {
					name = fmt.Sprintf("tasks=%d/shared", tasks)
				}
				if unchanged {
					name += "/unchanged"
				}
				b.Run(name, func(b *testing.B) {
					if testing.Short() && tasks > 100_000 {
						b.Skip("large")
					}
					s := sized(tasks, shared)
					var applied planner.Applied
					if unchanged {
						applied = allApplied(b, s)
					}
					checkSize(b, s, applied, tasks)
					b.ReportAllocs()
					peak := watchHeap()
					for b.Loop() {
						if _, errs := planner.Make(s, applied, nil); len(errs.Errors()) > 0 {
							b.Fatal(errs)
						}
					}
					b.ReportMetric(float64(peak())/(1<<20), "peak-MB")
				})
			}
		}
	}
}

// checkSize fails the benchmark when the plan does not have the work that is measured.
func checkSize(b *testing.B, s site.Site, applied planner.Applied, tasks int) {
	got, requirements := 0, 0
	for _, phase := range mustMake(b, s, applied, nil).Phases {
		for _, t := range phase.Tasks {
			requirements += len(t.Requires)
			if t.Action == task.Create {
				got++
			}
		}
	}
	want := tasks
	if applied != nil {
		want = 0
	}
	if got != want || requirements != want/tasksOnNode*requirementsOnNode {
		b.Fatalf("the plan has %d tasks with %d requirements", got, requirements)
	}
}

// watchHeap looks at the heap until it is asked for the most that was there, in bytes, garbage included.
func watchHeap() func() uint64 {
	runtime.GC()
	var peak uint64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-done
		return peak
	}
}

// TestMakeMemory holds the promise of 500 MB for 1,000 nodes, in all that is allocated, not only what is in use at
// once.
func TestMakeMemory(t *testing.T) {
	s := eachNodeItsOwn()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := mustMake(t, s, nil, nil)
	runtime.ReadMemStats(&after)
	tasks := 0
	for _, phase := range p.Phases {
		tasks += len(phase.Tasks)
	}
	if want := 21 * 1000; tasks != want {
		t.Errorf("got %d tasks, want %d", tasks, want)
	}
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 500 {
		t.Errorf("planning allocates %d MB", mb)
	}
}
