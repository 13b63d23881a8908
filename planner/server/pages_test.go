package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// look returns a page, and fails the test when a text of a site could act in it.
func look(t *testing.T, h http.Handler, path string, header ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:8642"+path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	body := w.Body.String()
	if strings.Contains(body, "<script>") || strings.Contains(body, "<img") || strings.ContainsAny(body, "\x1b\u202e\u2066\a") {
		t.Errorf("%s has what a browser may run, or what changes the text around it", path)
	}
	if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("%s: the policy is %q", path, policy)
	}
	if strings.Contains(body, " style=") || strings.Contains(body, " onclick=") {
		t.Errorf("%s has inline styles or scripts", path)
	}
	return w.Code, body
}

// planned is a run at work: the plan is in the journal, and nothing has started.
func planned(t *testing.T, texts string, nodes int) (http.Handler, *journal.Writer) {
	t.Helper()
	f := journal.Location{Path: t.TempDir()}
	s, err := f.Open(t.Context(), "lon1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	w, err := s.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1", Operation: "create", Owner: texts, Digest: "d",
		Started: time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC), Steps: []string{"1. " + texts}})
	if err != nil {
		t.Fatal(err)
	}
	events := []journal.Event{{Kind: journal.RunStarted}, {Kind: journal.Planned, Group: "web", Message: "critical; at most 1 failed" + texts}}
	var tasks []string
	for i := range nodes {
		node := fmt.Sprintf("node-%04d", i)
		tasks = append(tasks, node, node)
	}
	events = append(events, journal.PlannedPhase(1, "web", "prepare", tasks)...)
	events = append(events, journal.PlannedPhase(2, "web", "node", tasks)...)
	if err := w.Record(t.Context(), events...); err != nil {
		t.Fatal(err)
	}
	return New(Options{Journals: f, Poll: 10 * time.Millisecond}), w
}

