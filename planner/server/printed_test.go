package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// What a task prints while it runs is on its page and on that of its node, and comes to both as it is printed. The page
// that a task had while it ran shows its end later.
func TestWhatATaskPrints(t *testing.T) {
	t.Parallel()
	h, w := planned(t, "", 1)
	event := func(kind journal.Kind, status, output string) journal.Event {
		return journal.Event{Kind: kind, Group: "web", Phase: 1, Node: "node-0000", Resource: "exec[long]", Action: "create", Status: status, Output: output}
	}
	other := event(journal.Output, "", "of another\n")
	other.Node = "node-0001"
	err := w.Record(t.Context(), event(journal.TaskStarted, "", ""), event(journal.Output, "", "one\n"), other, event(journal.Output, "", "two\n"))
	if err != nil {
		t.Fatal(err)
	}
	const task, node = "/runs/run-1/tasks/5", "/runs/run-1/nodes/node-0000"
	shown := func(address string, wants ...string) {
		t.Helper()
		status, body := look(t, h, address)
		for _, want := range wants {
			if status != http.StatusOK || !strings.Contains(body, want) || strings.Contains(body, "of another") {
				t.Errorf("%s: status %d, want %q in:\n%s", address, status, want, body)
			}
		}
	}
	for _, address := range []string{task, node} {
		shown(address, "running", `<pre id="o5"`, "one\ntwo\n", `data-live="`+node+`/live?after=8"`)
	}
	if err := w.Record(t.Context(), event(journal.Output, "", "three\n"), event(journal.TaskFinished, "failed", "the end")); err != nil {
		t.Fatal(err)
	}
	shown(task, "failed", "the end")
	if err := w.Finish(t.Context(), "failed", ""); err != nil {
		t.Fatal(err)
	}
	shown(node+"/live?after=8", `data: {"printed":{"o5":"three\n"},"changed":true}`, "event: end")
}
