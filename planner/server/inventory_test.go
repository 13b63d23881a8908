package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// inventory returns the handler of a journal with three instances of an entity: shop has two versions and is up, its
// name was used once before; gone is deleted; new waits with a candidate.
func inventory(t *testing.T) http.Handler {
	t.Helper()
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
	at := func(day int) time.Time { return time.Date(2026, 11, day, 10, 0, 0, 0, time.UTC) }
	version := func(name string, incarnation, version, day int, state string) services.Revision {
		return services.Revision{Service: name, Incarnation: incarnation, ID: name, Entity: "vhost", EntityVersion: 1, Identity: name + ".example",
			Lifecycle: "simple", State: state, Version: version, DesiredVersion: version, TransferContext: "auto", Time: at(day), Run: "run-1"}
	}
	used, start, up := version("shop", 0, 3, 1, "terminated"), version("shop", 1, 1, 2, "start"), version("shop", 1, 2, 4, "up")
	used.Deleted = true
	start.Candidate = map[string]any{"port": int64(80)}
	up.Active, up.EntityVersion = map[string]any{"port": int64(80)}, 2
	gone, waits := version("gone", 0, 7, 3, "terminated"), version("new", 0, 1, 3, "start")
	gone.Deleted = true
	waits.Candidate = map[string]any{"port": int64(90)}
	event := func(incarnation, version, day int, source, destination string) journal.ServiceEvent {
		return journal.ServiceEvent{Service: "shop", Incarnation: incarnation, Version: version, DesiredVersion: version, Time: at(day),
			Type: "AUTO_TRANSITION", Source: source, Destination: destination, Severity: 20, Run: "run-1"}
	}
	err = w.RecordServices(t.Context(), []services.Revision{used, start, up, gone, waits},
		[]journal.ServiceEvent{event(0, 2, 1, "deleting", "terminated"), event(1, 0, 2, "", "start"), event(1, 1, 4, "start", "up")})
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Journals: f})
}

// The fields of an instance, of its versions and of its events are those of seed 002's inventory (lsm.md 1 and 17).
func TestInventoryFields(t *testing.T) {
	t.Parallel()
	instance := strings.Fields(`id environment service_entity service_entity_version version desired_state_version state candidate_attributes
		active_attributes rollback_attributes config deleted deployment_progress service_identity_attribute_value referenced_by
		transfer_context callback metadata created_at last_updated`)
	event := strings.Fields(`id service_instance_id service_instance_version service_desired_state_version timestamp source destination message
		ignored_transition event_correlation_id severity id_compile_report event_type is_error_transition`)
	h := inventory(t)
	const one = "/lsm/v1/service_inventory/vhost/shop"
	for path, want := range map[string][]string{"/lsm/v1/service_inventory/vhost": instance, one: instance, one + "/versions": instance,
		one + "/log": append(slices.Clone(instance), "events"), one + "/events": event} {
		status, _, body := ask(t, h, path)
		first, ok := body["data"].(map[string]any)
		if all, list := body["data"].([]any); list && len(all) > 0 {
			first, ok = all[0].(map[string]any)
		}
		if !ok {
			t.Errorf("%s: %d %v", path, status, body)
			continue
		}
		for _, name := range want {
			if _, ok := first[name]; !ok {
				t.Errorf("%s has no %s", path, name)
			}
			delete(first, name)
		}
		if len(first) > 0 {
			t.Errorf("%s has more than an inventory has: %v", path, first)
		}
	}
	for path, want := range map[string]string{
		one: `"created_at":"2026-11-02T10:00:00Z".*"deployment_progress":null.*"last_updated":"2026-11-04T10:00:00Z".*"referenced_by":null`,
		// Newest first, and nothing of the service that had the name before.
		one + "/versions":         `"version":2.*"version":1}]}$`,
		one + "/versions?limit=1": `{"data":[{.*"version":2}]}$`,
		// Oldest first. The creation has no source, and version 0.
		one + "/events":         `"destination":"start".*"id_compile_report":"run-1".*"service_instance_version":0.*"source":null.*"destination":"up".*"source":"start"`,
		one + "/events?limit=1": `"destination":"start"`,
		one + "/events?after=2": `{"data":[{"destination":"up"`,
		one + "/log?limit=1":    `"events":[{"destination":"up"`,
	} {
		status, _, body := ask(t, h, path)
		text, _ := json.Marshal(body)
		if status != http.StatusOK || !contains(string(text), want) {
			t.Errorf("%s: %d, want %s in:\n%s", path, status, want, text)
		}
	}
	for path, want := range map[string]int{"?current_version=2": 200, "?current_version=1": 409} {
		if status, _, body := ask(t, h, one+path); status != want {
			t.Errorf("%s: %d %v", path, status, body)
		}
	}
}

