package golden

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// variation is a change of the site, of the nodes or of what is stored, which a plan is made of.
type variation struct {
	name   string
	edits  []edit
	before func(*workspace) // what else happens
	args   []string
	status int // of the plan: 2, or 1 where it is refused
}

var variations = []variation{
	{name: "creation", before: func(w *workspace) {
		w.must(os.Remove(w.path("terraform.tfstate")))
		w.must(os.RemoveAll(w.path(".slipway")))
	}},
	{name: "node-added", edits: []edit{
		{"main.tf", `    mon1  = {`, `    cmp22 = { rack = "rack02", tags = ["compute"], labels = {}, roles = ["compute"] }
    mon1  = {`},
	}},
	{name: "node-removed", edits: []edit{
		{"main.tf", `    cmp12 = { rack = "rack01", tags = ["compute"], labels = {}, roles = ["compute"] }` + "\n", ""},
	}},
	{name: "machine-removed", edits: []edit{
		{"main.tf", `    node2 = { address = "10.231.1.2", roles = ["compute"] }` + "\n", ""},
	}},
	{name: "node-renamed", edits: []edit{
		{"main.tf", "nodes/${each.key}", `nodes/${replace(each.key, "mon9", "mon1")}`},
		{"main.tf", "mon1  =", "mon9  ="},
		{"main.tf", `node_names = ["mon1"]`, `node_names = ["mon9"]`},
	}},
	{name: "nodes-refused", edits: []edit{
		{"main.tf", `[{ node_tags = ["compute"], rack_names = [each.value] }]`, `[{ node_tags = ["none"] }]`},
	}, status: 1},
	{name: "group-removed", edits: []edit{{"main.tf", "slipway_group.monitoring, ", ""}}},
	{name: "group-order", edits: []edit{
		{"main.tf", "depends_on_groups = [slipway_group.ntp.name]", `depends_on_groups = ["monitoring-nodes"]`},
		{"main.tf", `content = "a compute node\n"`, `content = "another compute node\n"`},
		{"services.tf", `content = "notes`, `content = "other notes`},
	}},
	{name: "group-settings", edits: []edit{
		{"main.tf", "parallel_groups = 1", "parallel_groups = 3"},
		{"main.tf", "rolling         = { max_parallel = 1 }", "rolling         = { max_parallel = 2 }"},
		{"main.tf", "percent_successful_nodes = 90", "percent_successful_nodes = 50"},
		{"main.tf", "lock_new_nodes = false", "lock_new_nodes = true"},
		{"services.tf", `content = "notes`, `content = "other notes`},
		{"services.tf", "level = 3", "level = 4"},
	}},
	{name: "override-changed", edits: []edit{
		{"main.tf", `content = "a compute node\n"`, `content = "another compute node\n"`},
		{"main.tf", "a compute machine", "another compute machine"},
	}},
	{name: "override-removed", edits: []edit{
		{"main.tf", "slipway_override.compute, slipway_override.cmp11]", "slipway_override.cmp11]"},
	}},
	{name: "override-merged", edits: []edit{
		{"main.tf", "  merge         = \"title\"\n", ""},
		{"main.tf", `types_filter = ["file"]`, `types_filter = ["host"]`},
	}},
	{name: "service-updated", edits: []edit{
		{"services.tf", "workers = 8", "workers = 16"},
		{"services.tf", "level = 3", "level = 5"},
		{"services.tf", "interval = 30", "interval = 60"},
	}},
	{name: "service-replaced", edits: []edit{{"services.tf", `{ name = "blue" }`, `{ name = "green" }`}}},
	{name: "service-removed", edits: []edit{
		{"services.tf", "slipway_service.tenant_red, ", ""},
		{"services.tf", "slipway_service.settings, ", ""},
	}},
	{name: "service-moved", edits: []edit{
		{"services.tf", `selectors  = [{ node_tags = ["compute"] }]`, `selectors  = [{ node_tags = ["monitoring"] }]`},
	}},
	{name: "service-requested", edits: []edit{
		{"services.tf", `target_state      = "maintenance"`, `target_state      = "up"`},
	}},
	{name: "embedded-added", edits: []edit{
		{"services.tf", `root = "/srv/docs" }`, `root = "/srv/docs" }, { host = "new.example.org", root = "/srv/new" }`},
	}},
	{name: "parameter-removed", edits: []edit{
		{"services.tf", `{ ip = "192.0.2.1", host_aliases = ["ntp"], comment = "time" }`, `{ ip = "192.0.2.1" }`},
		{"services.tf", `, mode = "0600", sensitive = true }`, `, sensitive = true }`},
	}},
	{name: "catalog-changed", edits: []edit{
		{"catalog.yaml", "content: \"workers", "content: \"number of workers"},
		{"catalog.yaml", "timeout: 20", "timeout: 30"},
	}},
	{name: "ordering-changed", edits: []edit{
		{"ordering.yaml", "types: [host]", "types: [ini_setting]"},
		{"services.tf", "level = 3", "level = 4"},
		{"services.tf", `comment = "time"`, `comment = "clock"`},
		{"services.tf", `value = "info"`, `value = "warn"`},
		{"services.tf", `content = "notes`, `content = "other notes`},
	}},
	{name: "plugin-order", edits: []edit{
		{"plugins/lma/tasks.yaml", "pre_deployment/4000", "pre_deployment/4001"},
		{"plugins/net/deployment_scripts/bridges.sh", "date", "date -u"},
		{"plugins/lma/metadata.yaml", "2.1.0", "2.2.0"},
	}},
	{name: "plugin-removed", edits: []edit{
		{"main.tf", "[data.slipway_plugin.net, data.slipway_plugin.lma]", "[data.slipway_plugin.lma]"},
		{"services.tf", `"a machine\n"`, `"another machine\n"`},
	}},
	{name: "secret-changed", args: []string{"-var=password=battery staple"}},
	{name: "checked-again", edits: []edit{{"main.tf", `checked = "1"`, `checked = "2"`}}},
	{name: "noop-removed", edits: []edit{{"services.tf", "as it should be\\n\", noop = true", "as it should be\\n\""}}},
	{name: "unknown-input", edits: []edit{
		{"services.tf", `{ content = "welcome\n", mode = "0644" }`, `{ content = terraform_data.later.id, mode = "0644" }`},
		{"services.tf", `resource "slipway_service" "motd" {`, `resource "terraform_data" "later" {}

resource "slipway_service" "motd" {`},
		{"services.tf", "level = 3", "level = 4"},
	}},
	{name: "drift", before: func(w *workspace) {
		w.write("nodes/ctl1/etc/motd", []byte("somebody was here\n"), 0o644)
		w.write("nodes/ctl2/etc/hosts", []byte("127.0.0.1 localhost\n"), 0o644)
		w.must(os.Chmod(w.path("nodes/ctl3/etc/app.ini"), 0o644))
		w.must(os.Remove(w.path("nodes/cmp12/etc/motd.link")))
		w.must(os.RemoveAll(w.path("nodes/cmp21/etc/motd.d")))
	}},
	{name: "drift-and-change", edits: []edit{{"services.tf", "workers = 8", "workers = 16"}}, before: func(w *workspace) {
		w.write("nodes/cmp12/etc/motd", []byte("somebody was here\n"), 0o644)
	}},
	{name: "reinstalled", before: func(w *workspace) {
		w.must(os.RemoveAll(w.path("nodes/cmp21")))
		w.must(os.MkdirAll(w.path("nodes/cmp21/etc"), 0o755))
	}},
	{name: "unreachable", edits: []edit{{"services.tf", "workers = 8", "workers = 16"}}, before: func(w *workspace) {
		w.must(os.RemoveAll(w.path("nodes/ctl2")))
	}},
	{name: "destroy-refused", args: []string{"-destroy"}, status: 1},
}

