package resources_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/slipway/terraform-provider-slipway/resources"
)

// attributesOf returns the paths of the attributes of a resource that are given, those inside of objects among them.
func attributesOf(r resource.Resource) (out []string) {
	var resp resource.SchemaResponse
	r.Schema(context.Background(), resource.SchemaRequest{}, &resp)
	var add func(before string, attributes map[string]schema.Attribute)
	add = func(before string, attributes map[string]schema.Attribute) {
		for name, a := range attributes {
			if nested, ok := a.(schema.SingleNestedAttribute); ok {
				add(before+name+".", nested.Attributes)
			} else {
				out = append(out, before+name)
			}
		}
	}
	add("", resp.Schema.Attributes)
	return out
}

// Each attribute that changes how a rollout goes shows in the steps of a plan, in words that no plan without it has.
func TestTextOfEveryRolloutAttribute(t *testing.T) {
	rows := map[string]struct{ group, deployment, want string }{
		"on_shortfall": {group: `success_criteria = { minimum_successful_nodes = 4 }, on_shortfall = "stop"`,
			want: "; no further node is started once the criteria cannot be met"},
		"rolling.batches":               {group: `rolling = { batches = ["75%"] }`, want: "batch 1 of 2: 3 nodes (a, b, c)"},
		"rolling.approve":               {group: `rolling = { batches = ["1"], approve = ["1"] }`, want: "batch 1 of 2: 1 node (a), then pause for approval"},
		"rolling.health_check.command":  {group: `rolling = { health_check = { command = "curl localhost" } }`, want: "then health check `curl localhost`"},
		"rolling.health_check.timeout":  {group: `rolling = { health_check = { command = "works", timeout = "5s" } }`, want: "health check `works` (timeout 5s)"},
		"rolling.health_check.retries":  {group: `rolling = { health_check = { command = "works", retries = 3 } }`, want: "health check `works` (retries 3, interval 10s)"},
		"rolling.health_check.interval": {group: `rolling = { health_check = { command = "works", retries = 2, interval = "1m" } }`, want: "health check `works` (retries 2, interval 1m0s)"},
		"rolling.soak":                  {group: `rolling = { soak = "7m" }`, want: "then soak 7m0s"},
		"rolling.on_failure":            {group: `rolling = { batches = ["2"], on_failure = "rollback" }`, want: "then puts back what it changed if it fails"},
		"maintenance.days":              {group: `maintenance = { days = ["sat"], start = "22:00", end = "04:00", timezone = "UTC" }`, want: "; started in Sat 22:00-04:00 UTC, outside of it the run waits"},
		"maintenance.start":             {group: `maintenance = { start = "21:00", end = "04:00", timezone = "UTC" }`, want: "21:00-04:00 UTC"},
		"maintenance.end":               {group: `maintenance = { start = "22:00", end = "05:00", timezone = "UTC" }`, want: "22:00-05:00 UTC"},
		"maintenance.timezone":          {group: `maintenance = { start = "22:00", end = "04:00", timezone = "Europe/London" }`, want: "22:00-04:00 Europe/London"},
		"failure_budget.nodes":          {deployment: `failure_budget = { nodes = 2 }`, want: "; failure budget: nothing new is started in any group once more than 2 nodes failed"},
		"failure_budget.percent":        {deployment: `failure_budget = { percent = 20 }`, want: "; failure budget: nothing new is started in any group once more than 1 node failed"},
		"limit.nodes":                   {deployment: `limit = { nodes = ["b"] }`, want: "all (critical): prepare 1 node (b)"},
		"limit.groups":                  {deployment: `limit = { groups = ["rest"] }`, want: "1.1 rest: prepare 1 node (e)"},
		"approval":                      {group: `rolling = { batches = ["1"], approve = ["1"] }`, deployment: `approval = "end"`, want: "batch 1 of 2: 1 node (a), then the run ends for approval"},
		"approved_batches": {group: `rolling = { batches = ["1", "50%"], approve = ["1", "50%"] }`,
			deployment: "approval = \"end\"\n  approved_batches = { all = 1 }", want: "batch 2 of 3: 1 node (b), then the run ends for approval"},
	}
	covered := slices.Collect(maps.Keys(rows))
	covered = append(covered, "freeze") // whose plan is an error: TestTextFreeze
	for _, name := range []string{"max_parallel", "lock", "unlock", "lock_new_nodes", "node_order"} {
		covered = append(covered, "rolling."+name) // they have tests of their own
	}
	for _, path := range slices.Concat(attributesOf(resources.NewGroup()), attributesOf(resources.NewDeployment())) {
		switch name, _, _ := strings.Cut(path, "."); name {
		case "on_shortfall", "rolling", "maintenance", "failure_budget", "limit", "freeze", "approval", "approved_batches":
			if !slices.Contains(covered, path) {
				t.Errorf("no printed plan is read for %s", path)
			}
		}
	}

	s := newSandbox(t, "a", "b", "c", "d", "e")
	c := newCommandLine(t)
	config := fmt.Sprintf("locals {\n  nodes = [for n in [\"a\", \"b\", \"c\", \"d\", \"e\"] : "+
		"{ name = n, connect = { transport = \"local\", root = \"%s/${n}\" } }]\n}\n", s.dir) +
		files("app", map[string]string{"/etc/app": "x\n"})
	names := map[string]string{} // of deployments
	for path, row := range rows {
		names[path] = strings.ReplaceAll(path, ".", "-")
		group := "name = \"all\", critical = true, selectors = [{ node_names = [\"a\", \"b\", \"c\", \"d\"] }]"
		if row.group != "" {
			group += ", " + row.group
		}
		config += fmt.Sprintf("resource \"slipway_deployment\" %q {\n  site = %[1]q\n  nodes = local.nodes\n  services = [slipway_service.app]\n"+
			"  groups = [{ %s }, { name = \"rest\", critical = false, selectors = [{ node_names = [\"e\"] }] }]\n  %s\n}\n", names[path], group, row.deployment)
	}
	c.configure(fmt.Sprintf("provider \"slipway\" { journal_directory = %q }\n", s.path("", "journal")) + config)
	text := c.changes()
	steps := map[string]string{}
	for path, name := range names {
		_, block, _ := strings.Cut(text, "# slipway_deployment."+name+" will be created")
		block, _, _ = strings.Cut(block, " will be created")
		for _, m := range shownStep.FindAllStringSubmatch(block, -1) {
			steps[path] += m[1] + "\n"
		}
	}
	for path, row := range rows {
		for other := range rows {
			if got := strings.Contains(steps[other], row.want); got != (other == path) {
				t.Errorf("%q of %s is in the steps with %s: %v:\n%s", row.want, path, other, got, steps[other])
			}
		}
	}
}
