package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

func TestPictureOfLifecycle(t *testing.T) {
	m, errs := lifecycle.New(lifecycle.Lifecycle{
		Name: "small", Initial: "start", AlternativeInitial: []string{"up"},
		States: []lifecycle.State{
			{Name: "start", Label: lifecycle.Info}, {Name: "up", Label: lifecycle.Success, Export: true},
			{Name: "bad", Label: lifecycle.Danger},
			{Name: "odd", Label: lifecycle.Warning, ModelState: lifecycle.ActiveModel},
			{Name: "going", Export: true, Purge: true}, {Name: "gone", Deleted: true},
		},
		Transfers: []lifecycle.Transfer{
			{Source: "start", Target: "up", Error: "bad", Trigger: lifecycle.Auto, Validate: true, Config: "ready",
				Operation: lifecycle.Promote, ErrorOperation: lifecycle.ClearCandidate},
			{Source: "up", Target: "up", Error: "odd", Trigger: lifecycle.ResourceBased},
			{Source: "up", Target: "going", Trigger: lifecycle.OnDelete},
			{Source: "going", Target: "gone", Error: "going", Trigger: lifecycle.ResourceBased},
		},
	})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	g := pictureOfLifecycle(m)
	mermaid := `flowchart TD
  s0["start<br/>info, not deployed"]
  s1["up<br/>success, deployed"]
  s2["bad<br/>danger, not deployed"]
  s3["odd<br/>warning, deployed"]
  s4["going<br/>is removed"]
  s5["gone<br/>deleted"]
  s0 -->|"auto, gate ready: promote"| s1
  s0 -.->|"auto fails: clear candidate"| s2
  s1 -->|"resource_based"| s1
  s1 -.->|"resource_based fails"| s3
  s1 -->|"on_delete"| s4
  s4 -->|"resource_based"| s5
  s4 -.->|"resource_based fails"| s4
  style s0 fill:#e3ecfb,stroke:#1f4e9c,stroke-width:3px,color:#000000
  style s1 fill:#d9f2dd,stroke:#1b7a34,stroke-width:3px,color:#000000
  style s2 fill:#fbdcdc,stroke:#b3261e,stroke-width:1px,color:#000000
  style s3 fill:#fdf0cf,stroke:#8a6100,stroke-width:1px,color:#000000
  style s4 fill:#f5f5f5,stroke:#666666,stroke-width:1px,color:#000000
  style s5 fill:#f5f5f5,stroke:#666666,stroke-width:1px,color:#000000
`
	if d := cmp.Diff(mermaid, g.mermaid()); d != "" {
		t.Error(d)
	}
	for _, want := range []string{
		"digraph \"small\" {\n", `  "up" [label="up\nsuccess, deployed", fillcolor="#d9f2dd", color="#1b7a34", penwidth=3];`,
		`  "start" -> "up" [label="auto, gate ready: promote"];`,
		`  "start" -> "bad" [label="auto fails: clear candidate", style=dashed];`,
	} {
		if !strings.Contains(g.dot(), want) {
			t.Errorf("no %q in\n%s", want, g.dot())
		}
	}
}

// Every transfer of every shipped lifecycle is drawn, and every failure.
func TestPicturesOfShippedLifecycles(t *testing.T) {
	for _, l := range document.ShippedLifecycles() {
		m, errs := lifecycle.New(l)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		failures := 0
		for _, t := range l.Transfers {
			if t.Error != "" {
				failures++
			}
		}
		g := pictureOfLifecycle(m)
		if got := strings.Count(g.mermaid(), " -->|"); got != len(l.Transfers) {
			t.Errorf("%s: %d transfers are drawn, not %d", l.Name, got, len(l.Transfers))
		}
		if got := strings.Count(g.dot(), "style=dashed"); got != failures {
			t.Errorf("%s: %d failures are drawn, not %d", l.Name, got, failures)
		}
	}
}
