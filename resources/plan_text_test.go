package resources_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// commandLine is a folder in which the Terraform binary works on a sandbox, with the provider from the mirror: what it
// prints is what a person sees.
type commandLine struct {
	t   *testing.T
	dir string
}

// newCommandLine returns an initialised one. Its tests run with Terraform and with OpenTofu, which find them by name.
func newCommandLine(t *testing.T) *commandLine {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestText") {
		t.Fatal("the name of a test that reads what is printed begins with TestText: `make testtext` runs it with OpenTofu")
	}
	if os.Getenv("SLIPWAY_MIRROR") == "" {
		t.Skip("NOT RUN: SLIPWAY_MIRROR names no Terraform configuration that finds the provider; use `make test`")
	}
	c := &commandLine{t, t.TempDir()}
	c.write("versions.tf", "terraform {\n  required_providers {\n    slipway = { source = \"slipway/slipway\" }\n  }\n}\n")
	c.run(0, "init", "-input=false", "-no-color")
	return c
}

func (c *commandLine) write(name, content string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// configure sets the configuration of the commands that follow.
func (c *commandLine) configure(config string) { c.t.Helper(); c.write("main.tf", config) }

// command returns a command that is not started yet, and what it prints.
func (c *commandLine) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	binary := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if binary == "" {
		binary = "terraform"
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	c.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.WaitDelay = 10 * time.Second // of what it started
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.Getenv("SLIPWAY_MIRROR"), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1",
		"SLIPWAY_KEY="+key)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// patience is how long a test waits for what a run does, also on a machine that is short of everything.
const patience = 4 * time.Minute

// run runs a command, which must end with a status, and returns what it prints.
func (c *commandLine) run(status int, args ...string) string {
	c.t.Helper()
	cmd, out := c.command(args...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != status {
		c.t.Fatalf("%s ended with status %d, want %d:\n%s", strings.Join(args, " "), got, status, out.String())
	}
	return out.String()
}

// changes returns the text of a plan that has changes.
func (c *commandLine) changes(args ...string) string {
	c.t.Helper()
	return c.run(2, append([]string{"plan", "-input=false", "-no-color", "-detailed-exitcode"}, args...)...)
}

// empty checks that there is nothing to do, whichever way it is asked.
func (c *commandLine) empty() {
	c.t.Helper()
	for _, args := range [][]string{{"-detailed-exitcode"}, {"-detailed-exitcode", "-refresh=false"}, {"-refresh-only"}} {
		if text := c.run(0, append([]string{"plan", "-input=false", "-no-color"}, args...)...); !strings.Contains(text, "No changes") {
			c.t.Errorf("plan %v is not empty:\n%s", args, text)
		}
	}
}

func (c *commandLine) apply() string {
	c.t.Helper()
	return c.run(0, "apply", "-input=false", "-no-color", "-auto-approve")
}

func (c *commandLine) failingApply() string {
	c.t.Helper()
	return c.run(1, "apply", "-input=false", "-no-color", "-auto-approve")
}

// refused checks that a configuration is refused by its plan, with one error, which contains want.
func (c *commandLine) refused(config, want string) {
	c.t.Helper()
	c.configure(config)
	text := unwrapped(c.run(1, "plan", "-input=false", "-no-color"))
	if !strings.Contains(text, want) || strings.Count(text, "Error:") != 1 {
		c.t.Errorf("no error %q, or another one:\n%s", want, text)
	}
}

var (
	shownStep = regexp.MustCompile(`(?m)^ *(?:\+|~ ".*" ->) "(\d+\.\d+ .*)",?$`)
	shownNode = regexp.MustCompile(`(?m)^ *[-+~] "([a-z0-9]+)" += (?:\d+ -> )?(\d+|null)\b`)
)

// shows checks that the text of a plan shows exactly these steps and these changed nodes of a run.
func (c *commandLine) shows(text string, run int, steps []string, nodes ...string) {
	c.t.Helper()
	var shown, changed []string
	for _, m := range shownStep.FindAllStringSubmatch(text, -1) {
		shown = append(shown, m[1])
	}
	for _, m := range shownNode.FindAllStringSubmatch(text, -1) {
		if m[2] == fmt.Sprint(run) || m[2] == "null" { // a node that is torn down leaves the map
			changed = append(changed, m[1])
		}
	}
	want := make([]string, len(steps))
	for i, s := range steps {
		want[i] = fmt.Sprintf("%d.%d %s", run, i+1, s)
	}
	if !slices.Equal(shown, want) || !slices.Equal(changed, nodes) {
		c.t.Fatalf("the plan shows the steps\n%q\non %q, want\n%q\non %q:\n%s", shown, changed, want, nodes, text)
	}
}

// A plan with work shows every step and every changed node, also those that the last run had.
func TestTextShowsTheWork(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	motd := files("motd", map[string]string{"/etc/motd": "hello\n"})
	c.configure(s.config([]string{"a", "b"}, []string{"motd"}, motd, ""))
	c.shows(c.changes(), 1, []string{
		"default (critical): prepare 2 nodes (a, b)",
		"default (critical): node phase: 2 changes on 2 nodes: create file[/etc/motd] on 2",
	}, "a", "b")
	c.apply()
	c.empty()

	for run := 2; run <= 4; run++ { // the same drift, again and again
		s.write("b", "etc/motd", "by hand\n")
		c.shows(c.changes(), run, []string{
			"default (critical): prepare 1 node (b)",
			"default (critical): node phase: 1 change on node b: repair file[/etc/motd]",
		}, "b")
		c.apply()
		c.empty()
	}
	created := []string{"default (critical): prepare 1 node (b)", "default (critical): node phase: 1 change on node b: create file[/etc/motd]"}
	for run := 5; run <= 6; run++ { // reinstalled
		s.must(os.RemoveAll(filepath.Join(s.dir, "b")))
		s.mkdir("b", "etc")
		c.shows(c.changes(), run, created, "b")
		c.apply()
		c.empty()
	}
	// Reinstalled, and a refresh that is no plan knows of it.
	s.must(os.RemoveAll(filepath.Join(s.dir, "b")))
	s.mkdir("b", "etc")
	c.run(0, "apply", "-refresh-only", "-input=false", "-no-color", "-auto-approve")
	c.shows(c.changes("-refresh=false"), 7, created, "b")
	c.apply()
	c.empty()

	// A failed update is shown again as a whole, as far as it did not come.
	s.write("a", "etc/dir", "in the way\n")
	s.write("b", "etc/dir", "in the way\n")
	c.configure(s.config([]string{"a", "b"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "hello\n", "/etc/dir/x": "x\n"}), ""))
	failing := []string{
		"default (critical): prepare 2 nodes (a, b)",
		"default (critical): node phase: 2 changes on 2 nodes: create file[/etc/dir/x] on 2",
	}
	for run := 8; run <= 9; run++ {
		c.shows(c.changes("-refresh=false"), run, failing, "a", "b")
		c.shows(c.changes(), run, failing, "a", "b")
		c.failingApply()
	}

	// A node that leaves is shown, too, and no node that stays.
	c.configure(s.config([]string{"a"}, []string{"motd"}, motd, ""))
	c.shows(c.changes(), 10, []string{"cleanup: tear down b"}, "b")
	c.apply()
	c.empty()
}

// A refresh says on which nodes nothing of the site is left, also where no plan has the steps that create it again.
func TestTextOfAReinstalledNode(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	c.configure(s.config([]string{"a", "b"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "hello\n", "/etc/x": "x\n"}), ""))
	const warning, node = "Warning: Nodes on which nothing of the site is left: 1", `resources there were: node "b": 2`
	says := func(want bool, args ...string) {
		t.Helper()
		text := unwrapped(c.run(0, append([]string{"plan", "-input=false", "-no-color"}, args...)...))
		if strings.Contains(text, warning) != want || strings.Contains(text, node) != want || strings.Contains(text, `node "a": `) {
			t.Errorf("plan %v says that nothing is left on b: %v, want %v:\n%s", args, !want, want, text)
		}
	}
	c.apply()
	says(false)
	s.must(os.RemoveAll(filepath.Join(s.dir, "b")))
	s.mkdir("b", "etc")
	says(true, "-refresh-only")
	says(true)
	c.apply()
	says(false, "-refresh-only")
}

