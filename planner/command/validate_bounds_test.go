package command

import (
	"strings"
	"testing"
)

// What is wrong with the rollout of a site is one error of validate, and the same one of the plan.
func TestValidateFindsWhatPlansRefuse(t *testing.T) {
	const approve = "rolling: {batches: ['1'], approve: ['1']}"
	for _, tt := range []struct{ bounds, group, want string }{
		{"limit: {groups: [wed]}", "", `site.yaml:2:18: deployment: limit.groups[0]: there is no group "wed"`},
		{"limit: {groups: [web, wed]}", "", `limit.groups[1]: there is no group "wed"`},
		{"limit: {}", "", "limit: is empty"},
		{"approved_batches: {web: 1}", approve, `approved_batches["web"]: counts with approval = "end" only`},
		{"approval: end\napproved_batches: {wed: 1}", approve, `approved_batches["wed"]: there is no such group`},
		{"approval: end\napproved_batches: {web: 1}", "", `approved_batches["web"]: the group waits for no approval`},
		{"approval: end\napproved_batches: {web: 3}", approve,
			`approved_batches["web"]: there is no batch 3; the last one of the group is 2`},
		{"", "rolling: {batches: ['120%']}", `rolling.batches[0]: "120%" is more than all nodes`},
		{"", "rolling: {batches: ['50%', '10%']}", `rolling.batches[1]: "10%" adds no node to the batch before`},
		{"", "rolling: {batches: ['1'], approve: ['2']}", `rolling.approve[0]: there is no batch "2"`},
		{"", "maintenance: {start: '22:00', end: '22:00', timezone: UTC}", "maintenance.end: "},
		{"", "maintenance: {days: [], start: '22:00', end: '23:00', timezone: UTC}", "maintenance.days: is empty"},
		{"", "maintenance: {start: '22:00', end: '23:00', timezone: Mars/Base}", "maintenance.timezone: "},
		{"failure_budget: {percent: 120}", "", "failure_budget.percent: 120 is not a whole number from 0 to 100"},
	} {
		group := ""
		if tt.group != "" {
			group = ", " + tt.group
		}
		site := write(t, "site.yaml", "site: lon1\n"+tt.bounds+"\nnodes: [{name: a}, {name: b}]\n"+
			"groups: [{name: web, selectors: [], depends_on: [], critical: false"+group+"}]\n"+
			"services: [{name: app, selectors: [], configuration: {file: {/etc/app: {content: x}}}}]\n")
		out, errOut, status := answer(t, "", "validate", site)
		if status != 1 || !strings.Contains(out, tt.want) || !strings.HasSuffix(errOut, "not valid: 1 error") ||
			strings.Count(out, "\n") != 1 {
			t.Errorf("validate of %s %s: status %d, want 1 and only %q:\n%s%s", tt.bounds, tt.group, status, tt.want, out, errOut)
		}
		if _, errOut, status = answer(t, "", "plan", site); status != 2 || strings.Count(errOut, tt.want) != 1 {
			t.Errorf("plan of %s %s: status %d, want 2 and %q:\n%s", tt.bounds, tt.group, status, tt.want, errOut)
		}
	}
}

// A node of a limit may have left the site, and a limit that covers little is no error: what is applied decides.
func TestValidateWarnsOfNodesOfALimit(t *testing.T) {
	site := write(t, "site.yaml", "site: lon1\nlimit: {nodes: [a, gone]}\nnodes: [{name: a}, {name: b}]\n"+
		"services: [{name: app, selectors: [], configuration: {file: {/etc/app: {content: x}}}}]\n")
	out, errOut, status := answer(t, "", "validate", site)
	const want = `warning: deployment: limit.nodes[1]: there is no node "gone"; use one of a, b; a plan refuses it, unless ` +
		"something is applied there"
	if status != 0 || strings.Count(out, "warning") != 1 || !strings.Contains(out, want) {
		t.Errorf("status %d, want 0 and %q:\n%s%s", status, want, out, errOut)
	}
}
