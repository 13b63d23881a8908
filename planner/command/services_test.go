package command

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// service is what every version in these tests has in common. The seconds count from the beginning of the year.
func service(name string, incarnation, version int, state, label string, second int,
	run string) services.Revision {
	return services.Revision{Service: name, Incarnation: incarnation, Version: version, DesiredVersion: 1,
		ID: "id-" + name, Entity: "ntp", EntityVersion: 2, EntityDigest: "e0",
		Lifecycle: "slipway_default", State: state, Label: label, Run: run, Owner: "controller, process 7", Time: at(
			second)}
}

func at(second int) time.Time { return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC) }

// moved is an event of a transfer.
func moved(v services.Revision, typ, source, message, attempt string) journal.ServiceEvent {
	return journal.ServiceEvent{Service: v.Service, Incarnation: v.Incarnation, Version: v.Version - 1,
		DesiredVersion: 1, Time: v.Time, Source: source, Destination: v.State,
		Type: typ, Message: message, Correlation: attempt, Severity: 20, Run: v.Run}
}

// recordHistory writes a journal with services of all kinds and returns its directory. ntp came up, its update failed
// on a node, was rolled back in the same run, and a later update was rejected.
func recordHistory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s, err := journal.Open(t.Context(), filepath.Join(dir, "lon1.db"))
	if err != nil {
		t.Fatal(err)
	}
	failed := func(service, node, resource, message, output, status string, second int) journal.Event {
		return journal.Event{Kind: journal.TaskFinished, Time: at(second), Group: "control", Phase: 2, Node: node,
			Resource: resource, Services: []string{service}, Action: "update",
			Status: status, Message: message, Output: output, Millis: 9}
	}
	servers := func(address string) map[string]any {
		return map[string]any{"servers": []any{map[string]any{"address": address, "stratum": 3}}, "burst": true}
	}
	for _, r := range []struct {
		id       string
		tasks    []journal.Event
		versions func() ([]services.Revision, []journal.ServiceEvent)
	}{
		{"run-1", []journal.Event{failed("other", "ctl1", "exec[x]", "not of ntp", "", "failed", 1)},
			func() ([]services.Revision, []journal.ServiceEvent) {
				first := service("ntp", 0, 1, "terminated", "", 0, "run-1")
				first.Deleted = true
				start, up := service("ntp", 1, 1, "start", "info", 1, "run-1"), service("ntp", 1, 2, "up", "success", 2,
					"run-1")
				start.Candidate, up.Active = servers("10.0.0.1"), servers("10.0.0.1")
				up.Identity, up.Redacted, up.Config, up.TransferContext = "north", []string{"key"}, map[string]bool{"auto_creating": true}, "auto"
				gone := service("gone", 0, 3, "terminated", "", 3, "run-1")
				gone.Deleted = true
				web := service("web", 0, 1, "failed", "danger", 3, "run-1")
				web.Entity = "web"
				unreached := moved(web, resourceTransition, "creating", "node web1 is unreachable", "w1")
				unreached.IsError = true
				return []services.Revision{first, start, up, gone, web}, []journal.ServiceEvent{
					moved(start, "CREATE_TRANSITION", "", "", "a"), moved(up, "AUTO_TRANSITION", "start", "validated",
						"b"), moved(up, "AUTO_TRANSITION", "start", "", "b"), unreached}
			}},
		{"run-2", []journal.Event{
			failed("ntp", "ctl1", "exec[check]", "exit status 3", "no server\nanswers", "failed", 11),
			failed("ntp", "ctl2", "file[/etc/chrony.conf]", "", "", "unknown", 11),
			failed("ntp", "ctl3", "file[/etc/chrony.conf]", "", "", "changed", 11),
			failed("web", "ctl1", "exec[x]", "not of ntp", "", "failed", 11),
			failed("ntp", "ctl1", "exec[undo]", "exit status 4", "", "failed", 13),
		}, func() ([]services.Revision, []journal.ServiceEvent) {
			broken, back, failed := service("ntp", 1, 3, "update_failed", "warning", 12, "run-2"), service("ntp", 1, 4,
				"rollback", "info", 12, "run-2"), service("ntp", 1, 5, "failed", "danger", 14, "run-2")
			broken.Active, broken.Rollback = servers("10.0.0.2"), servers("10.0.0.1")
			back.Active, failed.Active = servers("10.0.0.1"), servers("10.0.0.1")
			one, two := moved(broken, resourceTransition, "update_inprogress", "2 tasks failed", "c"), moved(failed,
				resourceTransition, "rollback", "1 task\nfailed", "d")
			one.IsError, two.IsError = true, true
			stale := moved(failed, "RESOURCE_EVENT", "", "a result of an older deployment", "")
			stale.Version, stale.Destination, stale.Ignored = 5, "", true
			return []services.Revision{broken, back, failed},
				[]journal.ServiceEvent{one, moved(back, "API_SET_STATE_TRANSITION", "update_failed", "", "r"), two,
					stale}
		}},
		{"run-3", nil, func() ([]services.Revision, []journal.ServiceEvent) {
			rejected := service("ntp", 1, 6, "update_rejected", "warning", 20, "run-3")
			rejected.Candidate, rejected.Active, rejected.Identity = map[string]any{}, servers("10.0.0.1"), "north"
			one, two := moved(rejected, "AUTO_TRANSITION", "update_start", "servers: at least 1 is needed",
				"e"), moved(rejected, "AUTO_TRANSITION", "update_start", "the site is not valid", "e")
			one.IsError, two.IsError = true, true
			return []services.Revision{rejected}, []journal.ServiceEvent{one, two}
		}},
	} {
		w, err := s.Start(t.Context(), journal.Run{ID: r.id, Site: "lon1", Operation: "update"})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Record(t.Context(), r.tasks...); err != nil {
			t.Fatal(err)
		}
		versions, events := r.versions()
		if err := w.RecordServices(t.Context(), versions, events); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(t.Context(), "succeeded", ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestServicesGolden(t *testing.T) {
	dir := recordHistory(t)
	for name, args := range map[string]string{
		"services-help":            "--help",
		"services-list":            "list",
		"services-list-all":        "list --all",
		"services-list.json":       "list --entity ntp -o json",
		"services-list-none":       "list --state up",
		"services-list-none.json":  "list --entity nope -o json",
		"services-show":            "show ntp",
		"services-show-2":          "show ntp --version 2",
		"services-show-2.json":     "show ntp --version 2 -o json",
		"services-log":             "log ntp",
		"services-log-2.json":      "log ntp -n 2 -o json",
		"services-diagnose":        "diagnose ntp",
		"services-diagnose-2":      "diagnose ntp --failure-lookbehind 2 --rejection-lookbehind 0",
		"services-diagnose-4":      "diagnose ntp --version 4",
		"services-diagnose.json":   "diagnose ntp -o json",
		"services-diagnose-none":   "diagnose gone",
		"services-diagnose-node":   "diagnose web",
		"services-diagnose-2.json": "diagnose ntp --version 2 -o json",
	} {
		t.Run(name, func(t *testing.T) {
			got, errOut, status := answer(t, "",
				append(append([]string{"services"}, strings.Fields(args)...), "--journal-directory", dir)...)
			if status != 0 {
				t.Fatalf("status %d: %s", status, errOut)
			}
			golden(t, name, got)
		})
	}
}

func TestServicesRefuse(t *testing.T) {
	dir := recordHistory(t)
	empty := record(t, "lon1", "run-1")
	for _, c := range []struct {
		args   string
		dir    string
		status int
		want   string
	}{
		{"show ntpp", dir, statusInvalid, `service "ntpp": the journal knows no such service; did you mean "ntp"?`},
		{"log something", dir, statusInvalid, `no such service; there are gone, ntp, web`},
		{"diagnose other", dir, statusInvalid, "service \"other\": the journal has tasks of it and no versions, which only services of entities have; " +
			"`terraform-provider-slipway report run-1` shows what its tasks did"},
		{"diagnose ntp", empty, statusInvalid, `no such service; no service of the site is in the journal`},
		{"show", dir, statusInvalid, "name one service"},
		{"log ntp web", dir, statusInvalid, "name one service"},
		{"list ntp", dir, statusInvalid, `takes no arguments, got "ntp"`},
		{"lits", dir, statusInvalid, `services lits: no such command; did you mean "list"?; there are diagnose, list, log, show`},
		{"show ntp --version 9", dir, statusInvalid, `no such version of service "ntp"; the newest is 6`},
		{"show ntp --version 0", dir, statusInvalid, "versions begin with 1"},
		{"diagnose ntp --version -1", dir, statusInvalid, "versions begin with 1"},
		{"diagnose ntp --failure-lookbehind -1", dir, statusInvalid, "must be 0 or more"},
		{"log ntp -n 0", dir, statusInvalid, "--limit 0: must be at least 1"},
		{"list -o xml", dir, statusInvalid, "must be table or json"},
		{"list", filepath.Join(dir, "none"), statusInvalid, "there is no journal directory"},
		{"list --site lon1", filepath.Join(dir, "none"), statusInvalid, "there is no journal directory"},
		{"list", t.TempDir(), statusInvalid, "holds no journal"},
		{"list --site lon2", dir, statusInvalid, "holds no journal of it"},
	} {
		out, errOut, status := answer(t, "", append(append([]string{"services"}, strings.Fields(c.args)...),
			"--journal-directory", c.dir)...)
		if status != c.status || !strings.Contains(errOut, c.want) || out != "" {
			t.Errorf("%s: status %d, %q, %q; want %d, %q", c.args, status, errOut, out, c.status, c.want)
		}
	}
	if out, errOut, status := answer(t, "", "services", "list", "--journal-directory", empty, "--site",
		"lon1"); status != 0 || strings.Count(out, "\n") != 1 {
		t.Errorf("a journal without services: status %d, %q, %q", status, out, errOut)
	}
}

// A long history is read in pages.
func TestDiagnoseReadsTheWholeHistory(t *testing.T) {
	dir := t.TempDir()
	s, err := journal.Open(t.Context(), filepath.Join(dir, "lon1.db"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1"})
	if err != nil {
		t.Fatal(err)
	}
	var versions []services.Revision
	var events []journal.ServiceEvent
	for n := 1; n <= 2*logPage+1; n++ {
		v := service("ntp", 0, n, "up", "success", n, "run-1")
		e := moved(v, resourceTransition, "up", "", "")
		if n == 2 {
			e.IsError, e.Message = true, "long ago"
		}
		versions, events = append(versions, v), append(events, e)
	}
	if err := w.RecordServices(t.Context(), versions, events); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(t.Context(), "succeeded", ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if out, errOut, status := answer(t, "", "services", "diagnose", "ntp", "--journal-directory", dir); status != 0 ||
		!strings.Contains(out, "long ago") {
		t.Errorf("status %d: %s%s", status, out, errOut)
	}
}
