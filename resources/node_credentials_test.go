package resources_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// marked is a check of what is sensitive in an attribute of the state.
type marked struct {
	address, attribute string
	want               []string
}

func (m marked) CheckState(_ context.Context, req statecheck.CheckStateRequest, resp *statecheck.CheckStateResponse) {
	for _, r := range req.State.Values.RootModule.Resources {
		if r.Address != m.address {
			continue
		}
		var sensitive map[string]any
		if err := json.Unmarshal(r.SensitiveValues, &sensitive); err != nil {
			resp.Error = err
			return
		}
		if diff := cmp.Diff(m.want, marks(sensitive[m.attribute], m.attribute)); diff != "" {
			resp.Error = fmt.Errorf("%s: sensitive are (-want +got):\n%s", m.address, diff)
		}
		return
	}
	resp.Error = fmt.Errorf("%s is not in the state", m.address)
}

// marks returns the paths of what is sensitive.
func marks(v any, at string) (out []string) {
	switch v := v.(type) {
	case bool:
		if v {
			return []string{at}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, marks(v[key], at+"."+key)...)
		}
	case []any:
		for i, e := range v {
			out = append(out, marks(e, fmt.Sprintf("%s[%d]", at, i))...)
		}
	}
	return out
}

// Terraform compares every mark with every value, so what has no secrets must have no marks, neither at the node nor at
// the deployment that takes it.
func TestNodesWithoutSecretsHaveNoMarks(t *testing.T) {
	s := newSandbox(t, "a", "b")
	config := fmt.Sprintf(`
resource "slipway_node" "a" {
  name    = "a"
  connect = { transport = "local", root = %q, user = "ops", known_hosts = ["x"], bastions = [{ host = "jump", user = "j" }] }
}
resource "slipway_node" "b" {
  name    = "b"
  connect = {
    transport   = "local"
    root        = %q
    bastions    = [{ host = "jump", credentials = { private_key = "PEM" } }]
    credentials = { sudo_password = "tell-nobody" }
  }
}
provider "slipway" { journal_directory = %q }
resource "slipway_deployment" "test" {
  site  = "lon1"
  nodes = [slipway_node.a, slipway_node.b]
}
`, s.path("a", ""), s.path("b", ""), s.path(".slipway", ""))
	of := func(at string) []string {
		return []string{at + ".bastions[0].credentials.private_key", at + ".credentials.passphrase", at + ".credentials.private_key", at + ".credentials.sudo_password"}
	}
	run(t, []resource.TestStep{{
		Config: config,
		ConfigStateChecks: []statecheck.StateCheck{
			marked{"slipway_node.a", "connect", nil},
			marked{"slipway_node.b", "connect", of("connect")},
			marked{deployment, "nodes", of("nodes[1].connect")},
		},
	}})
}

func TestNodeStateOfVersion0(t *testing.T) {
	const rest = `"address":"10.0.0.1","rack":null,"tags":["a","b"],"labels":{"k":"v"},"roles":null`
	// connection writes the attributes that every connection of version 0 has.
	connection := func(more string) string {
		return `{"user":"ops","port":22,"private_key_file":null,"certificate":null,"agent":true,"known_hosts":[],"known_hosts_file":null,"host_key_policy":null,"sudo":true,` +
			`"connect_timeout":null,"transport":null,"root":null,` + more + `}`
	}
	const hop, none = `"host":"jump","port":null,"user":"j","private_key_file":null`, `"private_key":null,"passphrase":null,"sudo_password":null`
	for name, tt := range map[string]struct{ old, new string }{
		"no connection":     {`null`, `null`},
		"no secrets":        {connection(none + `,"bastions":null`), connection(none + `,"bastions":null,"credentials":null`)},
		"all secrets":       {connection(`"private_key":"PEM","passphrase":"p","sudo_password":"s","bastions":[]`), connection(none + `,"bastions":[],"credentials":{"private_key":"PEM","passphrase":"p","sudo_password":"s"}`)},
		"one secret":        {connection(`"private_key":null,"passphrase":null,"sudo_password":"s","bastions":null`), connection(none + `,"bastions":null,"credentials":{"private_key":null,"passphrase":null,"sudo_password":"s"}`)},
		"a hop's secret":    {connection(none + `,"bastions":[{` + hop + `,"private_key":"PEM"},{` + hop + `,"private_key":null}]`), connection(none + `,"credentials":null,"bastions":[{` + hop + `,"private_key":null,"credentials":{"private_key":"PEM"}},{` + hop + `,"private_key":null,"credentials":null}]`)},
		"hop and node both": {connection(`"private_key":"own","passphrase":null,"sudo_password":null,"bastions":[{` + hop + `,"private_key":"PEM"}]`), connection(none + `,"credentials":{"private_key":"own","passphrase":null,"sudo_password":null},"bastions":[{` + hop + `,"private_key":null,"credentials":{"private_key":"PEM"}}]`)},
	} {
		t.Run(name, func(t *testing.T) {
			state := func(connect string) string { return `{"name":"web1",` + rest + `,"connect":` + connect + `}` }
			got, want := upgraded(t, 0, state(tt.old)), upgraded(t, 1, state(tt.new))
			if diff, err := want.Diff(got); err != nil || len(diff) > 0 {
				t.Errorf("%v %v", err, diff)
			}
		})
	}
}

