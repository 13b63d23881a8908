package server

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// route is an address and what it answers. Parameters in braces are texts of one segment.
type route struct {
	path       string
	parameters map[string]parameter // of the query
	events     bool                 // answers as an event stream, too
	// live: it answers as an event stream for a page that has the events up to one, and not otherwise
	live   func(q query, seen int64) sender
	page   bool // answers people
	answer func(ctx context.Context, q query) (any, error)
	// refuse: it has no answer, whatever is asked
	refuse func(w http.ResponseWriter) error
}

// parameter is a parameter of the query; max is 0 for a text, 1 for a flag, and above that the bound of a number. A
// text with many may be given several times.
type parameter struct {
	max, def int64
	many     bool
}

// query is what a request asks for.
type query struct {
	text   map[string]string
	number map[string]int64
	list   map[string][]string
	after  string // Last-Event-ID of a stream that goes on
	url    *url.URL
}

const (
	flagMax   = 1
	anyNumber = 1<<63 - 1
)

var (
	textParameter = parameter{}
	manyParameter = parameter{many: true}
	flagParameter = parameter{max: flagMax}
	pageParameter = parameter{max: 10_000, def: 1000}
	listParameter = parameter{max: 1000, def: 20}
	seqParameter  = parameter{max: anyNumber}
)

// inventoryPath is the address of the services of an entity, in the shape of seed 002.
const inventoryPath = "/lsm/v1/service_inventory/{entity}"

//go:embed openapi.json
var openAPI []byte

func (s *server) routes() []route {
	list := map[string]parameter{"site": textParameter, "limit": listParameter}
	page := map[string]parameter{"after": seqParameter, "limit": pageParameter}
	tasks := map[string]parameter{"after": seqParameter, "limit": pageParameter, "node": textParameter, "status": textParameter}
	return []route{
		{path: "/v1/openapi.json", answer: func(context.Context, query) (any, error) { return json.RawMessage(openAPI), nil }},
		{path: "/v1/sites", answer: s.sites},
		{path: "/v1/runs", parameters: list, answer: s.runs},
		{path: "/v1/runs/{id}", answer: s.ofRun(oneRun)},
		{path: "/v1/runs/{id}/nodes", answer: s.ofRun(nodes)},
		{path: "/v1/runs/{id}/tasks", parameters: tasks, answer: s.ofRun(tasksOf)},
		{path: "/v1/runs/{id}/events", parameters: page, events: true, answer: s.ofRun(eventsOf)},
		{path: "/v1/checks", parameters: list, answer: s.checks},
		{path: "/v1/services", parameters: map[string]parameter{"site": textParameter, "entity": textParameter,
			"state": textParameter, "deleted": flagParameter}, answer: s.services},
		{path: "/v1/services/{name}", parameters: map[string]parameter{"site": textParameter}, answer: s.service},
		{path: "/v1/services/{name}/log", parameters: list, answer: s.serviceLog},
		{path: inventoryPath, parameters: map[string]parameter{"include_deleted": flagParameter, "include_deployment_progress": flagParameter,
			"include_referenced_by": flagParameter, "filter.deleted": textParameter,
			"filter.state": manyParameter, "filter.service_entity_version": manyParameter, "filter.id_or_service_identity": textParameter,
			"filter.attribute_set_empty": manyParameter, "filter.attribute_set_not_empty": manyParameter, "sort": textParameter,
			"limit": {max: 1000, def: 1000}, "offset": seqParameter}, answer: s.instances},
		{path: inventoryPath + "/{id}", parameters: map[string]parameter{"current_version": {max: anyNumber},
			"include_deployment_progress": flagParameter, "include_referenced_by": flagParameter}, answer: s.instance},
		{path: inventoryPath + "/{id}/versions", parameters: map[string]parameter{"limit": listParameter}, answer: s.instanceVersions},
		{path: inventoryPath + "/{id}/log", parameters: map[string]parameter{"limit": listParameter}, answer: s.instanceLog},
		{path: inventoryPath + "/{id}/events", parameters: page, answer: s.instanceEvents},
	}
}

