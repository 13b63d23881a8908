package engine

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// What a run is wanted for is the site with its settings and the version of the secrets, and not what is applied, which
// changes while the run is active, nor what the secrets are.
func TestDesired(t *testing.T) {
	t.Parallel()
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a"}}}
	how := Run{Settings: Settings{Secrets: Secrets{Known: true, Version: "1", Content: map[string]string{"one": "s3cret"}}},
		Parallelism: 10, Digest: "d"}
	desired := func(operation string, prior *Prior, s site.Site, how Run) string {
		t.Helper()
		r, err := requestOf(prior, s, how)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := r.desired(operation)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	want := desired("create", nil, s, how)
	for name, tt := range map[string]struct {
		same bool
		of   func(prior *Prior, s *site.Site, how *Run)
	}{
		"what is applied":            {true, func(p *Prior, _ *site.Site, _ *Run) { p.State.Applied = planner.Applied{"a": {}} }},
		"nodes that are away":        {true, func(p *Prior, _ *site.Site, _ *Run) { p.Unreachable = []string{"a"} }},
		"the steps that are left":    {true, func(_ *Prior, _ *site.Site, r *Run) { r.Digest = "other" }},
		"what a secret is":           {true, func(_ *Prior, _ *site.Site, r *Run) { r.Secrets.Content = map[string]string{"one": "other"} }},
		"the version of secrets":     {false, func(_ *Prior, _ *site.Site, r *Run) { r.Secrets.Version = "2" }},
		"a node":                     {false, func(_ *Prior, s *site.Site, _ *Run) { s.Nodes = []site.Node{{Name: "a", Zone: "z"}} }},
		"a service":                  {false, func(_ *Prior, s *site.Site, _ *Run) { s.Services = []site.Service{{Name: "app"}} }},
		"parallelism":                {false, func(_ *Prior, _ *site.Site, r *Run) { r.Parallelism = 11 }},
		"parallel_groups":            {false, func(_ *Prior, _ *site.Site, r *Run) { r.ParallelGroups = 2 }},
		"protect":                    {false, func(_ *Prior, _ *site.Site, r *Run) { r.Protection.TornDown = "100%" }},
		"the state of another owner": {false, func(_ *Prior, _ *site.Site, r *Run) { r.Owner = "other" }},
	} {
		p, s, how := &Prior{}, s, how
		tt.of(p, &s, &how)
		if got := desired("update", p, s, how); (got == want) != tt.same {
			t.Errorf("with another value of %s, the desire is the same: %t, want %t", name, got == want, tt.same)
		}
	}
	if desired(Delete, &Prior{}, s, how) == want {
		t.Error("a tear-down has the desire of a creation")
	}
}
