package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// deploymentJSON is a deployment as Terraform shows it: numbers as texts and nulls where the configuration had them.
func deploymentJSON(address, name string) string {
	return fmt.Sprintf(`{"address": %q, "mode": "managed", "type": "slipway_deployment", "values": {
  "site": %q, "parallelism": 10, "digest": "abc", "triggers": null,
  "nodes": {"b": {"name": "b", "rack": 3, "zone": "z1", "tags": null, "connect": {"port": "22", "sudo": "true", "user": null}}, "a": {"name": "a"}},
  "groups": [{"name": "g", "critical": true, "depends_on_groups": null, "rolling": {"max_parallel": "2", "lock": "x", "unlock": "y", "lock_new_nodes": null}, "success_criteria": {"minimum_successful_nodes": "1", "maximum_failed_nodes": null},
    "selectors": [{"node_names": ["a"], "node_tags": null}]}],
  "services": null,
  "drift": [{"node": "a", "resource": "file[/etc/motd]", "change": "x"}]}}`, address, name)
}

func planJSON(deployments, prior, changes string) string {
	return fmt.Sprintf(`{"format_version": "1.2", "planned_values": {"root_module": {"child_modules": [{"address": "module.m", "resources": [
  {"address": "data.x", "mode": "data", "type": "slipway_deployment", "values": {}}, %s]}]}},
 "prior_state": {"format_version": "1.0", "values": {"root_module": {"resources": [%s]}}},
 "configuration": {"ignored": [1, {"deep": null}]}, "resource_changes": [%s]}`, deployments, prior, changes)
}

const update = `{"address": "module.m.slipway_deployment.a", "change": {"actions": ["update"], "after_unknown": {"status": true, "nodes": {"a": {"tags": [false]}}}}}`

func parseShow(text string, o Options) (*Site, error) {
	return ParseSite([]Source{{"plan.json", []byte(text)}}, o)
}

func TestShow(t *testing.T) {
	a, b := deploymentJSON("module.m.slipway_deployment.a", "lon1"), deploymentJSON("module.m.slipway_deployment.b",
		"lon2")
	want := site.Site{
		Name: "lon1",
		Nodes: []site.Node{ // a map counts in the order of its keys
			{Name: "a"},
			{Name: "b", Rack: "3", Zone: "z1", Connection: site.Connection{Port: 22, Sudo: yes()}},
		},
		Groups: []site.Group{{Name: "g", Critical: true, Rolling: &site.Rolling{MaxParallel: 2, Lock: "x", Unlock: "y"},
			SuccessCriteria: &site.SuccessCriteria{MinimumSuccessfulNodes: number(1)}, Selectors: site.Selectors{
				{NodeNames: []string{"a"}}}}},
	}
	other := want
	other.Name = "lon2"
	state := fmt.Sprintf(`{"format_version": "1.0", "values": {"root_module": {"resources": [%s]}}}`, a)
	tests := []struct {
		name, text string
		options    Options
		want       site.Site
		digest     string
	}{
		{"a plan", planJSON(a, "", update), Options{}, want, "abc"},
		{"a plan that changes nothing", planJSON(a, a, strings.Replace(update, "update", "no-op", 1)), Options{}, want,
			""},
		{"one of several", planJSON(a+","+b, "", update), Options{Address: "module.m.slipway_deployment.b"}, other, ""},
		{"what a plan starts from", planJSON(a, b, update), Options{Prior: true}, other, ""},
		{"a plan that starts from nothing", planJSON(a, "", update), Options{Prior: true}, site.Site{Name: Unnamed},
			""},
		{"a state", state, Options{}, want, ""},
		{"a state as what is applied", state, Options{Prior: true}, want, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := parseShow(tt.text, tt.options)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, s.Site); d != "" || s.Digest != tt.digest {
				t.Errorf("digest %q, %s", s.Digest, d)
			}
			if s.Inventory && (len(s.Drift["a"]) != 1 || s.Drift["a"][0] != "file[/etc/motd]") {
				t.Errorf("drift %v", s.Drift)
			}
		})
	}
}