// query reads the parameters of a request, and refuses what it does not know.
func (r route) query(req *http.Request) (q query, err error) {
	q = query{map[string]string{}, map[string]int64{}, map[string][]string{}, req.Header.Get("Last-Event-ID"), req.URL}
	for part := range strings.SplitSeq(r.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok && name != "$}" {
			name = strings.TrimSuffix(name, "}")
			q.text[name] = req.PathValue(name)
		}
	}
	for name, p := range r.parameters {
		q.number[name] = p.def
	}
	var wrong []string
	for name, values := range req.URL.Query() {
		p, known := r.parameters[name]
		value := values[0]
		switch {
		case !known:
			wrong = append(wrong, fmt.Sprintf("there is no parameter %q", name))
		case p.many:
			q.list[name] = values
		case len(values) > 1:
			wrong = append(wrong, fmt.Sprintf("the parameter %q is given %d times", name, len(values)))
		case p.max == 0:
			q.text[name] = value
		case p.max == flagMax:
			yes, err := strconv.ParseBool(value)
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("%s = %q is neither true nor false", name, value))
			}
			if q.number[name] = 0; yes {
				q.number[name] = 1
			}
		default:
			n, err := strconv.ParseInt(value, 10, 64)
			if least := min(p.def, 1); err != nil || n < least || n > p.max {
				wrong = append(wrong, fmt.Sprintf("%s = %q is not a whole number from %d to %d", name, value, least, p.max))
			}
			q.number[name] = n
		}
	}
	if slices.Sort(wrong); len(wrong) > 0 {
		return q, &statusError{http.StatusBadRequest, strings.Join(wrong, "; ")}
	}
	return q, nil
}

// site is a site with its newest run, which is null before the first.
type site struct {
	Name    string `json:"name"`
	LastRun *Held  `json:"last_run"`
}

func (s *server) sites(ctx context.Context, _ query) (any, error) {
	out, err := s.allSites(ctx)
	return map[string]any{"sites": out}, err
}

func (s *server) allSites(ctx context.Context) ([]site, error) {
	out := []site{}
	err := s.open(ctx, "", func(name string, store *journal.Store) (bool, error) {
		runs, err := store.Runs(ctx, 1)
		one := site{Name: name}
		if len(runs) > 0 {
			h, failed := HeldOf(ctx, store, runs[0])
			one.LastRun, err = &h, failed
		}
		out = append(out, one)
		return false, err
	})
	return out, err
}

func (s *server) runs(ctx context.Context, q query) (any, error) {
	out, err := s.newestRuns(ctx, q)
	return map[string]any{"runs": out}, err
}

// newestRuns returns the newest runs of a site, or of all, newest first.
func (s *server) newestRuns(ctx context.Context, q query) ([]Held, error) {
	limit := int(q.number["limit"])
	all := []Held{}
	err := s.open(ctx, q.text["site"], func(_ string, store *journal.Store) (bool, error) {
		runs, err := store.Runs(ctx, limit)
		for _, r := range runs {
			h, err := HeldOf(ctx, store, r)
			if err != nil {
				return false, err
			}
			all = append(all, h)
		}
		return false, err
	})
	slices.SortStableFunc(all, func(a, b Held) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.ID, a.ID))
	})
	return all[:min(len(all), limit)], err
}

// withRun visits the run with the id of a request, in the journal that has it.
func (s *server) withRun(ctx context.Context, id string, visit func(*journal.Store, journal.Run) error) error {
	found := false
	err := s.open(ctx, "", func(_ string, store *journal.Store) (bool, error) {
		run, err := store.Run(ctx, id)
		switch {
		case errors.Is(err, journal.ErrNoRun):
			return false, nil
		case err != nil:
			return false, err
		case run.ID != id:
			return false, nil
		}
		found = true
		return true, visit(store, run)
	})
	if err == nil && !found {
		err = notFound("there is no run %q", id)
	}
	return err
}

func (s *server) ofRun(f func(context.Context, *journal.Store, journal.Run, query) (any, error)) func(context.Context,
	query) (any, error) {
	return func(ctx context.Context, q query) (answer any, err error) {
		err = s.withRun(ctx, q.text["id"], func(store *journal.Store, run journal.Run) (err error) {
			answer, err = f(ctx, store, run, q)
			return err
		})
		return answer, err
	}
}

// ofPage answers with a page of a run, which says how the run is and what it waits for.
func (s *server) ofPage(f func(context.Context, *journal.Store, journal.Run, query) (any, error)) func(context.Context,
	query) (any, error) {
	return s.ofRun(func(ctx context.Context, store *journal.Store, run journal.Run, q query) (any, error) {
		answer, err := f(ctx, store, run, q)
		p, _ := answer.(page)
		data, is := p.Data.(map[string]any)
		if err != nil || !is {
			return answer, err
		}
		held, known := data["Held"].(Held)
		if !known {
			held, err = HeldOf(ctx, store, run)
		}
		data["State"], data["Holds"] = held.State, held.Holds
		return answer, err
	})
}

