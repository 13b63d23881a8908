package command

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
)

// sandbox is a folder with a site of sandbox nodes, which are folders.
type sandbox struct {
	*testing.T
	dir      string
	executor func() rollout.Executor
}

func newSandbox(t *testing.T, nodes ...string) *sandbox {
	s := &sandbox{t, t.TempDir(), func() rollout.Executor { return rollout.NewInProcess() }}
	for _, n := range nodes {
		s.must(os.MkdirAll(filepath.Join(s.dir, n, "etc"), 0o755))
	}
	return s
}

func (s *sandbox) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *sandbox) path(names ...string) string {
	return filepath.Join(append([]string{s.dir}, names...)...)
}

// write writes a document of the site with a file of some content on nodes.
func (s *sandbox) write(name, content string, nodes ...string) {
	s.Helper()
	text := "site: lon1\nnodes:\n"
	for _, n := range nodes {
		text += "- {name: " + n + ", connect: {transport: local, root: " + s.path(n) + "}}\n"
	}
	text += "services:\n- {name: motd, selectors: [], configuration: {file: {/etc/motd: {content: \"" + content + "\"}}}}\n"
	s.must(os.WriteFile(s.path(name), []byte(text), 0o600))
}

// run runs a command on the documents, with an answer to its question, and returns its output and exit status.
func (s *sandbox) run(answer, command string, args ...string) (string, int) {
	s.Helper()
	return s.runIn(s.Context(), answer, command, args...)
}

func (s *sandbox) runIn(ctx context.Context, answer, command string, args ...string) (string, int) {
	s.Helper()
	cmd := newCompanion("test", nil, "", s.executor)
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetIn(strings.NewReader(answer))
	cmd.SetArgs(append([]string{command, "--journal-directory", s.path("journal")}, args...))
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		out.WriteString(err.Error())
	}
	return out.String(), ExitStatus(err)
}

// expect runs a command and checks its exit status and output.
func (s *sandbox) expect(status int, want, answer, command string, args ...string) string {
	s.Helper()
	out, got := s.run(answer, command, args...)
	if got != status || !regexp.MustCompile(want).MatchString(out) {
		s.Fatalf("%s %v: status %d, want %d and %s:\n%s", command, args, got, status, want, out)
	}
	return out
}

func (s *sandbox) has(node, want string) {
	s.Helper()
	if got, err := os.ReadFile(s.path(node, "etc/motd")); err != nil || string(got) != want {
		s.Fatalf("/etc/motd on %s: %q (%v), want %q", node, got, err, want)
	}
}

// gone checks that nothing of slipway is left on nodes.
func (s *sandbox) gone(nodes ...string) {
	s.Helper()
	for _, node := range nodes {
		s.must(filepath.WalkDir(s.path(node), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				s.Errorf("left on %s: %s", node, path)
			}
			return err
		}))
	}
}

// state returns a field of the state file.
func (s *sandbox) state(field string) any {
	s.Helper()
	text, err := os.ReadFile(s.path("lon1.slipway.json"))
	s.must(err)
	var all map[string]any
	s.must(json.Unmarshal(text, &all))
	return all[field]
}

