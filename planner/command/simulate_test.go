package command

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestSimulationOfSomeNodesOnly(t *testing.T) {
	for args, want := range map[string]string{
		"--only ctl1,cmp11 --fail ctl1": "target-group  FAILED  yes       2",
		"--only ctl1 --fail cmp11":      "target-group  DEPLOYED  yes       1",
		"--only ctl1,cmp99":             `--only ctl1,cmp99: there is no node "cmp99"`,
		"--only=":                       "name at least one node",
	} {
		out, errOut, _ := answer(t, "", append([]string{"simulate", strategyFile, siteFile},
			strings.Fields(args)...)...)
		if !strings.Contains(out+errOut, want) {
			t.Errorf("%s: got %s%s, want %s", args, out, errOut, want)
		}
	}
}

// A simulation names what is guarded on the nodes that it works on, and a plan the tasks.
func TestGuardsAreShown(t *testing.T) {
	site := write(t, "site.yaml", "site: lon1\nnodes: [{name: a}, {name: b}, {name: c}]\n"+
		"groups: [{name: web, selectors: [], depends_on: [], critical: true, rolling: {batches: ['1']}}]\n"+
		"services: [{name: ssh, selectors: [{node_names: [a, c]}], configuration: {file: {/etc/ssh/sshd_config: {content: x, guard: true}, /etc/motd: {content: x}}}}]\n")
	for _, tt := range []struct{ command, want, not string }{
		{"simulate", "guarded: file[/etc/ssh/sshd_config] on a c; a node that cannot be reached anew after the change puts it back", "guarded: file[/etc/motd]"},
		{"simulate --fail a:deploy", "guarded: file[/etc/ssh/sshd_config] on a; ", " on a c"},
		{"simulate --output json --fail a:deploy", `"guarded":[{"resource":"file[/etc/ssh/sshd_config]","nodes":["a"]}]`, "motd"},
		{"plan --output json", `"resource":"file[/etc/ssh/sshd_config]","service":"ssh","guard":true}`, `"resource":"file[/etc/motd]","service":"ssh","guard"`},
	} {
		out, errOut, _ := answer(t, "", append(strings.Fields(tt.command), site)...)
		if strings.Contains(tt.command, "json") {
			var small bytes.Buffer
			if err := json.Compact(&small, []byte(out)); err != nil {
				t.Fatal(err)
			}
			out = small.String()
		}
		if !strings.Contains(out, tt.want) || strings.Contains(out, tt.not) {
			t.Errorf("%s: want %q and not %q in\n%s", tt.command, tt.want, tt.not, out+errOut)
		}
	}
}

// The picture of a rollout in the guide of groups has every attribute that stops, holds or undoes one.
func TestGuideOfRollouts(t *testing.T) {
	raw, err := os.ReadFile("../../docs/guides/groups.md")
	if err != nil {
		t.Fatal(err)
	}
	_, picture, _ := strings.Cut(string(raw), "```mermaid\n")
	picture, after, _ := strings.Cut(picture, "\n```")
	for _, word := range []string{"freeze", "limit", "approved_batches", "maintenance window", "approval = wait", "approval = end", "max_parallel",
		"lock", "unlock", "batches", "guard", "packages in one transaction", "health_check", "soak", "on_shortfall", "failure_budget", "on_failure = stop",
		"on_failure = rollback", "approve", "runs cancel", "success_criteria"} {
		if !strings.Contains(picture, word) {
			t.Errorf("the picture of a rollout has no %s", word)
		}
	}
	if strings.Contains(after, "```mermaid") {
		t.Error("the guide has more than one picture of a rollout")
	}
}