func nodes(ctx context.Context, store *journal.Store, run journal.Run, _ query) (any, error) {
	events, err := store.AllEvents(ctx, run.ID)
	out := journal.NodesOf(events)
	if out == nil {
		out = []*journal.NodeHistory{}
	}
	return map[string]any{"nodes": out}, err
}

func eventsOf(ctx context.Context, store *journal.Store, run journal.Run, q query) (any, error) {
	events, err := store.Events(ctx, run.ID, q.number["after"], int(q.number["limit"]))
	return paged("events", events, q.number["after"]), err
}

// tasksOf returns events of tasks, of a node and with a status where the request names them.
func tasksOf(ctx context.Context, store *journal.Store, run journal.Run, q query) (any, error) {
	after, limit := q.number["after"], int(q.number["limit"])
	var out []journal.Recorded
	for e, err := range store.Each(ctx, run.ID, after, journal.TaskStarted, journal.TaskFinished) {
		if err != nil {
			return nil, err
		}
		after = e.Seq
		if (q.text["node"] == "" || e.Node == q.text["node"]) && (q.text["status"] == "" || e.Status == q.text["status"]) {
			if out = append(out, e); len(out) == limit {
				break
			}
		}
	}
	return paged("tasks", out, after), nil
}

// paged is a page of events; next is the value of after for the next page.
func paged(name string, events []journal.Recorded, after int64) map[string]any {
	if len(events) > 0 {
		after = max(after, events[len(events)-1].Seq)
	} else {
		events = []journal.Recorded{}
	}
	return map[string]any{name: events, "next": after}
}

// stream sends the events of a run as they are recorded, until the run has ended or the client goes.
func (s *server) stream(w http.ResponseWriter, r *http.Request, to route, q query) {
	select {
	case s.streaming <- struct{}{}:
		defer func() { <-s.streaming }()
	default:
		w.Header().Set("Retry-After", "10")
		fail(w, &statusError{http.StatusTooManyRequests, "too many event streams are open"})
		return
	}
	after := q.number["after"]
	if n, err := strconv.ParseInt(q.after, 10, 64); err == nil {
		after = n
	}
	send := sendEvents
	if to.live != nil {
		send, after = to.live(q, after), 0 // it needs all events
	}
	begun := false
	err := s.withRun(r.Context(), q.text["id"], func(store *journal.Store, run journal.Run) error {
		w.Header().Set("Content-Type", "text/event-stream")
		begun = true
		return s.follow(r.Context(), w, store, run.ID, after, send)
	})
	if err != nil && !begun {
		fail(w, err)
	}
}

// sender writes events, or what they change, to a stream.
type sender func(w io.Writer, events []journal.Recorded) error

func sendEvents(w io.Writer, events []journal.Recorded) error {
	for _, e := range events {
		data, err := json.Marshal(e)
		if err == nil {
			_, err = fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Kind, resource.VisibleJSON(data))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// follow writes the events of a run after a sequence number until the run has ended.
func (s *server) follow(ctx context.Context, w http.ResponseWriter, store *journal.Store, id string,
	after int64, send sender) error {
	out := http.NewResponseController(w)
	poll := time.NewTicker(cmp.Or(s.Poll, time.Second))
	defer poll.Stop()
	for {
		// The run is read before its events: once it has ended, no event is missed.
		run, err := store.Run(ctx, id)
		if err != nil {
			return err
		}
		for more := true; more; {
			events, err := store.Events(ctx, id, after, int(pageParameter.def))
			if err != nil {
				return err
			}
			_ = out.SetWriteDeadline(time.Now().Add(answerTime)) // not of every writer
			if err := send(w, events); err != nil {
				return err
			}
			if len(events) > 0 {
				after = events[len(events)-1].Seq
			}
			more = int64(len(events)) == pageParameter.def
		}
		if run.Status != journal.Running {
			_, err := fmt.Fprintf(w, "event: end\ndata: %q\n\n", run.Status)
			return err
		}
		if _, err := fmt.Fprint(w, ": at work\n\n"); err != nil { // a client that went away is noticed
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