// The grid has all nodes and phases before the run has started one, and shows what happened since.
func TestGrid(t *testing.T) {
	t.Parallel()
	h, w := planned(t, "", 1000)
	status, body := look(t, h, "/runs/run-1")
	if n := strings.Count(body, `class="cell waiting">waiting</td>`); status != http.StatusOK || n != 2000 {
		t.Fatalf("status %d, %d cells wait, want 2000", status, n)
	}
	task := func(kind journal.Kind, phase int, node, status string) journal.Event {
		return journal.Event{Kind: kind, Group: "web", Phase: phase, Node: node, Resource: "file[/etc/motd]", Action: "create",
			Status: status, Message: "no space", Output: "+ a\n"}
	}
	err := w.Record(t.Context(), task(journal.TaskStarted, 1, "node-0000", ""), task(journal.TaskFinished, 1, "node-0000", "changed"),
		task(journal.TaskStarted, 1, "node-0001", ""), task(journal.TaskFinished, 1, "node-0001", "failed"),
		journal.Event{Kind: journal.NodeFinished, Group: "web", Node: "node-0001", Status: "FAILED", Message: "no space"})
	if err != nil {
		t.Fatal(err)
	}
	_, body = look(t, h, "/runs/run-1")
	for _, want := range []string{`id="c0-0" class="cell running">1 of 2`, `id="c1-0" class="cell failed">failed`,
		`id="c1-1" class="cell left">not reached`, `1 of 1000 nodes finished, 1 failed`, `critical; at most 1 failed`,
		`href="/runs/run-1/nodes/node-0001"`, `data-live="/runs/run-1/live?after=`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for path, want := range map[string]int{"?failed=true": 1, "?q=node-000": 10, "?q=WEB": 1000, "?q=nothing": 0} {
		if _, body := look(t, h, "/runs/run-1"+path); strings.Count(body, "<tr role=\"row\" id=\"r") != want {
			t.Errorf("%s shows %d nodes, want %d", path, strings.Count(body, "<tr role=\"row\" id=\"r"), want)
		}
	}
	if err := w.Finish(t.Context(), "failed", "the outcome"); err != nil {
		t.Fatal(err)
	}
	// The stream has what changed since the page was made, and ends.
	_, stream := look(t, h, "/runs/run-1/live?after=8")
	for _, want := range []string{`"c1-0":["failed","failed"]`, `"r1":["failed","FAILED","no space"]`, "event: end"} {
		if !strings.Contains(stream, want) {
			t.Errorf("the stream lacks %s", want)
		}
	}
	if _, body := look(t, h, "/runs/run-1"); !strings.Contains(body, "not reached") || !strings.Contains(body, "the outcome") ||
		strings.Contains(body, "data-live") {
		t.Error("the page of the run that ended does not show how")
	}
}

// Health checks of batches have cells of their own from the start, and a group shows its soak and that its maintenance
// window is closed, also to the pages that are open.
func TestChecksAndSoaksOnThePage(t *testing.T) {
	t.Parallel()
	f, w := started(t)
	h := New(Options{Journals: f, Poll: 10 * time.Millisecond})
	record := func(events ...journal.Event) {
		t.Helper()
		for i := range events {
			events[i].Group = "web"
		}
		if err := w.Record(t.Context(), events...); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(path string, want bool, texts ...string) {
		t.Helper()
		_, body := look(t, h, path)
		for _, text := range texts {
			if strings.Contains(body, text) != want {
				t.Errorf("%s shows %v %s:\n%s", path, !want, text, body)
			}
		}
	}
	outline := `{"groups":[{"name":"web","nodes":2,"batches":[1,1]}]}`
	record(journal.Event{Kind: journal.RunStarted, Output: outline}, journal.PlannedPhase(0, "web", "health check", []string{"a", "a", "b", "b"})[0],
		journal.Event{Kind: journal.Planned, Message: "critical"}, journal.PlannedPhase(1, "web", "node", []string{"a", "b"})[0],
		journal.PlannedPhase(2, "web", "cluster", []string{"a"})[0])
	shows("/runs/run-1", true, `<th role="columnheader">node</th><th role="columnheader">health check</th><th role="columnheader">cluster</th>`,
		`id="c0-0" class="cell waiting">waiting`, `id="c1-0" class="cell waiting">waiting`, "critical")
	shows("/runs/run-1/plan", true, "critical")
	check := func(node, status string) journal.Event {
		e := journal.Event{Kind: journal.TaskFinished, Node: node, Action: "health check", Status: status}
		if status == "" {
			e.Kind = journal.TaskStarted
		}
		return e
	}
	record(check("a", ""))
	shows("/runs/run-1", true, `id="c0-0" class="cell running">0 of 2`)
	shows("/runs/run-1/nodes/a", true, "health check")
	record(check("a", "unchanged"), journal.Event{Kind: journal.Note, Action: "soak", Message: "batch 1 of 2 soaks for 5m0s"})
	shows("/runs/run-1", true, `id="c0-0" class="cell running">1 of 2`, "0 of 2 nodes finished, batch 1 of 2 soaks for 5m0s</span>")
	shows("/runs/run-1/groups", true, "batch 1 of 2 soaks")
	record(check("a", ""), check("a", "failed"))
	shows("/runs/run-1", true, `id="c0-0" class="cell failed">failed`, `<code><bdi>health check</bdi></code>`)
	shows("/runs/run-1", false, "finished, batch 1 of 2 soaks")
	record(journal.Event{Kind: journal.Note, Message: "the maintenance window is closed until 2126-02-01T22:00:00Z"})
	shows("/runs/run-1", true, "1 failed, the maintenance window is closed until 2126-02-01T22:00:00Z</span>")
	record(journal.Event{Kind: journal.GroupFinished, Status: "FAILED"})
	shows("/runs/run-1", true, `id="c1-0" class="cell left">not reached`)
	shows("/runs/run-1", false, "failed, the maintenance window")
	if err := w.Finish(t.Context(), "failed", ""); err != nil {
		t.Fatal(err)
	}
	shows("/runs/run-1/live?after=7", true, `"c0-0":["failed","failed"]`)
}

func TestPages(t *testing.T) {
	t.Parallel()
	f, _ := twoSites(t)
	h := New(Options{Journals: f})
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/":                             {200, `<a href="/runs/run-2">`},
		"/?site=lon1":                   {200, `<a href="/runs/run-1">`},
		"/runs/run-1":                   {200, "site lon1: failed"},
		"/runs/run-1/nodes/n2":          {200, "<bdi>file[/etc/motd]</bdi>"},
		"/runs/run-1/groups":            {200, "recorded no groups"},
		"/runs/run-1/timeline":          {200, `<g class="bar done">`},
		"/runs/run-1/plan":              {200, "recorded no phases"},
		"/runs/run-1/drift":             {200, "Drift of what the run updated anyway is not listed"},
		"/runs/run-1/approval":          {200, "nothing is to be decided"},
		"/runs/run-2/approval":          {200, "Nobody may decide here"},
		"/runs/run-1/tasks/2":           {200, "<dt>Service</dt><dd><bdi>motd</bdi>"},
		"/runs/run-1/tasks/99":          {404, "has no task 99"},
		"/runs/run-1/tasks/5":           {404, "has no task 5"},
		"/runs/run-1/tasks/x":           {400, "a whole number from 1"},
		"/drift":                        {200, "No repairs, and no drift that was left"},
		"/services":                     {200, `href="/services/shop?site=lon1"`},
		"/services/shop?site=lon1":      {200, "CREATE_TRANSITION"},
		"/services/shop":                {200, "&#34;port&#34;: 80"},
		"/runs/none":                    {404, "there is no run"},
		"/runs/run-1/nodes/none":        {404, "has no node"},
		"/services/none":                {404, "there is no service"},
		"/runs/run-1?other=1":           {400, "there is no parameter"},
		"/assets/page.css":              {200, "prefers-color-scheme"},
		"/assets/page.js":               {200, "EventSource"},
		"/?site=" + "%3Cscript%3E%1B":   {404, "&lt;script&gt;"},
		"/runs/%3Cimg%20src=x%3E":       {404, "&lt;img src=x&gt;"},
		"/runs/run-1?q=%22%3E%3Cimg":    {200, `value="&#34;&gt;&lt;img"`},
		"/runs/run-1/nodes/(no%20node)": {404, "has no node"},
	} {
		if status, body := look(t, h, path); status != want.status || !strings.Contains(body, want.text) {
			t.Errorf("%s: status %d, want %d and %s in:\n%s", path, status, want.status, want.text, body)
		}
	}
	token := New(Options{Journals: f, Token: "secret"})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://slipway.example/", nil)
	w := httptest.NewRecorder()
	token.ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("without the token: %d %v", w.Code, w.Header())
	}
	for password, want := range map[string]int{"secret": 200, "secre": 401} {
		r.SetBasicAuth("anna", password)
		w = httptest.NewRecorder()
		if token.ServeHTTP(w, r); w.Code != want {
			t.Errorf("password %q: status %d, want %d", password, w.Code, want)
		}
	}
}

