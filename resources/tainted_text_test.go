package resources_test

import (
	"strings"
	"testing"
)

// has checks that a text has some texts, and lacks others, however its lines are wrapped.
func (c *commandLine) has(text string, want []string, lacking ...string) {
	c.t.Helper()
	flat := unwrapped(text)
	for _, w := range want {
		if !strings.Contains(flat, w) {
			c.t.Errorf("no %q in:\n%s", w, text)
		}
	}
	for _, l := range lacking {
		if strings.Contains(flat, l) {
			c.t.Errorf("%q is in:\n%s", l, text)
		}
	}
}

// A creation that cannot read a node that it gives up does not fail for that: the next plan tears the node down.
func TestTextOfANodeGivenUpThatCannotBeRead(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	config := func(paths map[string]string, nodes ...string) {
		c.configure(s.config(nodes, []string{"motd"}, files("motd", paths), ""))
	}
	config(map[string]string{"/etc/motd": "hello\n", "/srv/x": "x\n"}, "a", "b")
	c.failingApply() // /srv is missing
	release := s.spoil("b")
	config(map[string]string{"/etc/motd": "hello\n"}, "a")
	c.has(c.apply(), []string{`node "b" is torn down by the next plan; its ledger could not be read: `})
	for run := 2; run <= 3; run++ {
		text := c.changes()
		c.shows(text, run, []string{"cleanup: tear down b"})
		c.has(text, []string{"The plan tears down 1 node: b", "b: undoes what its ledger says, which is not known"}, "if it answers")
		c.has(c.failingApply(), []string{`node "b" is not torn down`})
	}
	release()
	c.shows(c.changes(), 4, []string{"cleanup: tear down b"})
	c.apply()
	c.empty()
	if got := s.content("b", "etc/motd"); got != "-" {
		t.Errorf("b has %q", got)
	}
}

// The refresh does not know whether the deployment is still tainted: what it says is true of an update, too.
func TestTextOfAnUntaintedPlanThatTearsDown(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	config := func(nodes ...string) string {
		return s.config(nodes, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "hello\n", "/srv/x": "x\n"}), "")
	}
	c.configure(config("a", "b"))
	c.failingApply() // /srv is missing
	c.run(0, "untaint", deployment)
	said := []string{"Nothing is torn down where Terraform says that the deployment is tainted",
		"makes it an update, whose own warnings say what it tears down",
		`after "terraform untaint" the old site is torn down first`}
	never := []string{`Only "terraform destroy" tears the site down`, "Nothing is torn down, also when"}
	c.configure(config("a"))
	c.has(c.changes(), append(said, "The plan tears down 1 node: b"), never...)
	s.name = "other"
	c.configure(config("a", "b"))
	c.has(c.run(1, "plan", "-input=false", "-no-color"), append(said, "the plan tears down 2 of 2 nodes: a, b"), never...) // protect refuses it
}

// A continuation that gets in to no node saves nothing of their ledgers. The refresh says what is left as soon as it
// knows the ledgers, and that they are not known until then.
func TestTextOfAContinuationThatReachesNoNode(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	c.configure(s.config([]string{"a", "b"}, []string{"two"}, files("two", map[string]string{"/etc/motd": "hello\n", "/srv/x": "x\n"}), ""))
	c.failingApply() // /srv is missing
	left, unknown := "- default (critical): node phase: 2 changes on 2 nodes: create file[/srv/x] on 2", "because nothing is known to be applied there: a, b."
	c.has(c.changes(), []string{left}, unknown)
	releaseA, releaseB := s.spoil("a"), s.spoil("b")
	c.failingApply()
	c.has(c.changes(), []string{"All steps of these nodes count as left, " + unknown})
	releaseA()
	releaseB()
	c.has(c.changes(), []string{left}, unknown)
}

// A continuation that ends before it comes to a node keeps what that node's ledger said at its start.
func TestTextOfAContinuationThatEndsEarly(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	c.configure(s.config([]string{"a", "b"}, []string{"two"}, files("two", map[string]string{"/etc/motd": "hello\n", "/srv/x": "x\n"}), `
  drift_detection = "off"
  groups = [
    { name = "one", critical = true, selectors = [{ node_names = ["a"] }], success_criteria = { percent_successful_nodes = 100 } },
    { name = "two", critical = true, selectors = [{ node_names = ["b"] }], success_criteria = { percent_successful_nodes = 100 }, depends_on_groups = ["one"] },
  ]
`))
	s.mkdir("a", "srv")
	c.failingApply() // /srv is missing on b
	s.spoil("a")
	c.failingApply()
	c.has(c.changes(), []string{"- two (critical): node phase: 1 change on node b: create file[/srv/x]", "because nothing is known to be applied there: a."})
	if got := s.content("b", "etc/motd"); got != "hello\n" {
		t.Errorf("b has %q", got)
	}
}

// unknownLedger is what a plan says of a node b that is torn down, and whose ledger was not read.
const unknownLedger = "b: undoes what its ledger says, which is not known, if it answers, else it stays there"

