package journal

import (
	"fmt"
	"strings"
	"testing"
)

// A node is done when all that was planned for it in its group has ended: also its health checks, one before the soak of
// its batch and one after it, and the callbacks of the group. What fails, is skipped or put back is not done.
func TestProgress(t *testing.T) {
	outline := func(batches string) Event {
		return Event{Kind: RunStarted, Output: `{"groups":[{"name":"web","nodes":2` + batches + `}]}`}
	}
	planned := func(phase int, action, nodes string) Event {
		return Event{Kind: Planned, Group: "web", Phase: phase, Action: action, Output: nodes}
	}
	ended := func(phase int, node, resource, status string) Event {
		return Event{Kind: TaskFinished, Group: "web", Phase: phase, Node: node, Resource: resource, Status: status}
	}
	check := func(status string) Event {
		return Event{Kind: TaskFinished, Group: "web", Node: "a", Action: "health check", Status: status}
	}
	over := func(phase int, status string) Event {
		return Event{Kind: PhaseFinished, Group: "web", Phase: phase, Status: status}
	}
	inBatch := func(phase int, status, batch string) Event {
		e := over(phase, status)
		e.Message = batch
		return e
	}
	start := []Event{outline(""), planned(1, "prepare", "1 a\n1 b\n"), planned(2, "node", "2 a\n1 b\n")}
	batched := []Event{outline(`,"batches":[1,1],"last":["a","b"]`), planned(0, "health check", "2 a\n2 b\n"), planned(1, "node", "1 a\n1 b\n")}
	canary := []Event{outline(`,"batches":[1,1],"last":["a","b"]`), planned(1, "prepare", "1 a\n1 b\n"), planned(2, "node", "2 a\n1 b\n"),
		over(1, "succeeded")}
	prepared := []Event{ended(1, "a", "", "unchanged"), ended(1, "b", "", "unchanged")}
	for _, c := range []struct {
		name   string
		events [][]Event
		done   string
	}{
		{"nothing planned", [][]Event{{outline("")}}, ""},
		{"no outline", [][]Event{start[1:], prepared}, ""},
		{"planned", [][]Event{start}, ""},
		{"prepared", [][]Event{start, prepared}, ""},
		{"one of two tasks", [][]Event{start, prepared, {ended(2, "a", "x", "changed"), ended(2, "b", "x", "changed")}}, "b"},
		{"all", [][]Event{start, prepared, {ended(2, "a", "x", "changed"), ended(2, "b", "x", "differs"), ended(2, "a", "y", "unchanged")}}, "a b"},
		{"again after a takeover", [][]Event{start, prepared, {ended(2, "a", "x", "changed"), ended(2, "a", "x", "unchanged")}}, ""},
		{"failed", [][]Event{start, prepared, {ended(2, "b", "x", "failed")}}, ""},
		{"skipped", [][]Event{start, prepared, {ended(2, "b", "x", "skipped")}}, ""},
		{"failed, and it may", [][]Event{start, prepared, {ended(2, "b", "x", "failed"), over(2, "succeeded")}}, "a b"},
		{"tasks that are not needed", [][]Event{start, prepared, {ended(2, "a", "x", "changed"), over(2, "succeeded")}}, "a b"},
		{"a phase in which something failed", [][]Event{start, prepared, {ended(2, "a", "x", "changed"), over(2, "failed")}}, ""},
		{"a callback of the group", [][]Event{start, {planned(3, "node", "1 \n")}, prepared, {over(2, "succeeded")}}, ""},
		{"and its end", [][]Event{start, {planned(3, "node", "1 \n")}, prepared, {over(2, "succeeded"), ended(3, "", "command[a]", "changed")}}, "a b"},
		{"phases outside of groups", [][]Event{start, prepared, {{Kind: Planned, Phase: 9, Action: "post_cluster", Output: "1 a\n"}, over(2, "succeeded")}}, "a b"},
		{"a batch before its checks", [][]Event{batched, {ended(1, "a", "x", "changed"), over(1, "succeeded")}}, ""},
		{"before its soak", [][]Event{batched, {ended(1, "a", "x", "changed"), check("unchanged")}}, ""},
		{"after its soak", [][]Event{batched, {ended(1, "a", "x", "changed"), check("unchanged"), check("unchanged")}}, "a"},
		{"a check that failed", [][]Event{batched, {ended(1, "a", "x", "changed"), check("unchanged"), check("failed")}}, ""},
		{"put back", [][]Event{batched, {ended(1, "a", "x", "changed"), check("unchanged"), check("unchanged"),
			{Kind: TaskFinished, Group: "web", Node: "a", Resource: "x", Action: "restore", Status: "changed"}}}, ""},
		{"tasks that are not needed in a batch", [][]Event{canary, {ended(2, "a", "x", "changed"), inBatch(2, "succeeded", "batch 1 of 2")}}, "a"},
		{"nor in the next one", [][]Event{canary, {inBatch(2, "succeeded", "batch 1 of 2"), inBatch(2, "succeeded", "batch 2 of 2")}}, "a b"},
		{"nor in the next one alone", [][]Event{canary, {inBatch(2, "succeeded", "batch 2 of 2")}}, "b"},
		{"a batch in which something failed", [][]Event{canary, {inBatch(2, "failed", "batch 1 of 2")}}, ""},
		{"a batch without its checks", [][]Event{batched, {inBatch(1, "succeeded", "batch 1 of 2")}}, ""},
		{"a batch of an older slipway", [][]Event{{outline(`,"batches":[1,1]`), planned(2, "node", "1 a\n1 b\n")},
			{inBatch(2, "succeeded", "batch 1 of 2")}}, ""},
		{"another pass", [][]Event{start, prepared, {over(2, "succeeded")}, start}, ""},
	} {
		p := Progress{}
		for _, events := range c.events {
			for _, e := range events {
				p.Add(e)
			}
		}
		var done []string
		for _, node := range []string{"a", "b"} {
			if p.Done("web", node) {
				done = append(done, node)
			}
		}
		if got := strings.Join(done, " "); got != c.done {
			t.Errorf("%s: done are %s, want %s", c.name, fmt.Sprintf("%q", got), c.done)
		}
	}
}
