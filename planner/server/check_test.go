package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// The drift that the newest check of each site found is on the page, and all checks are an answer.
func TestChecks(t *testing.T) {
	t.Parallel()
	f, _ := twoSites(t)
	for site, checks := range map[string][]journal.Check{
		"lon1": {{Nodes: 3, Drift: []journal.Drift{{Node: "old", Resource: "file[/old]"}}},
			{Nodes: 3, Drift: []journal.Drift{{Node: "n1", Resource: "file[/etc/motd]", Change: "content differs\n-hand-made\n+welcome"},
				{Node: "n2", Resource: "file[/etc/app]", Change: "was begun and not finished", Unfinished: true}},
				Unreachable: []string{"n3"}, More: 2}},
		"par1": {{Nodes: 5}},
	} {
		store, err := f.OpenExisting(t.Context(), site)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if err := store.RecordCheck(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	store, err := f.OpenExisting(t.Context(), "par1")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()              //nolint:errcheck // the test is over
	time.Sleep(2 * time.Millisecond) // a journal counts milliseconds, and the run is after the check
	if _, err := store.Start(t.Context(), journal.Run{ID: "run-9", Site: "other", Operation: "update"}); err != nil {
		t.Fatal(err)
	}
	h := New(Options{Journals: f})
	status, body := look(t, h, "/drift")
	for _, want := range []string{"<bdi>n1</bdi>", "<bdi>content differs</bdi>", `<span class="removed"><bdi>-hand-made`, "<bdi>n3</bdi>",
		`<span class="state failed">not finished</span> <bdi>was begun`,
		"And 2 more", "No drift on 5 nodes.",
		`A run has started since: <a href="/runs/run-9">`} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("status %d without %s in:\n%s", status, want, body)
		}
	}
	if strings.Contains(body, "file[/old]") {
		t.Error("an older check is shown as if it were the newest")
	}
	for path, want := range map[string]int{"/v1/checks": 3, "/v1/checks?site=lon1": 2, "/v1/checks?limit=1": 1} {
		_, _, answer := ask(t, h, path)
		all, _ := answer["checks"].([]any)
		if text, _ := json.Marshal(answer); len(all) != want {
			t.Errorf("%s: %s", path, text)
		}
	}
}
