package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// TestApprovedBatches: with approval = "end" three applies roll four nodes out, each as far as the next batch that is
// not approved. A postcondition stops what depends on the deployment until the last one, and a canary that fails stops
// the first.
func TestApprovedBatches(t *testing.T) {
	t.Parallel()
	four := nodes.Take(t, 4)
	slices.SortFunc(four, func(a, b lab.Node) int { return strings.Compare(a.Name, b.Name) })
	w := newWorkspace(t, config{site: "approved", nodes: four, groups: `
variable "approved" { default = 0 }
resource "slipway_group" "all" {
  name      = "all"
  critical  = true
  selectors = []
  rolling = {
    batches      = ["1", "50%"]
    approve      = ["1", "50%"]
    health_check = { command = "! test -e /run/sick" }
  }
}
`, groupList: []string{"all"}, extra: `
  approval         = "end"
  approved_batches = { all = var.approved }
  lifecycle {
    postcondition {
      condition     = self.status == "deployed"
      error_message = "not rolled out yet"
    }
  }
}
resource "terraform_data" "dependent" {
  depends_on = [slipway_deployment.this]
`}.hcl(t))
	defer w.mustDestroy()
	has := func(content string, count int) {
		t.Helper()
		for i, n := range four {
			want := ""
			if i < count {
				want = content
			}
			if got := strings.TrimSpace(n.On(t, "cat "+testFile+" 2>/dev/null || true")); got != want {
				t.Errorf("%s has %q, want %q", n.Name, got, want)
			}
		}
	}
	four[0].On(t, "touch /run/sick")
	defer four[0].On(t, "rm -f /run/sick")
	w.must(w.plan(), 2, "all (critical): batch 1 of 3: 1 node ("+four[0].Name+"), then health check", "the run ends for approval",
		`group "all" waits for the approval of batch 1 of 3`)
	w.must(w.apply(), 1, "health check: the command ended with status 1")
	has("first", 1)
	four[0].On(t, "rm /run/sick")
	for approved, step := range []string{"batch 1 of 3: 1 node (" + four[0].Name + ")", "batch 2 of 3: 1 node (" + four[1].Name + ")"} {
		w.set("approved", approved)
		w.set("content", "second")
		w.must(w.plan(), 2, step)
		w.must(w.apply(), 1, "The run is paused", "not rolled out yet")
		if got := w.attributes().Status; got != "paused" {
			t.Errorf("approved %d: the status is %q", approved, got)
		}
		if strings.Contains(w.run("state", "list").out, "terraform_data") {
			t.Error("what depends on the deployment was created")
		}
		has("second", approved+1)
	}
	w.set("approved", 2)
	w.must(w.plan(), 2, "batch 3 of 3: 2 nodes")
	w.must(w.apply(), 0, "terraform_data.dependent: Creation complete")
	w.assertStatus("deployed")
	has("second", 4)
	w.must(w.plan(), 0, "No changes")

	// A canary that fails has nothing left to do but its check: it fails again, and is not offered for approval.
	four[0].On(t, "touch /run/sick")
	w.set("approved", 0)
	w.set("content", "third")
	w.must(w.apply(), 1, "health check: the command ended with status 1")
	again := "check again, the health check of 1 node (" + four[0].Name + ") failed in run"
	for range 2 {
		w.must(w.plan(), 2, again, "the batch can be approved once its checks succeed")
		w.must(w.apply(), 1, "batch 1: 0 of 1 node deployed")
	}
	four[0].On(t, "rm /run/sick")
	w.must(w.plan(), 2, again)
	w.must(w.apply(), 1, `group "all" waits for the approval of batch 1 of 3`, "not rolled out yet")
	if text := w.plan().out; strings.Contains(text, "check again") {
		t.Errorf("a node whose check succeeded is checked again:\n%s", text)
	}
}
