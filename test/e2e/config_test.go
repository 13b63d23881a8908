package e2e

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// config is a site in HCL: the given nodes with one file on each, and what the fields add. Its variables nodes, content and connection can be
// set by a file of the workspace.
type config struct {
	site      string
	nodes     []lab.Node
	groups    string   // resources
	groupList []string // their names in the list of the deployment; none is the default strategy
	services  string   // resources besides slipway_service.test
	more      []string // their names
	node      string   // attributes of every node
	extra     string   // attributes of the deployment besides
}

const testFile = "/etc/slipway-test"

func (c config) hcl(t *testing.T) string {
	t.Helper()
	groups, services := "null", "slipway_service.test"
	if len(c.groupList) > 0 {
		groups = ""
		for _, g := range c.groupList {
			groups += "slipway_group." + g + ", "
		}
		groups = "[" + groups + "]"
	}
	for _, s := range c.more {
		services += ", slipway_service." + s
	}
	return fmt.Sprintf(`
terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}
variable "nodes" {
  type    = map(string)
  default = %s
}
variable "content" {
  type    = string
  default = "first"
}
variable "connection" {
  type    = any
  default = %s
}
provider "slipway" {
  connection = var.connection
}
resource "slipway_node" "this" {
  for_each = var.nodes
  name     = each.key
  address  = each.value
  %s
}
%s
resource "slipway_service" "test" {
  name          = "test"
  selectors     = []
  configuration = { file = { %q = { content = var.content, mode = "0644" } } }
}
%s
resource "slipway_deployment" "this" {
  site     = %q
  nodes    = slipway_node.this
  groups   = %s
  services = [%s]
  %s
}
`, asJSON(t, addresses(c.nodes)), asJSON(t, connection()), c.node, c.groups, testFile, c.services, c.site, groups, services, c.extra)
}

// connection is one that every node of the lab accepts.
func connection() map[string]any {
	return map[string]any{
		"user": "root", "private_key_file": nodes.State("id_ed25519"), "known_hosts_file": nodes.State("known_hosts"), "connect_timeout": "5s",
	}
}

// addresses returns the nodes' addresses by name.
func addresses(nodes []lab.Node) map[string]string {
	out := map[string]string{}
	for _, n := range nodes {
		out[n.Name] = n.Address
	}
	return out
}

// asJSON returns a value as text that HCL reads too.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// set gives a variable of the configuration a value from now on.
func (w *workspace) set(variable string, value any) {
	w.t.Helper()
	w.write(variable+".auto.tfvars.json", asJSON(w.t, map[string]any{variable: value}))
}
