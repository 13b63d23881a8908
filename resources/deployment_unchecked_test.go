package resources_test

import (
	"regexp"
	"testing"
)

// A node whose health check failed is checked by the next run, which has nothing else to do there, and counts as failed
// again: with approval = "end" its batch is not offered for approval. Nothing in a sandbox can be run, so a health check
// fails there until the group has none.
func TestTextHealthCheckFailed(t *testing.T) {
	s := newSandbox(t, "a", "b", "c")
	c := newCommandLine(t)
	config := func(critical, check, approved string) {
		t.Helper()
		c.configure(s.config([]string{"a", "b", "c"}, []string{"app"},
			"resource \"slipway_group\" \"all\" {\n  name = \"all\"\n  critical = "+critical+"\n  selectors = []\n"+
				"  rolling = { batches = [\"1\"], approve = [\"1\"]"+check+" }\n}\n"+files("app", map[string]string{"/etc/app": "x\n"}),
			"  groups = [slipway_group.all]\n  approval = \"end\"\n"+approved))
	}
	const check, offer = `, health_check = { command = "works" }`, `write approved_batches = { "all" = 1 }`
	config("false", check, "")
	text := c.changes()
	c.has(text, []string{offer}, "whose health check did not succeed")
	c.apply()
	state := func(want ...string) {
		t.Helper()
		c.has(c.run(0, "state", "show", "-no-color", "slipway_deployment.test"), want)
	}
	state(`status = "degraded"`, `"a" = "FAILED" "b" = "NOT_STARTED" "c" = "NOT_STARTED"`)
	run := regexp.MustCompile(`run ([0-9a-f-]{36})`)
	for number := 2; number <= 3; number++ {
		text = c.changes()
		ids := run.FindAllStringSubmatch(text, -1)
		if ids == nil {
			t.Fatalf("the plan names no run:\n%s", text)
		}
		id := ids[len(ids)-1]
		c.shows(text, number, []string{
			"all: prepare 1 node (a); no further batch is started once one has failed",
			"all: batch 1 of 2: 1 node (a), then health check `works`, the run ends for approval",
			"all: each batch: node: check again, the health check of 1 node (a) failed in run " + id[1],
		}, "a")
		c.has(text, []string{"Warning: Nodes are left whose health check did not succeed",
			"the health check of 1 node (a) failed in run " + id[1] + "; a node counts as failed until its check succeeds, and the run checks it again",
			`group "all" waits for batch 1 of 2, in which a health check failed`}, offer)
		c.has(c.run(2, "plan", "-input=false", "-no-color", "-detailed-exitcode", "-refresh=false"), []string{"check again"})
		c.has(c.apply(), []string{"0 of 1 node deployed", "health check: "}, offer)
		state(`status = "degraded"`, `"a" = "FAILED" "b" = "NOT_STARTED" "c" = "NOT_STARTED"`)
	}
	config("true", check, "  approved_batches = { all = 1 }\n")
	c.has(c.changes(), []string{"check again", "batch 2 of 2: 2 nodes (b, c)"})
	c.has(c.failingApply(), []string{"2 nodes not deployed: batch 1 failed"})
	if s.content("b", "etc/app") != "-" {
		t.Error("a batch behind one that was approved and failed again was started")
	}
	config("true", "", "")
	c.has(c.changes(), []string{offer}, "check again", "whose health check did not succeed")
}
