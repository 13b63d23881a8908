package datasources_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// lived writes a journal in which ntp came up and was then rejected, and gone was deleted.
func lived(t *testing.T, dir string) {
	t.Helper()
	s, err := journal.Open(t.Context(), filepath.Join(dir, "lon1.db"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1", Operation: "create"})
	if err != nil {
		t.Fatal(err)
	}
	version := func(name string, version int, state string) services.Revision {
		return services.Revision{Service: name, Version: version, DesiredVersion: 1, ID: "id-" + name, Entity: name, EntityVersion: 2, Lifecycle: "slipway_default", State: state,
			Owner: "controller, process 7", Time: time.Date(2026, 1, 1, 0, 0, version, 0, time.UTC)}
	}
	one, two, gone := version("ntp", 1, "up"), version("ntp", 2, "update_rejected"), version("gone", 3, "terminated")
	one.Active, one.TransferContext, gone.Deleted = map[string]any{"servers": []any{"10.0.0.1"}}, "auto", true
	two.Active, two.Candidate = map[string]any{"servers": []any{"10.0.0.1"}, "motto": "<a&b>", "id": int64(9007199254740993)}, map[string]any{}
	two.Identity, two.Label, two.Redacted, two.Config = "north", "warning", []string{"key"}, map[string]bool{"auto_creating": false}
	err = w.RecordServices(t.Context(), []services.Revision{one, two, gone}, []journal.ServiceEvent{
		{Service: "ntp", Version: 1, Time: two.Time, Source: "update_start", Destination: "update_rejected", Type: "AUTO_TRANSITION", Message: "servers: at least 1", Correlation: "c", Severity: 40, IsError: true},
		{Service: "ntp", Version: 2, Time: two.Time, Type: "RESOURCE_EVENT", Ignored: true, Severity: 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(t.Context(), "succeeded", ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestServices(t *testing.T) {
	t.Parallel()
	const address = "data.slipway_services.x"
	dir := filepath.Join(t.TempDir(), "journal")
	data := func(more string) string {
		return fmt.Sprintf("provider \"slipway\" { journal_directory = %q }\ndata \"slipway_services\" \"x\" {\n  site = \"lon1\"\n%s\n}\n", dir, more)
	}
	named := func(names ...string) []statecheck.StateCheck {
		checks := []statecheck.StateCheck{is(address, at("services"), knownvalue.ListSizeExact(len(names)))}
		for i, n := range names {
			checks = append(checks, is(address, at("services", i, "name"), exact(n)))
		}
		return checks
	}
	run(t,
		resource.TestStep{Config: data(""), ConfigStateChecks: named()}, // before the first run
		resource.TestStep{PreConfig: func() { lived(t, dir) }, Config: data(""), ConfigStateChecks: append(named("ntp"),
			is(address, at("services", 0), knownvalue.ObjectExact(map[string]knownvalue.Check{
				"name": exact("ntp"), "id": exact("id-ntp"), "incarnation": knownvalue.Int64Exact(0), "entity": exact("ntp"), "entity_version": knownvalue.Int64Exact(2),
				"identity": exact("north"), "lifecycle": exact("slipway_default"), "state": exact("update_rejected"), "label": exact("warning"),
				"version": knownvalue.Int64Exact(2), "deleted": knownvalue.Bool(false), "candidate": exact("{}"),
				"active":   exact(`{"id":9007199254740993,"motto":"<a&b>","servers":["10.0.0.1"]}`),
				"rollback": knownvalue.Null(), "redacted": list("key"), "updated": exact("2026-01-01T00:00:02Z"), "run": exact("run-1"),
			})))},
		resource.TestStep{Config: data("include_deleted = true"), ConfigStateChecks: append(named("gone", "ntp"),
			is(address, at("services", 0, "deleted"), knownvalue.Bool(true)), is(address, at("services", 0, "identity"), knownvalue.Null()),
			is(address, at("services", 0, "label"), knownvalue.Null()), is(address, at("services", 0, "redacted"), list()))},
		resource.TestStep{Config: data("include_deleted = true\n  entity = \"gone\""), ConfigStateChecks: named("gone")},
		resource.TestStep{Config: data(`entity = "gone"`), ConfigStateChecks: named()},
		resource.TestStep{Config: data(`state = "update_rejected"`), ConfigStateChecks: named("ntp")},
		resource.TestStep{Config: data(`state = "up"`), ConfigStateChecks: named()},
		resource.TestStep{PreConfig: func() { spoil(t, dir) }, Config: data(""), ExpectError: told("Services cannot be read")},
	)
	refused(t, "data \"slipway_services\" \"x\" { site = \"../lon1\" }", "site")
}

func TestServiceLog(t *testing.T) {
	t.Parallel()
	const address = "data.slipway_service_log.x"
	dir := filepath.Join(t.TempDir(), "journal")
	data := func(service, more string) string {
		return fmt.Sprintf("provider \"slipway\" { journal_directory = %q }\ndata \"slipway_service_log\" \"x\" {\n  site = \"lon1\"\n  service = %q\n%s\n}\n", dir, service, more)
	}
	nobody := []statecheck.StateCheck{is(address, at("records"), knownvalue.ListSizeExact(0))}
	run(t,
		resource.TestStep{Config: data("ntp", ""), ConfigStateChecks: nobody},
		resource.TestStep{PreConfig: func() { lived(t, dir) }, Config: data("ntp", ""), ConfigStateChecks: []statecheck.StateCheck{
			is(address, at("records"), knownvalue.ListSizeExact(2)),
			is(address, at("records", 0), knownvalue.ObjectPartial(map[string]knownvalue.Check{
				"version": knownvalue.Int64Exact(2), "desired_version": knownvalue.Int64Exact(1), "state": exact("update_rejected"), "reason": knownvalue.Null(), "candidate": exact("{}"),
				"config": knownvalue.MapExact(map[string]knownvalue.Check{"auto_creating": knownvalue.Bool(false)}),
				"time":   exact("2026-01-01T00:00:02Z"), "run": exact("run-1"), "owner": exact("controller, process 7"), "redacted": list("key"),
			})),
			is(address, at("records", 0, "events"), knownvalue.ListExact([]knownvalue.Check{
				knownvalue.ObjectExact(map[string]knownvalue.Check{"time": exact("2026-01-01T00:00:02Z"), "type": exact("AUTO_TRANSITION"), "source": exact("update_start"),
					"destination": exact("update_rejected"), "message": exact("servers: at least 1"), "ignored": knownvalue.Bool(false), "error": knownvalue.Bool(true),
					"severity": knownvalue.Int64Exact(40), "attempt": exact("c"), "run": exact("run-1")}),
				knownvalue.ObjectPartial(map[string]knownvalue.Check{"type": exact("RESOURCE_EVENT"), "source": knownvalue.Null(), "message": knownvalue.Null(),
					"ignored": knownvalue.Bool(true), "attempt": knownvalue.Null()}),
			})),
			is(address, at("records", 1, "reason"), exact("auto")),
			is(address, at("records", 1, "candidate"), knownvalue.Null()),
			is(address, at("records", 1, "active"), exact(`{"servers":["10.0.0.1"]}`)),
			is(address, at("records", 1, "events"), knownvalue.ListSizeExact(0)),
			is(address, at("records", 1, "config"), knownvalue.MapSizeExact(0)),
		}},
		resource.TestStep{Config: data("ntp", "limit = 1"), ConfigStateChecks: []statecheck.StateCheck{is(address, at("records"), knownvalue.ListSizeExact(1))}},
		resource.TestStep{Config: data("nttp", ""), ConfigStateChecks: nobody}, // with a warning
		resource.TestStep{PreConfig: func() { spoil(t, dir) }, Config: data("ntp", ""), ExpectError: told("Service log cannot be read")},
	)
	refused(t, data("ntp", "limit = 0"), "between 1 and 1000")
	refused(t, data("a b", ""), "service")
}

// spoil makes a journal a text.
func spoil(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(dir, "lon1.db")
	for _, more := range []string{"-wal", "-shm"} {
		if err := os.Remove(file + more); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte("no journal"), 0o600); err != nil {
		t.Fatal(err)
	}
}
