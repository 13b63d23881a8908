package command

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	machine "github.com/slipway/terraform-provider-slipway/planner/run"
)

// script is a run in which an independent group is done, a node fails, a batch waits, and a group only waited.
func script() (run journal.Run, events []journal.Recorded, now time.Time) {
	start := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	run = journal.Run{ID: "run-1", Site: "lon1", Operation: "update", Status: journal.Running, Started: start}
	at := func(seconds int, e journal.Event) {
		e.Time = start.Add(time.Duration(seconds) * time.Second)
		events = append(events, journal.Recorded{Seq: int64(len(events) + 1), Event: e})
	}
	task := func(group, node, resource string) journal.Event {
		return journal.Event{Kind: journal.TaskStarted, Group: group, Phase: 2, Node: node, Resource: resource, Action: "update"}
	}
	ended := func(e journal.Event, status, message string) journal.Event {
		e.Kind, e.Status, e.Message, e.Millis = journal.TaskFinished, status, message, 900
		return e
	}
	finished := func(group, node, stage, message string) journal.Event {
		return journal.Event{Kind: journal.NodeFinished, Group: group, Node: node, Status: stage, Message: message}
	}
	at(0, journal.Event{Kind: journal.RunStarted, Message: "plan d1", Output: `{"parallel_groups":2,"groups":[
		{"name":"monitoring","nodes":2},
		{"name":"ntp","critical":true,"minimum_successful_nodes":1,"nodes":2},
		{"name":"control","critical":true,"depends_on":["ntp"],"percent_successful_nodes":90,"maximum_failed_nodes":1,"nodes":3},
		{"name":"compute","depends_on":["control"],"nodes":40},
		{"name":"web","percent_successful_nodes":50,"nodes":6,"batches":[1,2,3]},
		{"name":"db","nodes":4,"batches":[1,3]}]}`})
	at(1, journal.Event{Kind: journal.PhaseStarted, Group: "monitoring", Phase: 2})
	for _, node := range []string{"mon1", "mon2"} {
		at(2, task("monitoring", node, "file[/etc/motd]"))
		at(3, ended(task("monitoring", node, "file[/etc/motd]"), "changed", ""))
		at(3, finished("monitoring", node, "DEPLOYED", ""))
	}
	at(4, journal.Event{Kind: journal.GroupFinished, Group: "monitoring", Status: "DEPLOYED"})
	at(5, journal.Event{Kind: journal.PhaseStarted, Group: "ntp", Phase: 2})
	for _, node := range []string{"ntp1", "ntp2"} {
		at(6, task("ntp", node, "package[chrony]"))
		at(9, ended(task("ntp", node, "package[chrony]"), "failed", "apt-get install failed (exit status 100)"))
		at(9, finished("ntp", node, "FAILED", `package[chrony]: apt-get install failed (exit status 100): E: Unable to locate package chrony`))
	}
	at(10, journal.Event{Kind: journal.GroupFinished, Group: "ntp", Status: "FAILED",
		Message: "0 of 2 nodes deployed, minimum_successful_nodes asks for 1"})
	at(10, journal.Event{Kind: journal.GroupFinished, Group: "control", Status: "FAILED", Message: "it depends on ntp, which failed"})
	at(10, journal.Event{Kind: journal.GroupFinished, Group: "compute", Status: "FAILED", Message: "it depends on control, which failed"})
	at(11, journal.Event{Kind: journal.PhaseStarted, Group: "web", Phase: 4, Message: "batch 1 of 3"})
	at(12, task("web", "web1", "file[/etc/nginx/nginx.conf]"))
	at(13, ended(task("web", "web1", "file[/etc/nginx/nginx.conf]"), "changed", ""))
	at(13, finished("web", "web1", "DEPLOYED", ""))
	at(14, journal.Event{Kind: journal.PhaseStarted, Group: "web", Phase: 4, Message: "batch 2 of 3"})
	for i, node := range []string{"web2", "web3"} {
		at(20+10*i, task("web", node, "file[/etc/nginx/nginx.conf]"))
		at(20+10*i, task("web", node, "service[nginx]"))
	}
	printing := task("web", "web2", "file[/etc/nginx/nginx.conf]")
	printing.Kind, printing.Output = journal.Output, "Reading package lists...\nUnpacking nginx (1.26)\n"
	at(30, printing)
	at(31, ended(task("web", "web3", "file[/etc/nginx/nginx.conf]"), "changed", ""))
	at(32, journal.Event{Kind: journal.Paused, Group: "db", Phase: 1, Output: "d1",
		Message: "batch 1 of 2 waits for approval: terraform-provider-slipway runs approve run-1"})
	return run, events, start.Add(95 * time.Second)
}

