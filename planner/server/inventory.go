package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// siteService is a service with the site that it belongs to.
type siteService struct {
	Site string `json:"site"`
	services.Revision
}

func (s *server) services(ctx context.Context, q query) (any, error) {
	out, err := s.allServices(ctx, q)
	return map[string]any{"services": out}, err
}

func (s *server) allServices(ctx context.Context, q query) ([]siteService, error) {
	out := []siteService{}
	err := s.open(ctx, q.text["site"], func(site string, store *journal.Store) (bool, error) {
		known, err := store.Services(ctx, q.number["deleted"] == 0)
		for _, v := range known {
			if (q.text["entity"] == "" || v.Entity == q.text["entity"]) && (q.text["state"] == "" || v.State == q.text["state"]) {
				out = append(out, siteService{site, v})
			}
		}
		return false, err
	})
	return out, err
}

// withService visits the service of a name in each site that has one, until visit returns true.
func (s *server) withService(ctx context.Context, q query,
	visit func(string, *journal.Store, services.Revision) error) error {
	found := false
	err := s.open(ctx, q.text["site"], func(site string, store *journal.Store) (bool, error) {
		v, err := store.Service(ctx, q.text["name"])
		if errors.Is(err, journal.ErrNoService) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if found {
			return false, &statusError{http.StatusConflict,
				fmt.Sprintf("more than one site has a service %q; give site", q.text["name"])}
		}
		found = true
		return false, visit(site, store, v)
	})
	if err == nil && !found {
		err = notFound("there is no service %q", q.text["name"])
	}
	return err
}

func (s *server) service(ctx context.Context, q query) (answer any, err error) {
	err = s.withService(ctx, q, func(site string, _ *journal.Store, v services.Revision) error {
		answer = siteService{site, v}
		return nil
	})
	return answer, err
}

func (s *server) serviceLog(ctx context.Context, q query) (answer any, err error) {
	err = s.withService(ctx, q, func(_ string, store *journal.Store, v services.Revision) error {
		log, err := store.ServiceLog(ctx, v.Service, journal.Point{}, int(q.number["limit"]))
		answer = map[string]any{"versions": log}
		return err
	})
	return answer, err
}

// instance is a service in the shape of a service inventory (lsm.md 1): the field names are those of its clients.
type instance struct {
	ID             string          `json:"id"`
	Environment    string          `json:"environment"` // the site
	Entity         string          `json:"service_entity"`
	EntityVersion  int             `json:"service_entity_version"`
	Version        int             `json:"version"`
	DesiredVersion int             `json:"desired_state_version"`
	State          string          `json:"state"`
	Candidate      map[string]any  `json:"candidate_attributes"`
	Active         map[string]any  `json:"active_attributes"`
	Rollback       map[string]any  `json:"rollback_attributes"`
	Config         map[string]bool `json:"config"`
	Deleted        bool            `json:"deleted"`
	// of the active run of the site; null without one, and where it is not asked for
	Progress        *lifecycle.Progress `json:"deployment_progress"`
	Identity        *string             `json:"service_identity_attribute_value"`
	ReferencedBy    []string            `json:"referenced_by"` // null where it is not asked for or known
	TransferContext string              `json:"transfer_context"`
	Callback        []string            `json:"callback"` // empty: slipway calls nobody back
	Metadata        map[string]string   `json:"metadata"`
	Created         time.Time           `json:"created_at"`
	Updated         time.Time           `json:"last_updated"`
	Events          []inventoryEvent    `json:"events,omitzero"` // of a version in the log
}

// progressOf returns the progress of each service for which the active run of a site has tasks, if a request asks for
// it; nil without an active run.
func progressOf(ctx context.Context, store *journal.Store, q query) (func(service string) *lifecycle.Progress, error) {
	unknown := func(string) *lifecycle.Progress { return nil }
	if q.number["include_deployment_progress"] == 0 {
		return unknown, nil
	}
	runs, err := store.Runs(ctx, 1)
	if err != nil || len(runs) == 0 || runs[0].Status != journal.Running {
		return unknown, err
	}
	all := map[string]*lifecycle.Progress{}
	for e, err := range store.Each(ctx, runs[0].ID, 0, journal.RunStarted, journal.Planned, journal.TaskFinished) {
		switch {
		case err != nil:
			return nil, err
		case e.Kind == journal.RunStarted: // of a pass, which plans anew
			clear(all)
		case e.Action == journal.ServiceTasks:
			for service, tasks := range e.PlannedTasks() {
				all[service] = &lifecycle.Progress{Total: tasks, Waiting: tasks}
			}
		case e.Kind == journal.TaskFinished:
			for _, service := range e.Services {
				countTask(all[service], e.Status)
			}
		}
	}
	return func(service string) *lifecycle.Progress { return cmp.Or(all[service], &lifecycle.Progress{}) }, nil
}