// What a state holds is not judged when it is read: version 0 could save labels that turned out to be null.
func TestNodeStateWithNulls(t *testing.T) {
	state := `{"name":"web1","address":null,"rack":null,"tags":["a",null],"labels":{"k":null},"roles":null,"connect":null}`
	got, want := upgraded(t, 0, state), upgraded(t, 1, state)
	if diff, err := want.Diff(got); err != nil || len(diff) > 0 {
		t.Errorf("%v %v", err, diff)
	}
}

// Validation does not see the secrets of an object that is unknown until the apply; then they are refused, before they
// reach the state.
func TestMovedSecretsThatWereUnknown(t *testing.T) {
	t.Parallel()
	for name, connect := range map[string]string{
		"of_node": `{ private_key = "tell-nobody" }`,
		"of_hop":  `{ bastions = [{ host = "jump", private_key = "tell-nobody" }] }`,
	} {
		t.Run(name, func(t *testing.T) {
			config := func(connect string) string {
				return fmt.Sprintf(`
resource "terraform_data" "x" { input = %s }
resource "slipway_node" "test" {
  name    = "a"
  connect = terraform_data.x.output
}`, connect)
			}
			run(t, []resource.TestStep{
				{Config: config(connect), ExpectError: regexp.MustCompile(`private_key has moved`)},
				{Config: config(`{ user = "ops" }`)},
				{Config: config(connect), ExpectError: regexp.MustCompile(`private_key has moved`)},
			})
		})
	}
}

// upgraded returns the state of a node that was saved with some version of the schema.
func upgraded(t *testing.T, version int64, state string) tftypes.Value {
	t.Helper()
	server, err := factories()["slipway"]()
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	node := schemas.ResourceSchemas["slipway_node"]
	if node.Version != 1 {
		t.Fatalf("the version is %d", node.Version)
	}
	resp, err := server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{TypeName: "slipway_node", Version: version, RawState: &tfprotov6.RawState{JSON: []byte(state)}})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatalf("%v %v", err, resp.Diagnostics)
	}
	v, err := resp.UpgradedState.Unmarshal(node.ValueType())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The state of a deployment may hold nodes of version 0: it is read, planned and torn down, and a plan that brings them
// into the present form does nothing on the nodes.
func TestDeploymentOfNodesOfVersion0(t *testing.T) {
	s := newSandbox(t, "a")
	config := func(secrets, hop string) string {
		return fmt.Sprintf(`
provider "slipway" { journal_directory = %q }
resource "slipway_deployment" "test" {
  site     = "lon1"
  nodes    = [{ name = "a", connect = { transport = "local", root = %q, %s, bastions = [{ host = "jump", %s }] } }]
  services = [{ name = "motd", selectors = [], configuration = { file = { "/etc/motd" = { content = "one" } } } }]
}
`, s.path(".slipway", ""), s.path("a", ""), secrets, hop)
	}
	old := config(`private_key = "PEM", passphrase = null, sudo_password = "s"`, `private_key = "PEM"`)
	present := config(`credentials = { private_key = "PEM", passphrase = null, sudo_password = "s" }`, `credentials = { private_key = "PEM" }`)
	var applied map[string]string
	run(t, []resource.TestStep{
		{Config: old, Check: resource.ComposeTestCheckFunc(s.has("a", "etc/motd", "one"), func(*terraform.State) error {
			applied = s.ledger("a")
			return nil
		})},
		{Config: old, ConfigPlanChecks: nothingPlanned()},
		{PreConfig: func() { s.write("a", "etc/motd", "changed") }, Config: old, PlanOnly: true, ExpectNonEmptyPlan: true},
		{
			PreConfig: func() { s.write("a", "etc/motd", "one") }, Config: present,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(deployment, plancheck.ResourceActionUpdate),
				noWork(),
			}},
			Check: func(*terraform.State) error {
				if diff := cmp.Diff(applied, s.ledger("a")); diff != "" {
					return fmt.Errorf("the node was touched (-before +after):\n%s", diff)
				}
				return nil
			},
		},
		{Config: present, ConfigPlanChecks: nothingPlanned()},
		{Config: old},
	}, s.gone("a"), s.has("a", "etc/motd", "-"))
}