// screenOf returns a screen that was given a run's events.
func screenOf(run journal.Run, events []journal.Recorded, width, height int) *screen {
	s := &screen{watched: newWatched(run, map[string]time.Duration{"web": 20 * time.Second, "db": 30 * time.Second}),
		width: width, height: height}
	s.Update(news{run: run, events: events})
	return s
}

// A screen shows failures first, and is as wide and as high as the terminal.
func TestWatchScreen(t *testing.T) {
	run, events, now := script()
	for _, size := range []struct{ width, height int }{{80, 24}, {200, 50}} {
		s := screenOf(run, events, size.width, size.height)
		text := ansi.Strip(s.text(now))
		golden(t, fmt.Sprintf("watch-%d", size.width), trimmed(text))
		for line := range strings.Lines(text) {
			if ansi.StringWidth(strings.TrimSuffix(line, "\n")) > size.width {
				t.Errorf("wider than %d: %q", size.width, line)
			}
		}
		if lines := strings.Count(text, "\n") + 1; lines != size.height {
			t.Errorf("it has %d lines, the terminal %d", lines, size.height)
		}
	}
	s := screenOf(run, events, 80, 24)
	s.key("?")
	s.key("f")
	golden(t, "watch-failures", trimmed(ansi.Strip(s.text(now))))
	s.key("f")
	s.key("end")
	if text := s.text(now); strings.Contains(text, "FAILED\n") || !strings.Contains(text, "LATEST") {
		t.Errorf("it is not scrolled to its end:\n%s", text)
	}
}

func trimmed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

// What a task prints is shown while it runs, also that of a command of the session, and in lines of their own elsewhere.
func TestWatchShowsWhatTasksPrint(t *testing.T) {
	run, events, now := script()
	shows := func(text string, want bool) {
		t.Helper()
		if screen := ansi.Strip(screenOf(run, events, 80, 60).text(now)); strings.Contains(screen, text) != want {
			t.Errorf("shown: %v, %q in:\n%s", !want, text, screen)
		}
	}
	shows("| Unpacking nginx (1.26)", true)
	shows("Reading package lists", false)
	add := func(e journal.Event) {
		e.Group, e.Node, e.Phase, e.Time = "web", "web2", 4, now
		events = append(events, journal.Recorded{Seq: int64(len(events) + 1), Event: e})
	}
	for _, resource := range []string{"file[/etc/nginx/nginx.conf]", "service[nginx]"} {
		add(journal.Event{Kind: journal.TaskFinished, Resource: resource, Action: "update", Status: "changed"})
	}
	shows("Unpacking", false)
	add(journal.Event{Kind: journal.Output, Action: "health check", Output: "waiting for port 80\n"})
	shows("web2  health check\n          | waiting for port 80", true)
	var out strings.Builder
	p := &printer{w: &out}
	p.event(events[len(events)-1], table)
	if want := "12:01:35  output  web  web2  health check  | waiting for port 80\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	add(journal.Event{Kind: journal.NodeFinished, Status: "DEPLOYED"})
	shows("waiting for port 80", false)
}

// The health check of a node is what runs there, with what it prints; a group that soaks, or whose maintenance window is
// closed, says so for as long.
func TestWatchShowsChecksAndSoaks(t *testing.T) {
	run, events, now := script()
	add := func(e journal.Event) {
		e.Group, e.Time = "web", now
		events = append(events, journal.Recorded{Seq: int64(len(events) + 1), Event: e})
	}
	shows := func(want bool, texts ...string) {
		t.Helper()
		s := screenOf(run, events, 120, 60)
		screen := ansi.Strip(s.text(now.Add(12 * time.Second)))
		for _, text := range texts {
			if strings.Contains(screen, text) != want {
				t.Errorf("shown: %v, %q in:\n%s", !want, text, screen)
			}
		}
	}
	shows(false, "health check", "soaks")
	add(journal.Event{Kind: journal.TaskFinished, Node: "web3", Resource: "service[nginx]", Action: "update", Status: "changed"})
	checks := journal.Event{Kind: journal.TaskStarted, Node: "web3", Action: "health check"}
	add(checks)
	shows(true, "   12s  web3  health check\n")
	printed := checks
	printed.Kind, printed.Output = journal.Output, "waiting for port 80\n"
	add(printed)
	shows(true, "   12s  web3  health check\n          | waiting for port 80")
	checks.Kind, checks.Status = journal.TaskFinished, "unchanged"
	add(checks)
	shows(false, "web3  health check", "waiting for port 80")

	soak := journal.Event{Kind: journal.Note, Action: "soak", Message: "batch 2 of 3 soaks for 5m0s"}
	add(soak)
	shows(true, "web                  █░░░░░░░░░   1/6   batch 2 of 3 soaks for 5m0s, 1 deployed")
	checks.Kind, checks.Status = journal.TaskStarted, ""
	add(checks)
	shows(false, "1/6   batch 2 of 3 soaks")

	closed := journal.Event{Kind: journal.Note, Message: machine.WindowClosed + "2026-02-01T22:00:00Z"}
	add(closed)
	add(checks) // what ends the work on a node goes on
	shows(true, "1/6   the maintenance window is closed until 2026-02-01T22:00:00Z")
	add(journal.Event{Kind: journal.TaskStarted, Node: "web4", Action: "create"})
	shows(false, "1/6   the maintenance window is closed")
	closed.Message = machine.WindowClosed + now.Add(12*time.Second).Format(time.RFC3339) // it opens by the clock
	add(closed)
	shows(false, "1/6   the maintenance window is closed")
}