// The whole life of a site that documents describe: apply, nothing to do, drift, repair, another version, destroy.
func TestApplyCheckDestroy(t *testing.T) {
	s := newSandbox(t, "a", "b")
	s.write("site.yaml", "one", "a", "b")
	site := s.path("site.yaml")

	s.expect(statusFailed, `there is no state file .*lon1\.slipway\.json`, "", "check", site)
	s.expect(statusFailed, `node phase: 2 changes(?s:.*)Apply these steps.*not confirmed; nothing was touched`, "no\n", "apply", site)
	s.gone("a", "b")
	s.expect(0, `node phase: 2 changes(?s:.*)site lon1: deployed`, "yes\n", "apply", site)
	s.has("a", "one")
	s.has("b", "one")
	if _, err := os.Stat(s.path("lon1.slipway.json.lock")); err == nil {
		t.Error("the lock file is left")
	}
	serial := s.state("serial")
	s.expect(0, `nothing to do`, "", "apply", site)
	s.expect(0, `no drift`, "", "check", site)
	if s.state("serial") != serial {
		t.Error("a run without work wrote the state file")
	}

	s.must(os.WriteFile(s.path("a", "etc/motd"), []byte("changed"), 0o600))
	s.expect(statusDrift, `a +file\[/etc/motd\] +content`, "", "check", site)
	s.expect(statusDrift, `"resource": "file\[/etc/motd\]"`, "", "check", site, "-o", "json")
	s.has("a", "changed")
	s.expect(0, `1 change on node a(?s:.*)deployed`, "", "apply", "--yes", site)
	s.has("a", "one")
	s.expect(0, `no drift`, "", "check", site)

	s.must(os.Remove(s.path("a", "etc/motd")))
	s.must(os.MkdirAll(s.path("a", "etc/motd/in the way"), 0o700))
	s.expect(statusDrift, `a +file\[/etc/motd\] +`, "", "check", site)
	s.expect(statusFailed, `not empty|in the way|directory`, "", "apply", "--yes", site)
	s.expect(statusDrift, `a +file\[/etc/motd\] +was begun and not finished`, "", "check", site)
	s.must(os.RemoveAll(s.path("a", "etc/motd")))
	s.expect(0, `deployed`, "", "apply", "--yes", site)
	s.expect(0, `no drift`, "", "check", site)

	ledger, err := os.ReadFile(s.path("b", "var/lib/slipway/ledger.json"))
	s.must(err)
	locked := strings.Replace(string(ledger), "{", `{"locked":{"lon1":{"run":"0190a000","unlock":"undrain"}},`, 1)
	s.must(os.WriteFile(s.path("b", "var/lib/slipway/ledger.json"), []byte(locked), 0o600))
	s.expect(statusDrift, `b +lock\[node\] +the run 0190a000 has left the node locked; the next apply unlocks it`, "", "check", site)
	s.must(os.WriteFile(s.path("b", "var/lib/slipway/ledger.json"), ledger, 0o600))
	s.expect(0, `no drift`, "", "check", site)

	s.must(os.Rename(s.path("b"), s.path("away")))
	s.must(os.WriteFile(s.path("b"), nil, 0o600))
	s.expect(statusFailed, `1 of 2 nodes could not be checked(?s:.*)no drift on 1 of 2 nodes, those`, "", "check", site)
	s.must(os.Remove(s.path("b")))
	s.must(os.Rename(s.path("away"), s.path("b")))

	s.write("site.yaml", "two", "a")
	s.expect(0, `tears down 1 node: b(?s:.*)deployed`, "", "apply", "-y", site)
	s.has("a", "two")
	s.gone("b")

	s.expect(statusFailed, `(?s)a: undoes 1 resource: file\[/etc/motd\].*not confirmed`, "", "destroy", site)
	s.has("a", "two")
	s.expect(0, `a: torn down: undid 1 resource`, "yes", "destroy", site)
	s.gone("a", "b")
	if _, err := os.Stat(s.path("lon1.slipway.json")); err == nil {
		t.Error("the state file is left")
	}
	s.expect(statusInvalid, `there is no state file`, "", "destroy", "-y", site)
}

// A lost state file costs a survey of the ledgers: a new one takes the site over by the lineage that they name, and what
// is not wanted any more goes. Without that name the site is that of another state.
func TestLostStateFile(t *testing.T) {
	s := newSandbox(t, "a")
	s.write("site.yaml", "one", "a")
	site := s.path("site.yaml")
	s.expect(0, `deployed`, "", "apply", "-y", site)
	lineage, _ := s.state("lineage").(string)
	s.must(os.Rename(s.path("lon1.slipway.json"), s.path("old.json")))

	s.write("site.yaml", "two", "a")
	s.expect(statusFailed, `managed by another state(?s:.*)lineage `+lineage+`; use that, or take it over with --take-over `+lineage, "", "apply", "-y", site)
	s.has("a", "one")
	if _, err := os.Stat(s.path("lon1.slipway.json")); err == nil {
		t.Error("a refused run leaves a state file")
	}
	s.expect(0, `deployed`, "", "apply", "-y", "--take-over", lineage, site)
	s.has("a", "two")
	if s.state("lineage") != lineage {
		t.Errorf("lineage %v, want %s", s.state("lineage"), lineage)
	}
	s.expect(0, `nothing to do`, "", "apply", site)
	s.expect(0, ``, "", "destroy", "-y", site)
	s.gone("a")
}

