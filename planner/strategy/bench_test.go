package strategy

import (
	"fmt"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// large is a site of 1,000 nodes in 50 groups that depend on one or two others each.
func large() ([]site.Group, []site.Node) {
	nodes := make([]site.Node, 1000)
	for i := range nodes {
		nodes[i] = site.Node{
			Name: fmt.Sprintf("node%04d", i), Rack: fmt.Sprintf("rack%02d", i%50),
			Tags:   []string{"all", fmt.Sprintf("t%d", i%7)},
			Labels: map[string]string{"size": fmt.Sprint(i % 3), "zone": fmt.Sprint(i % 11)},
		}
	}
	percent := 90
	groups := make([]site.Group, 50)
	for i := range groups {
		groups[i] = site.Group{
			Name: fmt.Sprintf("group%02d", i), Critical: i%2 == 0,
			SuccessCriteria: &site.SuccessCriteria{PercentSuccessfulNodes: &percent},
			Selectors: site.Selectors{
				{RackNames: []string{fmt.Sprintf("rack%02d", i)}, NodeTags: []string{"all"}},
				{NodeLabels: []string{fmt.Sprintf("zone:%d", i), "size: 5"}},
			},
		}
		if i > 0 {
			groups[i].DependsOn = []string{fmt.Sprintf("group%02d", i/2), fmt.Sprintf("group%02d", i-1)}
		}
	}
	return groups, nodes
}

func BenchmarkMembers(b *testing.B) {
	groups, nodes := large()
	for b.Loop() {
		for _, g := range groups {
			g.Selectors.Members(nodes)
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	groups, _ := large()
	for b.Loop() {
		if _, err := Order(groups); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMachine(b *testing.B) {
	groups, nodes := large()
	for b.Loop() {
		m, err := New(groups, nodes, nil)
		if err != nil {
			b.Fatal(err)
		}
		run(m, outcome{})
		if m.CriticalFailed() || m.Err() != nil {
			b.Fatal(m.Err(), m.Report())
		}
	}
}
