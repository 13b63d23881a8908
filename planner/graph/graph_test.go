package graph

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

func group(name string, critical bool, parents ...string) site.Group {
	return site.Group{Name: name, Critical: critical, DependsOn: parents}
}

// awkward has names with everything that the formats escape, an edge over a level and one given twice.
func awkward() site.Site {
	return site.Site{Name: `lon "1"`, Nodes: []site.Node{{Name: "n1"}, {Name: "n2"}}, Groups: []site.Group{
		group("last", false, "mid", "first", "first"), group("mid", true, "first"), group("first", true),
		group("a \"b\" <c> & `d` #e \\ f", false),
	}}
}

func TestNew(t *testing.T) {
	s := awkward()
	s.Groups[1].Selectors = site.Selectors{{NodeNames: []string{"n1"}}}
	g, err := New(s, true)
	if err != nil {
		t.Fatal(err)
	}
	want := Graph{Site: `lon "1"`, Groups: []Group{
		{Name: "first", Critical: true, Members: 2},
		{Name: "a \"b\" <c> & `d` #e \\ f", Members: 2},
		{Name: "mid", Critical: true, Members: 1, Parents: []int{0}},
		{Name: "last", Members: 2, Parents: []int{0, 2}},
	}}
	if d := cmp.Diff(want, g); d != "" {
		t.Error(d)
	}
	staged := g.WithStages(strategy.Report{Groups: []strategy.GroupReport{{Name: "mid", Stage: strategy.Failed}}})
	if staged.Groups[2].Stage != strategy.Failed || g.Groups[2].Stage != "" {
		t.Errorf("got %+v from %+v", staged.Groups[2], g.Groups[2])
	}
	s.Groups[2].DependsOn = []string{"last"}
	var errs invalid.Errors
	if _, err := New(s, true); !errors.As(err, &errs) || errs[0].Code != invalid.Cycle {
		t.Errorf("got %v", err)
	}
	byDefault, err := New(site.Site{Name: "s"}, false)
	if err != nil || len(byDefault.Groups) != 1 || byDefault.Groups[0].about() != "critical" {
		t.Errorf("got %+v, %v", byDefault, err)
	}
}

func TestText(t *testing.T) {
	g, err := New(awkward(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`g1["a #quot;b#quot; #lt;c#gt; #amp; #96;d#96; #35;e #92; f<br/>not critical, 2 nodes"]`,
		"g0 --> g2\n  g0 --> g3\n  g2 --> g3\n",
	} {
		if !strings.Contains(g.Mermaid(), want) {
			t.Errorf("no %q in\n%s", want, g.Mermaid())
		}
	}
	for _, want := range []string{`digraph "lon \"1\"" {`, `"a \"b\" <c> & ` + "`d`" +
		` #e \\ f" [label="a \"b\" <c> & ` + "`d`" + ` #e \\ f\nnot critical, 2 nodes"`, `"first" -> "last";`} {
		if !strings.Contains(g.DOT(), want) {
			t.Errorf("no %q in\n%s", want, g.DOT())
		}
	}
}

// BenchmarkRender draws 300 groups in 10 levels, each behind three of the level before.
func BenchmarkRender(b *testing.B) {
	s := site.Site{Name: "lon1"}
	for i := range 300 {
		g := group(fmt.Sprint("g", i), i%2 == 0)
		for j := range min(i/30, 1) * 3 {
			g.DependsOn = append(g.DependsOn, fmt.Sprint("g", (i/30-1)*30+(i+j*7)%30))
		}
		s.Groups = append(s.Groups, g)
	}
	g, err := New(s, false)
	if err != nil {
		b.Fatal(err)
	}
	for name, render := range map[string]func() string{"Mermaid": g.Mermaid, "DOT": g.DOT} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				render()
			}
		})
	}
}
