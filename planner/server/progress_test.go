package server

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// Counters and bars move as nodes end, not when their whole group does, and nodes on which the run does nothing are
// counted apart, from the start to the end.
func TestCountsOfNodes(t *testing.T) {
	t.Parallel()
	f, w := started(t)
	h := New(Options{Journals: f, Poll: 10 * time.Millisecond})
	record := func(events ...journal.Event) {
		t.Helper()
		for i := range events {
			if events[i].Kind != journal.RunStarted && events[i].Group == "" {
				events[i].Group = "web"
			}
		}
		if err := w.Record(t.Context(), events...); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(path string, texts ...string) {
		t.Helper()
		_, body := look(t, h, path)
		for _, text := range texts {
			if !strings.Contains(body, text) {
				t.Errorf("%s lacks %s:\n%s", path, text, body)
			}
		}
	}
	nodes := []string{"a", "b", "c", "c"}
	record(journal.Event{Kind: journal.RunStarted, Output: `{"groups":[{"name":"web","nodes":3,"unchanged":7},{"name":"idle","nodes":0,"unchanged":4}]}`},
		journal.Event{Kind: journal.Planned}, journal.Event{Kind: journal.Planned, Group: "idle"},
		journal.PlannedPhase(1, "web", "prepare", nodes[:2])[0], journal.PlannedPhase(2, "web", "node", nodes)[0])
	shows("/runs/run-1", `<span id="counts">0 of 3 nodes finished, 11 unchanged</span>`, `value="0" aria-label="Nodes of web"></progress> <span>0 of 3 nodes finished, 7 unchanged</span>`,
		`<td><span>4 nodes unchanged</span></td>`)
	task := func(phase int, node, resource, status string) journal.Event {
		return journal.Event{Kind: journal.TaskFinished, Phase: phase, Node: node, Resource: resource, Action: "update", Status: status}
	}
	record(task(1, "a", "", "unchanged"), task(2, "a", "file[/a]", "changed"), task(2, "c", "file[/a]", "changed"))
	shows("/runs/run-1", `<span id="counts">1 of 3 nodes finished, 11 unchanged</span>`, `value="1" aria-label="Nodes of web"></progress> <span>1 of 3 nodes finished, 7 unchanged</span>`)
	shows("/runs/run-1/groups", "1 of 3 nodes finished, 7 unchanged")
	record(task(2, "c", "file[/b]", "changed"), task(2, "b", "file[/a]", "failed"))
	shows("/runs/run-1", `<span id="counts">3 of 3 nodes finished, 1 failed, 11 unchanged</span>`)
	for _, node := range []string{"a", "c", "d", "e"} { // also those without changes reach their stage
		record(journal.Event{Kind: journal.NodeFinished, Node: node, Status: "DEPLOYED"})
	}
	record(journal.Event{Kind: journal.NodeFinished, Group: "idle", Node: "i", Status: "DEPLOYED"},
		journal.Event{Kind: journal.NodeFinished, Node: "b", Status: "FAILED"}, journal.Event{Kind: journal.GroupFinished, Status: "FAILED"})
	shows("/runs/run-1", `<span id="counts">3 of 3 nodes finished, 1 failed, 11 unchanged</span>`, `value="2" aria-label="Nodes of web"></progress> <span>3 of 3 nodes finished, 1 failed, 7 unchanged</span>`)
	if err := w.Finish(t.Context(), "failed", ""); err != nil {
		t.Fatal(err)
	}
	shows("/runs/run-1/live?after=5", `"counts":"3 of 3 nodes finished, 1 failed, 11 unchanged"`)
}

// A node that was stopped before its end has not finished, and a group that failed is no longer shown as at work.
func TestStoppedNodesAreNotFinished(t *testing.T) {
	t.Parallel()
	f, w := started(t)
	h := New(Options{Journals: f, Poll: 10 * time.Millisecond})
	events := []journal.Event{{Kind: journal.RunStarted, Output: `{"groups":[{"name":"web","nodes":3,"unchanged":1}]}`},
		journal.PlannedPhase(1, "web", "node", []string{"a", "b", "c"})[0],
		{Kind: journal.TaskFinished, Group: "web", Phase: 1, Node: "a", Resource: "file[/a]", Action: "update", Status: "changed"}}
	for node, stage := range map[string]string{"a": "DEPLOYED", "b": "PREPARED", "c": "NOT_STARTED", "idle": "NOT_STARTED"} {
		events = append(events, journal.Event{Kind: journal.NodeFinished, Group: "web", Node: node, Status: stage})
	}
	if err := w.Record(t.Context(), append(events, journal.Event{Kind: journal.GroupFinished, Group: "web", Status: "FAILED"})...); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(t.Context(), "interrupted", ""); err != nil {
		t.Fatal(err)
	}
	const counts = "1 of 3 nodes finished, 1 unchanged"
	for path, wants := range map[string]map[string]int{
		"/runs/run-1":              {`<span id="counts">` + counts: 1, `value="1" aria-label="Nodes of web"`: 1, `data-state="done"`: 1, `data-state="left"`: 3},
		"/runs/run-1/live?after=1": {`"g0":[1,"` + counts + `","FAILED","","failed"]`: 1},
	} {
		_, body := look(t, h, path)
		for want, times := range wants {
			if got := strings.Count(body, want); got != times {
				t.Errorf("%s has %s %d times, want %d:\n%s", path, want, got, times, body)
			}
		}
	}
}

// A task that turned out not to be needed has no events: its cell says so when the phase of its batch has ended, and the
// node counts.
func TestTasksThatAreNotNeeded(t *testing.T) {
	t.Parallel()
	f, w := started(t)
	h := New(Options{Journals: f, Poll: 10 * time.Millisecond})
	nodes := []string{"a", "b"}
	of := func(kind journal.Kind, batch string) journal.Event {
		return journal.Event{Kind: kind, Group: "web", Phase: 1, Message: batch, Status: "succeeded"}
	}
	if err := w.Record(t.Context(), journal.Event{Kind: journal.RunStarted, Output: `{"groups":[{"name":"web","nodes":2,"batches":[1,1],"last":["a","b"]}]}`},
		journal.PlannedPhase(1, "web", "node", nodes)[0], of(journal.PhaseStarted, "batch 1 of 2"), of(journal.PhaseFinished, "batch 1 of 2")); err != nil {
		t.Fatal(err)
	}
	_, body := look(t, h, "/runs/run-1")
	for _, want := range []string{`class="cell done">not needed</td>`, `class="cell waiting">waiting</td>`, `<span id="counts">1 of 2 nodes finished</span>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s:\n%s", want, body)
		}
	}
	if _, live := look(t, h, "/runs/run-1/nodes/a"); !strings.Contains(live, "node: not needed") {
		t.Errorf("the page of the node lacks it:\n%s", live)
	}
	if err := w.Finish(t.Context(), "failed", ""); err != nil {
		t.Fatal(err)
	}
	if _, live := look(t, h, "/runs/run-1/live?after=3"); !strings.Contains(live, `"c0-0":["done","not needed"]`) {
		t.Errorf("the update lacks it: %s", live)
	}
}
