package resources_test

import (
	"strconv"
	"strings"
	"testing"
)

// With approval = "end" each apply goes as far as the next batch that is not approved, and ends successfully; what
// waits, drift and a node that left among it, stays as it is until a later apply covers it.
func TestTextApprovedBatches(t *testing.T) {
	s := newSandbox(t, "a", "b", "c", "d", "e", "f")
	c := newCommandLine(t)
	configuration := func(content, approved string, nodes ...string) string {
		group := func(name, node, more string) string {
			return "resource \"slipway_group\" \"" + name + "\" {\n  name = \"" + name + "\"\n  critical = true\n" +
				"  selectors = [{ node_names = [" + node + "] }]\n" + more + "}\n"
		}
		of := map[string]string{"/etc/app": content}
		if content == "unknown" {
			of["/etc/sure"] = "x\n"
		}
		text := s.config(nodes, []string{"app"},
			group("all", `"a", "b", "c", "f"`, "  rolling = { batches = [\"1\", \"2\"], approve = [\"1\", \"2\"] }\n")+
				group("after", `"d"`, "  depends_on_groups = [slipway_group.all.name]\n")+group("other", `"e"`, "")+
				files("app", of),
			"  groups = [slipway_group.all, slipway_group.after, slipway_group.other]\n  approval = \"end\"\n"+approved)
		return strings.ReplaceAll(text, `"unknown"`, "terraform_data.z.output") +
			"resource \"terraform_data\" \"z\" {\n  input = \"z\"\n  triggers_replace = " + strconv.Quote(content) + "\n}\n"
	}
	config := func(content, approved string, nodes ...string) {
		t.Helper()
		c.configure(configuration(content, approved, nodes...))
	}
	has := func(want ...string) {
		t.Helper()
		for i, n := range []string{"a", "b", "c", "d", "e", "f"} {
			if got := s.content(n, "etc/app"); got != want[i] {
				t.Errorf("node %s has %q, want %q", n, got, want[i])
			}
		}
	}
	steps := func(batches, nodes string, more ...string) []string {
		return append([]string{"all (critical): prepare " + nodes + "; no further batch is started once one has failed"},
			append(strings.Split(batches, "\n"), more...)...)
	}
	config("x\n", "", "a", "b", "c", "d", "e", "f")
	text := c.changes()
	c.shows(text, 1, steps("all (critical): batch 1 of 3: 1 node (a), then the run ends for approval", "1 node (a)",
		"all (critical): each batch: node phase, 1 node at a time: 1 change on node a: create file[/etc/app]",
		"other (critical): prepare 1 node (e)",
		"other (critical): node phase: 1 change on node e: create file[/etc/app]"), "a", "e")
	c.has(text, []string{"Warning: The plan leaves a part of the site as it is", `group "all" waits for the approval of batch 1 of 3: write approved_batches = { "all" = 1 } to ` +
		`approve it; group "after" waits for the groups that it comes after; 4 nodes with work or to be torn down behind ` +
		`that: b, c, d, f. They stay as they are until a plan covers them`})
	c.has(c.apply(), []string{"The run is paused", `write approved_batches = { "all" = 1 }`,
		"NOT_STARTED (not approved yet): b, c, d, f"})
	has("x\n", "-", "-", "-", "x\n", "-")
	c.empty()
	c.has(c.run(0, "state", "show", "-no-color", "slipway_deployment.test"), []string{`status = "paused"`,
		`"after" = "NOT_STARTED" "all" = "NOT_STARTED" "other" = "DEPLOYED"`})

	config("x\n", "  approved_batches = { all = 1 }\n", "a", "b", "c", "d", "e", "f")
	c.shows(c.changes(), 2, steps("all (critical): batch 2 of 3: 1 node (b), then the run ends for approval", "1 node (b)",
		"all (critical): each batch: node phase, 1 node at a time: 1 change on node b: create file[/etc/app]"), "b")
	c.apply()
	has("x\n", "x\n", "-", "-", "x\n", "-")
	c.empty()

	config("x\n", "  approved_batches = { all = 2 }\n", "a", "b", "c", "d", "e", "f")
	c.shows(c.changes(), 3, steps("all (critical): batch 3 of 3: 2 nodes (c, f)", "2 nodes (c, f)",
		"all (critical): each batch: node phase, 1 node at a time: 2 changes on 2 nodes: create file[/etc/app] on 2",
		"after (critical): prepare 1 node (d)",
		"after (critical): node phase: 1 change on node d: create file[/etc/app]"), "c", "d", "f")
	c.apply()
	has("x\n", "x\n", "x\n", "x\n", "x\n", "x\n")
	c.empty()
	c.has(c.run(0, "state", "show", "-no-color", "slipway_deployment.test"), []string{`status = "deployed"`,
		`"after" = "DEPLOYED" "all" = "DEPLOYED" "other" = "DEPLOYED"`})

	s.write("c", "etc/app", "by hand\n") // drift waits, too
	config("x\n", "  approved_batches = {}\n", "a", "b", "c", "d", "e", "f")
	c.apply()
	has("x\n", "x\n", "by hand\n", "x\n", "x\n", "x\n")
	c.empty()
	s.write("c", "etc/app", "x\n")
	config("y\n", "  approved_batches = {}\n", "a", "b", "c", "d", "e") // and so does f, which leaves
	c.apply()
	has("y\n", "x\n", "x\n", "x\n", "y\n", "x\n")
	c.empty()
	config("y\n", "  approved_batches = { all = 3 }\n", "a", "b", "c", "d", "e")
	c.apply()
	has("y\n", "y\n", "y\n", "y\n", "y\n", "-")
	c.empty()

	// What a held node lost is no drift any more where the held change concerns the same file: only the rest is.
	s.write("b", "etc/app", "by hand\n")
	s.write("d", "etc/app", "by hand\n")
	config("w\n", "  approved_batches = {}\n", "a", "b", "c", "d", "e")
	c.apply()
	has("w\n", "by hand\n", "y\n", "by hand\n", "w\n", "-")
	c.empty()
	config("y\n", "  approved_batches = { all = 3 }\n", "a", "b", "c", "d", "e")
	c.apply()
	has("y\n", "y\n", "y\n", "y\n", "y\n", "-")

	// Where something is not known, what comes before a pause that is not approved is certain.
	s.write("d", "etc/app", "by hand\n")
	config("unknown", "  approved_batches = { all = 0 }\n", "a", "b", "c", "d", "e")
	c.has(c.changes(), []string{"all (critical): prepare 1 node (a)",
		"1 change on node a: create file[/etc/sure]", "1 change on node e: create file[/etc/sure]",
		"Not shown: what comes after a batch that is not approved"})
	config("unknown", "  approved_batches = { all = 2 }\n", "a", "b", "c", "d", "e")
	c.has(c.changes(), []string{"all (critical): prepare 3 nodes (a, b, c)", "on node d: "})
	c.apply()
	has("z", "z", "z", "z", "z", "-")
	c.empty()

	for approved, want := range map[string]string{
		`approved_batches = { none = 1 }`:  `approved_batches["none"]: there is no such group`,
		`approved_batches = { other = 1 }`: `approved_batches["other"]: the group waits for no approval`,
		`approved_batches = { all = -1 }`:  `approved_batches["all"]: -1 is not a whole number, 0 or more`,
		`approved_batches = { all = 4 }`:   `approved_batches["all"]: there is no batch 4; the last one of the group is 3`,
	} {
		c.refused(configuration("y\n", "  "+approved+"\n", "a", "b", "c", "d", "e"), want)
	}
	config("y\n", "", "a", "b", "c", "d", "e")
	c.run(0, "destroy", "-auto-approve", "-input=false", "-no-color")
}
