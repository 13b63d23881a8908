package command

import (
	"encoding/xml"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// A report prints what is alike on many nodes once, what resources with noop found, and no hint at itself.
func TestReportOfManyNodes(t *testing.T) {
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
	out := reported(t, "failed", "failed nodes:\n  web00: its output ends with: no space"+hint+more, events)("table")
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

// A report says who decided what about the run, and why.
func TestReportShowsDecisions(t *testing.T) {
	report := reported(t, "succeeded", "", []journal.Event{
		{Kind: journal.Decided, Action: journal.Approve, Group: "web", Phase: 2, Message: "by ann: it works"},
		{Kind: journal.Decided, Action: journal.Cancel, Message: "by bob"},
	})
	for _, format := range []string{"table", "markdown", "html", "junit"} {
		out := report(format)
		for _, want := range []string{"approve batch 2 of group web, by ann: it works", "cancel, by bob"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in:\n%s", format, want, out)
			}
		}
	}
}

// reported records a run with an outcome, and returns what prints its report in a format.
func reported(t *testing.T, status, report string, events []journal.Event) func(format string) string {
	t.Helper()
	dir := t.TempDir()
	s, err := journal.Open(t.Context(), filepath.Join(dir, "lon1.db"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1", Operation: "update", Steps: []string{"1. " + hostileText}})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{w.Record(t.Context(), events...), w.Finish(t.Context(), status, report), s.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return func(format string) string {
		t.Helper()
		out, err := run(t, "report", "--journal-directory", dir, "--output", format)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// hostileText is what a title or a node may say to change a page that shows it.
const hostileText = "<script>alert(1)</script> \"'><img src=x onerror=alert(1)> ]]> &amp; {{.}} **b** ```\n# head | [l](javascript:x) \x01"

// A report that is attached somewhere shows what nodes said as text, and says what failed.
func TestReportFormats(t *testing.T) {
	task := func(node, status, message, output string) journal.Event {
		return journal.Event{Kind: journal.TaskFinished, Group: "web", Phase: 2, Node: node, Resource: "file[" + hostileText + "]",
			Action: "update", Status: status, Message: message, Output: output, Millis: 1500}
	}
	events := []journal.Event{
		task("n2", "failed", hostileText+"; `report` shows more of it", hostileText),
		task("n1", "failed", hostileText, hostileText),
		task("n1", "changed", journal.TextChanged, "-old\n+"+hostileText+"\n"),
		task("n3", "differs", "it has noop", ""),
		{Kind: journal.TaskFinished, Action: "callback", Status: "unchanged"},
		{Kind: journal.NodeFinished, Group: "web", Node: "n1", Status: "FAILED"},
		{Kind: journal.GroupFinished, Group: "web", Status: "FAILED", Message: hostileText},
		{Kind: journal.Note, Message: hostileText},
	}
	report := reported(t, "failed", "site lon1: failed\n"+hostileText, events)

	page := report("html")
	for _, never := range []string{"<script", "<img", "onerror=alert(1)>"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %q", never)
		}
	}
	if got := strings.Count(page, "&lt;script&gt;alert(1)"); got < 8 {
		t.Errorf("the page shows the text %d times, want it wherever it is said:\n%s", got, page)
	}
	for _, want := range []string{"<b>n1</b> (web)", "<b>(no node)</b>", `<span class="added"><bdi>`, `<span class="removed"><bdi>-old`, "2 nodes (n1, n2)"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q:\n%s", want, page)
		}
	}

	text := report("markdown")
	if strings.Contains(text, "\n# head") && !strings.Contains(text, "````") || strings.Contains(text, "- 1. <script") {
		t.Errorf("the Markdown is changed by what nodes say:\n%s", text)
	}
	for _, want := range []string{"# Run of site lon1: failed", "## Failed\n\n2 nodes (n1, n2): file", "````diff\n-old\n+<script>", "| n1 | web | FAILED | 2 | 1 | 1 | 3s |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the Markdown does not have %q:\n%s", want, text)
		}
	}

	var suites junitSuites
	if err := xml.Unmarshal([]byte(report("junit")), &suites); err != nil {
		t.Fatal(err)
	}
	if suites.Tests != 6 || suites.Failures != 3 || len(suites.Suites) != 5 {
		t.Errorf("JUnit has %d cases with %d failures in %d suites, want 6, 3 and 5", suites.Tests, suites.Failures, len(suites.Suites))
	}
	whole, n1 := suites.Suites[0].Cases[0], suites.Suites[2]
	if whole.Failure == nil || !strings.HasPrefix(whole.Failure.Text, "site lon1: failed") {
		t.Errorf("the case of the run is %+v", whole)
	}
	printable := strings.ReplaceAll(hostileText, "\x01", "") // the journal left it out
	if n1.Name != "n1" || n1.Tests != 2 || n1.Failures != 1 || n1.Time != "3.000" || n1.Cases[0].Failure.Text != printable {
		t.Errorf("the suite of n1 is %+v", n1)
	}

	deployed := reported(t, "deployed", "", nil)
	if err := xml.Unmarshal([]byte(deployed("junit")), &suites); err != nil || suites.Suites[len(suites.Suites)-1].Cases[0].Failure != nil {
		t.Errorf("the case of a run that ended well has a failure (%v)", err)
	}
}