// A run that was interrupted is planned again as far as it did not come.
func TestTextAfterAnInterruptedRun(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	configure := func(content string) {
		c.configure(s.config([]string{"a", "b"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": content}), `
  groups = [
    { name = "one", critical = true, selectors = [{ node_names = ["a"] }] },
    { name = "two", critical = true, selectors = [{ node_names = ["b"] }], depends_on_groups = ["one"] },
  ]
`))
	}
	onB := []string{"two (critical): prepare 1 node (b)", "two (critical): node phase: 1 change on node b: update file[/etc/motd]"}
	configure("one\n")
	c.apply()
	configure("two\n")
	c.shows(c.changes(), 2, append([]string{
		"one (critical): prepare 1 node (a)", "one (critical): node phase: 1 change on node a: update file[/etc/motd]",
	}, onB...), "a", "b")
	lock, err := os.OpenFile(s.path("b", "var/lib/slipway/lock"), os.O_RDWR|os.O_CREATE, 0o600)
	s.must(err)
	s.must(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)) // the run waits for b
	cmd, out := c.command("apply", "-input=false", "-no-color", "-auto-approve", "-refresh=false")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.must(cmd.Start())
	for deadline := time.Now().Add(time.Minute); s.content("a", "etc/motd") != "two\n" && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	s.must(syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
	if err := cmd.Wait(); err == nil {
		t.Fatalf("the interrupted apply succeeded:\n%s", out)
	}
	assertText(t, out.String(), "The run was interrupted")
	s.must(lock.Close())
	for _, args := range [][]string{nil, {"-refresh=false"}} {
		c.shows(c.changes(args...), 3, onB, "b")
	}
	c.apply()
	c.empty()
}

// A creation that failed is planned again as a whole, and the plan says that nothing is torn down.
func TestTextOfATaintedPlan(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	c.configure(s.config([]string{"a", "b"}, []string{"two"}, files("two", map[string]string{"/etc/motd": "hello\n", "/srv/x": "x\n"}), ""))
	creation := []string{
		"default (critical): prepare 2 nodes (a, b)",
		"default (critical): node phase: 4 changes on 2 nodes: create file[/etc/motd] on 2, file[/srv/x] on 2",
	}
	for range 2 { // /srv is missing
		c.failingApply()
		text := c.changes()
		c.shows(text, 1, creation, "a", "b")
		for _, want := range []string{"must be replaced", "Warning: The creation of the site did not finish", "2 nodes are FAILED (a, b)", "Nothing is torn down", "terraform untaint"} {
			if !strings.Contains(unwrapped(text), want) {
				t.Errorf("no %q in:\n%s", want, text)
			}
		}
	}
	c.run(0, "untaint", deployment)
	for _, args := range [][]string{nil, {"-refresh-only"}} { // taint is not in what a refresh sees
		text := unwrapped(c.run(0, append([]string{"plan", "-input=false", "-no-color"}, args...)...))
		for want, shown := range map[string]bool{
			"2 changes on 2 nodes: create file[/srv/x] on 2": true, "Terraform calls the deployment tainted and says": false,
			"the plan shows the whole creation": false, "whole creation; \"terraform untaint\" makes it an update": true,
		} {
			if strings.Contains(text, want) != shown {
				t.Errorf("%v: %q is shown: %v, in:\n%s", args, want, !shown, text)
			}
		}
	}
	s.mkdir("a", "srv")
	c.shows(c.changes(), 2, []string{creation[0], "default (critical): node phase: 2 changes on 2 nodes: create file[/srv/x] on 2"}, "a", "b")
	c.failingApply()
	if text := c.changes(); strings.Contains(text, "did not finish") || strings.Contains(text, "must be replaced") {
		t.Errorf("an update that failed is no creation:\n%s", text)
	}
}

// What a run really did is in last_run_steps; steps stays what the plan showed.
func TestTextOfTheLastRun(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	c.configure(s.config([]string{"a", "b"}, []string{"two"}, files("two", map[string]string{"/etc/motd": "hello\n", "/srv/x": "x\n"}), "") + `
output "planned" { value = slipway_deployment.test.steps }
output "did" { value = slipway_deployment.test.last_run_steps }
`)
	s.mkdir("a", "srv")
	c.failingApply()
	s.mkdir("b", "srv")
	c.apply()
	for output, want := range map[string][]string{
		"planned": {"1.1 default (critical): prepare 2 nodes (a, b)", "1.2 default (critical): node phase: 4 changes on 2 nodes: create file[/etc/motd] on 2, file[/srv/x] on 2"},
		"did":     {"1.1 default (critical): prepare 2 nodes (a, b)", "1.2 default (critical): node phase: 1 change on node b: create file[/srv/x]"},
	} {
		var got []string
		if err := json.Unmarshal([]byte(c.run(0, "output", "-json", "-no-color", output)), &got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is %q, %v, want %q", output, got, err, want)
		}
	}
	c.empty()
}

// A state of slipway 0.1.0, whose runs had no numbers, is read: there is nothing to do, and the first run with work is
// number 1.
func TestTextOverAStateWithoutNumbers(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	c.configure(s.config([]string{"a", "b"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "hello\n"}), ""))
	c.apply()
	raw, err := os.ReadFile(filepath.Join(c.dir, "terraform.tfstate"))
	s.must(err)
	var state map[string]any
	s.must(json.Unmarshal(raw, &state))
	for _, r := range state["resources"].([]any) {
		r := r.(map[string]any)
		if r["type"] != "slipway_deployment" {
			continue
		}
		instance := r["instances"].([]any)[0].(map[string]any)
		instance["schema_version"] = 0
		attributes := instance["attributes"].(map[string]any)
		delete(attributes, "run")
		delete(attributes, "last_run_steps")
		attributes["changed_nodes"] = []string{"b"}
		attributes["steps"] = []string{"1. default (critical): prepare 1 node (b)"}
	}
	raw, err = json.Marshal(state)
	s.must(err)
	c.write("terraform.tfstate", string(raw))
	c.empty()
	s.write("b", "etc/motd", "by hand\n")
	text := c.changes()
	c.shows(text, 1, []string{"default (critical): prepare 1 node (b)", "default (critical): node phase: 1 change on node b: repair file[/etc/motd]"}, "b")
	if !strings.Contains(text, `"b" = 0 -> 1`) {
		t.Errorf("b was changed by a run without a number:\n%s", text)
	}
	c.apply()
	c.empty()
}

// The text of a plan grows with the change and not with the site.
func TestTextGrowsWithTheChange(t *testing.T) {
	const nodes, groups = 1000, 5
	s := newSandbox(t)
	c := newCommandLine(t)
	for i := range nodes {
		s.mkdir(fmt.Sprintf("n%04d", i), "etc")
	}
	c.configure(fmt.Sprintf(`
provider "slipway" { journal_directory = %q }
locals { names = [for i in range(%d) : format("n%%04d", i)] }
resource "slipway_service" "motd" {
  name          = "motd"
  selectors     = []
  configuration = { file = { "/etc/motd" = { content = "hello\n" } } }
}
resource "slipway_deployment" "test" {
  site        = "lon1"
  nodes       = [for i, n in local.names : { name = n, tags = ["t${i %% %d}"], connect = { transport = "local", root = "%s/${n}" } }]
  groups      = [for i in range(%d) : { name = "g${i}", critical = false, selectors = [{ node_tags = ["t${i}"] }] }]
  services    = [slipway_service.motd]
}
`, filepath.Join(s.dir, "journal"), nodes, groups, s.dir, groups))
	c.apply()
	s.write("n0007", "etc/motd", "by hand\n")
	text := c.changes()
	c.shows(text, 2, []string{"g2: prepare 1 node (n0007)", "g2: node phase: 1 change on node n0007: repair file[/etc/motd]"}, "n0007")
	if lines := strings.Count(text, "\n"); lines >= 80 {
		t.Errorf("the plan has %d lines, 80 or more:\n%s", lines, text)
	}
	c.apply()
	c.empty()
}

// Of services that are given as a map, a plan prints those that change.
func TestTextHasNoUnchangedService(t *testing.T) {
	s := newSandbox(t, "a")
	c := newCommandLine(t)
	configure := func(content string) {
		services := ""
		for _, name := range []string{"one", "three", "two"} {
			of := "same\n"
			if name == "three" { // between the others
				of = content
			}
			services += files(name, map[string]string{"/etc/" + name: of})
		}
		c.configure(strings.Replace(s.config([]string{"a"}, nil, services, ""), "services = []",
			"services = { one = slipway_service.one, two = slipway_service.two, three = slipway_service.three }", 1))
	}
	configure("before\n")
	c.apply()
	configure("after\n")
	text := c.changes()
	c.shows(text, 2, []string{"default (critical): prepare 1 node (a)", "default (critical): node phase: 1 change on node a: update file[/etc/three]"}, "a")
	_, plan, _ := strings.Cut(text, "~ services ")
	plan, _, _ = strings.Cut(plan, "~ status ")
	for _, name := range []string{"one", "two"} {
		if strings.Contains(plan, name+" ") || strings.Contains(plan, "/etc/"+name) {
			t.Errorf("the service %s does not change, and is printed:\n%s", name, plan)
		}
	}
	if !strings.Contains(plan, "(2 unchanged attributes hidden)") {
		t.Errorf("the services that do not change are not hidden:\n%s", plan)
	}
}

// What is not known yet hides only the steps that depend on it.
func TestTextHidesWhatDependsOnUnknownInputs(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	known := s.config([]string{"a", "b"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "hello\n"}), "")
	c.configure(known)
	c.apply()
	s.write("b", "etc/motd", "by hand\n")
	c.configure(strings.Replace(known, "nodes = [slipway_node.a", "nodes = [slipway_node.c, slipway_node.a", 1) + fmt.Sprintf(`
resource "terraform_data" "root" { input = %q }
resource "slipway_node" "c" {
  name    = "c"
  connect = { transport = "local", root = terraform_data.root.output }
}
`, filepath.Join(s.dir, "c")))
	s.mkdir("c", "etc")
	text := c.changes()
	for _, want := range []string{
		"Warning: 1 of 3 nodes is not known yet: its steps are missing",
		"\n  - default (critical): prepare 1 node (b)\n  - default (critical): node phase: 1 change on node b: repair file[/etc/motd]\n",
		"run             = 1 -> 2",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	c.apply()
	c.empty()

	// A service that is not known yet: nothing of it is removed, and the other one's steps are shown.
	other := files("other", map[string]string{"/etc/other": "x\n"})
	c.configure(s.config([]string{"a", "b"}, []string{"motd", "other"}, strings.Replace(files("motd", map[string]string{"/etc/motd": "hello\n"}), `"hello\n"`, "terraform_data.text.output", 1)+other, "") +
		"resource \"terraform_data\" \"text\" { input = \"bye\\n\" }\n")
	text = c.changes()
	for want, shown := range map[string]bool{
		"Warning: 1 of 2 resources of the services is not known yet": true, "prepare 2 nodes (a, b)": true, "2 changes on 2 nodes: create file[/etc/other] on 2": true, "remove": false, "  - cleanup: tear down c\n": true,
	} {
		if strings.Contains(strings.ReplaceAll(text, "that are removed", ""), want) != shown {
			t.Errorf("%q is shown: %v, in:\n%s", want, !shown, text)
		}
	}
	c.apply()
	c.empty()
}

// TestTextHidesNoTearDown takes nodes out while another one is not known yet.
func TestTextHidesNoTearDown(t *testing.T) {
	s := newSandbox(t, "a", "b", "d")
	c := newCommandLine(t)
	motd := files("motd", map[string]string{"/etc/motd": "hello\n"})
	c.configure(s.config([]string{"a", "b", "d"}, []string{"motd"}, motd, ""))
	c.apply()
	late := fmt.Sprintf(`
resource "terraform_data" "root" { input = %q }
resource "slipway_node" "c" {
  name    = "c"
  connect = { transport = "local", root = terraform_data.root.output }
}
`, filepath.Join(s.dir, "c"))
	with := func(nodes ...string) string {
		return strings.Replace(s.config(nodes, []string{"motd"}, motd, ""), "nodes = [slipway_node.a", "nodes = [slipway_node.c, slipway_node.a", 1) + late
	}
	s.mkdir("c", "etc")
	c.configure(with("a", "b"))
	if text := c.changes(); !strings.Contains(text, "The plan tears down 1 node: d") {
		t.Errorf("the tear-down is hidden:\n%s", text)
	}
	c.configure(with("a"))
	if text := c.run(1, "plan", "-input=false", "-no-color"); !strings.Contains(unwrapped(text), "the plan tears down 2 of 3 nodes: b, d") {
		t.Errorf("the plan is not refused:\n%s", text)
	}
}

// unwrapped undoes the line breaks and boxes that Terraform draws around diagnostics.
func unwrapped(text string) string {
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		b.WriteString(strings.TrimSpace(strings.TrimLeft(line, "│╷╵ ")))
		b.WriteByte(' ')
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// A plan says that a group stops when it can no longer meet its criteria, and the apply does: a rolling group by default.
func TestTextBrake(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	c := newCommandLine(t)
	config := func(onShortfall string) string {
		group := "resource \"slipway_group\" \"all\" {\n  name = \"all\"\n  critical = true\n  selectors = []\n" +
			"  success_criteria = { minimum_successful_nodes = 3 }\n  rolling = { max_parallel = 1 }\n" + onShortfall + "}\n"
		return s.config([]string{"a", "b", "c"}, []string{"app"}, group+files("app", map[string]string{"/etc/app": "x\n"}),
			"  groups = [slipway_group.all]")
	}
	s.mkdir("a", "etc/app") // in the way
	work := "all (critical): node phase, 1 node at a time: 3 changes on 3 nodes: create file[/etc/app] on 3"
	c.configure(config(""))
	c.shows(c.changes(), 1, []string{
		"all (critical): prepare 3 nodes (a, b, c); no further node is started once the criteria cannot be met", work,
	}, "a", "b", "c")
	if text := c.failingApply(); !strings.Contains(strings.Join(strings.Fields(text), " "),
		"2 nodes not started: the group could no longer meet minimum_successful_nodes") || (s.content("b", "etc/app") != "-") {
		t.Errorf("nodes behind the brake were started, or are not reported:\n%s", text)
	}
	c.configure(config("  on_shortfall = \"continue\"\n"))
	c.shows(c.changes(), 1, []string{"all (critical): prepare 3 nodes (a, b, c)", work}, "a", "b", "c")
	if text := c.failingApply(); strings.Contains(text, "not started") || s.content("b", "etc/app") == "-" {
		t.Errorf("not all nodes were worked on:\n%s", text)
	}
	s.must(os.RemoveAll(filepath.Join(s.dir, "a", "etc/app")))
	c.apply()
	c.empty()
	c.refused(config("  on_shortfall = \"halt\"\n"), `on_shortfall value must be one of: ["stop" "continue"], got: "halt"`)
}

// A plan says how many nodes may fail in the whole run, and the apply starts nothing new once more have failed.
func TestTextFailureBudget(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	c := newCommandLine(t)
	config := func(budget string) string {
		groups := ""
		for _, n := range []string{"a", "b", "c"} {
			groups += fmt.Sprintf("resource \"slipway_group\" %q {\n  name = %[1]q\n  critical = false\n"+
				"  selectors = [{ node_names = [%[1]q] }]\n}\n", n)
		}
		return s.config([]string{"a", "b", "c"}, []string{"app"}, groups+files("app", map[string]string{"/etc/app": "x\n"}),
			"  groups = [slipway_group.a, slipway_group.b, slipway_group.c]\n"+budget)
	}
	steps := func(more string) []string {
		var out []string
		for _, n := range []string{"a", "b", "c"} {
			out = append(out, n+": prepare 1 node ("+n+")"+more, n+": node phase: 1 change on node "+n+": create file[/etc/app]")
			more = ""
		}
		return out
	}
	s.mkdir("a", "etc/app") // in the way
	c.configure(config("  failure_budget = { nodes = 0, percent = 50 }\n"))
	c.shows(c.changes(), 1, steps("; failure budget: nothing new is started in any group once more than 0 nodes failed"),
		"a", "b", "c")
	if text := c.failingApply(); !strings.Contains(strings.Join(strings.Fields(text), " "),
		"1 node not started: the failure budget of the deployment is spent") || s.content("b", "etc/app") != "-" {
		t.Errorf("nodes were started behind the budget, or are not reported:\n%s", text)
	}
	c.configure(config("  failure_budget = { percent = 34 }\n"))
	c.shows(c.changes(), 1, steps("; failure budget: nothing new is started in any group once more than 1 node failed"),
		"a", "b", "c")
	if text := c.run(0, "apply", "-auto-approve", "-input=false", "-no-color"); strings.Contains(text, "budget of the deployment is spent") ||
		s.content("c", "etc/app") == "-" {
		t.Errorf("not all nodes were worked on:\n%s", text)
	}
	for budget, want := range map[string]string{
		"{}":                "failure_budget: limits nothing; give nodes or percent, or leave it out",
		"{ nodes = -1 }":    "failure_budget.nodes value must be at least 0, got: -1",
		"{ percent = 101 }": "failure_budget.percent value must be between 0 and 100, got: 101",
	} {
		c.refused(config("  failure_budget = "+budget+"\n"), want)
	}
}

// A plan shows batches, health checks and soaks, and the apply does what it shows: a canary that fails is the last node.
func TestTextBatches(t *testing.T) {
	s := newSandbox(t, "a", "b", "c", "d")
	c := newCommandLine(t)
	config := func(rolling string) string {
		group := "resource \"slipway_group\" \"all\" {\n  name = \"all\"\n  critical = true\n  selectors = []\n" +
			"  rolling = { max_parallel = 2, " + rolling + " }\n}\n"
		return s.config([]string{"a", "b", "c", "d"}, []string{"app"},
			group+files("app", map[string]string{"/etc/app": "x\n"}), "  groups = [slipway_group.all]")
	}
	prepare := "all (critical): prepare 4 nodes (a, b, c, d); no further batch is started once one has failed"
	c.configure(config(`batches = ["1", "10%", "100%"], soak = "1s", health_check = { command = "works", timeout = "5s", retries = 2, interval = "2s" }`))
	c.shows(c.changes(), 1, []string{prepare,
		"all (critical): batch 1 of 2: 1 node (a), then health check `works` (timeout 5s, retries 2, interval 2s), soak 1s, health check",
		"all (critical): batch 2 of 2: 3 nodes (b, c, d), then health check `works` (timeout 5s, retries 2, interval 2s), soak 1s, health check",
		"all (critical): each batch: node phase, 2 nodes at a time: 4 changes on 4 nodes: create file[/etc/app] on 4",
	}, "a", "b", "c", "d")
	text := strings.Join(strings.Fields(c.failingApply()), " ") // commands cannot be run in a sandbox
	if !strings.Contains(text, "3 nodes not deployed: batch 1 failed") || s.content("a", "etc/app") != "x\n" ||
		s.content("b", "etc/app") != "-" {
		t.Errorf("the canary was not checked, or nodes behind it were started:\n%s", text)
	}
	c.configure(config(`batches = ["50%"], soak = "1s"`))
	c.shows(c.changes(), 1, []string{prepare,
		"all (critical): batch 1 of 2: 2 nodes (a, b), then soak 1s", "all (critical): batch 2 of 2: 2 nodes (c, d), then soak 1s",
		"all (critical): each batch: node phase, 2 nodes at a time: 4 changes on 4 nodes: create file[/etc/app] on 4",
	}, "a", "b", "c", "d")
	c.apply()
	c.empty()
	rollback := strings.Replace(config(`batches = ["1"], on_failure = "rollback", health_check = { command = "works" }`), "x\\n", "y\\n", 1)
	for run := 2; run <= 3; run++ { // a plan that was put back is there again
		c.configure(rollback)
		c.shows(c.changes(), run, []string{prepare,
			"all (critical): batch 1 of 2: 1 node (a), then health check `works`, puts back what it changed if it fails",
			"all (critical): batch 2 of 2: 3 nodes (b, c, d), then health check `works`, puts back what it changed if it fails",
			"all (critical): each batch: node phase, 2 nodes at a time: 4 changes on 4 nodes: update file[/etc/app] on 4",
		}, "a", "b", "c", "d")
		text = strings.Join(strings.Fields(c.failingApply()), " ")
		if !strings.Contains(text, "1 node put back to what was there before this run") || s.content("a", "etc/app") != "x\n" {
			t.Errorf("the canary was not put back, its file is %q:\n%s", s.content("a", "etc/app"), text)
		}
	}
	for rolling, want := range map[string]string{
		`batches = ["50%", "10%"]`:                                `rolling.batches[1]: "10%" adds no node to the batch before`,
		`batches = ["110%"]`:                                      `rolling.batches[0]: "110%" is more than all nodes`,
		`batches = ["100%", "5"]`:                                 `rolling.batches[1]: "5" comes after "100%"`,
		`on_failure = "rollback"`:                                 `rolling.on_failure: the group has no batches that may fail`,
		`batches = ["half"]`:                                      `rolling.batches[0]: "half" is not a share of the nodes`,
		`batches = ["50%", "10%", "100%"]`:                        `rolling.batches[1]: "10%" adds no node to the batch before`,
		`batches = ["half"], approve = ["half"]`:                  `rolling.batches[0]: "half" is not a share of the nodes`,
		`batches = ["1"], on_failure = "undo"`:                    `rolling.on_failure value must be one of: ["stop" "rollback"], got: "undo"`,
		`soak = "often"`:                                          `"often" is not a duration`,
		`soak = "0s"`:                                             `Invalid value of rolling.soak`,
		`health_check = { timeout = "1s" }`:                       `"command" is required`,
		`health_check = { command = "works", timeout = "0s" }`:    `Invalid value of rolling.health_check.timeout`,
		`health_check = { command = "works", interval = "soon" }`: `Invalid value of rolling.health_check.interval`,
		`health_check = { command = "works", retries = -1 }`:      `rolling.health_check.retries value must be between 0 and 1000, got: -1`,
	} {
		c.refused(config(rolling), want)
	}
}

// companion runs the companion on the journal of a sandbox. It must end with a status; what it printed is returned.
func (s *sandbox) companion(status int, args ...string) string {
	s.t.Helper()
	cmd := s.companionCommand(args...)
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != status {
		s.t.Fatalf("%v ended with status %d:\n%s", args, got, out)
	}
	return string(out)
}

func (s *sandbox) companionCommand(args ...string) *exec.Cmd {
	binary := filepath.Join(filepath.Dir(os.Getenv("SLIPWAY_MIRROR")), "terraform-provider-slipway")
	cmd := exec.CommandContext(s.t.Context(), binary, append(args, "--journal-directory", filepath.Join(s.dir, "journal"))...)
	if s.journal != "" {
		cmd = exec.CommandContext(s.t.Context(), binary, args...)
		cmd.Env = append(os.Environ(), "SLIPWAY_JOURNAL="+s.journal)
		cmd.Dir = s.dir // which no Terraform uses
	}
	return cmd
}

// waiting returns the run that waits for approval, once it does.
func (s *sandbox) waiting() string {
	s.t.Helper()
	watch := s.companionCommand("watch")
	printed, err := watch.StdoutPipe()
	if err != nil || watch.Start() != nil {
		s.t.Fatal(err)
	}
	limit := time.AfterFunc(patience, func() { _ = watch.Process.Kill() })
	defer func() {
		limit.Stop()
		_ = watch.Process.Kill()
		_ = watch.Wait()
	}()
	paused := regexp.MustCompile(`paused .*is done and waits for approval: terraform-provider-slipway runs approve (\S+)`)
	for lines := bufio.NewScanner(printed); lines.Scan(); {
		if found := paused.FindStringSubmatch(lines.Text()); found != nil {
			return found[1]
		}
	}
	s.t.Fatalf("the run did not wait for approval within %s:\n%s", patience, s.companion(0, "report"))
	return ""
}

// A run waits after a batch until a person approves it from another process, and for no other batch. It can also be
// paused, cancelled and interrupted.
func TestTextApproval(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	c := newCommandLine(t)
	config := func(approve, content, more string) string {
		group := "resource \"slipway_group\" \"all\" {\n  name = \"all\"\n  critical = true\n  selectors = []\n" +
			"  rolling = { batches = [\"1\"], approve = [" + approve + "] }\n}\n"
		return s.config([]string{"a", "b", "c"}, []string{"app"},
			group+files("app", map[string]string{"/etc/app": content}), "  groups = [slipway_group.all]\n"+more)
	}
	for want, wrong := range map[string]string{
		`rolling.approve[0]: there is no batch "2"; give one of batches, or "100%"`: config(`"2"`, "x\n", ""),
		`rolling.approve[1]: with approval = "end" of the deployment, no run can`:   config(`"1", "100%"`, "x\n", `  approval = "end"`),
		`approved_batches["all"]: counts with approval = "end" only`:                config(`"1"`, "x\n", `  approved_batches = { all = 1 }`),
		`approval value must be one of: ["wait" "end"], got: "ask"`:                 config(`"1"`, "x\n", `  approval = "ask"`),
	} {
		c.refused(wrong, want)
	}
	c.configure(config(`"1", "100%"`, "x\n", ""))
	c.shows(c.changes(), 1, []string{
		"all (critical): prepare 3 nodes (a, b, c); no further batch is started once one has failed",
		"all (critical): batch 1 of 2: 1 node (a), then pause for approval", "all (critical): batch 2 of 2: 2 nodes (b, c)",
		"all (critical): each batch: node phase, 1 node at a time: 3 changes on 3 nodes: create file[/etc/app] on 3",
	}, "a", "b", "c")
	apply := func() (*exec.Cmd, *bytes.Buffer, string) {
		t.Helper()
		cmd, out := c.command("apply", "-auto-approve", "-input=false", "-no-color")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, out, s.waiting()
	}
	cmd, out, run := apply()
	if s.content("a", "etc/app") != "x\n" || s.content("b", "etc/app") != "-" {
		t.Fatalf("the run did not wait after the canary: %s", out)
	}
	for want, args := range map[string][]string{
		"no such batch waits for approval in the run " + run + "; waiting are: batch 1 of group all": {"--batch", "2"},
		"waiting are: batch 1 of group all": {"--group", "none"},
	} {
		if text := s.companion(2, append([]string{"runs", "approve", run}, args...)...); !strings.Contains(text, want) {
			t.Errorf("no %q in: %s", want, text)
		}
	}
	if text := s.companion(2, "runs", "resume", run); !strings.Contains(text, "is not paused") {
		t.Errorf("a run that is not paused is resumed: %s", text)
	}
	s.companion(0, "runs", "pause", run)
	s.companion(0, "runs", "approve", run, "--why", "the canary works")
	if text := s.companion(2, "runs", "approve", run); !strings.Contains(text, "waits for no approval") {
		t.Errorf("a batch is approved twice: %s", text)
	}
	s.companion(0, "runs", "resume", run)
	if err := cmd.Wait(); err != nil || s.content("c", "etc/app") != "x\n" {
		t.Errorf("the run did not go on: %v\n%s", err, out)
	}
	if text := s.companion(2, "runs", "cancel", run); !strings.Contains(text, "is succeeded; only an active run") {
		t.Errorf("a run that ended is cancelled: %s", text)
	}
	if text := s.companion(0, "report", run, "-o", "json"); !strings.Contains(text, "@") || !strings.Contains(text, ": the canary works") {
		t.Errorf("the report does not say who approved, and why:\n%s", text)
	}
	c.empty()

	c.configure(config(`"1"`, "y\n", ""))
	cmd, out, run = apply()
	s.companion(0, "runs", "cancel", run, "--why", "it breaks")
	if cmd.Wait() == nil {
		t.Errorf("a cancelled run succeeded:\n%s", out)
	}
	for _, text := range []string{unwrapped(out.String()), s.companion(0, "report", run)} {
		if !strings.Contains(text, "the run was cancelled by ") || !strings.Contains(text, ": it breaks") {
			t.Errorf("the report does not say who cancelled the run, and why:\n%s", text)
		}
	}
	cmd, out, _ = apply()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if cmd.Wait() == nil || !strings.Contains(unwrapped(out.String()), "interrupted") {
		t.Errorf("an interrupt does not end a run that waits:\n%s", out)
	}
	if s.content("a", "etc/app") != "y\n" || s.content("b", "etc/app") != "y\n" || s.content("c", "etc/app") != "x\n" {
		t.Error("not one node after the other was changed")
	}
	c.run(0, "apply", "-auto-approve", "-input=false", "-no-color") // one node is left, and nothing follows it
	c.empty()
}

// A plan shows maintenance windows. Outside of one, an apply that may not wait ends as paused, and the next plan shows
// the rest; other groups are rolled out.
func TestTextMaintenance(t *testing.T) {
	s := newSandbox(t, "a", "b", "z")
	c := newCommandLine(t)
	config := func(maintenance, approval string) string {
		group := "resource \"slipway_group\" \"rest\" {\n  name = \"rest\"\n  critical = true\n" +
			"  selectors = [{ node_names = [\"z\"] }]\n}\n" +
			"resource \"slipway_group\" \"all\" {\n  name = \"all\"\n  critical = true\n" +
			"  selectors = [{ node_names = [\"a\", \"b\"] }]\n" + maintenance + "}\n"
		return s.config([]string{"a", "b", "z"}, []string{"app"},
			group+files("app", map[string]string{"/etc/app": "x\n"}),
			"  groups = [slipway_group.all, slipway_group.rest]\n"+approval)
	}
	days := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	day := days[(int(time.Now().UTC().Weekday())+3)%7] // not today, and not soon
	shown := strings.ToUpper(day[:1]) + day[1:]
	closed := "  maintenance = { days = [" + strconv.Quote(day) + "], start = \"22:00\", end = \"04:00\", timezone = \"UTC\" }\n"
	c.configure(config(closed, ""))
	prepare := "all (critical): prepare 2 nodes (a, b); started in " + shown + " 22:00-04:00 UTC, outside of it the run "
	rest := []string{"all (critical): node phase: 2 changes on 2 nodes: create file[/etc/app] on 2",
		"rest (critical): prepare 1 node (z)", "rest (critical): node phase: 1 change on node z: create file[/etc/app]"}
	c.shows(c.changes(), 1, append([]string{prepare + "waits"}, rest...), "a", "b", "z")
	c.configure(config(closed, "  approval = \"end\"\n"))
	c.shows(c.changes(), 1, append([]string{prepare + "ends as paused"}, rest...), "a", "b", "z")
	text := unwrapped(c.run(0, "apply", "-auto-approve", "-input=false", "-no-color"))
	if !strings.Contains(text, "The run is paused") || s.content("a", "etc/app") != "-" || s.content("z", "etc/app") != "x\n" ||
		!strings.Contains(text, "2 nodes not started: the maintenance window is closed") {
		t.Errorf("nodes were started outside of the window, or the others were not:\n%s", text)
	}
	if text := c.run(0, "state", "show", "-no-color", "slipway_deployment.test"); !strings.Contains(
		strings.Join(strings.Fields(text), " "), `status = "paused"`) {
		t.Errorf("the status is not paused:\n%s", text)
	}
	c.shows(c.changes(), 2, []string{prepare + "ends as paused", rest[0]}, "a", "b")
	c.configure(config("  maintenance = { start = \"00:00\", end = \"24:00\", timezone = \"UTC\" }\n", "  approval = \"end\"\n"))
	c.apply()
	c.empty()
	for maintenance, want := range map[string]string{
		`days = []`:                "maintenance.days: is empty, so that the maintenance window never opens",
		`end = "22:00"`:            "maintenance.end: is the same as start, so that the maintenance window never opens",
		`timezone = "Mars/Crater"`: `maintenance.timezone: there is no time zone "Mars/Crater"`,
		`start = "late"`:           `maintenance.start: "late" is not a time of the day`,
		`end = "25:00"`:            `maintenance.end: "25:00" is not a time of the day`,
		`days = ["funday"]`:        `maintenance.days[0]: "funday" is not a day; give mon, tue,`,
	} {
		given := map[string]string{"start": `"22:00"`, "end": `"04:00"`, "timezone": `"UTC"`}
		name, value, _ := strings.Cut(maintenance, " = ")
		given[name] = value
		text := "  maintenance = {\n"
		for name, value := range given {
			text += "    " + name + " = " + value + "\n"
		}
		c.refused(config(text+"  }\n", ""), want)
	}
}

// A frozen deployment does nothing: a plan with work is an error that shows the reason, one without work stays empty.
func TestTextFreeze(t *testing.T) {
	s := newSandbox(t, "a")
	c := newCommandLine(t)
	config := func(content, freeze string) string {
		return s.config([]string{"a"}, []string{"app"}, files("app", map[string]string{"/etc/app": content}), freeze)
	}
	freeze := "  freeze = \"end of quarter\"\n"
	refused := func(text, more string) {
		t.Helper()
		if text = unwrapped(text); !strings.Contains(text, "The deployment is frozen") ||
			!strings.Contains(text, `freeze is "end of quarter": `+more) {
			t.Errorf("want %s, got:\n%s", more, text)
		}
	}
	step := "there is work, and none of it may be done: - default (critical): prepare 1 node (a) - default (critical): node phase: 1 change on node a: "
	c.configure(config("x\n", freeze))
	refused(c.run(1, "plan", "-input=false", "-no-color"), step+"create file[/etc/app]")
	c.configure(config("x\n", ""))
	c.apply()
	c.configure(config("x\n", freeze))
	c.apply() // freeze itself is no work
	c.empty()
	c.configure(config("y\n", freeze))
	refused(c.run(1, "plan", "-input=false", "-no-color"), step+"update file[/etc/app]")
	c.configure(config("x\n", freeze))
	s.write("a", "etc/app", "by hand\n")
	refused(c.run(1, "plan", "-input=false", "-no-color"), step+"repair file[/etc/app]")
	s.write("a", "etc/app", "x\n")
	refused(c.run(1, "plan", "-destroy", "-input=false", "-no-color"), "nothing is undone on the nodes")
	c.configure(config("x\n", ""))
	c.apply()
	c.run(0, "destroy", "-auto-approve", "-input=false", "-no-color")
}

// A limited plan covers the nodes that it names. What waits outside, drift and a node that left among it, stays as it is
// until a plan covers it.
func TestTextLimit(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	c := newCommandLine(t)
	configuration := func(content, limit string, nodes ...string) string {
		return s.config(nodes, []string{"app"}, files("app", map[string]string{"/etc/app": content}), limit)
	}
	config := func(content, limit string, nodes ...string) {
		t.Helper()
		c.configure(configuration(content, limit, nodes...))
	}
	has := func(want ...string) {
		t.Helper()
		for i, n := range []string{"a", "b", "c"} {
			if got := s.content(n, "etc/app"); got != want[i] {
				t.Errorf("node %s has %q, want %q", n, got, want[i])
			}
		}
	}
	warns := func(text, want string) {
		t.Helper()
		if !strings.Contains(unwrapped(text), want) {
			t.Errorf("no warning %q:\n%s", want, text)
		}
	}
	only := func(action string) []string {
		return []string{"default (critical): prepare 1 node (a)", "default (critical): node phase: 1 change on node a: " + action}
	}
	limit := "  limit = { nodes = [\"a\"] }\n"
	config("x\n", limit, "a", "b", "c")
	text := c.changes()
	c.shows(text, 1, only("create file[/etc/app]"), "a")
	warns(text, "the plan covers only node a; 2 nodes with work or to be torn down outside of the limit: b, c. They stay as they are")
	warns(text, "Warning: The plan leaves a part of the site as it is")
	c.apply()
	has("x\n", "-", "-")
	c.empty()
	warns(c.run(0, "state", "show", "-no-color", "slipway_deployment.test"), `"b" = "NOT_STARTED" "c" = "NOT_STARTED"`)
	config("x\n", "", "a", "b", "c")
	c.apply()
	has("x\n", "x\n", "x\n")
	c.empty()

	s.write("b", "etc/app", "by hand\n")
	config("x\n", limit, "a", "b", "c")
	c.apply()
	c.empty()
	s.write("b", "etc/app", "x\n")
	config("y\n", limit, "a", "b") // c leaves
	text = c.changes()
	c.shows(text, 3, only("update file[/etc/app]"), "a")
	warns(text, "2 nodes with work or to be torn down outside of the limit: b, c")
	c.apply()
	has("y\n", "x\n", "x\n")
	c.empty()
	warns(c.run(0, "state", "show", "-no-color", "slipway_deployment.test"), `status = "limited"`)
	config("y\n", "", "a", "b")
	c.apply()
	has("y\n", "y\n", "-")
	c.empty()

	for limit, want := range map[string]string{
		`limit = { nodes = ["d"] }`:           `Unknown node `,
		`limit = { nodes = ["a", "d"] }`:      `limit.nodes[1]: there is no node "d"; use one of a, b.`,
		`limit = { groups = ["g"] }`:          `limit.groups[0]: there is no group "g"; use one of default.`,
		`limit = { groups = ["x"] }`:          `Error: Unknown group `,
		`limit = { groups = ["defaults"] }`:   `limit.groups[0]: there is no group "defaults"; did you mean "default"?`,
		`limit = {}`:                          `limit: names nothing; give nodes or groups, or leave it out`,
		`limit = { nodes = [], groups = [] }`: `limit: names nothing; give nodes or groups, or leave it out`,
	} {
		c.refused(configuration("y\n", limit, "a", "b"), want)
	}
}

// A number that is no whole one, where one is wanted, and a null in a list are one error that names the attribute.
func TestTextWholeNumbersAndNulls(t *testing.T) {
	s := newSandbox(t, "a")
	c := newCommandLine(t)
	motd := files("motd", map[string]string{"/etc/motd": "x\n"})
	config := func(more string) string { return s.config([]string{"a"}, []string{"motd"}, motd, more) }
	group := func(rolling string) string {
		return config("") + "resource \"slipway_group\" \"g\" {\n  name = \"g\"\n  critical = true\n  selectors = []\n" + rolling + "\n}\n"
	}
	for want, wrong := range map[string]string{
		"Invalid value of parallelism with slipway_deployment.test":           config("  parallelism = 1.5"),
		"1.5 is not a whole number; give one, such as 1.":                     config("  parallel_groups = 1.5"),
		"Invalid value of failure_budget.nodes with":                          config("  failure_budget = { nodes = 0.5 }"),
		`Invalid value of approved_batches["g"] with`:                         config("  approved_batches = { g = 1.5 }"),
		"is too large; give a whole number of at most 9223372036854775807.":   config("  parallelism = 1e30"),
		"Invalid value of rolling.health_check.retries with slipway_group.g,": group("  rolling = { health_check = { command = \"works\", retries = 2.5 } }"),
		"Invalid value of rolling.batches[1] with slipway_group.g,":           group("  rolling = { batches = [\"1\", null] }"),
		"Invalid value of depends_on_groups[0] with slipway_group.g,":         group("  depends_on_groups = [null]"),
		"An element is null; leave it out instead.":                           group("  maintenance = { days = [null], start = \"22:00\", end = \"23:00\", timezone = \"UTC\" }"),
	} {
		c.refused(wrong, want)
	}
}