// A node of a later batch waits, although its phase has ended for the batches before.
func TestGridOfBatches(t *testing.T) {
	t.Parallel()
	p := newPicture()
	events := []journal.Event{{Kind: journal.RunStarted, Output: `{"groups":[{"name":"web","nodes":2,"batches":[1,1]}]}`}}
	events = append(events, journal.PlannedPhase(1, "web", "node", []string{"n1", "n2"})...)
	ended := journal.Event{Kind: journal.PhaseFinished, Group: "web", Phase: 1}
	for i, step := range []struct {
		events []journal.Event
		want   string
	}{
		{append(events, journal.Event{Kind: journal.TaskFinished, Group: "web", Phase: 1, Node: "n1", Status: "changed"}, ended), "done waiting"},
		{[]journal.Event{ended, {Kind: journal.GroupFinished, Group: "web", Status: "FAILED"}}, "done not reached"},
	} {
		for _, e := range step.events {
			p.fold(journal.Recorded{Event: e})
		}
		if got := p.cell(p.rows["n1"], "node").Text + " " + p.cell(p.rows["n2"], "node").Text; got != step.want {
			t.Errorf("step %d: the cells are %q, want %q", i+1, got, step.want)
		}
	}
}

// The views of a run that went wrong: a group that failed, one that waited for it, a batch that waited for a person,
// and drift that was repaired, left or not repaired.
func TestViews(t *testing.T) {
	t.Parallel()
	f := journal.Location{Path: t.TempDir()}
	store, err := f.Open(t.Context(), "lon1")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // the test is over
	start := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	w, err := store.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1", Operation: "update", Digest: "d1", Started: start,
		Steps: []string{"2.1 ntp (critical): node on 1 node"}})
	if err != nil {
		t.Fatal(err)
	}
	at := func(seconds int, e journal.Event) journal.Event {
		e.Time = start.Add(time.Duration(seconds) * time.Second)
		return e
	}
	events := []journal.Event{at(0, journal.Event{Kind: journal.RunStarted, Output: `{"groups":[{"name":"ntp","critical":true,"nodes":1},
		{"name":"control","depends_on":["ntp"],"nodes":1},{"name":"web","nodes":2},{"name":"idle","depends_on":["web"],"nodes":0}]}`}),
		at(0, journal.Event{Kind: journal.Planned, Group: "ntp", Message: "critical"}), at(0, journal.Event{Kind: journal.Planned, Group: "control"}),
		at(0, journal.Event{Kind: journal.Planned, Group: "web"})}
	for i, nodes := range [][]string{{"ntp1"}, {"ctl1"}, {"web1", "web1"}} {
		events = append(events, journal.PlannedPhase(i+1, []string{"ntp", "control", "web"}[i], "node", nodes)...)
	}
	done := func(seconds, phase int, group, node, action, status, message, output string, millis int64) journal.Event {
		return at(seconds, journal.Event{Kind: journal.TaskFinished, Group: group, Phase: phase, Node: node, Resource: "file[/etc/motd]",
			Action: action, Status: status, Message: message, Output: output, Millis: millis})
	}
	events = append(events, at(1, journal.Event{Kind: journal.PhaseStarted, Group: "ntp", Phase: 1}),
		done(5, 1, "ntp", "ntp1", "repair", "failed", "no space", "df: full", 4000),
		at(6, journal.Event{Kind: journal.PhaseFinished, Group: "ntp", Phase: 1, Status: "failed"}),
		at(6, journal.Event{Kind: journal.GroupFinished, Group: "ntp", Status: "FAILED", Message: "no node"}),
		at(7, journal.Event{Kind: journal.GroupFinished, Group: "control", Status: "FAILED", Message: "it depends on ntp, which failed"}),
		at(8, journal.Event{Kind: journal.PhaseStarted, Group: "web", Phase: 3}),
		done(9, 3, "web", "web1", "repair", "changed", journal.TextChanged, "-hand-made\n+welcome\n", 10),
		done(9, 3, "web", "web1", "update", "differs", "mode is 0600", "", 20),
		at(10, journal.Event{Kind: journal.Paused, Group: "web", Phase: 1, Output: "d1"}),
		at(40, journal.Event{Kind: journal.Decided, Action: journal.Approve, Group: "web", Phase: 1, Message: "by anna: fine"}),
		at(50, journal.Event{Kind: journal.GroupFinished, Group: "web", Status: "DEPLOYED"}))
	if err := w.Record(t.Context(), events...); err != nil {
		t.Fatal(err)
	}
	for i, v := range []struct{ state, label, port string }{{"acknowledged", "info", "80"}, {"up", "success", "80"}, {"up", "success", "443"}} {
		err := w.RecordServices(t.Context(), []services.Revision{{Service: "shop", ID: "5a1e", Entity: "vhost", EntityVersion: 1,
			Lifecycle: "simple", State: v.state, Label: v.label, Version: i + 1, Active: map[string]any{"port": v.port}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(t.Context(), "failed", "lon1 failed"); err != nil {
		t.Fatal(err)
	}
	h := New(Options{Journals: f})
	for path, wants := range map[string][]string{
		"/runs/run-1":          {`aria-current="page">Nodes`, "of 3 nodes finished"},
		"/runs/run-1/groups":   {`class="box failed"`, `class="box done"`, "ntp (critical, failed) leads to control", "idle (nothing to do)"},
		"/runs/run-1/timeline": {"<bdi>control</bdi> waited 6s for <bdi>ntp, and did not start</bdi>", "waited 30s for <bdi>the approval of batch 1</bdi>", ">4s</td>", `class="bar failed phase"`},
		"/runs/run-1/plan":     {"2.1 ntp (critical)", "<bdi>critical</bdi>", `<td class="number">2</td>`, `<td><bdi>web</bdi></td><td><bdi>node</bdi></td><td class="number">1</td>`, `<th scope="col">Phase</th>`},
		"/runs/run-1/drift":    {"repaired", "left (noop)", `<span class="removed"><bdi>-hand-made`, "df: full"},
		"/drift":               {"/runs/run-1/drift", "Runs looked at: 1", "No refresh and no <code>check</code>"},
		"/services/shop":       {"to update_start", `class="box done current"`, "Changed since the version before", `<del><bdi>&#34;80&#34;`, `<ins><bdi>&#34;443&#34;`},
	} {
		status, body := look(t, h, path)
		for _, want := range wants {
			if status != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%s: status %d without %s in:\n%s", path, status, want, body)
			}
		}
	}
}

// The timeline of a run at work ends now, also when nothing was recorded for long, and says what the run waits for.
func TestTimelineOfARunAtWork(t *testing.T) {
	t.Parallel()
	f := journal.Location{Path: t.TempDir()}
	s, err := f.Open(t.Context(), "lon1")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the handler opens its own
	w, err := s.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1", Operation: "create", Digest: "d"})
	if err != nil {
		t.Fatal(err)
	}
	ago := func(minutes int) time.Time { return time.Now().Add(time.Duration(-minutes) * time.Minute) }
	err = w.Record(t.Context(), journal.Event{Kind: journal.RunStarted, Time: ago(60)},
		journal.Event{Kind: journal.PhaseStarted, Group: "web", Phase: 1, Time: ago(60)},
		journal.Event{Kind: journal.PhaseFinished, Group: "web", Phase: 1, Status: "succeeded", Time: ago(31)},
		journal.Event{Kind: journal.Paused, Group: "web", Phase: 1, Time: ago(30)})
	if err != nil {
		t.Fatal(err)
	}
	status, body := look(t, New(Options{Journals: f}), "/runs/run-1/timeline")
	for _, want := range []string{"<bdi>web</bdi> has waited 30m[0-9]*s for <bdi>the approval of batch 1</bdi>", `class="bar running"`} {
		if status != http.StatusOK || !regexp.MustCompile(want).MatchString(body) {
			t.Errorf("status %d without %s in:\n%s", status, want, body)
		}
	}
	if took := regexp.MustCompile(`The run took ([^ ]*) so far`).FindStringSubmatch(body); took == nil || !strings.HasPrefix(took[1], "1h0m") {
		t.Errorf("it took %v", took)
	}
}

// Boxes of a drawing never cover each other, and every arrow that closes no cycle leads down.
func TestDrawing(t *testing.T) {
	t.Parallel()
	for _, l := range document.ShippedLifecycles() {
		d, whole := lifecycleOf(l.Name, l.States[0].Name, nil)
		if !whole || len(d.Boxes) != len(l.States) {
			t.Errorf("%s: %d boxes for %d states", l.Name, len(d.Boxes), len(l.States))
		}
		for i, a := range d.Boxes {
			if a.X < d.Left || a.X+a.Width > d.Right || a.Y+boxHeight > d.Height {
				t.Errorf("%s: %s is outside", l.Name, a.Name)
			}
			for _, b := range d.Boxes[:i] {
				if a.Y == b.Y && a.X < b.X+b.Width && b.X < a.X+a.Width {
					t.Errorf("%s: %s covers %s", l.Name, a.Name, b.Name)
				}
			}
		}
		for _, a := range d.Arrows {
			if !a.back && d.Boxes[a.from].Y >= d.Boxes[a.to].Y {
				t.Errorf("%s: the arrow from %s to %s does not lead down", l.Name, d.Boxes[a.from].Name, d.Boxes[a.to].Name)
			}
		}
	}
}

// started returns a journal with the run run-1 of the site lon1 at work, and its writer.
func started(t *testing.T) (journal.Location, *journal.Writer) {
	t.Helper()
	at := journal.Location{Path: t.TempDir()}
	store, err := at.Open(t.Context(), "lon1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	w, err := store.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1", Operation: "update", Digest: "d"})
	if err != nil {
		t.Fatal(err)
	}
	return at, w
}

// The pages of a node and of a task call the phase as the grid does, not by a number.
func TestPhasesHaveNames(t *testing.T) {
	t.Parallel()
	h, w := planned(t, "", 1)
	check := journal.Event{Kind: journal.TaskFinished, Group: "web", Node: "node-0000", Action: "health check", Status: "unchanged"}
	if err := w.Record(t.Context(), journal.Event{Kind: journal.TaskFinished, Group: "web", Phase: 2, Node: "node-0000",
		Resource: "file[/etc/motd]", Action: "update", Status: "changed"}, check); err != nil {
		t.Fatal(err)
	}
	_, _, tasks := ask(t, h, "/v1/runs/run-1/tasks")
	for i, name := range []string{"node", "health check"} {
		_, node := look(t, h, "/runs/run-1/nodes/node-0000")
		if !strings.Contains(node, "<tr><td>"+name+"</td>") {
			t.Errorf("the page of the node does not name the phase %s:\n%s", name, node)
		}
		of, _ := tasks["tasks"].([]any)[i].(map[string]any)
		if _, page := look(t, h, fmt.Sprint("/runs/run-1/tasks/", of["seq"])); !strings.Contains(page, "<dt>Phase</dt><dd>"+name+"</dd>") {
			t.Errorf("the page of the task does not name the phase %s:\n%s", name, page)
		}
	}
	if err := w.Finish(t.Context(), "failed", ""); err != nil {
		t.Fatal(err)
	}
}