// A node of a plan has its secrets below credentials; one of a state of slipway 0.1.0 has them beside everything else.
func TestShowSecrets(t *testing.T) {
	want := site.Connection{PrivateKey: "k", SudoPassword: "1",
		Bastions: []site.Bastion{{Host: "jump", PrivateKey: "h"}, {Host: "far"}}}
	const none = `"private_key": null, "passphrase": null, "sudo_password": null`
	for name, connect := range map[string]string{
		"0.1.0": `{"private_key": "k", "passphrase": null, "sudo_password": 1, "bastions": [{"host": "jump", "private_key": "h"}, {"host": "far", "private_key": null}]}`,
		"now": `{` + none + `, "credentials": {"private_key": "k", "passphrase": null, "sudo_password": 1},
		  "bastions": [{"host": "jump", "private_key": null, "credentials": {"private_key": "h"}}, {"host": "far", "private_key": null, "credentials": null}]}`,
	} {
		deployment := strings.Replace(deploymentJSON("slipway_deployment.a", "lon1"), `{"name": "a"}`,
			`{"name": "a", "connect": `+connect+`}`, 1)
		s, err := parseShow(planJSON(deployment, "", ""), Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(want, s.Site.Nodes[0].Connection); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// References to secrets name the version of a plan's secrets, as the run does that Terraform planned.
func TestShowSecretsVersion(t *testing.T) {
	content := func(o Options) any {
		t.Helper()
		at := func(version string) string {
			return strings.NewReplacer(`"services": null`, `"services": {"s": {"name": "s", "selectors": [],
			  "configuration": {"file": {"/etc/a": {"content": {"secret": "pw"}}}}}}, "secrets_version": `+version).Replace(
				deploymentJSON("module.m.slipway_deployment.a", "lon1"))
		}
		s, err := parseShow(planJSON(at("2"), at("null"), update), o)
		if err != nil {
			t.Fatal(err)
		}
		return s.Site.Services[0].Configuration["file"]["/etc/a"]["content"]
	}
	want := func(version string) any {
		s, _, errs := NewValues(false).Services([]any{map[string]any{"name": "s", "selectors": []any{},
			"configuration": map[string]any{"file": map[string]any{"/etc/a": map[string]any{"content": map[string]any{
				"secret": "pw"}}}}}})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return s[0].Configuration["file"]["/etc/a"].WithSecretsVersion(version)["content"]
	}
	if got := content(Options{}); got != want("2") {
		t.Errorf("planned: %q, want %q", got, want("2"))
	}
	if got := content(Options{Prior: true}); got != want("0") {
		t.Errorf("prior: %q, want %q", got, want("0"))
	}
}

func TestShowRefuses(t *testing.T) {
	a, b := deploymentJSON("module.m.slipway_deployment.a", "lon1"), deploymentJSON("module.m.slipway_deployment.b",
		"lon2")
	unknown := `{"address": "module.m.slipway_deployment.a", "change": {"actions": ["create"], "after_unknown": {"nodes": {"a": {"address": true, "tags": [false, true]}}, "groups": true, "secrets_version": true}}}`
	const because = ": is not known before apply, so the site is not known either; apply what it comes from first (terraform apply -target) and plan again"
	tests := []struct {
		name, text string
		options    Options
		want       []string
	}{
		{"none", planJSON("{}", "", ""), Options{}, []string{
			"plan.json: holds no slipway_deployment; give what `terraform show -json` prints of a plan or state that has one"}},
		{"destroyed",
			planJSON("{}", a,
				`{"address": "slipway_deployment.a", "type": "slipway_deployment", "change": {"actions": ["delete"]}}`), Options{}, []string{
				"plan.json: is a plan that destroys slipway_deployment.a, so it describes no site; give what `terraform show -json` prints of a plan that keeps it, or of the state"}},
		{"several", planJSON(a+","+b, "", ""), Options{},
			[]string{
				"plan.json: holds several deployments; choose one with --address: module.m.slipway_deployment.a, module.m.slipway_deployment.b"}},
		{"no such address", planJSON(a, "", ""), Options{Address: "x"},
			[]string{`plan.json: holds no deployment with the address "x"; it holds module.m.slipway_deployment.a`}},
		{"unknown values", planJSON(a, "", unknown), Options{}, []string{
			`plan.json:10:198: module.m.slipway_deployment.a.nodes["a"].address` + because,
			`plan.json:10:220: module.m.slipway_deployment.a.nodes["a"].tags[1]` + because,
			`plan.json:10:239: module.m.slipway_deployment.a.groups` + because,
			`plan.json:10:264: module.m.slipway_deployment.a.secrets_version` + because,
		}},
		{"an incomplete plan", `{"format_version": "1.2", "errored": true, "planned_values": {}}`, Options{}, []string{
			"plan.json:1:38: errored: Terraform could not complete this plan; fix the errors that it reported and plan again"}},
		{"cut off", `{"format_version": "1.2", "planned_values": {`, Options{},
			[]string{"plan.json:1:45: not well formed: the JSON text is not complete"}},
		{"more than one text", `{"format_version": "1.2", "planned_values": {}} {}`, Options{},
			[]string{"plan.json:1:45: not well formed: something follows the end of the JSON text"}},
		{"deep", `{"format_version": "1.2", "values": ` + strings.Repeat("[", 100_000), Options{},
			[]string{"plan.json:1:237: not well formed: values are more than 200 levels deep"}},
		{"wrong types", fmt.Sprintf(`{"format_version": "1.0", "values": {"root_module": {"resources": [%s]}}}`,
			strings.Replace(a, `"name": "a"`, `"name": []`, 1)), Options{}, []string{
			`plan.json:3:143: module.m.slipway_deployment.a.nodes["a"].name: is a list, not text`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseShow(tt.text, tt.options)
			if err == nil {
				t.Fatal("no error")
			}
			if d := cmp.Diff(strings.Join(tt.want, "\n"), err.Error()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseOutcomes(t *testing.T) {
	parse := func(text string) (map[string]map[string]string, error) {
		return ParseOutcomes(Source{"o.yaml", []byte(text)}, []string{"prepare", "deploy"},
			[]string{"success", "failure", "timeout"}, []string{"ntp01", "ctl1"})
	}
	got, err := parse("prepare: {ntp01: failure}\ndeploy:\n  ctl1: timeout\n  ntp01: success\n")
	if err != nil || got["prepare"]["ntp01"] != "failure" || got["deploy"]["ctl1"] != "timeout" ||
		got["deploy"]["ntp01"] != "success" {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := parse(""); err != nil || len(got) != 0 {
		t.Errorf("an empty document: got %v, %v", got, err)
	}
	_, err = parse("prepare: {ntp1: failure, ctl1: fails, ctl1: 1}\ndeplo: {}\n---\na: 1\n")
	want := `o.yaml:1:11: prepare["ntp1"]: there is no node "ntp1"; did you mean "ntp01"?
o.yaml:1:32: prepare["ctl1"]: is "fails"; give success, failure or timeout
o.yaml:1:39: key "ctl1" is there twice, first at line 1; keep one
o.yaml:2:1: unknown key "deplo"; did you mean "deploy"?
o.yaml:4:1: is a second document; outcomes are one`
	if err == nil {
		t.Fatal("no error")
	}
	if d := cmp.Diff(want, err.Error()); d != "" {
		t.Error(d)
	}
}
