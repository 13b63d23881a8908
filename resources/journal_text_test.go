package resources_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
)

// canary makes a run wait for an approval after its first node.
const canary = "  rolling = { batches = [\"1\"], approve = [\"1\"] }\n"

// rolling is a site with a file on the nodes a and b, in a group with more in it.
func (s *sandbox) rolling(content, more string) string {
	group := "resource \"slipway_group\" \"all\" {\n  name = \"all\"\n  critical = true\n  selectors = []\n" + more + "}\n"
	return s.config([]string{"a", "b"}, []string{"app"},
		group+files("app", map[string]string{"/etc/app": content}), "  groups = [slipway_group.all]\n")
}

// With a journal in PostgreSQL, another folder has the history, and of two controllers the second names the first.
func TestTextPostgres(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c, other := newCommandLine(t), newCommandLine(t)
	s.journal = postgrestest.Start(t).URL(t)
	c.configure(s.rolling("x\n", ""))
	c.changes()
	printed := c.apply()
	c.empty()
	if s.content("b", "etc/app") != "x\n" {
		t.Error("the site is not deployed")
	}
	if text := s.companion(0, "runs"); !strings.Contains(text, "create     succeeded") {
		t.Errorf("the run is not in the list of another folder:\n%s", text)
	}
	if text := s.companion(0, "report"); !strings.Contains(text, "succeeded") {
		t.Errorf("report:\n%s", text)
	}

	// The first waits for an approval while the second wants the site.
	state, err := os.ReadFile(filepath.Join(c.dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	other.write("terraform.tfstate", string(state))
	c.configure(s.rolling("y\n", canary))
	other.configure(s.rolling("z\n", ""))
	cmd, out := c.command("apply", "-auto-approve", "-input=false", "-no-color")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	run := s.waiting()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	refused := unwrapped(other.failingApply())
	for _, want := range []string{"Another run is at work on the site", `site "lon1" is held by run ` + run + " of " + host +
		", process ", ", running since 2", "`terraform-provider-slipway runs unlock lon1 --force`", "No node was touched"} {
		if !strings.Contains(refused, want) {
			t.Errorf("the second controller does not say %q:\n%s", want, refused)
		}
	}
	if s.content("a", "etc/app") != "y\n" || s.content("b", "etc/app") != "x\n" {
		t.Error("the second controller touched a node")
	}
	s.companion(0, "runs", "approve", run)
	if err := cmd.Wait(); err != nil || s.content("b", "etc/app") != "y\n" {
		t.Errorf("the first did not go on: %v\n%s", err, out)
	}
	c.empty()

	for what, text := range map[string]string{"apply": printed, "refusal": refused, "state": string(state)} {
		if strings.Contains(text, postgrestest.Password) {
			t.Errorf("%s has the password", what)
		}
	}
	for _, dir := range []string{c.dir, other.dir, s.dir} {
		if _, err := os.Stat(filepath.Join(dir, ".slipway")); err == nil {
			t.Errorf("%s has a journal of its own", dir)
		}
	}
}

// A run goes on after a restart of the database. Without the database it starts nothing more and ends with an error;
// the next plan shows the rest.
func TestTextPostgresGoesAway(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	cluster := postgrestest.Start(t)
	s.journal = cluster.URL(t)
	apply := func(content string) (*exec.Cmd, *bytes.Buffer, string) {
		t.Helper()
		c.configure(s.rolling(content, canary))
		cmd, out := c.command("apply", "-auto-approve", "-input=false", "-no-color")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, out, s.waiting()
	}
	cmd, out, run := apply("x\n")
	if err := errors.Join(cluster.Stop(), cluster.Up()); err != nil {
		t.Fatal(err)
	}
	s.companion(0, "runs", "approve", run)
	if err := cmd.Wait(); err != nil || s.content("b", "etc/app") != "x\n" {
		t.Fatalf("the run did not survive a restart: %v\n%s", err, out)
	}
	c.empty()

	cmd, out, _ = apply("y\n")
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	err := cmd.Wait()
	text := unwrapped(out.String())
	if err == nil || !strings.Contains(text, "no connection for") || strings.Contains(text, postgrestest.Password) {
		t.Errorf("without the database: %v\n%s", err, text)
	}
	if took := time.Since(stopped); took > journal.LeaseTime {
		t.Errorf("the run ended after %s: another may have had the site by then", took)
	}
	if s.content("a", "etc/app") != "y\n" || s.content("b", "etc/app") != "x\n" {
		t.Error("the run did not stop after the canary")
	}
	if err := cluster.Up(); err != nil {
		t.Fatal(err)
	}
	c.configure(s.rolling("y\n", ""))
	if text := c.changes(); !strings.Contains(text, "1 node (b)") {
		t.Errorf("the plan does not show the rest:\n%s", text)
	}
	c.apply() // the process of the run before has ended on this machine, so its lease has no holder
	c.empty()
	if s.content("b", "etc/app") != "y\n" {
		t.Error("the rest was not done")
	}
}
