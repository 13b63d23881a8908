package resources_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

func TestNodeLife(t *testing.T) {
	const address = "slipway_node.test"
	heldLife(t, address,
		`resource "slipway_node" "test" { name = "web1" }`,
		`resource "slipway_node" "test" {
  name    = "web1"
  address = "10.0.0.1"
  rack    = "r1"
  tags    = ["web", "front"]
  labels  = { tier = "front" }
  roles   = ["compute"]
  zone    = "z1"
  connect = {
    user             = "ops"
    port             = 2222
    private_key_file = "~/.ssh/id"
    bastions         = [{ host = "jump", user = "j" }]
    connect_timeout  = "10s"
    known_hosts      = []
    sudo             = false
  }
}`,
		`resource "slipway_node" "test" {
  name    = "renamed"
  address = "2001:db8::1"
}`,
		[]statecheck.StateCheck{
			statecheck.ExpectKnownValue(address, tfjsonpath.New("address"), knownvalue.Null()),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("connect"), knownvalue.Null()),
		},
		[]statecheck.StateCheck{
			statecheck.ExpectKnownValue(address, tfjsonpath.New("tags"), knownvalue.SetExact([]knownvalue.Check{knownvalue.StringExact("front"), knownvalue.StringExact("web")})),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("zone"), knownvalue.StringExact("z1")),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("connect").AtMapKey("bastions").AtSliceIndex(0).AtMapKey("host"), knownvalue.StringExact("jump")),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("connect").AtMapKey("known_hosts"), knownvalue.ListSizeExact(0)),
		})
}

func TestNodeSecretsAreSensitive(t *testing.T) {
	t.Parallel()
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: `resource "slipway_node" "test" {
  name    = "web1"
  connect = {
    credentials = { private_key = "PEM", passphrase = "p", sudo_password = "s" }
    bastions    = [{ host = "jump", credentials = { private_key = "PEM" } }]
  }
}`,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectSensitiveValue("slipway_node.test", tfjsonpath.New("connect").AtMapKey("credentials").AtMapKey("private_key")),
				plancheck.ExpectSensitiveValue("slipway_node.test", tfjsonpath.New("connect").AtMapKey("credentials").AtMapKey("passphrase")),
				plancheck.ExpectSensitiveValue("slipway_node.test", tfjsonpath.New("connect").AtMapKey("credentials").AtMapKey("sudo_password")),
				plancheck.ExpectSensitiveValue("slipway_node.test", tfjsonpath.New("connect").AtMapKey("bastions").AtSliceIndex(0).AtMapKey("credentials").AtMapKey("private_key")),
			}},
		}},
	})
}

func TestNodeUnknownsPass(t *testing.T) {
	t.Parallel()
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: `
resource "terraform_data" "x" { input = "web1" }
resource "slipway_node" "test" {
  name       = terraform_data.x.output
  address    = terraform_data.x.output
  tags       = [terraform_data.x.output]
  labels     = { k = terraform_data.x.output }
  connect = {
    user        = terraform_data.x.output
    known_hosts = [terraform_data.x.output]
    credentials = { private_key = terraform_data.x.output }
    bastions    = [{ host = terraform_data.x.output, credentials = { private_key = terraform_data.x.output } }]
  }
}`,
			ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownValue("slipway_node.test", tfjsonpath.New("name"), knownvalue.StringExact("web1"))},
		}},
	})
}

func TestNodeErrors(t *testing.T) {
	node := func(attributes string) string { return "name = \"n\"\n" + attributes }
	errs(t, "slipway_node", `resource "terraform_data" "x" { input = "x" }`, map[string]wrong{
		"name":            {`name = "web 1"`, `must begin with a letter or digit`},
		"address_user":    {node(`address = "root@web1"`), `names a user`},
		"address_port":    {node(`address = "web1:22"`), `the port in the connection`},
		"address_empty":   {node(`address = ""`), `the address is empty`},
		"tag_empty":       {node(`tags = [""]`), `tags`},
		"tag_null":        {node(`tags = [null]`), `(?i)null`},
		"label_key":       {node(`labels = { "a:b" = "c" }`), `without colon`},
		"label_value":     {node(`labels = { a = " c" }`), `without colon`},
		"zone":            {node(`zone = "a b"`), `must begin with a letter or digit`},
		"role":            {node(`roles = ["a b"]`), `must begin with a letter or digit`},
		"port":            {node(`connect = { port = 70000 }`), `between 1 and 65535`},
		"duration":        {node(`connect = { connect_timeout = "10" }`), `is not a duration`},
		"duration_zero":   {node(`connect = { connect_timeout = "0s" }`), `is not above zero`},
		"policy":          {node(`connect = { host_key_policy = "no" }`), `accept-new`},
		"transport":       {node(`connect = { transport = "telnet" }`), `"ssh" "local"`},
		"two_keys":        {node(`connect = { credentials = { private_key = "x" }, private_key_file = "y" }`), `Both credentials.private_key and private_key_file are given`},
		"two_keys_of_hop": {node(`connect = { bastions = [{ host = "j", credentials = { private_key = "x" }, private_key_file = "y" }] }`), `not both`},
		"no_key":          {node(`connect = { credentials = { private_key = "" } }`), `connect.credentials.private_key string length must be at least 1`},
		"old_key":         {node(`connect = { private_key = "x" }`), `Give connect.credentials.private_key instead`},
		"old_passphrase":  {node(`connect = { passphrase = "x" }`), `Give connect.credentials.passphrase instead`},
		"old_password":    {node(`connect = { sudo_password = "x" }`), `Give connect.credentials.sudo_password instead`},
		"old_key_of_hop":  {node(`connect = { bastions = [{ host = "j" }, { host = "k", private_key = "x" }] }`), `Give connect.bastions\[1\].credentials.private_key instead`},
		"old_key_unknown": {node(`connect = { private_key = terraform_data.x.output }`), `Give connect.credentials.private_key instead`},
		"hop":             {node(`connect = { bastions = [{ user = "x" }] }`), `"host" is required`},
		"attribute":       {node(`adress = "x"`), `Unsupported argument`},
	})
}
