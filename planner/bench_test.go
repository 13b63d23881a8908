package planner_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// big is a site of 1,000 nodes in 50 groups with 20 configuration resources each, and an override for each group.
func big() site.Site {
	const groups, nodes, files = 50, 1000, 10
	s := site.Site{Name: "big"}
	for g := range groups {
		group := fmt.Sprintf("group%02d", g)
		selectors := site.Selectors{{NodeTags: []string{group}}}
		settings := site.Group{Name: group, Selectors: selectors, SuccessCriteria: &site.SuccessCriteria{PercentSuccessfulNodes: ptr(75)}}
		if g > 0 {
			settings.DependsOn = []string{fmt.Sprintf("group%02d", (g-1)/2)}
		}
		s.Groups = append(s.Groups, settings)
		c := conf{
			"file": titles{}, "exec": titles{}, "user": titles{"app": {"gid": "app"}, "web": {}}, "group": titles{"app": {}},
			"package": titles{"nginx": {}, "chrony": {}}, "service": titles{"nginx": {"ensure": "running"}},
		}
		for i := range files {
			c["file"][fmt.Sprintf("/etc/app/file%d", i)] = params{
				"content": fmt.Sprintf("%s %d", group, i), "mode": "0644", "owner": "app", "require": "package[nginx]", "notify": "service[nginx]",
			}
		}
		for i := range 4 {
			c["exec"][fmt.Sprintf("step %d", i)] = params{"command": "/bin/true", "creates": fmt.Sprintf("/var/lib/app/%d", i)}
		}
		s.Services = append(s.Services, site.Service{Name: "app of " + group, Selectors: selectors, Configuration: c})
		s.Overrides = append(s.Overrides, site.Override{
			Name: "tuning of " + group, Groups: []string{group}, Configuration: conf{"file": titles{"/etc/app/file0": {"mode": "0600"}}},
		})
	}
	for n := range nodes {
		s.Nodes = append(s.Nodes, site.Node{
			Name: fmt.Sprintf("node%04d", n), Rack: fmt.Sprintf("rack%02d", n%40), Tags: []string{fmt.Sprintf("group%02d", n%groups)}, Roles: []string{"app"},
		})
	}
	return s
}

// eachNodeItsOwn is big with an override for each node, so that no two nodes share a catalog.
func eachNodeItsOwn() site.Site {
	s := big()
	for _, n := range s.Nodes {
		s.Overrides = append(s.Overrides, site.Override{
			Name: "of " + n.Name, Nodes: []string{n.Name}, Configuration: conf{"file": titles{"/etc/app/file1": {"content": n.Name}}},
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
				if p, problems := planner.Make(bb.site, bb.applied, nil); p == nil {
					b.Fatal(problems)
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

// TestMakeMemory holds the promise of 500 MB for 1,000 nodes, in all that is allocated, not only what is in use at once.
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
