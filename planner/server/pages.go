package server

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// pagePolicy lets a page load what this server has, and nothing else: no inline script, no inline style.
const pagePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// textLimit bounds a text of a page, in characters.
const textLimit = 20_000

//go:embed assets
var assets embed.FS

// Functions are those of the templates of pages and of reports alike: clock is a time in UTC, took a duration in
// milliseconds, lines the lines of a text, kind what a line of a unified diff does (added, removed or empty).
var Functions = template.FuncMap{
	"color": colorOf,
	"clock": func(t time.Time) string { return t.UTC().Format(time.DateTime) },
	"took":  func(millis int64) time.Duration { return time.Duration(millis) * time.Millisecond },
	"lines": strings.Lines,
	"kind": func(line string) string {
		switch {
		case strings.HasPrefix(line, "+"):
			return "added"
		case strings.HasPrefix(line, "-"):
			return "removed"
		}
		return ""
	},
}

// colorOf is the class of a state.
func colorOf(status string) string {
	switch strings.ToLower(status) {
	case "succeeded", "deployed", "done", "changed", "success", "removed":
		return "done"
	case "failed", "abandoned", "cancelled", "interrupted", "danger", "error":
		return "failed"
	case "running", "paused", "waiting", "degraded", "warning":
		return "running"
	}
	return ""
}

var pageTemplates = template.Must(template.New("").Funcs(Functions).Funcs(template.FuncMap{
	"span": func(r journal.Run) string {
		if r.Ended.IsZero() {
			return ""
		}
		return r.Ended.Sub(r.Started).Round(time.Second / 10).String()
	},
	"path": url.PathEscape,
	"cut": func(text string) string {
		if runes := []rune(text); len(runes) > textLimit {
			return string(runes[:textLimit]) + fmt.Sprintf(" ... (%d characters more)", len(runes)-textLimit)
		}
		return text
	},
	"printed": printedID,
	"title":   func(node string) string { return (&journal.NodeHistory{Node: node}).Title() },
	"tabs":    func() []tab { return tabs },
	"line":    func(b *box, down int) int { return b.Y + down },
	"diff":    func(e journal.Recorded) bool { return e.Message == journal.TextChanged },
	"json": func(v any) (string, error) {
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err := e.Encode(v)
		return out.String(), err
	},
}).ParseFS(assets, "assets/*.html"))

// tab is a view of a run.
type tab struct{ Name, Path, Title string }

var tabs = []tab{{"grid", "", "Nodes"}, {"groups", "/groups", "Groups"}, {"timeline", "/timeline", "Timeline"},
	{"plan", "/plan", "Plan"}, {"drift", "/drift", "Drift"}, {"approval", "/approval", "Decisions"}}

// page is an answer for people: a template and what it shows.
type page struct {
	template string
	Title    string
	Data     any
}

// write shows a page. Texts are shown without what acts on the text around them, whoever wrote them.
func (p page) write(w http.ResponseWriter, status int) {
	var out strings.Builder // the page of a large run has a few MiB, so it is not copied
	if err := pageTemplates.ExecuteTemplate(&out, p.template, p); err != nil {
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, resource.Visible(out.String())) // a client that went away is no error of the server
}

// pages are the addresses for people.
func (s *server) pages() []route {
	return []route{
		{path: "/{$}", page: true, parameters: map[string]parameter{"site": textParameter, "limit": listParameter},
			answer: s.overview},
		{path: "/runs/{id}", page: true, parameters: map[string]parameter{"failed": flagParameter, "q": textParameter},
			answer: s.ofPage(runPage)},
		{path: "/runs/{id}/groups", page: true, answer: s.ofPage(groupsPage)},
		{path: "/runs/{id}/timeline", page: true, answer: s.ofPage(timelinePage)},
		{path: "/runs/{id}/plan", page: true, answer: s.ofPage(planPage)},
		{path: "/runs/{id}/drift", page: true, answer: s.ofPage(runDriftPage)},
		{path: "/runs/{id}/tasks/{task}", page: true, answer: s.ofPage(taskPage)},
		{path: "/drift", page: true, parameters: map[string]parameter{"site": textParameter, "limit": listParameter},
			answer: s.driftPage},
		{path: "/runs/{id}/approval", page: true, answer: s.ofPage(s.approvalPage)},
		{path: "/runs/{id}/live", parameters: map[string]parameter{"after": seqParameter}, live: liveGrid},
		{path: "/runs/{id}/nodes/{node}", page: true, answer: s.ofPage(nodePage)},
		{path: "/runs/{id}/nodes/{node}/live", parameters: map[string]parameter{"after": seqParameter}, live: liveNode},
		{path: "/services", page: true, parameters: map[string]parameter{"site": textParameter, "entity": textParameter,
			"state": textParameter, "deleted": flagParameter}, answer: s.servicesPage},
		{path: "/services/{name}", page: true, parameters: map[string]parameter{"site": textParameter, "limit": listParameter},
			answer: s.servicePage},
	}
}

