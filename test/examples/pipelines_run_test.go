package examples

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// checkout is a working copy in which the steps of a pipeline run, with two sandbox nodes below it.
type checkout struct {
	dir  string
	env  []string
	node func(name string) string // the file that the site manages on a node
}

// newCheckout makes a working copy. Nodes live outside of it, as those of a real site do.
func newCheckout(t *testing.T, env ...string) checkout {
	t.Helper()
	nodes := t.TempDir()
	c := checkout{t.TempDir(), append(os.Environ(), env...), func(name string) string { return filepath.Join(nodes, name, "etc/motd") }}
	for _, name := range []string{"n1", "n2"} {
		if err := os.MkdirAll(filepath.Dir(c.node(name)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// write writes a file of the working copy.
func (c checkout) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (c checkout) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shell runs a script as runners do: bash, which ends with the first command that fails. It returns the exit status.
func (c checkout) shell(t *testing.T, script string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.CombinedOutput()
	t.Logf("$ %s\n%s", strings.TrimSpace(script), out)
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// pipeline reads a pipeline of examples/ci.
func pipeline(t *testing.T, name string, into any) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(top, "examples/ci", name))
	if err == nil {
		err = yaml.Unmarshal(content, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// programs returns a folder with terraform and the companion, for PATH.
func programs(t *testing.T) (dir, mirror string) {
	t.Helper()
	cmd := binary(t, "", "version") // skips where there is none
	dir, mirror = t.TempDir(), os.Getenv("SLIPWAY_MIRROR")
	companion := filepath.Join(filepath.Dir(mirror), "terraform-provider-slipway")
	for name, target := range map[string]string{"terraform": cmd.Path, "terraform-provider-slipway": companion} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, mirror
}

// artefacts fails when a report of a run is not what the pipeline promises.
func artefacts(t *testing.T, c checkout, status string) {
	t.Helper()
	if html := c.read(t, "report.html"); !strings.HasPrefix(html, "<!DOCTYPE html>") || !strings.Contains(html, status) {
		t.Errorf("report.html does not say %s:\n%s", status, html)
	}
	var suites struct {
		Cases []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal([]byte(c.read(t, "report.xml")), &suites); err != nil || len(suites.Cases) == 0 {
		t.Errorf("report.xml: %v, %+v", err, suites)
	}
	failed := 0
	for _, one := range suites.Cases {
		if one.Failure != nil {
			failed++
		}
	}
	if (failed > 0) != (status == "failed") {
		t.Errorf("report.xml has %d failures, the run is %s", failed, status)
	}
}

// contents fails when the nodes do not have a text.
func (c checkout) contents(t *testing.T, want string) {
	t.Helper()
	for _, name := range []string{"n1", "n2"} {
		if got, err := os.ReadFile(c.node(name)); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v, want %q", name, got, err, want)
		}
	}
}

// breakNode puts a folder with a file in the place of the file of a node, so that it cannot be written; the function
// that it returns undoes that.
func (c checkout) breakNode(t *testing.T, name string) (repair func()) {
	t.Helper()
	err := os.Remove(c.node(name))
	if err == nil {
		err = os.MkdirAll(filepath.Join(c.node(name), "folder"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.RemoveAll(c.node(name)); err != nil {
			t.Fatal(err)
		}
	}
}

// nextJob removes what runners remove before the next job: journals and reports.
func (c checkout) nextJob(t *testing.T) {
	t.Helper()
	for _, name := range []string{".slipway", "report.html", "report.xml"} {
		if err := os.RemoveAll(filepath.Join(c.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// Each step of the pipeline of GitHub runs, for each event that starts it, as the runner of GitHub runs it.
func TestStepsOfGitHub(t *testing.T) {
	var workflow struct {
		On   map[string]any
		Env  map[string]string
		Jobs map[string]struct {
			Steps []struct {
				Name, If, Run, Uses string
				Env, With           map[string]any
			}
		}
	}
	pipeline(t, "github-actions.yml", &workflow)
	tools, mirror := programs(t)
	if err := os.Remove(filepath.Join(tools, "terraform-provider-slipway")); err != nil { // the pipeline installs it
		t.Fatal(err)
	}
	// the program of GitHub, which posts a comment
	gh := "#!/bin/sh\nprintf '%s ' \"$@\" >posted\nprintf '\\n' >>posted\ncat \"$5\" >>posted\nprintf '%s' \"$GH_TOKEN\" >token\n"
	if err := os.WriteFile(filepath.Join(tools, "gh"), []byte(gh), 0o700); err != nil { //nolint:gosec // it is executed
		t.Fatal(err)
	}
	out := t.TempDir()
	paths, summary := filepath.Join(out, "path"), filepath.Join(out, "summary")
	c := newCheckout(t, "TF_CLI_CONFIG_FILE="+mirror, "CHECKPOINT_DISABLE=1", "GITHUB_PATH="+paths, "GITHUB_STEP_SUMMARY="+summary)
	for name, value := range workflow.Env {
		if !strings.Contains(value, "${{") { // the key of SSH is for nodes that are machines
			c.env = append(c.env, name+"="+value)
		}
	}
	site := func(content string) {
		c.write(t, "main.tf", fmt.Sprintf(`terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}

resource "slipway_node" "this" {
  for_each = { n1 = %q, n2 = %q }
  name     = each.key
  connect  = { transport = "local", root = each.value }
}

resource "slipway_service" "motd" {
  name          = "motd"
  selectors     = []
  configuration = { file = { "/etc/motd" = { content = %q } } }
}

resource "slipway_deployment" "lon1" {
  site     = "lon1"
  nodes    = slipway_node.this
  services = [slipway_service.motd]
}
`, filepath.Dir(filepath.Dir(c.node("n1"))), filepath.Dir(filepath.Dir(c.node("n2"))), content))
	}
	ran, kept := map[string]bool{}, 2 // files of a report
	event := regexp.MustCompile(`github\.event_name == '([a-z_]+)'`)
	happens := func(name string) (status int) {
		t.Helper()
		if _, starts := workflow.On[name]; !starts {
			t.Fatalf("%s does not start the pipeline", name)
		}
		for _, s := range workflow.Jobs["site"].Steps {
			if when := event.FindStringSubmatch(s.If); s.If != "" && (when == nil || when[1] != name) {
				continue
			}
			if status != 0 && !strings.HasPrefix(s.If, "always() && ") {
				continue
			}
			ran[s.Name+s.Uses] = true
			if strings.HasPrefix(s.Uses, "actions/upload-artifact@") {
				if found, err := filepath.Glob(filepath.Join(c.dir, fmt.Sprint(s.With["path"]))); err != nil || len(found) != kept {
					t.Errorf("the artefact has %q, %v, want %d files", found, err, kept)
				}
			}
			if s.Run == "" {
				continue
			}
			script := strings.ReplaceAll(s.Run, "${{ github.event.number }}", "7")
			step := c
			for name, value := range s.Env {
				step.env = append(step.env, name+"="+strings.ReplaceAll(fmt.Sprint(value), "${{ github.token }}", "t0ken"))
			}
			path := tools
			if added, err := os.ReadFile(paths); err == nil {
				path = strings.Join(strings.Fields(string(added)), ":") + ":" + path
			}
			step.env = append(step.env, "PATH="+path+":"+os.Getenv("PATH"))
			if strings.Contains(script, "${{") {
				t.Fatalf("the test does not know an expression of %q", script)
			}
			if failed := step.shell(t, script); status == 0 {
				status = failed
			}
		}
		return status
	}

	site("welcome\n")
	if status := happens("pull_request"); status != 0 {
		t.Fatalf("the plan: exit status %d", status)
	}
	posted, plan, _ := strings.Cut(c.read(t, "posted"), "\n")
	if posted != "pr comment 7 --body-file plan.md " || plan != c.read(t, "plan.md") || !strings.Contains(plan, `file\[/etc/motd\]`) ||
		c.read(t, "token") != "t0ken" {
		t.Errorf("posted: %s\n%s", posted, plan)
	}
	if status := happens("push"); status != 0 {
		t.Fatalf("the apply: exit status %d", status)
	}
	c.contents(t, "welcome\n")
	artefacts(t, c, "succeeded")
	if text, err := os.ReadFile(summary); err != nil || !strings.Contains(string(text), "succeeded") {
		t.Errorf("the summary: %q, %v", text, err)
	}
	if status := happens("schedule"); status != 0 {
		t.Errorf("a check without drift: exit status %d", status)
	}
	if err := os.WriteFile(c.node("n1"), []byte("by hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := happens("schedule"); status != 2 {
		t.Errorf("a check with drift: exit status %d, want 2", status)
	}
	site("welcome back\n")
	repair := c.breakNode(t, "n2")
	if status := happens("push"); status == 0 {
		t.Error("an apply that fails: exit status 0")
	}
	artefacts(t, c, "failed")
	repair()
	if status := happens("push"); status != 0 {
		t.Errorf("the next apply: exit status %d", status)
	}
	c.contents(t, "welcome back\n")
	c.nextJob(t)
	kept = 0
	if status := happens("push"); status != 0 {
		t.Errorf("a push that changes nothing: exit status %d", status)
	}
	for _, s := range workflow.Jobs["site"].Steps {
		if !ran[s.Name+s.Uses] {
			t.Errorf("the step %q was not tested", s.Name)
		}
	}
}

// gitlabScript is a script of GitLab: a command or a list of commands.
type gitlabScript []string

func (s *gitlabScript) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*s = gitlabScript{node.Value}
		return nil
	}
	return node.Decode((*[]string)(s))
}

// Each script of the pipeline of GitLab runs as its runner runs it: the note is posted, and what a job keeps is there.
func TestScriptsOfGitLab(t *testing.T) {
	type gitlabJob struct {
		Script      gitlabScript
		AfterScript gitlabScript `yaml:"after_script"`
		Artifacts   struct {
			Paths   []string
			Reports map[string]string
		}
	}
	var variables struct{ Variables map[string]string }
	pipeline(t, "gitlab-ci.yml", &variables)
	var keys map[string]yaml.Node
	pipeline(t, "gitlab-ci.yml", &keys)
	jobs := map[string]gitlabJob{}
	for name, node := range keys {
		var job gitlabJob
		if node.Kind == yaml.MappingNode && node.Decode(&job) == nil && job.Script != nil {
			jobs[name] = job
		}
	}
	var notes []string
	gitlab := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/projects/5/merge_requests/7/notes" || r.Header.Get("PRIVATE-TOKEN") != "t0ken" {
			t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
		}
		notes = append(notes, r.PostFormValue("body"))
		w.WriteHeader(http.StatusCreated)
	}))
	defer gitlab.Close()
	tools, _ := programs(t)
	c := newCheckout(t, "PATH="+tools+":"+os.Getenv("PATH"), "CI_API_V4_URL="+gitlab.URL, "CI_PROJECT_ID=5", "CI_MERGE_REQUEST_IID=7",
		"GITLAB_TOKEN=t0ken")
	for name, value := range variables.Variables {
		if name == "STATE" { // it is on the runner
			value = filepath.Join(t.TempDir(), filepath.Base(value))
		}
		c.env = append(c.env, name+"="+value)
	}
	site := func(content string) {
		c.write(t, "site.yaml", fmt.Sprintf(`site: lon1
nodes:
  - {name: n1, connect: {transport: local, root: %q}}
  - {name: n2, connect: {transport: local, root: %q}}
services:
  - name: motd
    selectors: []
    configuration:
      file: {/etc/motd: {content: %q}}
`, filepath.Dir(filepath.Dir(c.node("n1"))), filepath.Dir(filepath.Dir(c.node("n2"))), content))
	}
	ran, made := map[string]bool{}, true // artefacts
	runs := func(name string) (status int) {
		t.Helper()
		job := jobs[name]
		ran[name] = true
		if status = c.shell(t, strings.Join(job.Script, "\n")); job.AfterScript != nil {
			if after := c.shell(t, strings.Join(job.AfterScript, "\n")); after != 0 {
				t.Errorf("%s: after_script: exit status %d", name, after)
			}
		}
		for _, report := range job.Artifacts.Reports {
			job.Artifacts.Paths = append(job.Artifacts.Paths, report)
		}
		for _, file := range job.Artifacts.Paths {
			if _, err := os.Stat(filepath.Join(c.dir, file)); (err == nil) != made {
				t.Errorf("%s: %s: %v, want it made: %v", name, file, err, made)
			}
		}
		return status
	}

	merge := func() { // main has what the working copy has
		t.Helper()
		if c.shell(t, "git init -q . && git add site.yaml && git -c user.name=t -c user.email=t@example.org commit -q -m site") != 0 {
			t.Fatal("nothing is committed")
		}
		base, err := exec.CommandContext(t.Context(), "git", "-C", c.dir, "rev-parse", "HEAD").Output()
		if err != nil {
			t.Fatal(err)
		}
		c.env = append(c.env, "CI_MERGE_REQUEST_DIFF_BASE_SHA="+strings.TrimSpace(string(base)))
	}
	c.write(t, "site.yaml", "site: lon1\n")
	merge()
	site("welcome\n")
	if status := runs("plan"); status != 0 || len(notes) != 1 || notes[0] != c.read(t, "plan.md") || !strings.Contains(notes[0], `create file\[/etc/motd\]`) {
		t.Fatalf("the plan: exit status %d, notes %q", status, notes)
	}
	if status := runs("apply"); status != 0 {
		t.Fatalf("the apply: exit status %d", status)
	}
	c.contents(t, "welcome\n")
	merge()
	artefacts(t, c, "succeeded")
	if status := runs("drift"); status != 0 {
		t.Errorf("a check without drift: exit status %d", status)
	}
	if err := os.WriteFile(c.node("n1"), []byte("by hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := runs("drift"); status != 2 {
		t.Errorf("a check with drift: exit status %d, want 2", status)
	}
	site("welcome back\n")
	if status := runs("plan"); status != 0 || !strings.Contains(notes[len(notes)-1], `update file\[/etc/motd\]`) {
		t.Errorf("the plan of a change: exit status %d, %s", status, notes[len(notes)-1])
	}
	repair := c.breakNode(t, "n2")
	if status := runs("apply"); status == 0 {
		t.Error("an apply that fails: exit status 0")
	}
	artefacts(t, c, "failed")
	repair()
	if status := runs("apply"); status != 0 {
		t.Errorf("the next apply: exit status %d", status)
	}
	c.contents(t, "welcome back\n")
	c.nextJob(t)
	made = false
	if status := runs("apply"); status != 0 {
		t.Errorf("an apply that changes nothing: exit status %d", status)
	}
	for name := range jobs {
		if !ran[name] {
			t.Errorf("the job %q was not tested", name)
		}
	}
}