// A degraded run is no success in a report, which names the phase of each task.
func TestReportOfADegradedRun(t *testing.T) {
	done := journal.Event{Kind: journal.TaskFinished, Group: "web", Phase: 1, Node: "n1", Resource: "file[/a]", Action: "update", Status: "changed"}
	page := reported(t, "degraded", "", append(journal.PlannedPhase(1, "web", "node", []string{"n1"}), done))("html")
	for _, want := range []string{`<span class="running">degraded</span>`, "</span> 1 task, 1 changed something", "<tr><td>node</td>"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in:\n%s", want, page)
		}
	}
}

// A node that was stopped before its end is a case that was skipped, in a suite that has a test.
func TestReportOfStoppedNodes(t *testing.T) {
	report := reported(t, "failed", "", []journal.Event{
		{Kind: journal.NodeFinished, Group: "web", Node: "n1", Status: "NOT_STARTED", Message: "its batch failed"},
		{Kind: journal.TaskFinished, Group: "web", Node: "n2", Action: "update", Resource: "file[/a]", Status: "changed"},
		{Kind: journal.NodeFinished, Group: "web", Node: "n2", Status: "PREPARED"},
	})
	text := report("junit")
	for _, want := range []string{
		`<testsuite name="n1" tests="1" failures="0"`, `<skipped message="NOT_STARTED: its batch failed">`,
		`<testsuite name="n2" tests="2" failures="0"`, `<skipped message="PREPARED">`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in:\n%s", want, text)
		}
	}
}

// Nodes of groups that never started are in the report of a run that has ended, skipped, with the reason.
func TestReportOfGroupsThatNeverStarted(t *testing.T) {
	planned := func(phase int64, group string, nodes ...string) []journal.Event {
		return journal.PlannedPhase(int(phase), group, "node", nodes)
	}
	events := slices.Concat(planned(1, "web", "n1"), planned(2, "web", "n1", ""), planned(3, "app", "n2", "n3"),
		planned(4, "db", "n4"), journal.PlannedServices([]string{"motd"}), []journal.Event{
			{Kind: journal.TaskFinished, Group: "web", Phase: 1, Node: "n1", Action: "update", Resource: "file[/a]", Status: "failed", Message: "no"},
			{Kind: journal.NodeFinished, Group: "web", Node: "n1", Status: "FAILED"},
			{Kind: journal.GroupFinished, Group: "web", Status: "FAILED", Message: "0 of 1 nodes deployed"},
			{Kind: journal.GroupFinished, Group: "app", Status: "FAILED", Message: "it depends on web, which failed"},
		})
	report := reported(t, "failed", "", events)
	text := report("junit")
	for _, want := range []string{
		`<testsuites name="slipway: lon1" tests="5" failures="2"`,
		`<testsuite name="n1" tests="1" failures="1"`,
		`<testsuite name="n2" tests="1" failures="0"`, `<testsuite name="n3" tests="1" failures="0"`,
		`<testcase classname="n3" name="n3" time="0.000">` + "\n      " +
			`<skipped message="NOT_STARTED: group app: it depends on web, which failed">`,
		`<testsuite name="n4" tests="1" failures="0"`,
		`<skipped message="NOT_STARTED: group db: the run is failed">`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in:\n%s", want, text)
		}
	}
	if strings.Contains(text, `"motd"`) || strings.Contains(text, "(no node)") {
		t.Errorf("what is no node:\n%s", text)
	}
	if text := report("markdown"); !strings.Contains(text, "| n4 | db | NOT\\_STARTED | 0 | 0 | 0 |") {
		t.Errorf("Markdown:\n%s", text)
	}
	if text := reported(t, journal.Running, "", events)("junit"); strings.Contains(text, `"n4"`) {
		t.Errorf("of an active run:\n%s", text)
	}
}