// A node that was prepared, or is done with its batch, is not at work until its next task starts.
func TestWatchCountsNodesAtWork(t *testing.T) {
	run, _, now := script()
	var events []journal.Recorded
	add := func(kind journal.Kind, node, action string) {
		events = append(events, journal.Recorded{Event: journal.Event{Time: now, Kind: kind, Group: "web", Node: node, Action: action}})
	}
	add(journal.RunStarted, "", "")
	events[0].Group, events[0].Output = "", `{"groups":[{"name":"web","nodes":3}]}`
	for _, node := range []string{"n1", "n2"} {
		add(journal.TaskStarted, node, "prepare")
		add(journal.TaskFinished, node, "prepare")
	}
	add(journal.TaskStarted, "n1", "create")
	text := ansi.Strip(screenOf(run, events, 80, 24).text(now))
	if !strings.Contains(text, "0/3 nodes: 1 at work, 1 between steps, 1 waiting") {
		t.Errorf("got:\n%s", text)
	}
}

// What nodes say does nothing to the terminal, however long it is.
func TestWatchScreenOfHostileText(t *testing.T) {
	for _, text := range []string{evil, hostileText, strings.Repeat("x", 1<<20), "\x1b[2J\x1b[1;1H", "\u2066\u202eabc\u2069",
		"a\r\nb\tc\x00\x7f", "\xff\xfe", strings.Repeat("\u0301", 5000)} {
		run, _, now := script()
		run.Site, run.Operation = text, text
		var events []journal.Recorded
		for _, kind := range []journal.Kind{journal.PhaseStarted, journal.TaskStarted, journal.Note, journal.Paused, journal.Decided,
			journal.TaskFinished, journal.NodeFinished, journal.GroupFinished, journal.TaskStarted, journal.Output} {
			events = append(events, journal.Recorded{Event: journal.Event{Kind: kind, Group: text, Node: text, Resource: text,
				Action: text, Status: text, Message: text, Output: text, Time: now}})
		}
		failed := events[6]
		failed.Node, failed.Status = "n2"+text, "FAILED"
		s := screenOf(run, append(events, failed), 80, 24)
		for _, key := range []string{"", "f", "a"} {
			s.key(key)
			out := s.text(now)
			legible(t, "the screen", ansi.Strip(out))
			if len(out) > 100_000 {
				t.Errorf("%.20q makes a screen of %d bytes", text, len(out))
			}
			for _, bad := range []string{"\x1b]", "\x1b[2J", "\x1b[1;1H"} {
				if strings.Contains(out, bad) {
					t.Errorf("the screen has %q", bad)
				}
			}
		}
		p := &strings.Builder{}
		for _, e := range events {
			(&printer{w: p}).event(e, table)
		}
		legible(t, "plain lines", p.String())
	}
}

// Keys decide about the run as the commands do, after a confirmation, and a cancellation needs a reason.
func TestWatchScreenDecides(t *testing.T) {
	store, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "lon1.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // what it wrote is checked
	w, err := store.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Finish(t.Context(), "succeeded", "") //nolint:errcheck // not checked here
	if err := w.Record(t.Context(), journal.Event{Kind: journal.Paused, Group: "db", Phase: 1, Output: "d1"}); err != nil {
		t.Fatal(err)
	}
	run, err := store.Run(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{watched: newWatched(run, nil), ctx: t.Context(), store: store, width: 80, height: 24, clock: time.Now}
	s.Update(s.read())
	press := func(keys ...string) {
		for _, key := range keys {
			msg := tea.KeyPressMsg{Text: key}
			switch key {
			case "enter":
				msg = tea.KeyPressMsg{Code: tea.KeyEnter}
			case "esc":
				msg = tea.KeyPressMsg{Code: tea.KeyEscape}
			case "backspace":
				msg = tea.KeyPressMsg{Code: tea.KeyBackspace}
			}
			if _, cmd := s.Update(msg); cmd != nil {
				s.Update(cmd())
			}
		}
		s.Update(s.read())
	}
	press("r", "enter")
	if !strings.Contains(s.said, "is not paused") {
		t.Errorf("resume of a run that is not paused: %q", s.said)
	}
	press("a", "o", "k", "x", "backspace", "enter")
	press("p", "esc", "p", "enter")
	if !s.paused {
		t.Error("the screen does not show the pause")
	}
	press("r", "enter", "c", "enter")
	if s.asked == nil {
		t.Error("cancelled without a reason")
	}
	press("b", "a", "d", "enter")
	events, err := store.Events(t.Context(), "run-1", 0, page, journal.Decided)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		_, why, _ := strings.Cut(e.Message, ": ")
		got = append(got, strings.TrimSpace(fmt.Sprint(e.Action, " ", e.Group, " ", e.Output, " ", why)))
	}
	if want := "approve db d1 ok|pause|resume|cancel   bad"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
}

