package resources_test

import (
	"bufio"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
	"github.com/slipway/terraform-provider-slipway/planner/temporal/temporaltest"
)

// key is the SLIPWAY_KEY of the tests.
const key = "c2xpcHdheS1rZXktb2YtdGhlLXRlc3RzLTMyLWJ5dGU="

// cluster is a site whose runs are handed over to Temporal.
type cluster struct {
	*sandbox
	server *temporaltest.Server
}

// newCluster starts a server of Temporal and a database.
func newCluster(t *testing.T, nodes ...string) *cluster {
	t.Helper()
	s := newSandbox(t, nodes...)
	s.journal = postgrestest.Start(t).URL(t)
	return &cluster{s, temporaltest.Start(t)}
}

// engine makes a configuration hand its runs over.
func (c *cluster) engine(config, more string) string {
	return strings.Replace(config, "provider \"slipway\" {\n",
		"provider \"slipway\" {\n  engine = { temporal = { address = \""+c.server.Address+"\""+more+" } }\n", 1)
}

// with gives the deployment of a configuration one more attribute.
func with(config, attribute string) string {
	return strings.Replace(config, "  groups = ", "  "+attribute+"\n  groups = ", 1)
}

// worker starts a worker and returns when it works. It ends with the test.
func (c *cluster) worker(args ...string) *exec.Cmd {
	c.t.Helper()
	binary := filepath.Join(filepath.Dir(os.Getenv("SLIPWAY_MIRROR")), "terraform-provider-slipway")
	cmd := exec.Command(binary, append([]string{"worker", "--temporal", c.server.Address}, args...)...)
	cmd.Env = append(os.Environ(), "SLIPWAY_JOURNAL="+c.journal, "SLIPWAY_KEY="+key)
	cmd.Stderr = c.t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		c.t.Fatal("the worker does not start", err)
	}
	c.t.Cleanup(func() { c.end(cmd, syscall.SIGTERM) })
	if lines := bufio.NewScanner(out); !lines.Scan() || !strings.HasPrefix(lines.Text(), "working for ") {
		c.t.Fatalf("the worker does not work: %q", lines.Text())
	}
	return cmd
}

// end ends a worker, unless it has ended.
func (c *cluster) end(cmd *exec.Cmd, signal syscall.Signal) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Signal(signal)
		_ = cmd.Wait()
	}
}

// await waits until a condition is true. When it does not become true, the test fails and shows what the journal has.
func (c *cluster) await(what string, is func() bool) {
	c.t.Helper()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for limit := time.After(patience); !is(); {
		select {
		case <-ticker.C:
		case <-limit:
			c.t.Fatalf("%s: not after %s\n%s", what, patience, c.companion(0, "report"))
		}
	}
}

// ends are the ways in which Terraform ends without saying so to its provider.
var ends = map[string]func(terraform *process) error{
	"SIGKILL": func(p *process) error { return p.Process.Kill() },
	// a closed terminal, which signals the provider, too
	"SIGHUP": func(p *process) error { return syscall.Kill(-p.Process.Pid, syscall.SIGHUP) },
	// Terraform prints every ten seconds that it waits
	"closed pipe": func(p *process) error { return p.out.Close() },
}

// process is a command of Terraform at work, with a process group of its own.
type process struct {
	*exec.Cmd
	out *os.File // its output
}

// applying is the line of an apply that begins with the deployment.
var applying = regexp.MustCompile(`^slipway_deployment\.test: (Creating|Modifying)`)

// killed ends Terraform in an apply, while the run waits for approval, and returns the run. Nothing of Terraform is left.
func (c *cluster) killed(in *commandLine, how string) (run string) {
	c.t.Helper()
	cmd, _ := in.command("apply", "-auto-approve", "-input=false", "-no-color")
	out, to, err := os.Pipe()
	c.must(err)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = to, to, &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	_ = to.Close() // Terraform has it
	c.must(err)
	for lines := bufio.NewScanner(out); lines.Scan() && !applying.MatchString(lines.Text()); {
		c.t.Log(lines.Text())
	}
	run = c.waiting()
	c.must(ends[how](&process{cmd, out}))
	if err := cmd.Wait(); err == nil {
		c.t.Errorf("Terraform ends in order with %s", how)
	}
	_ = out.Close() // nobody writes to it
	c.await("nothing of Terraform is left", func() bool { return syscall.Kill(-cmd.Process.Pid, 0) != nil })
	return run
}

