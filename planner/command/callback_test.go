package command

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// What the command of a callback prints is in the journal while it runs, and once more with its end, without secrets and
// without what becomes a value. watch shows it.
func TestACallbackPrintsWhileItRuns(t *testing.T) {
	s := newSandbox(t, "a")
	site, seen := s.path("site.yaml"), s.path("seen")
	until := "; n=0; until test -e " + seen + "; do sleep 0.01; n=$((n+1)); test $n -lt 2000 || exit 9; done; rm " + seen + "; "
	document := fmt.Sprintf(`site: lon1
nodes: [{name: a, connect: {transport: local, root: %s}}]
catalog:
  entities:
    web:
      tasks:
      - name: first
        callback: {type: command, parameters: {environment: {TOKEN: hunter2}, argv: [/bin/sh, -c, %q]}}
      - name: second
        requires: [{task: first}]
        callback: {type: command, parameters: {output: none, argv: [/bin/sh, -c, %q]}}
services: [{name: w, entity: web, selectors: []}]
`, s.path("a"), "echo the value; echo first starts with $TOKEN >&2"+until+"echo first ends >&2", "echo second starts"+until+"echo second ends")
	s.must(os.WriteFile(site, []byte(document), 0o600))
	id := ""
	printed := func() (all string) {
		store, err := journal.Location{Path: s.path("journal")}.OpenExisting(t.Context(), "lon1")
		if err != nil {
			return ""
		}
		defer store.Close() //nolint:errcheck // read only
		run, err := store.Run(t.Context(), "")
		if err != nil {
			return ""
		}
		events, err := store.Events(t.Context(), run.ID, 0, 100, journal.Output)
		if id = run.ID; err != nil {
			return ""
		}
		for _, e := range events {
			all += e.Resource + " " + e.Output
		}
		return all
	}
	var looking sync.WaitGroup
	looking.Go(func() { // a command waits for the file, so what it printed before came while it ran
		for _, text := range []string{"first starts with (sensitive)\n", "second starts\n"} {
			for !strings.Contains(printed(), text) {
				if t.Context().Err() != nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			if err := os.WriteFile(seen, nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	out, status := s.run("", "apply", "-y", site)
	if status != 0 {
		t.Fatalf("status %d:\n%s", status, out)
	}
	looking.Wait()
	for _, args := range [][]string{{"report", "-o", "json"}, {"watch", id}, {"watch", id, "-o", "json"}} {
		out := s.expect(0, ``, "", args[0], args[1:]...)
		for _, secret := range []string{"hunter2", "the value"} {
			if strings.Contains(strings.ReplaceAll(out, "echo the value", ""), secret) {
				t.Errorf("%v has %q:\n%s", args, secret, out)
			}
		}
	}
	s.expect(0, `command\[w/second\]  \S+  \| second starts`, "", "watch", id)
	s.expect(0, `"output": "first starts with \(sensitive\)\\nfirst ends\\n"`, "", "report", "-o", "json")
	s.expect(0, `"output": "second starts\\nsecond ends\\n"`, "", "report", "-o", "json")
}