// A journal that cannot be read for a moment is read again, and the screen keeps what it shows.
func TestWatchScreenKeepsWhatItHas(t *testing.T) {
	run, events, now := script()
	s := screenOf(run, events, 80, 24)
	_, again := s.Update(news{err: context.DeadlineExceeded})
	if text := s.text(now); again == nil || !strings.Contains(text, "is tried again: context deadline exceeded") ||
		!strings.Contains(text, "apt-get install failed") {
		t.Errorf("got:\n%s", text)
	}
}

// What could not be read is said as long as that lasts, and then that it is over.
func TestWatchScreenReadsAgain(t *testing.T) {
	run, events, now := script()
	s := screenOf(run, events, 120, 40)
	s.Update(news{run: run, err: context.DeadlineExceeded})
	s.Update(news{run: run})
	if text := ansi.Strip(s.text(now)); strings.Contains(text, "cannot be read") ||
		!strings.Contains(text, "the journal can be read again; before: context deadline exceeded") {
		t.Errorf("got:\n%s", text)
	}
	s.Update(said("approved"))
	s.Update(news{run: run})
	if text := ansi.Strip(s.text(now)); strings.Contains(text, "deadline") || !strings.Contains(text, "approved") {
		t.Errorf("got:\n%s", text)
	}
}

// A run that a person paused is not said to be running.
func TestWatchOfAPausedRun(t *testing.T) {
	run, events, now := script()
	for action, want := range map[string]string{journal.Hold: "\npaused, started 1m35s ago", journal.Resume: "\nrunning for 1m35s"} {
		hold := journal.Event{Kind: journal.Decided, Action: action, Time: now, Message: "by ann"}
		all := append(slices.Clone(events), journal.Recorded{Seq: int64(len(events) + 1), Event: hold})
		if text := ansi.Strip(screenOf(run, all, 80, 24).text(now)); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in:\n%s", action, want, text)
		}
	}
}

