package command

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

func TestPictureOfGroups(t *testing.T) {
	s := awkward()
	s.Groups[1].Selectors = site.Selectors{{NodeNames: []string{"n1"}}}
	g, err := pictureOfGroups(s, true, strategy.Report{})
	if err != nil {
		t.Fatal(err)
	}
	want := picture{name: `lon "1"`, prefix: "g", boxes: []box{
		{"first", []string{"critical, 2 nodes"}, blue, true},
		{"a \"b\" <c> & `d` #e \\ f", []string{"not critical, 2 nodes"}, white, false},
		{"mid", []string{"critical, 1 node"}, blue, true},
		{"last", []string{"not critical, 2 nodes"}, white, false},
	}, arrows: []arrow{{from: 0, to: 2}, {from: 0, to: 3}, {from: 2, to: 3}}}
	compare := cmp.AllowUnexported(picture{}, box{}, arrow{}, colour{})
	if d := cmp.Diff(want, g, compare); d != "" {
		t.Error(d)
	}
	staged, err := pictureOfGroups(s, true, strategy.Report{Groups: []strategy.GroupReport{{Name: "mid", Stage: strategy.Failed}}})
	want.boxes[2] = box{"mid", []string{"critical, 1 node", string(strategy.Failed)}, red, true}
	if d := cmp.Diff(want, staged, compare); d != "" || err != nil {
		t.Error(d, err)
	}
	s.Groups[2].DependsOn = []string{"last"}
	var errs invalid.Errors
	if _, err := pictureOfGroups(s, true, strategy.Report{}); !errors.As(err, &errs) || errs[0].Code != invalid.Cycle {
		t.Errorf("got %v", err)
	}
	byDefault, err := pictureOfGroups(site.Site{Name: "s"}, false, strategy.Report{})
	if err != nil || len(byDefault.boxes) != 1 || byDefault.boxes[0].lines[0] != "critical" {
		t.Errorf("got %+v, %v", byDefault, err)
	}
}

func TestPictureTexts(t *testing.T) {
	g, err := pictureOfGroups(awkward(), true, strategy.Report{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`g1["a #quot;b#quot; #lt;c#gt; #amp; #96;d#96; #35;e #92; f<br/>not critical, 2 nodes"]`,
		"g0 --> g2\n  g0 --> g3\n  g2 --> g3\n",
	} {
		if !strings.Contains(g.mermaid(), want) {
			t.Errorf("no %q in\n%s", want, g.mermaid())
		}
	}
	for _, want := range []string{`digraph "lon \"1\"" {`, `"a \"b\" <c> & ` + "`d`" +
		` #e \\ f" [label="a \"b\" <c> & ` + "`d`" + ` #e \\ f\nnot critical, 2 nodes"`, `"first" -> "last";`} {
		if !strings.Contains(g.dot(), want) {
			t.Errorf("no %q in\n%s", want, g.dot())
		}
	}
}

// BenchmarkRender draws 300 groups in 10 levels, each behind three of the level before.
func BenchmarkPicture(b *testing.B) {
	s := site.Site{Name: "lon1"}
	for i := range 300 {
		g := group(fmt.Sprint("g", i), i%2 == 0)
		for j := range min(i/30, 1) * 3 {
			g.DependsOn = append(g.DependsOn, fmt.Sprint("g", (i/30-1)*30+(i+j*7)%30))
		}
		s.Groups = append(s.Groups, g)
	}
	g, err := pictureOfGroups(s, false, strategy.Report{})
	if err != nil {
		b.Fatal(err)
	}
	for name, render := range map[string]func() string{"Mermaid": g.mermaid, "DOT": g.dot} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				render()
			}
		})
	}
}