// asset serves a file of the pages. It has nothing of a site, so everybody may read it.
func asset(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		content, err := assets.ReadFile("assets/" + name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(content)
	}
}

func (s *server) overview(ctx context.Context, q query) (any, error) {
	sites, err := s.allSites(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := s.newestRuns(ctx, q)
	return page{"overview", "Sites and runs", map[string]any{"Sites": sites, "Runs": runs, "Site": q.text["site"]}}, err
}

func runPage(ctx context.Context, store *journal.Store, run journal.Run, q query) (any, error) {
	p, failures, err := pictureOf(ctx, store, run)
	if err != nil {
		return nil, err
	}
	return page{"run", "Run of " + run.Site, about(run, "grid", map[string]any{"Picture": p, "Held": p.held.Of(run, time.Now()), "Failures": failures,
		"Rows": p.sorted(q.number["failed"] == 1, q.text["q"]), "Failed": q.number["failed"] == 1, "Search": q.text["q"]})}, nil
}

// approvalPage shows what a run waits for and what was decided about it, with forms for those who may decide.
func (s *server) approvalPage(ctx context.Context, store *journal.Store, run journal.Run, _ query) (any, error) {
	decided, err := store.AllEvents(ctx, run.ID, journal.Paused, journal.Decided)
	if err != nil {
		return nil, err
	}
	return page{"approval", "Decisions about a run of " + run.Site, about(run, "approval", map[string]any{"Decided": decided,
		"People": len(s.People) > 0})}, nil
}

func (s *server) servicesPage(ctx context.Context, q query) (any, error) {
	all, err := s.allServices(ctx, q)
	return page{"services", "Services", map[string]any{"Services": all, "Site": q.text["site"], "Entity": q.text["entity"],
		"State": q.text["state"], "Deleted": q.number["deleted"] == 1}}, err
}

func (s *server) servicePage(ctx context.Context, q query) (answer any, err error) {
	err = s.withService(ctx, q, func(site string, store *journal.Store, v services.Revision) error {
		log, err := store.ServiceLog(ctx, v.Service, journal.Point{}, int(q.number["limit"]))
		if err != nil {
			return err
		}
		referrers, err := referrersOf(ctx, store)
		if err != nil {
			return err
		}
		drawn, whole := lifecycleOf(v.Lifecycle, v.State, log)
		answer = page{"service", "Service " + v.Service, map[string]any{"Site": site, "Service": v, "Log": log,
			"Changes": changesIn(log), "Referrers": referrers(v.Service), "Drawing": drawn, "Whole": whole}}
		return nil
	})
	return answer, err
}

// liveGrid returns what writes updates of the grid of a run: what changed since the event that the page has.
func liveGrid(q query, seen int64) sender {
	p := newPicture()
	return updates(seen, p.fold, func() any { return p.changes() }, p.opened)
}

// updates returns what writes updates of a page. add takes each event of the run, and changes returns what those since
// its last call, or since the event that the page has, changed; nil: nothing. passed reports whether time alone has
// changed anything since its last call.
func updates(seen int64, add func(...journal.Recorded), changes func() any, passed func() bool) sender {
	var last int64
	return func(w io.Writer, events []journal.Recorded) error {
		old := slices.IndexFunc(events, func(e journal.Recorded) bool { return e.Seq > seen })
		if old < 0 {
			old = len(events)
		}
		if add(events[:old]...); old > 0 {
			changes() // the page has them
		}
		if len(events) > 0 {
			last = events[len(events)-1].Seq
		}
		if add(events[old:]...); !passed() && old == len(events) {
			return nil
		}
		update := changes()
		if update == nil {
			return nil
		}
		data, err := json.Marshal(update)
		if err == nil {
			_, err = fmt.Fprintf(w, "id: %d\ndata: %s\n\n", last, resource.VisibleJSON(data))
		}
		return err
	}
}
