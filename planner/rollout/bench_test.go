package rollout_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// instant is an executor whose nodes do everything at once.
type instant struct{}

func (instant) Close() error { return nil }

func (instant) Converge(_ context.Context, _ site.Node, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	ledger := make(map[resource.ID]string, len(c.Items))
	for _, item := range c.Items {
		each(converge.Result{ID: item.ID(), Status: converge.Changed, Millis: 1})
		ledger[item.ID()] = item.Digest
	}
	return converge.Summary{Protocol: converge.Protocol, Ledger: ledger}, nil
}

// bigSite is 1,000 nodes in 50 groups with 20 files each.
func bigSite() site.Site {
	const groups, nodes, files = 50, 1000, 20
	s := site.Site{Name: "big"}
	titles := map[string]resource.Parameters{}
	for i := range files {
		titles[fmt.Sprintf("/etc/app/file%d", i)] = resource.Parameters{"content": fmt.Sprint(i)}
	}
	s.Services = []site.Service{{Name: "app", Configuration: resource.Configuration{"file": titles}}}
	for g := range groups {
		name := fmt.Sprintf("group%02d", g)
		s.Groups = append(s.Groups, site.Group{Name: name, Selectors: site.Selectors{{NodeTags: []string{name}}}})
	}
	for n := range nodes {
		s.Nodes = append(s.Nodes, site.Node{Name: fmt.Sprintf("node%04d", n), Tags: []string{s.Groups[n%groups].Name}})
	}
	return s
}

// BenchmarkRun is what a run costs the controller besides the nodes' own work: 21,000 tasks, and 42,000 events that are
// durable before their tasks begin.
func BenchmarkRun(b *testing.B) {
	s := bigSite()
	p, errs := planner.Make(s, nil, nil)
	if p == nil {
		b.Fatal(errs)
	}
	run := func(b *testing.B, recorder func() (rollout.Recorder, func())) {
		b.ReportAllocs()
		for b.Loop() {
			r, done := recorder()
			report, err := rollout.Run(b.Context(), s, p,
				rollout.Options{Executor: instant{}, Recorder: r, RunID: "r", Parallelism: 50})
			if err != nil || report.Status != rollout.StatusSucceeded {
				b.Fatal(report.Status, err)
			}
			done()
		}
	}
	b.Run("memory", func(b *testing.B) {
		run(b, func() (rollout.Recorder, func()) { return &diary{}, func() {} })
	})
	b.Run("journal", func(b *testing.B) {
		store, err := journal.Open(b.Context(), filepath.Join(b.TempDir(), "big.db"))
		if err != nil {
			b.Fatal(err)
		}
		defer store.Close() //nolint:errcheck // the benchmark has measured all it wants
		n := 0
		run(b, func() (rollout.Recorder, func()) {
			n++
			w, err := store.Start(b.Context(), journal.Run{ID: fmt.Sprint(n), Site: s.Name})
			if err != nil {
				b.Fatal(err)
			}
			return w, func() {
				if err := w.Finish(b.Context(), "succeeded", ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}