// A group says what its phase is, as the plan does, and of which batch.
func TestWatchNamesPhases(t *testing.T) {
	run, _, now := script()
	var events []journal.Recorded
	add := func(kind journal.Kind, phase int, action, text string) {
		events = append(events, journal.Recorded{Event: journal.Event{Kind: kind, Time: now, Group: "web", Phase: phase, Action: action, Message: text}})
	}
	add(journal.RunStarted, 0, "", "")
	events[0].Group, events[0].Output = "", `{"groups":[{"name":"web","nodes":3,"batches":[1,2]}]}`
	for i, name := range []string{"prepare", "pre_node", "node"} {
		add(journal.Planned, i+1, name, "")
	}
	for _, step := range []struct {
		phase       int
		batch, want string
	}{{1, "", "0/3   prepare, "}, {2, "batch 1 of 2", "0/3   batch 1 of 2: pre_node phase, "}, {3, "batch 1 of 2", "0/3   batch 1 of 2: node phase, "},
		{9, "", "0/3   phase 9, "}} { // an older slipway recorded no plan
		add(journal.PhaseStarted, step.phase, "", step.batch)
		if text := ansi.Strip(screenOf(run, events, 120, 40).text(now)); !strings.Contains(text, step.want) {
			t.Errorf("no %q in:\n%s", step.want, text)
		}
	}
	var out strings.Builder
	p := &printer{w: &out}
	for _, e := range events {
		p.event(e, table)
	}
	for _, want := range []string{"phase started  web  prepare\n", "phase started  web  batch 1 of 2: node phase\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// The time that is left has the soaks that are to come, and what is left of the one under way; how long earlier ones took says
// nothing of the pace of nodes.
func TestWatchEstimatesSoaks(t *testing.T) {
	store, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "lon1.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // what it wrote is checked
	w, err := store.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1"})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	event := func(seconds int, e journal.Event) journal.Event {
		e.Time, e.Group = start.Add(time.Duration(seconds)*time.Second), "web"
		return e
	}
	soak := journal.Event{Kind: journal.Note, Action: journal.Soak, Message: "batch 1 of 3 soaks for 10m0s"}
	last := soak
	last.Message = "batch 3 of 3 soaks for 10m0s"
	done := journal.Event{Kind: journal.NodeFinished, Node: "a", Status: "DEPLOYED"}
	if err := w.Record(t.Context(), event(0, journal.Event{Kind: journal.PhaseStarted}), event(10, soak), event(610, journal.Event{Kind: journal.PhaseStarted}),
		event(620, last), event(1230, done), event(1230, done), event(1230, journal.Event{Kind: journal.GroupFinished, Status: "DEPLOYED"})); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(t.Context(), "deployed", ""); err != nil {
		t.Fatal(err)
	}
	pace, err := paceOf(t.Context(), store)
	if err != nil || pace["web"] != 15*time.Second {
		t.Fatalf("got %v, %v, want 15 s a node", pace, err)
	}
	var events []journal.Recorded
	left := func(seconds int, want time.Duration) {
		t.Helper()
		s := screenOf(journal.Run{Status: journal.Running, Started: start}, events, 120, 40)
		s.pace = pace
		groups, _ := s.tallies()
		if got := s.left(start.Add(time.Duration(seconds)*time.Second), groups); got != want {
			t.Errorf("%d s after the start %s are left, want %s", seconds, got, want)
		}
	}
	add := func(e journal.Event) { events = append(events, journal.Recorded{Event: e}) }
	add(journal.Event{Kind: journal.RunStarted, Output: `{"groups":[{"name":"web","nodes":4,"batches":[1,1,2],"soak_millis":600000}]}`})
	left(0, time.Minute+30*time.Minute)
	add(event(10, soak))
	left(10, time.Minute+30*time.Minute)
	left(310, time.Minute+25*time.Minute)
	add(event(610, journal.Event{Kind: journal.TaskStarted, Node: "a", Action: "health check"}))
	left(620, time.Minute+20*time.Minute)
	add(event(630, journal.Event{Kind: journal.GroupFinished, Status: "FAILED"}))
	left(630, 0)
}

// A group stands below the first one that it depends on, also when another group that depends on nothing lies between them. A run that ended is not
// paused any more.
func TestWatchTree(t *testing.T) {
	v := newWatched(journal.Run{ID: "run-1", Status: journal.Running}, nil)
	v.start(journal.Outline{Groups: []journal.OutlineGroup{{Name: "ntp", Nodes: 1}, {Name: "bad", Nodes: 1},
		{Name: "control", DependsOn: []string{"ntp"}, Nodes: 1}, {Name: "afterbad", DependsOn: []string{"bad"}, Nodes: 1},
		{Name: "compute", DependsOn: []string{"control"}, Nodes: 1}}})
	groups, all := v.tallies()
	var names []string
	for _, line := range v.tree(time.Now(), groups, 80)[1:] {
		name, _, _ := strings.Cut(ansi.Strip(line)[2:], " ░")
		names = append(names, strings.TrimRight(name, " "))
	}
	if want := []string{"ntp", "  control", "    compute", "bad", "  afterbad"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	v.paused = true
	for _, status := range []string{journal.Running, "degraded"} {
		v.run.Status = status
		head := strings.Join(v.head(time.Now(), groups, all, 80), "\n")
		if says := strings.Contains(head, "paused"); says != (status == journal.Running) {
			t.Errorf("%s: %s", status, head)
		}
	}
}

// Nodes that a person's cancel left waited for nothing that failed.
func TestWatchOfACancelledRun(t *testing.T) {
	v := newWatched(journal.Run{ID: "run-1", Status: journal.Running}, nil)
	v.start(journal.Outline{Groups: []journal.OutlineGroup{{Name: "web", Nodes: 1}}})
	v.add(journal.Recorded{Event: journal.Event{Kind: journal.NodeFinished, Group: "web", Node: "a", Status: "NOT_STARTED"}})
	text := ansi.Strip(strings.Join(v.failures(80, false), "\n"))
	if !strings.Contains(text, "NOT WORKED ON TO THE END\n  a") || strings.Contains(text, "WAITED") {
		t.Error(text)
	}
}

// The estimate is from earlier runs in which the group was deployed.
func TestWatchEstimates(t *testing.T) {
	store, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "lon1.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // what it wrote is checked
	start := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	w, err := store.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1"})
	if err != nil {
		t.Fatal(err)
	}
	event := func(seconds int, kind journal.Kind, node, status string) journal.Event {
		return journal.Event{Time: start.Add(time.Duration(seconds) * time.Second), Kind: kind, Group: "web", Node: node, Status: status}
	}
	approved := event(1010, journal.Decided, "", "") // that a person was asked for so long is not the pace of nodes
	approved.Action = journal.Approve
	if err := w.Record(t.Context(), event(0, journal.PhaseStarted, "", ""), event(5, journal.PhaseStarted, "", ""),
		event(10, journal.NodeFinished, "a", "DEPLOYED"), event(10, journal.Paused, "", ""), approved,
		event(1020, journal.NodeFinished, "b", "DEPLOYED"), event(1020, journal.GroupFinished, "", "DEPLOYED")); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(t.Context(), "succeeded", ""); err != nil {
		t.Fatal(err)
	}
	pace, err := paceOf(t.Context(), store)
	if err != nil || pace["web"] != 10*time.Second {
		t.Fatalf("got %v, %v", pace, err)
	}
	v := newWatched(journal.Run{}, pace)
	v.start(journal.Outline{Groups: []journal.OutlineGroup{{Name: "web", Nodes: 6}}})
	v.add(journal.Recorded{Event: event(0, journal.NodeFinished, "a", "DEPLOYED")})
	groups, _ := v.tallies()
	if left := v.left(time.Now(), groups); left != 50*time.Second {
		t.Errorf("5 nodes of 10 s take %s", left)
	}
	v.pace["db"], v.pace["app"] = 30*time.Second, time.Second // at the same time as web; after db
	for atOnce, want := range map[int]time.Duration{0: 157 * time.Second, 2: 97 * time.Second} {
		v.start(journal.Outline{Parallel: atOnce, Groups: []journal.OutlineGroup{{Name: "web", Nodes: 6}, {Name: "db", Nodes: 3},
			{Name: "app", DependsOn: []string{"db"}, Nodes: 7}}})
		groups, _ = v.tallies()
		if left := v.left(time.Now(), groups); left != want {
			t.Errorf("60 s beside 90 s and then 7 s, %d groups at once, take %s, want %s", atOnce, left, want)
		}
	}
	v.start(journal.Outline{Groups: []journal.OutlineGroup{{Name: "web", Nodes: 6}, {Name: "new", Nodes: 1}}})
	groups, _ = v.tallies()
	if left := v.left(time.Now(), groups); left != 0 {
		t.Errorf("nothing is known of a group, and the estimate is %s", left)
	}
}

// What a group waited for in an earlier run, approval, a person who paused the run, a maintenance window, or several of
// them at once, is not the pace of its nodes; what was finished meanwhile is.
func TestWaitsAreNoPace(t *testing.T) {
	start := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	event := func(seconds int, kind journal.Kind, action, text string) journal.Event {
		e := journal.Event{Time: start.Add(time.Duration(seconds) * time.Second), Kind: kind, Group: "web", Action: action, Message: text}
		if kind == journal.Decided && action != journal.Approve {
			e.Group = "" // it is about the run
		}
		return e
	}
	closed := func(at, until int) journal.Event {
		return event(at, journal.Note, "", machine.WindowClosed+start.Add(time.Duration(until)*time.Second).Format(time.RFC3339))
	}
	node := func(at int) journal.Event {
		e := event(at, journal.NodeFinished, "", "")
		e.Node, e.Status = "a", "DEPLOYED"
		return e
	}
	first := event(0, journal.PhaseStarted, "", "")
	for name, c := range map[string]struct {
		events []journal.Event // between the first event of the group and its end after 100 s
		waited int             // seconds
	}{
		"nothing":                          {nil, 0},
		"paused":                           {[]journal.Event{event(10, journal.Decided, journal.Hold, ""), event(70, journal.Decided, journal.Resume, "")}, 60},
		"paused, while a node ends":        {[]journal.Event{event(10, journal.Decided, journal.Hold, ""), node(30), event(70, journal.Decided, journal.Resume, "")}, 40},
		"paused while the last node ends":  {[]journal.Event{event(10, journal.Decided, journal.Hold, "")}, 0},
		"closed":                           {[]journal.Event{closed(20, 50)}, 30},
		"closed, while a node ends":        {[]journal.Event{closed(20, 50), node(25)}, 25},
		"closed while the last node ends":  {[]journal.Event{closed(20, 5000)}, 0},
		"closed twice":                     {[]journal.Event{closed(10, 20), node(25), closed(30, 60)}, 40},
		"approval":                         {[]journal.Event{event(10, journal.Paused, "", ""), event(30, journal.Decided, journal.Approve, "")}, 20},
		"approval, paused and closed":      {[]journal.Event{event(10, journal.Paused, "", ""), event(20, journal.Decided, journal.Hold, ""), event(30, journal.Decided, journal.Approve, ""), closed(35, 60), event(40, journal.Decided, journal.Resume, "")}, 50},
		"paused while it was closed":       {[]journal.Event{closed(10, 40), event(20, journal.Decided, journal.Hold, ""), event(30, journal.Decided, journal.Resume, "")}, 30},
		"paused, with the window opening":  {[]journal.Event{closed(10, 40), event(20, journal.Decided, journal.Hold, ""), event(60, journal.Decided, journal.Resume, "")}, 50},
		"another group waits for approval": {[]journal.Event{{Time: start.Add(time.Second), Kind: journal.Paused, Group: "db"}}, 0},
	} {
		store, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "lon1.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close() //nolint:errcheck // what it wrote is checked
		w, err := store.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1"})
		if err != nil {
			t.Fatal(err)
		}
		last, done := node(100), event(100, journal.GroupFinished, "", "")
		last.Node, done.Status = "b", "DEPLOYED"
		before := event(0, journal.Decided, journal.Hold, "") // it was paused before the group began
		resumed := event(0, journal.Decided, journal.Resume, "")
		before.Time, resumed.Time = start.Add(-time.Hour), start.Add(-time.Minute)
		if err := w.Record(t.Context(), append(append([]journal.Event{before, resumed, first}, c.events...), last, done)...); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(t.Context(), "succeeded", ""); err != nil {
			t.Fatal(err)
		}
		pace, err := paceOf(t.Context(), store)
		nodes := 1
		for _, e := range c.events {
			if e.Kind == journal.NodeFinished {
				nodes++
			}
		}
		if want := time.Duration(100-c.waited) * time.Second / time.Duration(nodes); err != nil || pace["web"] != max(1, want) {
			t.Errorf("%s: a node takes %s, %v, want %s", name, pace["web"], err, want)
		}
	}
}

// A screen of 1,000 nodes takes less time than a frame, and 100,000 events are taken within seconds.
func TestWatchScreenOfAFastRun(t *testing.T) {
	run, _, now := script()
	v := newWatched(run, nil)
	begin := time.Now()
	for i := range 100_000 {
		kind := []journal.Kind{journal.TaskStarted, journal.TaskFinished}[i/1000%2]
		v.add(journal.Recorded{Seq: int64(i + 1), Event: journal.Event{Time: now, Kind: kind, Group: "web",
			Node: fmt.Sprintf("n%d", i%1000), Resource: fmt.Sprintf("file[/etc/%d]", i/2000), Action: "update", Status: "changed"}})
	}
	added := time.Since(begin)
	s := &screen{watched: v, width: 200, height: 50}
	begin = time.Now()
	for range 10 {
		_ = s.text(now)
	}
	frame := time.Since(begin) / 10
	t.Logf("100,000 events: %s, a frame: %s", added, frame)
	if added > 5*time.Second || frame > time.Second/framesPerSecond {
		t.Errorf("100,000 events take %s, a frame %s", added, frame)
	}
}

// watch reads 100,000 events that are there already within one drawing for each 1,000 of them at most, so that it never
// falls behind, and goes on to show what failed at their beginning, and that the journal could not be read, while nothing new comes.
func TestWatchKeepsUpWithTheJournal(t *testing.T) {
	dir := t.TempDir()
	store, err := journal.Open(t.Context(), filepath.Join(dir, "lon1.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // what it wrote is checked
	w, err := store.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Finish(t.Context(), "failed", "") //nolint:errcheck // not checked here
	const all = 100_000
	if err := w.Record(t.Context(), journal.Event{Kind: journal.NodeFinished, Group: "web", Node: "n0", Status: "FAILED", Message: "its disk is full"}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "lon1.db")) // one statement, where recording them takes most of a minute
	if err == nil {
		_, err = db.ExecContext(t.Context(), `INSERT INTO events (run, at, kind, group_name, phase, node, resource, service, action, status,
			message, output, millis)
			WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $1)
			SELECT run, at, iif(i % 2 = 0, 'task_started', 'task_finished'), 'web', 1, 'n' || (1 + i / 2 % 1000),
			'file[/etc/' || (i / 2000) || ']', service, 'update', '', '', '', 0 FROM n, events`, all)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	run, err := store.Run(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{watched: newWatched(run, nil), ctx: t.Context(), store: store, width: 80, height: 24, clock: time.Now}
	drawn, read := 0, 0
	for next := s.Init(); read <= all; drawn++ {
		n, ok := next().(news)
		if !ok || n.err != nil || len(n.events) == 0 {
			t.Fatalf("after %d of %d events it reads %v", read, all+1, n)
		}
		read += len(n.events)
		_, next = s.Update(n)
		if _ = s.View(); n.more && fmt.Sprintf("%p", next) != fmt.Sprintf("%p", s.Init()) {
			t.Error("it waits although there is more to read")
		}
	}
	t.Logf("%d events, drawn %d times", read, drawn)
	if drawn > (all+1)/page+1 {
		t.Errorf("%d events were drawn %d times, want at most once for each %d", read, drawn, page)
	}
	keeps := func(texts ...string) {
		t.Helper()
		for range 3 { // nothing new comes
			s.Update(s.read())
		}
		for _, text := range texts {
			if got := ansi.Strip(s.text(time.Now())); !strings.Contains(got, text) {
				t.Errorf("no %q in:\n%s", text, got)
			}
		}
	}
	keeps("✗ n0: its disk is full")
	s.Update(news{err: context.DeadlineExceeded})
	keeps("✗ n0: its disk is full", "can be read again; before: context deadline exceeded")
}

// In a pseudo terminal, watch draws the screen, ends with the run and leaves how it ended; elsewhere it prints lines
// without control characters.
func TestWatchInAPseudoTerminal(t *testing.T) {
	if os.Getenv("SLIPWAY_TEST_WATCH") != "" {
		cmd := New("test", nil, "")
		cmd.SetArgs([]string{"watch", "--journal-directory", os.Getenv("SLIPWAY_TEST_WATCH")})
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return
	}
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("script(1) is missing")
	}
	dir := record(t, "lon1", "run-1")
	for _, terminal := range []string{"xterm-256color", "dumb"} {
		t.Run(terminal, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out := &lines{out: make(chan string, 1000)}
			cmd := exec.CommandContext(ctx, script, "-qec", "stty cols 80 rows 24; "+os.Args[0]+
				" -test.run ^TestWatchInAPseudoTerminal$ -test.v", "/dev/null")
			cmd.Env = append(os.Environ(), "SLIPWAY_TEST_WATCH="+dir, "TERM="+terminal)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close() //nolint:errcheck // nothing was written
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			select { // it waits for a run
			case line := <-out.out:
				for !strings.Contains(line, "waiting for a run") {
					line = <-out.out
				}
			case <-ctx.Done():
				t.Fatal("it does not wait for a run")
			}
			store, err := journal.Open(t.Context(), filepath.Join(dir, "lon1.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close() //nolint:errcheck // what it wrote is checked
			w, err := store.Start(t.Context(), journal.Run{ID: "new-" + terminal, Site: "lon1", Operation: "update"})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Record(t.Context(), journal.Event{Kind: journal.NodeFinished, Group: "g", Node: "n1", Status: "FAILED",
				Message: "no route to host"}); err != nil {
				t.Fatal(err)
			}
			if err := w.Finish(t.Context(), "failed", ""); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			close(out.out)
			var text string
			for line := range out.out {
				text += strings.TrimRight(line, "\r") + "\n"
			}
			drawn := strings.Contains(text, "\x1b[?1049h")
			if drawn == (terminal == "dumb") {
				t.Errorf("drawn: %v\n%q", drawn, text)
			}
			if !strings.Contains(text, "no route to host") {
				t.Errorf("it does not show the failure:\n%q", text)
			}
			if terminal == "dumb" {
				legible(t, "lines", text)
			} else if !strings.Contains(text[strings.LastIndex(text, "\x1b[?1049l"):], "✗ n1: no route to host") {
				t.Errorf("it does not leave the failure on the terminal:\n%q", text)
			}
		})
	}
}

// Nodes that are torn down are in no group. One that is not, or does not answer, has failed.
func TestWatchScreenOfATearDown(t *testing.T) {
	run, _, now := script()
	var events []journal.Recorded
	add := func(kind journal.Kind, group, node, status, message string) {
		events = append(events, journal.Recorded{Event: journal.Event{Time: now, Kind: kind, Group: group, Node: node,
			Action: "forget", Status: status, Message: message}})
	}
	add(journal.RunStarted, "", "", "", "tear down")
	for _, node := range []string{"n1", "n2", "n3", "n4"} {
		add(journal.TaskStarted, "", node, "", "")
	}
	add(journal.NodeFinished, "", "n1", "torn_down", "")
	add(journal.NodeFinished, "", "n2", "failed", "its disk is full")
	add(journal.NodeFinished, "", "n3", "unreachable", "no route to host")
	text := ansi.Strip(screenOf(run, events, 80, 24).text(now))
	for _, want := range []string{"3/4 nodes: 1 left the site, 2 failed, 1 at work", "✗ n2: its disk is full", "✗ n3: no route to host"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}

	// A node with a task before its group's is then in its group.
	events = nil
	add(journal.RunStarted, "", "", "", "plan d1")
	events[0].Output = `{"groups":[{"name":"web","nodes":2}]}`
	add(journal.TaskStarted, "", "n1", "", "")
	add(journal.TaskFinished, "", "n1", "changed", "")
	add(journal.TaskStarted, "web", "n1", "", "")
	text = ansi.Strip(screenOf(run, events, 80, 24).text(now))
	if !strings.Contains(text, "0/2 nodes: 1 at work, 1 waiting") || strings.Contains(text, "(no group)") {
		t.Errorf("got:\n%s", text)
	}
}