// A node that a failed creation gave up, and that could not be read, stays in the state after "terraform untaint" until
// it is torn down.
func TestTextOfAnUntaintedNodeGivenUp(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	config := func(nodes ...string) {
		c.configure(s.config(nodes, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "hello\n", "/srv/x": "x\n"}), ""))
	}
	config("a", "b")
	c.failingApply() // /srv is missing
	release := s.spoil("b")
	config("a")
	for range 2 {
		c.failingApply()
		c.has(c.changes(), []string{"must be replaced", "The creation of the site did not finish", "1 node is FAILED (a).", "1 node is given up (b).",
			"A node that is given up is torn down by the plan after the creation, by the update after \"terraform untaint\", or by a destroy.",
			`"failed" -> (known after apply)`}, `"deployed"`, "tears down 1 node")
	}
	s.mkdir("a", "srv")
	c.run(0, "untaint", deployment)
	text := c.changes()
	tearDown := "cleanup: tear down b"
	c.shows(text, 2, []string{"default (critical): prepare 1 node (a)", "default (critical): node phase: 1 change on node a: create file[/srv/x]", tearDown}, "a", "b")
	c.has(text, []string{"The plan tears down 1 node: b", unknownLedger}, "undoes 0 resources")
	c.has(c.failingApply(), []string{`node "b" is not torn down`})
	c.shows(c.changes(), 3, []string{tearDown}, "b")
	release()
	c.shows(c.changes(), 3, []string{tearDown}, "b")
	c.apply()
	c.empty()
	if got := s.content("b", "etc/motd"); got != "-" {
		t.Errorf("b has %q", got)
	}
}

// A node of the site that the creation could not read is one of which nobody knows what is applied: taken out after
// "terraform untaint", it is torn down.
func TestTextOfAnUntaintedNodeThatCouldNotBeRead(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	config := func(nodes ...string) {
		c.configure(s.config(nodes, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "hello\n", "/srv/x": "x\n"}), ""))
	}
	config("a", "b")
	c.failingApply() // /srv is missing
	release := s.spoil("b")
	c.failingApply()
	c.run(0, "untaint", deployment)
	s.mkdir("a", "srv")
	config("a")
	c.has(c.changes(), []string{"cleanup: tear down b", unknownLedger})
	release()
	c.apply()
	c.empty()
	if got := s.content("b", "etc/motd"); got != "-" {
		t.Errorf("b has %q", got)
	}
}

// A creation that gives a node up and fails for another reason keeps what that node's ledger says.
func TestTextOfAnUntaintedNodeGivenUpThatWasRead(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	config := func(nodes ...string) {
		c.configure(s.config(nodes, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "hello\n", "/srv/x": "x\n"}), `drift_detection = "off"`))
	}
	config("a", "b")
	c.failingApply() // /srv is missing
	config("a")
	c.failingApply()
	c.run(0, "untaint", deployment)
	c.has(c.changes(), []string{"cleanup: tear down b", "b: undoes 1 resource: file[/etc/motd]"})
	s.mkdir("a", "srv")
	c.apply()
	c.empty()
	if got := s.content("b", "etc/motd"); got != "-" {
		t.Errorf("b has %q", got)
	}
}

// The refresh does not know whether a destroy is planned: what it says after a failed creation is true of one, too.
func TestTextOfADestroyAfterAFailedCreation(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	c.configure(s.config([]string{"a", "b"}, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "hello\n", "/srv/x": "x\n"}), ""))
	c.failingApply() // /srv is missing
	said, never := "An apply continues the creation, a destroy tears the site down.", []string{"The next apply continues"}
	undone := "Destroying the deployment undoes 2 resources on 2 nodes"
	c.has(c.changes(), []string{said}, never...)
	c.has(c.changes("-destroy"), []string{undone}, never...)
	c.has(c.failingApply(), []string{said}, never...)
	c.has(c.run(0, "destroy", "-input=false", "-no-color", "-auto-approve"), []string{undone}, never...)
	for _, node := range []string{"a", "b"} {
		if got := s.content(node, "etc/motd"); got != "-" {
			t.Errorf("%s has %q", node, got)
		}
	}
}

// A creation that is refused before it starts, in the place of one that failed, keeps what the state has of that one:
// nodes that are given up are known from it alone.
func TestTextOfAContinuationThatIsRefused(t *testing.T) {
	s := newSandbox(t, "a", "b")
	c := newCommandLine(t)
	config := func(nodes ...string) string {
		return s.config(nodes, []string{"motd"}, files("motd", map[string]string{"/etc/motd": "hello\n", "/srv/x": "x\n"}), "")
	}
	c.configure(config("a", "b"))
	c.failingApply() // /srv is missing
	s.write("a", "file", "")
	c.configure(strings.Replace(config("a"), s.path("", "journal"), s.path("a", "file"), 1))
	c.has(c.failingApply(), []string{"The journal cannot be opened"})
	s.mkdir("a", "srv")
	c.configure(config("a"))
	c.has(c.changes(), []string{"must be replaced", "The creation of the site did not finish"})
	c.apply()
	c.has(c.changes(), []string{"cleanup: tear down b"})
	c.apply()
	c.empty()
	if got := s.content("b", "etc/motd"); got != "-" {
		t.Errorf("b has %q", got)
	}
}