// A site that another state has is left alone by apply, check and destroy.
func TestForeignState(t *testing.T) {
	s := newSandbox(t, "a")
	s.write("site.yaml", "one", "a")
	s.write("other.yaml", "two", "a")
	site, other := s.path("site.yaml"), s.path("other.yaml")
	s.expect(0, `deployed`, "", "apply", "-y", site)
	elsewhere := s.path("elsewhere.json")
	s.expect(statusFailed, `managed by another state`, "", "apply", "-y", "--state", elsewhere, other)
	s.has("a", "one")

	// The other one takes it over: now this one is refused.
	lineage, _ := s.state("lineage").(string)
	s.must(os.WriteFile(elsewhere, []byte(`{"version": 1, "lineage": "other", "site": "lon1", "status": "", "state": {"version": 3}}`), 0o600))
	s.expect(0, `deployed`, "", "apply", "-y", "--state", elsewhere, "--take-over", lineage, other)
	s.has("a", "two")
	for _, command := range []string{"apply", "check"} {
		s.expect(statusFailed, `managed by another state(?s:.*)lineage other`, "", command, site)
	}
	s.expect(statusFailed, `lineage other(?s:.*)not everything was undone`, "", "destroy", "-y", site)
	s.has("a", "two")

	// What has no lineage is Terraform's.
	ledger := s.path("a", "var/lib/slipway/ledger.json")
	text, err := os.ReadFile(ledger)
	s.must(err)
	s.must(os.WriteFile(ledger, bytes.Replace(text, []byte(`,"owners":{"lon1":"other"}`), nil, 1), 0o600))
	for _, args := range [][]string{{"apply", "-y", site}, {"check", "--state", elsewhere, other}} {
		s.expect(statusFailed, `managed by Terraform; use that, or take it over with --take-over terraform`, "", args[0], args[1:]...)
	}
	s.expect(0, `deployed`, "", "apply", "-y", "--take-over", "terraform", site)
	s.has("a", "one")
}

// A state file of a later slipway is refused by name, and so are one of another site and one that is locked.
func TestStateFileIsRefused(t *testing.T) {
	s := newSandbox(t, "a")
	s.write("site.yaml", "one", "a")
	site, file := s.path("site.yaml"), s.path("lon1.slipway.json")
	for text, want := range map[string]string{
		`{"version": 2, "slipway": "9.1.0"}`: `has version 2, written by slipway "9\.1\.0"; this slipway knows version 1`,
		`{"version": 1, "site": "par1"}`:     `is that of the site "par1", not of "lon1"`,
		`{`:                                  `is damaged`,
	} {
		s.must(os.WriteFile(file, []byte(text), 0o600))
		for _, command := range []string{"apply", "check", "destroy"} {
			s.expect(statusFailed, want, "", command, site)
		}
	}
	s.gone("a")
}

// A first run that was killed left a state file without an end: the next one goes on from the ledgers.
func TestFirstRunWasKilled(t *testing.T) {
	s := newSandbox(t, "a")
	s.write("site.yaml", "one", "a")
	site, file := s.path("site.yaml"), s.path("lon1.slipway.json")
	s.expect(0, `deployed`, "", "apply", "-y", site)
	lineage, _ := s.state("lineage").(string)
	s.must(os.WriteFile(file, []byte(`{"version": 1, "lineage": "`+lineage+`", "serial": 1, "site": "lon1", "status": "", "state": {"version": 3}}`), 0o600))
	s.expect(statusFailed, `no state file .* with a run that ended`, "", "check", site)
	s.write("site.yaml", "two", "a")
	s.expect(0, `No run of this state has ended yet(?s:.*)deployed`, "", "apply", "-y", site)
	s.has("a", "two")
	s.expect(0, ``, "", "destroy", "-y", site)
	s.gone("a")
}