// countTask counts a task that ended; no progress counts none.
func countTask(p *lifecycle.Progress, status string) {
	switch {
	case p == nil || p.Waiting == 0:
	case status == "failed":
		p.Failed, p.Waiting = p.Failed+1, p.Waiting-1
	case slices.Contains([]string{"changed", "unchanged", "differs"}, status):
		p.Deployed, p.Waiting = p.Deployed+1, p.Waiting-1
	}
}

// referrersOf returns the services that refer to each service of a site (lsm.md 14), sorted; nil where a service of the
// site was recorded last by a slipway that did not record what it refers to.
func referrersOf(ctx context.Context, store *journal.Store) (func(service string) []string, error) {
	all, err := store.Services(ctx, true)
	referrers := map[string][]string{}
	for _, v := range all {
		if v.References == nil {
			return func(string) []string { return nil }, err
		}
		for _, service := range v.References {
			referrers[service] = append(referrers[service], v.ID)
		}
	}
	return func(service string) []string { return append([]string{}, referrers[service]...) }, err
}

// asked returns what adds to an instance of a site what a request asks for.
func asked(ctx context.Context, store *journal.Store, q query) (func(*instance), error) {
	progress, err := progressOf(ctx, store, q)
	if err != nil || q.number["include_referenced_by"] == 0 {
		return func(i *instance) { i.Progress = progress(i.ID) }, err
	}
	referrers, err := referrersOf(ctx, store)
	return func(i *instance) { i.Progress, i.ReferencedBy = progress(i.ID), referrers(i.ID) }, err
}

func instanceOf(site string, v services.Revision, created time.Time) instance {
	out := instance{ID: v.ID, Environment: site, Entity: v.Entity, EntityVersion: v.EntityVersion, Version: v.Version,
		DesiredVersion: v.DesiredVersion, State: v.State, Candidate: v.Candidate, Active: v.Active, Rollback: v.Rollback,
		Config: v.Config, Deleted: v.Deleted, TransferContext: v.TransferContext, Callback: []string{},
		Metadata: map[string]string{"service": v.Service, "run": v.Run, "label": v.Label}, Created: created, Updated: v.Time}
	if v.Identity != "" {
		out.Identity = &v.Identity
	}
	if out.Config == nil {
		out.Config = map[string]bool{}
	}
	return out
}

// inventoryEvent is an event of a service in the shape of a service inventory (lsm.md 17).
type inventoryEvent struct {
	ID             int64     `json:"id"`
	InstanceID     string    `json:"service_instance_id"`
	Version        int       `json:"service_instance_version"`
	DesiredVersion int       `json:"service_desired_state_version"`
	Time           time.Time `json:"timestamp"`
	Type           string    `json:"event_type"`
	Source         *string   `json:"source"`      // null at the creation
	Destination    *string   `json:"destination"` // null for what belongs to no transfer
	Message        string    `json:"message"`
	Ignored        bool      `json:"ignored_transition"`
	IsError        bool      `json:"is_error_transition"`
	Severity       int       `json:"severity"`
	Correlation    string    `json:"event_correlation_id"`
	Run            string    `json:"id_compile_report"` // the run: it has what was planned, and what went wrong
}

func inventoryEventOf(id string, e journal.RecordedServiceEvent) inventoryEvent {
	out := inventoryEvent{ID: e.Seq, InstanceID: id, Version: e.Version, DesiredVersion: e.DesiredVersion, Time: e.Time,
		Type: e.Type, Message: e.Message, Ignored: e.Ignored, IsError: e.IsError, Severity: e.Severity,
		Correlation: e.Correlation, Run: e.Run}
	if e.Source != "" {
		out.Source = &e.Source
	}
	if e.Destination != "" {
		out.Destination = &e.Destination
	}
	return out
}

