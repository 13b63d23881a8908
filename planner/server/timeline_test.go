package server

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// The timeline has a bar for each batch and for what it goes through: phases, health checks and the soak; and for what
// the run waited for: an approval, a maintenance window, a person who paused it. A group that had nothing to do waited
// for nobody.
func TestTimelineOfBatches(t *testing.T) {
	t.Parallel()
	f, w := started(t)
	start := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	record := func(seconds int, group string, e journal.Event) {
		t.Helper()
		e.Group, e.Time = group, start.Add(time.Duration(seconds)*time.Second)
		if err := w.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	phase := func(kind journal.Kind, batch string) journal.Event {
		return journal.Event{Kind: kind, Phase: 1, Message: batch, Status: "succeeded"}
	}
	check := func(kind journal.Kind, status string) journal.Event {
		return journal.Event{Kind: kind, Node: "w1", Action: "health check", Status: status, Millis: 1000}
	}
	record(0, "", journal.Event{Kind: journal.RunStarted, Output: `{"groups":[{"name":"web","nodes":2,"batches":[1,1]},
		{"name":"idle","depends_on":["web"]},{"name":"db","after":["web"],"nodes":1},{"name":"late","depends_on":["db"],"nodes":1},{"name":"solo","nodes":1}]}`})
	record(0, "web", journal.PlannedPhase(1, "web", "node", []string{"w1", "w2"})[0])
	record(10, "web", phase(journal.PhaseStarted, "batch 1 of 2"))
	record(20, "web", phase(journal.PhaseFinished, "batch 1 of 2"))
	record(20, "web", check(journal.TaskStarted, ""))
	record(21, "web", check(journal.TaskFinished, "unchanged"))
	record(21, "web", journal.Event{Kind: journal.Note, Action: journal.Soak, Message: "batch 1 of 2 soaks for 5m0s"})
	record(321, "web", check(journal.TaskStarted, ""))
	record(323, "web", check(journal.TaskFinished, "unchanged"))
	record(323, "web", journal.Event{Kind: journal.Paused, Phase: 1, Message: "batch 1 of 2 is done and waits for approval"})
	record(383, "web", journal.Event{Kind: journal.Decided, Action: journal.Approve, Phase: 1, Message: "by anna"})
	record(383, "web", journal.Event{Kind: journal.Note, Message: "the maintenance window is closed until " + start.Add(443*time.Second).Format(time.RFC3339)})
	record(450, "web", phase(journal.PhaseStarted, "batch 2 of 2"))
	record(451, "", journal.Event{Kind: journal.Decided, Action: journal.Hold, Message: "by anna: the switch is replaced"})
	record(481, "", journal.Event{Kind: journal.Decided, Action: journal.Resume, Message: "by anna"})
	failed := phase(journal.PhaseFinished, "batch 2 of 2")
	failed.Status = "failed"
	record(490, "web", failed)
	record(490, "web", journal.Event{Kind: journal.GroupFinished, Status: "DEPLOYED"})
	record(490, "idle", journal.Event{Kind: journal.GroupFinished, Status: "DEPLOYED"})
	record(495, "db", journal.Event{Kind: journal.PhaseStarted, Phase: 2})
	record(500, "db", journal.Event{Kind: journal.PhaseFinished, Phase: 2, Status: "failed"})
	record(500, "db", journal.Event{Kind: journal.GroupFinished, Status: "FAILED"})
	record(500, "late", journal.Event{Kind: journal.GroupFinished, Status: "FAILED", Message: "it depends on db, which failed"})
	record(501, "solo", journal.Event{Kind: journal.PhaseStarted, Phase: 3})
	record(502, "solo", journal.Event{Kind: journal.GroupFinished, Status: "DEPLOYED"})
	if err := w.Finish(t.Context(), "failed", ""); err != nil {
		t.Fatal(err)
	}
	_, body := look(t, New(Options{Journals: f}), "/runs/run-1/timeline")
	var bars []string
	for _, b := range regexp.MustCompile(`<tr><td><bdi>(.*?)</bdi></td><td>(?:<bdi>(.*?)</bdi>)?</td><td>[^<]*</td><td class="number">(.*?)</td></tr>`).FindAllStringSubmatch(body, -1) {
		bars = append(bars, strings.Join(b[1:], ", "))
	}
	want := []string{", paused, 30s", "web, , 8m0s", "web, batch 1 of 2, 5m13s", "web, batch 1 of 2: node, 10s", "web, batch 1 of 2: health check, 1s",
		"web, batch 1 of 2: soak, 5m0s", "web, batch 1 of 2: health check after the soak, 2s", "web, waits for the approval of batch 1, 1m0s", "web, maintenance window is closed, 1m0s",
		"web, batch 2 of 2, 40s", "web, batch 2 of 2: node, 40s", "db, , 5s", "db, phase 2, 5s", "solo, , 1s", "solo, phase 3, 1s"}
	if got, want := strings.Join(bars, "\n"), strings.Join(want, "\n"); got != want {
		t.Errorf("the bars are\n%s\nwant\n%s\nin:\n%s", got, want, body)
	}
	_, list, _ := strings.Cut(body, "<h2>Who waited for whom</h2>")
	list, _, _ = strings.Cut(list, "<h2>")
	// One group at a time: solo waited for none, and started after db.
	for _, want := range []string{"<bdi>solo</bdi> waited 8m20s for <bdi>its turn, after db</bdi>", "<bdi>db</bdi> waited 8m10s for <bdi>web</bdi>", "<bdi>late</bdi> waited 8m20s for <bdi>db, and did not start</bdi>",
		"<bdi>web</bdi> waited 5m0s for <bdi>the soak of batch 1 of 2</bdi>", "<bdi>web</bdi> waited 1m0s for <bdi>the approval of batch 1</bdi>",
		"<bdi>web</bdi> waited 1m0s for <bdi>its maintenance window</bdi>", "<bdi>The run</bdi> waited 30s for <bdi>a person who paused it, by anna: the switch is replaced</bdi>"} {
		if !strings.Contains(list, want) {
			t.Errorf("it lacks %s in:\n%s", want, list)
		}
	}
	if strings.Contains(list, "idle") {
		t.Errorf("a group without work waited:\n%s", list)
	}
	for class, n := range map[string]int{"bar failed": 1, "bar failed phase": 3, "bar waits phase": 4} { // group db; its phase, a batch and its phase
		if got := strings.Count(body, `<g class="`+class+`">`); got != n {
			t.Errorf("%d bars are %q, want %d", got, class, n)
		}
	}
}

// While a run is at work, the timeline says what soaks, and what a group waits for.
func TestTimelineOfASoak(t *testing.T) {
	t.Parallel()
	f, w := started(t)
	ago := func(minutes int) time.Time { return time.Now().Add(time.Duration(-minutes) * time.Minute) }
	err := w.Record(t.Context(), journal.Event{Kind: journal.RunStarted, Time: ago(10), Output: `{"groups":[{"name":"web","nodes":1},{"name":"db","depends_on":["web"],"nodes":1}]}`},
		journal.Event{Kind: journal.PhaseStarted, Group: "web", Phase: 1, Message: "batch 1 of 2", Time: ago(8)},
		journal.Event{Kind: journal.PhaseFinished, Group: "web", Phase: 1, Message: "batch 1 of 2", Time: ago(5)},
		journal.Event{Kind: journal.Note, Group: "web", Action: journal.Soak, Message: "batch 1 of 2 soaks for 30m0s", Time: ago(5)})
	if err != nil {
		t.Fatal(err)
	}
	_, body := look(t, New(Options{Journals: f}), "/runs/run-1/timeline")
	for _, want := range []string{`batch 1 of 2: soak</bdi></td><td>[^<]*</td><td class="number">5m0s`, "<bdi>web</bdi> has waited 5m0s for <bdi>the soak of batch 1 of 2",
		`<bdi>db</bdi> has waited 10m0s for <bdi>web</bdi>`, `batch 1 of 2</bdi></td><td>[^<]*</td><td class="number">8m0s`} {
		if !regexp.MustCompile(want).MatchString(body) {
			t.Errorf("it lacks %s in:\n%s", want, body)
		}
	}
	if err := w.Finish(t.Context(), "failed", ""); err != nil {
		t.Fatal(err)
	}
}
