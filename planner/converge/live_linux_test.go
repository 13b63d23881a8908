package converge

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// transcript is what a session sent while its commands ran, by item, and its results.
type transcript struct {
	live    map[resource.ID]string
	frames  map[resource.ID]int
	results map[resource.ID]Result
}

// watch runs a manifest on the machine, with commands of the directory. When what the item id has printed includes a key of after, the
// file that it names is made in the directory: the command waits for it, so the text came while it ran.
func watch(t *testing.T, dir string, m Manifest, after map[string]string) transcript {
	t.Helper()
	b := &bench{sandbox: &sandbox{&types.Session{System: machineIn(t, dir)}, dir, t}, run: "r1"}
	b.useTypes()
	b.types["exec"] = types.All["exec"]
	b.hook = func(stage, title string) error {
		if stage != "apply" || title != "runs" {
			return nil
		}
		_, err := b.Run(t.Context(), system.Command{Argv: []string{"/bin/sh", filepath.Join(dir, "script")}, EndsWithSession: true})
		return err
	}
	p := transcript{live: map[resource.ID]string{}, frames: map[resource.ID]int{}, results: map[resource.ID]Result{}}
	m.Protocol, m.Site, m.Run, m.Mode = Protocol, "one", "r1", cmp.Or(m.Mode, Apply)
	runWith(t.Context(), b.Session, b.types, m, func(r Result) {
		if r.Status != "printing" {
			if _, twice := p.results[r.ID]; twice {
				t.Errorf("two results of %s", r.ID)
			}
			p.results[r.ID] = r
			return
		}
		id := r.ID
		if id == "" {
			id = resource.ID(r.Message)
		}
		p.live[id] += r.Output
		p.frames[id]++
		for text, file := range after {
			if strings.Contains(p.live[id], text) {
				if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
					t.Error(err)
				}
			}
		}
	})
	return p
}

// until is a line of a script that waits for a file, not for ever.
func until(dir, file string) string {
	return fmt.Sprintf("n=0; until test -e %s/%s; do sleep 0.01; n=$((n+1)); test $n -lt 1500 || exit 9; done\n", dir, file)
}

// What a command prints comes while it runs, of an item as of the commands of the session; the result has it once more, as before.
func TestWhatACommandPrintsComesWhileItRuns(t *testing.T) {
	dir := t.TempDir()
	script := func(name string) string {
		return "echo " + name + " starts\n" + until(dir, name) + "echo ends"
	}
	p := watch(t, dir, Manifest{
		Lock: script("lock"), Unlock: script("unlock"), Health: &HealthCheck{Command: script("health"), Timeout: 0},
		Items: []Item{item("exec[long]", "command", script("long")), item("exec[short]", "command", "echo short")},
	}, map[string]string{"lock starts": "lock", "unlock starts": "unlock", "health starts": "health", "long starts": "long"})
	for _, id := range []resource.ID{"lock", "unlock", "health check", "exec[long]"} {
		if !strings.Contains(p.live[id], "starts\n") {
			t.Errorf("%s: %q came while it ran", id, p.live[id])
		}
	}
	if r := p.results["exec[long]"]; r.Status != Changed || r.Output != "long starts\nends\n" {
		t.Errorf("result %+v", r)
	}
	if r := p.results["exec[short]"]; r.Status != Changed || r.Output != "short\n" {
		t.Errorf("result of a short command %+v", r)
	}
}

// The health check of a batch runs in a session that changes nothing.
func TestWhatAHealthCheckPrintsComesWhileItRuns(t *testing.T) {
	dir := t.TempDir()
	p := watch(t, dir, Manifest{Mode: Check, Health: &HealthCheck{Command: "echo starts\n" + until(dir, "health")}}, map[string]string{"starts": "health"})
	if !strings.Contains(p.live["health check"], "starts\n") {
		t.Errorf("%q came while it ran", p.live["health check"])
	}
}

// A secret is not shown, also where the command prints it in two parts; what is not secret comes.
func TestLiveOutputHasNoSecret(t *testing.T) {
	dir := t.TempDir()
	script := "printf 'one\\ntwo hunt'\n" + until(dir, "one") + "printf 'er2 three\\nfour hunter\\nhun'\n" + until(dir, "four") + "echo ter2\necho five\n" + until(dir, "five")
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	p := watch(t, dir, Manifest{Items: []Item{item("plain[runs]", "secret", "hunter2", "deaf", true)}},
		map[string]string{"one\n": "one", "four hunter\n": "four", "five\n": "five"})
	if got, want := p.live["plain[runs]"], "one\ntwo (sensitive) three\nfour hunter\n(sensitive)\nfive\n"; got != want {
		t.Errorf("came %q, want %q", got, want)
	}
	quiet := t.TempDir()
	p = watch(t, quiet, Manifest{Items: []Item{item("exec[x]", "sensitive", true, "command", "echo hunter2; sleep 2; echo hunter2")}}, nil)
	if len(p.live) > 0 || p.results["exec[x]"].Output != "" {
		t.Errorf("of a sensitive resource: %v %v", p.live, p.results)
	}
}

// A command that prints without end costs a bounded number of bytes, of which the last are kept.
func TestLiveOutputIsBounded(t *testing.T) {
	dir := t.TempDir()
	begin := time.Now()
	p := watch(t, dir, Manifest{Items: []Item{item("exec[flood]", "timeout", 6, "command", "yes 0123456789012345678901234567890123456789")}}, nil)
	got, frames := len(p.live["exec[flood]"]), p.frames["exec[flood]"]
	if most := int(time.Since(begin)/time.Second) + 1; frames < 1 || frames > most || got > frames*(2<<10+100) {
		t.Errorf("%d bytes in %d messages, at most %d messages", got, frames, most)
	}
	if !strings.Contains(p.live["exec[flood]"], "bytes were left out") {
		t.Error("nothing says that bytes were left out")
	}
}
