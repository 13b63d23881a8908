package rollout

import (
	"encoding/json"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/run"
)

// outline returns the [journal.Outline] of a program as JSON. The given nodes wait for another run, sorted.
func outline(p run.Program, waiting []string) string {
	var o journal.Outline
	if p.ParallelGroups > 1 {
		o.Parallel = p.ParallelGroups
	}
	for _, g := range p.Groups {
		out := journal.OutlineGroup{Name: g.Name, DependsOn: g.DependsOn, After: g.After, Critical: g.Critical}
		if c := g.SuccessCriteria; c != nil {
			out.Percent, out.Minimum, out.Maximum = c.PercentSuccessfulNodes, c.MinimumSuccessfulNodes, c.MaximumFailedNodes
		}
		for _, node := range g.Owned {
			if _, prepared := p.Prepare[node]; prepared || len(p.Deploy[node]) > 0 {
				out.Nodes++
			} else if _, waits := slices.BinarySearch(waiting, node); !waits {
				out.Unchanged++
			}
		}
		for _, b := range g.Batches {
			out.Batches, out.Last = append(out.Batches, len(b)), append(out.Last, b[len(b)-1])
		}
		if g.Rolling != nil && len(g.Batches) > 0 {
			out.SoakMillis = g.Rolling.Soak.Milliseconds()
		}
		o.Groups = append(o.Groups, out)
	}
	text, err := json.Marshal(o) // names and numbers: it has no error
	if err != nil {
		return ""
	}
	return string(text)
}
