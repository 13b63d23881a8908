package performance

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// workspace returns an initialised folder with the site of theSite in HCL.
func workspace(b *testing.B) string {
	dir := b.TempDir()
	config := fmt.Sprintf(`
terraform {
  required_providers {
    slipway = { source = "slipway/slipway" }
  }
}
provider "slipway" {
  connection = { user = "root", private_key_file = %q, known_hosts_file = %q }
}
resource "slipway_node" "this" {
  count   = %d
  name    = "node${count.index + 1}"
  address = cidrhost("%s/24", count.index + 1)
}
resource "slipway_service" "perf" {
  name      = "perf"
  selectors = []
  configuration = {
    file    = { for i in range(10) : "/etc/perf-${i}.conf" => { content = "%s${i}\n", mode = "0644" } }
    user    = { for u in ["alice", "bob"] : u => { shell = "/bin/bash", managehome = true } }
    package = { for p in ["nginx-light", "tree"] : p => { ensure = "installed" } }
    service = {
      nginx = { ensure = "running", enable = true, require = ["package[nginx-light]"] }
      cron  = { ensure = "running", enable = true }
    }
    exec = { for i in range(4) : "echo done >/var/tmp/perf-${i}" => { creates = "/var/tmp/perf-${i}" } }
  }
}
resource "slipway_deployment" "this" {
  site     = "perf"
  nodes    = slipway_node.this
  services = [slipway_service.perf]
}
`, nodes.State("id_ed25519"), nodes.State("known_hosts"), nodeCount, lab.Address(0), strings.Repeat("x", 1000))
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}
	terraform(b, dir, "init")
	return dir
}

// terraform runs a command; a plan must find nothing to do.
func terraform(b *testing.B, dir string, args ...string) {
	binary := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if binary == "" {
		binary = "terraform"
	}
	cmd := exec.Command(binary, append(args, "-input=false", "-no-color")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.Getenv("SLIPWAY_MIRROR"), "CHECKPOINT_DISABLE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 2 {
			b.Fatalf("the plan wants to change something:\n%s", out)
		}
		b.Fatalf("terraform %v: %v\n%s", args, err, out)
	}
}
