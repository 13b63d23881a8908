package resources_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// In 20 groups that each do something else, small changes after the creation print 20 of its 40 steps each, until the
// state has none of them.
func TestTextOfASmallChangeAfterManySteps(t *testing.T) {
	const groups = 20
	s := newSandbox(t)
	c := newCommandLine(t)
	for i := range groups {
		s.mkdir(fmt.Sprintf("n%02d", i), "etc")
	}
	configure := func(content string) {
		c.configure(fmt.Sprintf(`
provider "slipway" { journal_directory = %q }
resource "slipway_deployment" "test" {
  site     = "lon1"
  nodes    = { for i in range(%d) : format("n%%02d", i) => { name = format("n%%02d", i), connect = { transport = "local", root = format("%s/n%%02d", i) } } }
  groups   = [for i in range(%[2]d) : { name = "g${i}", critical = true, selectors = [{ node_names = [format("n%%02d", i)] }] }]
  services = { for i in range(%[2]d) : "s${i}" => { name = "s${i}", selectors = [{ node_names = [format("n%%02d", i)] }],
    configuration = { file = { "/etc/g${i}" = { content = i == 7 ? %[4]q : "x" } } } } }
}
output "steps" { value = slipway_deployment.test.steps }
output "did" { value = slipway_deployment.test.last_run_steps }
`, filepath.Join(s.dir, "journal"), groups, s.dir, content))
	}
	configure("one")
	c.apply()
	c.empty()
	dropped := regexp.MustCompile(`(?m)^ *[-~] "\d+\.\d+ g`)
	for run := 2; run <= 6; run++ {
		configure(fmt.Sprint(run))
		text, _, _ := strings.Cut(c.changes(), "Changes to Outputs")
		c.shows(text, run, []string{"g7 (critical): prepare 1 node (n07)",
			"g7 (critical): node phase: 1 change on node n07: update file[/etc/g7]"}, "n07")
		if old := len(dropped.FindAllString(text, -1)); old > 20 {
			t.Errorf("run %d prints %d steps of earlier runs:\n%s", run, old, text)
		}
		c.apply()
		c.empty()
		if did := c.run(0, "output", "-no-color", "did"); !strings.Contains(did, fmt.Sprintf("%d.1 to %[1]d.2, as in steps", run)) {
			t.Errorf("run %d did %s", run, did)
		}
	}
	if steps := c.run(0, "output", "-no-color", "steps"); strings.Contains(steps, "1.") || strings.Count(steps, "\n") > 5 {
		t.Errorf("steps of the creation are still there: %s", steps)
	}
}

// What Terraform itself prints of a map of which something is not known, without slipway: each element that is not known,
// and all elements that the state has where the map is not known. So nodes that may be concerned are a line each in
// changed_nodes and node_status.
func TestTextOfWhatIsNotKnown(t *testing.T) {
	const elements = 30
	c := newCommandLine(t)
	configure := func(each, whole string) {
		c.configure(fmt.Sprintf(`
resource "terraform_data" "late" { input = { for i in range(%d) : "w${i}" => "x" } }
resource "terraform_data" "each" { input = { for i in range(%[1]d) : "e${i}" => i %% 2 == 0 ? "x" : %s } }
resource "terraform_data" "whole" { input = %s }
`, elements, each, whole))
	}
	configure(`"x"`, "terraform_data.late.output")
	c.apply()
	configure("terraform_data.late.id", "terraform_data.late.output")
	text := c.changes("-replace=terraform_data.late")
	for i := range elements {
		each := regexp.MustCompile(fmt.Sprintf(`(?m)^ *~ e%d += "x" -> \(known after apply\)$`, i))
		if printed := each.MatchString(text); printed != (i%2 == 1) {
			t.Errorf("e%d is printed: %t", i, printed)
		}
		if whole := regexp.MustCompile(fmt.Sprintf(`(?m)^ *- w%d += "x"`, i)); !whole.MatchString(text) {
			t.Errorf("w%d is not printed", i)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}