// TestPlans: plans from what an earlier slipway left show what that one's plans showed.
func TestPlans(t *testing.T) {
	t.Parallel()
	for _, v := range variations {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			w := restored(t)
			w.edit(v.edits...)
			if v.before != nil {
				v.before(w)
			}
			if v.status == 0 {
				v.status = 2
			}
			args := append([]string{"plan", "-input=false", "-no-color", "-detailed-exitcode", "-out=plan.bin"}, v.args...)
			got := summaries.FindAllString(w.run(v.status, args...), -1)
			if v.status == 2 {
				got = append(got, w.planned())
			}
			w.golden("plans/"+v.name+".txt", strings.Join(got, "\n"))
		})
	}
}

// summaries are those of warnings and errors. What they say in detail is wrapped in another way by each Terraform.
var summaries = regexp.MustCompile(`(?m)^(Warning|Error): .*`)

// planned returns what the plan file holds of the deployments, and the actions on everything.
func (w *workspace) planned() string {
	w.t.Helper()
	plan := decode[struct {
		ResourceChanges []struct {
			Address string
			Change  struct {
				Actions []string
				After   map[string]any
				Unknown map[string]any `json:"after_unknown"`
			}
		} `json:"resource_changes"`
	}](w, []byte(w.run(0, "show", "-json", "-no-color", "plan.bin")))
	var out strings.Builder
	for _, r := range plan.ResourceChanges {
		actions := strings.Join(r.Change.Actions, ", ")
		if actions == "no-op" || actions == "read" {
			continue
		}
		fmt.Fprintf(&out, "%s: %s\n", r.Address, actions)
		if !strings.HasPrefix(r.Address, "slipway_deployment.") {
			continue
		}
		for _, key := range []string{"run", "digest", "status", "steps", "changed_nodes", "node_status", "group_status",
			"service_status", "service_values", "drift", "unreachable"} {
			if r.Change.Unknown[key] == true {
				fmt.Fprintf(&out, "  %s: known after apply\n", key)
			} else {
				fmt.Fprintf(&out, "  %s:%s\n", key, lines(r.Change.After[key], r.Change.Unknown[key], "    "))
			}
		}
	}
	return out.String()
}

// lines returns a value on one line, lists and maps on one line for each element.
func lines(v, unknown any, indent string) string {
	var out strings.Builder
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			fmt.Fprintf(&out, "\n%s- %v", indent, e)
		}
		if len(v) == 0 {
			return " []"
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			fmt.Fprintf(&out, "\n%s%s: %v", indent, k, v[k])
		}
		if known, ok := unknown.(map[string]any); ok {
			for _, k := range slices.Sorted(maps.Keys(known)) {
				if known[k] == true {
					fmt.Fprintf(&out, "\n%s%s: known after apply", indent, k)
				}
			}
		}
	default:
		return fmt.Sprintf(" %v", v)
	}
	return out.String()
}