// contains reports whether a text has the parts of another one, which are between `.*`, one after the other.
func contains(text, parts string) bool {
	for part := range strings.SplitSeq(parts, ".*") {
		_, rest, found := strings.Cut(text, strings.TrimSuffix(part, "$"))
		if !found || strings.HasSuffix(part, "$") && rest != "" {
			return false
		}
		text = rest
	}
	return true
}

// The list of instances has the filters, the order and the pages of seed 002's inventory (lsm.md 17).
func TestInventoryFilters(t *testing.T) {
	t.Parallel()
	h := inventory(t)
	for query, want := range map[string]string{
		"": "[new shop]", // created last is first
		"?include_deleted=true&sort=created_at.asc":                              "[shop gone new]",
		"?include_deleted=true&sort=last_updated.desc":                           "[shop gone new]",
		"?include_deleted=true&sort=id.desc":                                     "[shop new gone]",
		"?sort=state.asc":                                                        "[new shop]",
		"?sort=service_identity_attribute_value.asc":                             "[new shop]",
		"?filter.state=up":                                                       "[shop]",
		"?filter.state=up&filter.state=start":                                    "[new shop]",
		"?filter.state=none":                                                     "[]",
		"?filter.deleted=true":                                                   "[gone]",
		"?filter.deleted=false&include_deleted=true":                             "[new shop]",
		"?filter.service_entity_version=ge:2":                                    "[shop]",
		"?filter.service_entity_version=lt:2":                                    "[new]",
		"?filter.service_entity_version=gt:0&filter.service_entity_version=le:2": "[new shop]",
		"?filter.service_entity_version=1":                                       "[new]",
		"?filter.id_or_service_identity=shop":                                    "[shop]",
		"?filter.id_or_service_identity=new.example":                             "[new]",
		"?filter.attribute_set_empty=active_attributes":                          "[new]",
		"?filter.attribute_set_not_empty=candidate":                              "[new]",
		"?filter.attribute_set_empty=rollback&filter.attribute_set_empty=active": "[new]",
		"?limit=1": "[new]",
	} {
		status, _, body := ask(t, h, "/lsm/v1/service_inventory/vhost"+query)
		var ids []string
		all, _ := body["data"].([]any)
		for _, one := range all {
			ids = append(ids, fmt.Sprint(one.(map[string]any)["id"]))
		}
		if got := fmt.Sprint(ids); status != http.StatusOK || got != want {
			t.Errorf("%s: %d %s, want %s (%v)", query, status, got, want, body["error"])
		}
	}
	for query, want := range map[string]string{
		"?sort=port.asc":                                                   `sort = "port.asc" must be one of`,
		"?filter.service_entity_version=two":                               `filter.service_entity_version = "two" is not a number`,
		"?filter.attribute_set_empty=old":                                  `filter.attribute_set_empty = "old" must be one of candidate, active, rollback`,
		"?filter.id_or_service_identity=a&filter.id_or_service_identity=b": `is given 2 times`,
	} {
		status, _, body := ask(t, h, "/lsm/v1/service_inventory/vhost"+query)
		if text := fmt.Sprint(body["error"]); status != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", query, status, text, want)
		}
	}
	// Each page names the next one, and says how many there are.
	const first = "/lsm/v1/service_inventory/vhost?include_deleted=true&limit=2&sort=id.asc"
	_, _, body := ask(t, h, first)
	links, _ := body["links"].(map[string]any)
	next, _ := links["next"].(string)
	if got := fmt.Sprint(body["metadata"]); got != "map[after:1 before:0 page_size:2 total:3]" || links["self"] != first {
		t.Errorf("the first page says %s, %v", got, links)
	}
	_, _, body = ask(t, h, next)
	text, _ := json.Marshal(body)
	if !contains(string(text), `{"data":[{.*"id":"shop".*],"links":{"prev":".*"self":".*"metadata":{"after":0,"before":2,"page_size":2,"total":3}}$`) ||
		strings.Contains(string(text), `"next"`) {
		t.Errorf("%s: %s", next, text)
	}
}
