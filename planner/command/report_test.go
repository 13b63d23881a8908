package command

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// A report prints what is alike on many nodes once, what resources with noop found, and no hint at itself.
func TestReportOfManyNodes(t *testing.T) {
	dir := t.TempDir()
	s, err := journal.Open(t.Context(), filepath.Join(dir, "lon1.db"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1", Operation: "update"})
	if err != nil {
		t.Fatal(err)
	}
	const hint, more = "; `report` shows more of it", "; 6 more failed (`report` shows them)"
	var events []journal.Event
	for i := range 100 {
		node := fmt.Sprintf("web%02d", i)
		done := journal.Event{Kind: journal.TaskFinished, Node: node}
		failed, noop := done, done
		failed.Resource, failed.Status, failed.Message, failed.Output = "exec[b]", "failed",
			"its output ends with: no space"+hint, "no\nspace\n"
		noop.Resource, noop.Status, noop.Message = "file[/etc/motd]", "differs", "it has noop, so it stays as it is: mode is 0600"
		events = append(events, failed, noop)
	}
	for _, node := range []string{"db1", "db2"} {
		events = append(events, journal.Event{Kind: journal.TaskFinished, Node: node, Action: "prepare_node", Status: "failed",
			Message: fmt.Sprintf("node %q: no route to host", node)})
	}
	if err := w.Record(t.Context(), events...); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(t.Context(), "failed", "failed nodes:\n  web00: its output ends with: no space"+hint+more); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, "report", "--journal-directory", dir)
	if err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{
		"failed: 100 nodes (web00, web01, web02, web03, web04 and 95 more): exec[b]: its output ends with: no space\nno\nspace\n": 1,
		"\nfailed: ": 2, "failed: 2 nodes (db1, db2): no route to host\n": 1,
		"noop: 100 nodes (web00, web01, web02, web03, web04 and 95 more): file[/etc/motd]: it has noop, so it stays as it is: mode is 0600\n": 1,
		hint: 0, "`report`": 0, "; 6 more failed\n": 1, "0 tasks changed something, 102 failed": 1,
	} {
		if got := strings.Count(out, want); got != times {
			t.Errorf("%q is there %d times, want %d, in:\n%s", want, got, times, out)
		}
	}
}