// A failed run is remembered, and the next one does the rest. Sensitive values of services are in no state file, and do
// not make a service look changed.
func TestFailedApplyAndSensitiveValues(t *testing.T) {
	s := newSandbox(t, "a")
	site := s.path("site.yaml")
	document := `site: lon1
nodes: [{name: a, connect: {transport: local, root: ` + s.path("a") + `}}]
catalog:
  entities:
    web:
      identity: name
      attributes:
        name: string
        key: {type: string, modifier: rw+, sensitive: true}
      tasks:
      - name: file
        config: {type: file, title: "/srv/web-${self.name}", parameters: {content: "${self.key}", mode: "0600"}}
services:
- {name: w, entity: web, selectors: [], attributes: {name: w, key: topsecret}}
`
	s.must(os.WriteFile(site, []byte(document), 0o600))
	s.expect(statusFailed, `site lon1: failed(?s:.*)The site was not rolled out`, "", "apply", "-y", site)
	s.must(os.Mkdir(s.path("a", "srv"), 0o755))
	s.expect(0, `site lon1: deployed`, "", "apply", "-y", site)
	text, err := os.ReadFile(s.path("lon1.slipway.json"))
	s.must(err)
	if strings.Contains(string(text), "topsecret") {
		t.Errorf("the state file has a secret:\n%s", text)
	}
	s.expect(0, `nothing to do`, "", "apply", site)
	s.expect(0, `no drift`, "", "check", site)
	s.expect(0, ``, "", "destroy", "-y", site)
}

// An interrupted run starts nothing more, and is remembered: the next one does the rest.
func TestInterruptedApply(t *testing.T) {
	s := newSandbox(t, "a")
	site, started := s.path("site.yaml"), s.path("started")
	document := `site: lon1
nodes: [{name: a, connect: {transport: local, root: ` + s.path("a") + `}}]
catalog:
  entities:
    web:
      identity: name
      attributes: {name: string}
      tasks:
      - name: call
        callback: {type: command, parameters: {argv: [/bin/sh, -c, "echo x >>` + started + `; sleep 1"]}}
      - name: file
        requires: [{task: call}]
        config: {type: file, title: /etc/motd, parameters: {content: one}}
services: [{name: w, entity: web, selectors: [], attributes: {name: w}}]
`
	s.must(os.WriteFile(site, []byte(document), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(started); err == nil {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	out, status := s.runIn(ctx, "", "apply", "-y", site)
	if status != statusFailed || !strings.Contains(out, "The run was interrupted") || s.state("status") != "interrupted" {
		t.Fatalf("status %d, state %v:\n%s", status, s.state("status"), out)
	}
	s.gone("a")
	s.expect(0, `deployed`, "", "apply", "-y", site)
	s.has("a", "one")
	s.expect(0, `nothing to do`, "", "apply", site)
}

// Nothing is promised to be undone on a node that is known not to answer.
func TestSilentNodes(t *testing.T) {
	s := newSandbox(t, "a", "b")
	s.write("site.yaml", "one", "a", "b")
	s.expect(0, `deployed`, "yes", "apply", s.path("site.yaml"))
	s.must(os.RemoveAll(s.path("b")))
	s.must(os.WriteFile(s.path("b"), nil, 0o600))
	s.write("site.yaml", "two", "a", "b")
	s.expect(1, `failed`, "yes", "apply", s.path("site.yaml"))
	s.expect(1, `undoes 1 resource on node a, and forgets 1 node unless it answers: b`, "no", "destroy", s.path("site.yaml"))
	s.write("site.yaml", "two", "a")
	s.expect(1, `b: undoes 1 resource if it answers, else it stays there`, "no", "apply", s.path("site.yaml"))
}