// A run that is handed over to Temporal does what one of this process does, and outlives Terraform.
func TestTextEngine(t *testing.T) {
	s := newCluster(t, "a", "b")
	c, other, stale := newCommandLine(t), newCommandLine(t), newCommandLine(t)
	s.worker()

	c.configure(s.engine(s.rolling("x\n", ""), ""))
	c.changes()
	c.apply()
	c.empty()
	if s.content("a", "etc/app") != "x\n" || s.content("b", "etc/app") != "x\n" {
		t.Error("the site is not deployed")
	}

	// Terraform is killed while the run waits for approval, and so is one that waits for the run.
	c.configure(s.engine(s.rolling("y\n", canary), ""))
	run := s.killed(c, "SIGKILL")
	if again := s.killed(c, "closed pipe"); again != run {
		t.Errorf("the apply did not wait for run %s, but for %s", run, again)
	}
	state, err := os.ReadFile(filepath.Join(c.dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	other.write("terraform.tfstate", string(state))
	other.configure(s.engine(s.rolling("z\n", ""), ""))
	if text := unwrapped(other.failingApply()); !strings.Contains(text, "runs cancel "+run) {
		t.Errorf("another desire does not say how to cancel the run:\n%s", text)
	}
	replaced := []string{"apply", "-replace=" + deployment, "-input=false", "-no-color", "-auto-approve"}
	for _, more := range []string{`protect = { max_torn_down_nodes = "100%" }`, ""} {
		other.configure(with(s.engine(s.rolling("y\n", canary), ""), more))
		c.has(other.run(1, replaced...), []string{"A run was active at the last refresh", "While run " + run + " is active",
			"runs cancel " + run}, "protect", "undoes")
	}
	stale.write("terraform.tfstate", string(state))
	stale.configure(with(s.engine(s.rolling("y\n", canary), ""), `protect = { max_torn_down_nodes = "100%" }`))
	c.has(stale.run(1, append(replaced, "-refresh=false")...),
		[]string{"as requested", "Another run is at work on the site", "runs cancel " + run})
	c.has(c.changes("-out=active.tfplan"), []string{"A run was active when this was planned",
		"Run " + run + ", started", "so no node was looked at", "While it is active, apply the configuration", `"` + run + `" -> `, "2.3 all (critical): batch 2 of 2: 1 node (b)", `"deployed" -> (known after apply)`})
	s.companion(0, "runs", "approve", run)
	s.await("the end of the run", func() bool { return strings.Contains(s.companion(0, "runs"), "update     succeeded") })
	other.configure(s.engine(s.rolling("y\n", canary), ""))
	c.has(other.changes(), []string{"A run ended without Terraform", "Run " + run + " of the site \"lon1\" ended at",
		"succeeded", "slipway_service.app will be updated"}, "slipway_deployment.test will be")
	c.run(0, "apply", "-input=false", "-no-color", "active.tfplan") // it was planned while the run was active
	c.empty()
	if text := s.companion(0, "runs"); strings.Count(text, "update     succeeded") != 1 {
		t.Errorf("the run was not adopted, but done again:\n%s", text)
	}
}

// Terraform that is killed in a creation leaves no state. The next plan says all the same that the run is active, or how
// it ended, and the apply takes its outcome over.
func TestTextEngineCreationKilled(t *testing.T) {
	s := newCluster(t, "a", "b")
	c := newCommandLine(t)
	s.worker()
	c.configure(s.engine(s.rolling("x\n", canary), ""))
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // with nohup, Terraform would ignore it as these tests do
	run := s.killed(c, "SIGHUP")
	c.has(c.changes(), []string{"A run was active when this was planned", "Run " + run + ", started", "runs cancel " + run})
	s.companion(0, "runs", "approve", run)
	s.await("the end of the run", func() bool { return strings.Contains(s.companion(0, "runs"), "create     succeeded") })
	if text := unwrapped(c.changes()); !strings.Contains(text, "Run "+run) || !strings.Contains(text, "succeeded") {
		t.Errorf("the plan does not say how the run ended:\n%s", text)
	}
	c.apply()
	c.empty()
	if text := s.companion(0, "runs"); strings.Count(text, "create     succeeded") != 1 {
		t.Errorf("the run was not taken over, but done again:\n%s", text)
	}
}

// A creation that failed and that Terraform waited for is in the state. No plan and no apply says otherwise.
func TestTextEngineCreationFailed(t *testing.T) {
	s := newCluster(t, "a")
	c := newCommandLine(t)
	s.worker()
	c.configure(s.engine(s.config([]string{"a"}, []string{"app"}, files("app", map[string]string{"/srv/x": "x\n"}), ""), ""))
	c.failingApply() // /srv is missing
	never := []string{"ended without Terraform", "not in the state"}
	c.has(c.changes(), []string{"is tainted, so "}, never...)
	c.has(c.changes("-refresh=false"), []string{"A run of the site has ended", "knows no outcome of it"}, never...)
	c.has(c.failingApply(), []string{"is tainted, so "}, append(never, "A run of the site has ended")...)
	s.mkdir("a", "srv")
	c.has(c.apply(), nil, append(never, "A run of the site has ended")...)
	c.empty()
}

// A worker that is killed leaves its run to another one, which goes on from where the run was: what was approved is not
// asked for again, and a node that failed is not tried again.
func TestTextEngineWorkerKilled(t *testing.T) {
	nodes := []string{"a", "b", "c", "d"}
	s := newCluster(t, nodes...)
	c := newCommandLine(t)
	first := s.worker()
	s.mkdir("a", "etc/app/full") // no file can be written there
	c.configure(s.engine(s.config(nodes, []string{"app"}, `resource "slipway_group" "early" {
  name      = "early"
  critical  = false
  selectors = [{ node_names = ["a"] }]
}
resource "slipway_group" "all" {
  name      = "all"
  critical  = true
  selectors = [{ node_names = ["b", "c", "d"] }]
  rolling   = { batches = ["1", "2"], approve = ["1", "2"] }
}
`+files("app", map[string]string{"/etc/app": "x\n"}), "  groups = [slipway_group.early, slipway_group.all]\n"), ""))
	cmd, out := c.command("apply", "-auto-approve", "-input=false", "-no-color")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	run := s.waiting()
	s.companion(0, "runs", "approve", run)
	s.await("the second batch", func() bool { return s.content("c", "etc/app") == "x\n" && s.count("paused") == 2 })
	s.end(first, syscall.SIGKILL)
	s.worker()
	s.companion(0, "runs", "approve", run)
	s.await("the third batch", func() bool { return s.content("d", "etc/app") == "x\n" })
	err := cmd.Wait()
	text := unwrapped(out.String())
	if err != nil || !strings.Contains(text, "The site was rolled out in part") {
		t.Errorf("the run did not end in part: %v\n%s", err, text)
	}
	report := s.companion(0, "report", "--output", "json")
	for kind, want := range map[string]int{"run_started": 1, "paused": 2, "run_finished": 1} {
		if got := s.count(kind); got != want {
			t.Errorf("%d events %s, want %d:\n%s", got, kind, want, report)
		}
	}
	for _, node := range nodes { // its preparation and its file
		if got := len(regexp.MustCompile(`"kind": "task_started",[^}]*"node": "`+node+`"`).FindAllString(report, -1)); got != 2 {
			t.Errorf("%d tasks were started on node %s, want 2:\n%s", got, node, report)
		}
	}
}

// count returns how many events of a kind the last run has.
func (c *cluster) count(kind string) int {
	c.t.Helper()
	return strings.Count(c.companion(0, "report", "--output", "json"), `"kind": "`+kind+`"`)
}

// Terraform's own interrupt stops a run, unless it is to go on then, and so does the end of its time.
func TestTextEngineInterrupted(t *testing.T) {
	s := newCluster(t, "a", "b")
	c := newCommandLine(t)
	s.worker()
	interrupted := func(content, more string, signal os.Signal) string {
		t.Helper()
		c.configure(s.engine(s.rolling(content, canary), more))
		cmd, out := c.command("apply", "-auto-approve", "-input=false", "-no-color")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		s.waiting()
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Errorf("an interrupted apply succeeds:\n%s", out)
		}
		return unwrapped(out.String())
	}
	if text := interrupted("x\n", "", syscall.SIGTERM); !strings.Contains(text, "The run was interrupted") {
		t.Errorf("the run was not stopped:\n%s", text)
	}
	if text := s.companion(0, "runs"); !strings.Contains(text, "create     interrupted") {
		t.Errorf("runs:\n%s", text)
	}
	// So does the time limit of the deployment.
	c.configure(with(s.engine(s.rolling("z\n", canary), ""), `timeouts = { create = "10s" }`))
	c.has(c.failingApply(), []string{"The run ran out of time", "The limit of timeouts.create, 10s, is over", "interrupted"})
	text := s.companion(0, "runs")
	if strings.Count(text, "create     interrupted") != 2 || s.content("b", "etc/app") != "-" {
		t.Errorf("the run was not stopped in order:\n%s", text)
	}
	if text := interrupted("y\n", ", detach = true", os.Interrupt); !strings.Contains(text, "The run goes on") {
		t.Errorf("the run was not left active:\n%s", text)
	}
	// The creation failed for Terraform, which plans to replace the deployment: nothing is torn down for that, and while
	// the run is active, nothing else is done either.
	c.configure(s.engine(s.rolling("w\n", ""), ""))
	c.has(c.failingApply(), []string{"is tainted", "Another run is at work on the site", "runs cancel " + s.waiting()})
	c.configure(s.engine(s.rolling("y\n", canary), ""))
	text = unwrapped(c.run(2, "plan", "-input=false", "-no-color", "-detailed-exitcode"))
	c.has(text, []string{"A run was active when this was planned", "active_run"})
	cmd, _ := c.command("apply", "-auto-approve", "-input=false", "-no-color")
	cmd.Stdout, cmd.Stderr = nil, nil
	out, err := cmd.StdoutPipe()
	s.must(err)
	s.must(cmd.Start())
	text = ""
	for lines := bufio.NewScanner(out); lines.Scan(); text += lines.Text() + "\n" {
		if applying.MatchString(lines.Text()) {
			s.companion(0, "runs", "approve", s.waiting())
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the apply did not wait for the run: %v", err)
	}
	// Terraform prints the warnings of its plan once more after the apply, when the run has ended.
	_, after, _ := strings.Cut(text, "Creation complete")
	c.has(after, []string{"A run was active when this was planned", "While it is active, apply", "Apply complete"})
	c.empty()
	if s.content("b", "etc/app") != "y\n" {
		t.Error("the run did not go on")
	}
}

// What keeps a run from being handed over is named, and no node is touched.
func TestTextEngineRefuses(t *testing.T) {
	s := newCluster(t, "a", "b")
	c := newCommandLine(t)
	config := s.rolling("x\n", "")
	refused := func(config, want string) {
		t.Helper()
		c.configure(config)
		if text := unwrapped(c.failingApply()); !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
		if got := s.content("a", "etc/app"); got != "-" {
			t.Fatalf("a node was touched: %q", got)
		}
	}
	refused(s.engine(config, ""), "no worker executes runs of this version of slipway")
	refused(s.engine(config, ", namespace = \"nowhere\""), `has no namespace "nowhere"`)
	refused(strings.Replace(s.engine(config, ""), s.server.Address, "127.0.0.1:1", 1),
		`the Temporal server at "127.0.0.1:1" does not answer`)
	refused(strings.Replace(s.engine(config, ""), s.server.Address, "nowhere", 1), `engine.temporal.address: "nowhere" is not HOST:PORT`)
	refused(strings.Replace(s.engine(config, ""), "journal = ", "# ", 1), "engine.temporal: workers and all who plan share the journal")
	secret := func(value string) (_, want string) {
		return strings.Replace(s.engine(config, ""), "root = ", "credentials = { sudo_password = "+value+" }, root = ", 1),
			`node "a": connect.credentials.sudo_password is a secret, and does not go to the workers`
	}
	c.refused(secret(`"geheim"`))
	c.refused(strings.Replace(s.engine(config, ""), "journal = ", "connection = { passphrase = \"geheim\" }\n  journal = ", 1),
		"connection.passphrase of the provider is a secret, and does not go to the workers")
	late, want := secret("terraform_data.secret.output") // is not known before the apply
	refused(late+"resource \"terraform_data\" \"secret\" { input = \"geheim\" }\n", want)
	refused(s.engine(config, ", tls = { cert_file = \"x\" }"), "engine.temporal.tls.cert_file: goes with engine.temporal.tls.key_file")
}
