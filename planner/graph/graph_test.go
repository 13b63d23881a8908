package graph

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

func group(name string, critical bool, parents ...string) site.Group {
	return site.Group{Name: name, Critical: critical, DependsOn: parents}
}

// awkward has names with everything that the formats escape, an edge over a level and one given twice.
func awkward() site.Site {
	return site.Site{Name: `lon "1"`, Nodes: []site.Node{{Name: "n1"}, {Name: "n2"}}, Groups: []site.Group{
		group("last", false, "mid", "first", "first"), group("mid", true, "first"), group("first", true), group("a \"b\" <c> & `d` #e \\ f", false),
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
		{Name: "mid", Critical: true, Members: 1, Parents: []int{0}, Level: 1},
		{Name: "last", Members: 2, Parents: []int{0, 2}, Level: 2},
	}}
	if d := cmp.Diff(want, g); d != "" {
		t.Error(d)
	}
	staged := g.WithStages(strategy.Report{Groups: []strategy.GroupReport{{Name: "mid", Stage: strategy.Failed}}})
	if staged.Groups[2].Stage != strategy.Failed || g.Groups[2].Stage != "" {
		t.Errorf("got %+v from %+v", staged.Groups[2], g.Groups[2])
	}
	s.Groups[2].DependsOn = []string{"last"}
	var problems site.Problems
	if _, err := New(s, true); !errors.As(err, &problems) || problems[0].Code != site.Cycle {
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
		`g1["a #quot;b#quot; #lt;c#gt; #amp; #96;d#96; #35;e #92; f<br/>not critical, 2 nodes"]`, "g0 --> g2\n  g0 --> g3\n  g2 --> g3\n",
	} {
		if !strings.Contains(g.Mermaid(), want) {
			t.Errorf("no %q in\n%s", want, g.Mermaid())
		}
	}
	for _, want := range []string{`digraph "lon \"1\"" {`, `"a \"b\" <c> & ` + "`d`" + ` #e \\ f" [label="a \"b\" <c> & ` + "`d`" + ` #e \\ f\nnot critical, 2 nodes"`, `"first" -> "last";`} {
		if !strings.Contains(g.DOT(), want) {
			t.Errorf("no %q in\n%s", want, g.DOT())
		}
	}
}

// texts returns what is written in a picture, and fails when the picture is not well formed.
func texts(t *testing.T, picture string) []string {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(picture))
	var out []string
	inText := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, picture)
		}
		switch token := token.(type) {
		case xml.StartElement:
			inText = token.Name.Local == "text"
		case xml.EndElement:
			inText = false
		case xml.CharData:
			if inText {
				out = append(out, string(token))
			}
		}
	}
}

func TestSVG(t *testing.T) {
	s := awkward()
	s.Groups = append(s.Groups, group(strings.Repeat("ü", 40)+"\uffff", false))
	g, err := New(s, false)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"first", "critical", "a \"b\" <c> & `d` #e \\ f", "not critical", strings.Repeat("ü", 31) + "…", "not critical", "mid", "critical", "last", "not critical"}
	if d := cmp.Diff(want, texts(t, g.SVG())); d != "" {
		t.Error(d)
	}
	if len(texts(t, Graph{Site: "none"}.SVG())) != 0 {
		t.Error("a site without groups has texts")
	}
}

// TestLayout holds for random graphs: boxes of a level keep their distance, nothing leaves the picture, levels go down along edges, and the picture
// is the same each time.
func TestLayout(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := site.Site{Name: "s"}
		for i := range 1 + random.IntN(25) {
			var parents []string
			for j := range i {
				if random.IntN(5) == 0 {
					parents = append(parents, fmt.Sprint("g", j))
				}
			}
			s.Groups = append(s.Groups, group(fmt.Sprint("g", i), random.IntN(2) == 0, parents...))
		}
		g, err := New(s, false)
		if err != nil {
			t.Fatal(err)
		}
		picture := g.SVG()
		texts(t, picture)
		if again := g.SVG(); picture != again {
			t.Fatal("two pictures of one graph differ")
		}
		l := newLayout(g, func(g Group) int { return 30 + len(g.Name) })
		for _, level := range l.levels {
			for i, c := range level {
				this := l.cells[c]
				if left := this.x - this.width/2; left < margin || this.x+this.width/2 > l.width {
					t.Errorf("seed %d: cell %+v leaves the picture of width %d", seed, this, l.width)
				}
				if i == 0 {
					continue
				}
				if before := l.cells[level[i-1]]; this.x-before.x < (this.width+before.width)/2+between {
					t.Errorf("seed %d: %+v is too near to %+v", seed, this, before)
				}
			}
		}
		for _, r := range l.routes {
			for i, c := range r[1:] {
				if l.cells[c].level != l.cells[r[i]].level+1 {
					t.Errorf("seed %d: a route leaves its levels: %v", seed, r)
				}
			}
		}
	}
}

// TestLargeGraph holds the work in bounds where every group waits for all before it: 100,000 edges over up to 450 levels.
func TestLargeGraph(t *testing.T) {
	s := site.Site{Name: "s"}
	var names []string
	for i := range 450 {
		s.Groups = append(s.Groups, group(fmt.Sprint("g", i), false, names[:i:i]...))
		names = append(names, fmt.Sprint("g", i))
	}
	g, err := New(s, false)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if n := len(texts(t, g.SVG())); n != 900 {
		t.Errorf("%d texts", n)
	}
	if spent := time.Since(start); spent > 2*time.Minute {
		t.Errorf("it took %s", spent)
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
	for name, render := range map[string]func() string{"SVG": g.SVG, "Mermaid": g.Mermaid, "DOT": g.DOT} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				render()
			}
		})
	}
}