// instances returns the instances of an entity on all sites. The answer of an inventory is below `data`.
func (s *server) instances(ctx context.Context, q query) (any, error) {
	shown, err := instanceFilter(q)
	if err != nil {
		return nil, err
	}
	order, err := instanceOrder(cmp.Or(q.text["sort"], "created_at.desc"))
	if err != nil {
		return nil, err
	}
	out, known := []instance{}, false
	err = s.open(ctx, "", func(site string, store *journal.Store) (bool, error) {
		all, err := store.Services(ctx, false)
		if err != nil {
			return false, err
		}
		created, err := store.ServicesCreated(ctx)
		if err != nil {
			return false, err
		}
		add, err := asked(ctx, store, q)
		for _, v := range all {
			if v.Entity == q.text["entity"] && err == nil {
				known = true
				one := instanceOf(site, v, created[v.Service])
				if add(&one); shown(one) {
					out = append(out, one)
				}
			}
		}
		return false, err
	})
	if err == nil && !known {
		err = notFound("there is no service of an entity %q", q.text["entity"])
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b instance) int { return cmp.Or(order(a, b), cmp.Compare(a.ID, b.ID)) })
	return pageOf(out, q), nil
}

// pageOf returns a page of instances, with links to those before and after it.
func pageOf(all []instance, q query) any {
	limit, before := int(q.number["limit"]), min(int(q.number["offset"]), len(all))
	end := min(before+limit, len(all))
	to := func(offset int) string {
		values := maps.Clone(q.url.Query())
		if values.Del("offset"); offset > 0 {
			values.Set("offset", strconv.Itoa(offset))
		}
		return (&url.URL{Path: q.url.Path, RawQuery: values.Encode()}).String()
	}
	links := map[string]string{"self": to(before)}
	if before > 0 {
		links["prev"] = to(max(0, before-limit))
	}
	if end < len(all) {
		links["next"] = to(end)
	}
	return map[string]any{"data": all[before:end], "links": links,
		"metadata": map[string]int{"total": len(all), "before": before, "after": len(all) - end, "page_size": limit}}
}

// instanceOrders are the fields by which instances are sorted.
var instanceOrders = map[string]func(a, b instance) int{
	"created_at":   func(a, b instance) int { return a.Created.Compare(b.Created) },
	"last_updated": func(a, b instance) int { return a.Updated.Compare(b.Updated) },
	"state":        func(a, b instance) int { return cmp.Compare(a.State, b.State) },
	"id":           func(a, b instance) int { return cmp.Compare(a.ID, b.ID) },
	"service_identity_attribute_value": func(a, b instance) int {
		return cmp.Compare(textOf(a.Identity), textOf(b.Identity))
	},
}

func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// instanceOrder returns the order of a text such as created_at.desc.
func instanceOrder(text string) (func(a, b instance) int, error) {
	name, direction, _ := strings.Cut(text, ".")
	order := instanceOrders[name]
	if order == nil || direction != "asc" && direction != "desc" {
		return nil, &statusError{http.StatusBadRequest, fmt.Sprintf("sort = %q must be one of %s, with .asc or .desc", text,
			strings.Join(slices.Sorted(maps.Keys(instanceOrders)), ", "))}
	}
	if direction == "desc" {
		return func(a, b instance) int { return order(b, a) }, nil
	}
	return order, nil
}

// instanceFilter returns what instances a request asks for (lsm.md 17).
func instanceFilter(q query) (func(instance) bool, error) {
	var filters []func(instance) bool
	switch deleted := q.text["filter.deleted"]; deleted {
	case "":
		if q.number["include_deleted"] == 0 {
			filters = append(filters, func(i instance) bool { return !i.Deleted })
		}
	case "true", "false":
		filters = append(filters, func(i instance) bool { return i.Deleted == (deleted == "true") })
	default:
		return nil, wrongValue("filter.deleted", deleted, "is neither true nor false")
	}
	if states := q.list["filter.state"]; len(states) > 0 {
		filters = append(filters, func(i instance) bool { return slices.Contains(states, i.State) })
	}
	if text := strings.ToLower(q.text["filter.id_or_service_identity"]); text != "" {
		filters = append(filters, func(i instance) bool {
			return strings.Contains(strings.ToLower(i.ID), text) || strings.Contains(strings.ToLower(textOf(i.Identity)), text)
		})
	}
	for _, text := range q.list["filter.service_entity_version"] {
		operator, number, found := strings.Cut(text, ":")
		if !found {
			operator, number = "eq", text
		}
		compare, known := comparisons[operator]
		n, err := strconv.Atoi(number)
		if err != nil || !known {
			return nil, wrongValue("filter.service_entity_version", text, "is not a number, or one after gt:, ge:, lt:, le: or eq:")
		}
		filters = append(filters, func(i instance) bool { return compare(cmp.Compare(i.EntityVersion, n)) })
	}
	for name, empty := range map[string]bool{"filter.attribute_set_empty": true, "filter.attribute_set_not_empty": false} {
		for _, set := range q.list[name] {
			of := attributeSets[strings.TrimSuffix(set, "_attributes")]
			if of == nil {
				return nil, wrongValue(name, set, "must be one of candidate, active, rollback")
			}
			filters = append(filters, func(i instance) bool { return (len(of(i)) == 0) == empty })
		}
	}
	return func(i instance) bool {
		return !slices.ContainsFunc(filters, func(shown func(instance) bool) bool { return !shown(i) })
	}, nil
}

var comparisons = map[string]func(int) bool{
	"eq": func(n int) bool { return n == 0 },
	"gt": func(n int) bool { return n > 0 }, "ge": func(n int) bool { return n >= 0 },
	"lt": func(n int) bool { return n < 0 }, "le": func(n int) bool { return n <= 0 },
}

var attributeSets = map[string]func(instance) map[string]any{
	"candidate": func(i instance) map[string]any { return i.Candidate },
	"active":    func(i instance) map[string]any { return i.Active },
	"rollback":  func(i instance) map[string]any { return i.Rollback },
}

func wrongValue(name, value, why string) error {
	return &statusError{http.StatusBadRequest, fmt.Sprintf("%s = %q %s", name, value, why)}
}

// withInstance visits the newest version of the instance with an id, and when it was created.
func (s *server) withInstance(ctx context.Context, q query,
	visit func(string, *journal.Store, services.Revision, time.Time) error) error {
	found := false
	err := s.open(ctx, "", func(site string, store *journal.Store) (bool, error) {
		all, err := store.Services(ctx, false)
		for _, v := range all {
			if v.Entity == q.text["entity"] && v.ID == q.text["id"] {
				found = true
				created, err := store.ServicesCreated(ctx)
				if err != nil {
					return true, err
				}
				return true, visit(site, store, v, created[v.Service])
			}
		}
		return false, err
	})
	if err == nil && !found {
		err = notFound("there is no instance %q of an entity %q", q.text["id"], q.text["entity"])
	}
	return err
}

func (s *server) instance(ctx context.Context, q query) (answer any, err error) {
	err = s.withInstance(ctx, q, func(site string, store *journal.Store, v services.Revision, created time.Time) error {
		if expected := q.number["current_version"]; expected != 0 && int(expected) != v.Version {
			return &statusError{http.StatusConflict, fmt.Sprintf("the instance %q has the version %d, not %d; read it again", v.ID,
				v.Version, expected)}
		}
		add, err := asked(ctx, store, q)
		if err == nil {
			one := instanceOf(site, v, created)
			add(&one)
			answer = map[string]any{"data": one}
		}
		return err
	})
	return answer, err
}

// instanceHistory returns the versions of an instance, newest first, each with its events.
func (s *server) instanceHistory(ctx context.Context, q query) (out []instance, err error) {
	out = []instance{}
	err = s.withInstance(ctx, q, func(site string, store *journal.Store, newest services.Revision,
		created time.Time) error {
		log, err := store.ServiceLog(ctx, newest.Service, journal.Point{Incarnation: newest.Incarnation,
			Version: newest.Version + 1}, int(q.number["limit"]))
		for _, r := range log {
			if r.Incarnation != newest.Incarnation { // another service had the name
				break
			}
			v := instanceOf(site, r.Revision, created)
			v.Events = []inventoryEvent{}
			for _, e := range r.Events {
				v.Events = append(v.Events, inventoryEventOf(r.ID, e))
			}
			out = append(out, v)
		}
		return err
	})
	return out, err
}

func (s *server) instanceLog(ctx context.Context, q query) (any, error) {
	out, err := s.instanceHistory(ctx, q)
	return map[string]any{"data": out}, err
}

// instanceVersions returns the versions of an instance without their events, newest first.
func (s *server) instanceVersions(ctx context.Context, q query) (any, error) {
	log, err := s.instanceHistory(ctx, q)
	for i := range log {
		log[i].Events = nil
	}
	return map[string]any{"data": log}, err
}

// instanceEvents returns the events of an instance, oldest first.
func (s *server) instanceEvents(ctx context.Context, q query) (any, error) {
	out := []inventoryEvent{}
	err := s.withInstance(ctx, q, func(_ string, store *journal.Store, newest services.Revision, _ time.Time) error {
		limit := int(q.number["limit"])
		for after, more := q.number["after"], true; more && len(out) < limit; {
			events, err := store.ServiceEvents(ctx, newest.Service, after, limit)
			if err != nil {
				return err
			}
			for _, e := range events {
				if after = e.Seq; e.Incarnation == newest.Incarnation && len(out) < limit {
					out = append(out, inventoryEventOf(newest.ID, e))
				}
			}
			more = len(events) == limit
		}
		return nil
	})
	return map[string]any{"data": out}, err
}
