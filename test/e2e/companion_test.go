package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompanionAppliesDocuments brings a node to what a document describes, without Terraform: apply, nothing to do, drift,
// repair, a lost state file, and destroy, over SSH.
func TestCompanionAppliesDocuments(t *testing.T) {
	t.Parallel()
	if os.Getenv("SLIPWAY_MIRROR") == "" {
		t.Skip("NOT RUN: SLIPWAY_MIRROR names no Terraform configuration beside the binary; use `make test`")
	}
	n := nodes.Take(t, 1)[0]
	dir := t.TempDir()
	document := `site: companion
nodes: [{name: ` + n.Name + `, address: ` + n.Address + `}]
services:
- name: s
  selectors: []
  configuration:
    file: {/etc/slipway-companion: {content: "one\n"}}
    exec: {mark: {command: "/bin/sh -c 'echo ran >>/var/tmp/companion'", creates: /var/tmp/companion, require: ["file[/etc/slipway-companion]"]}}
`
	if err := os.WriteFile(filepath.Join(dir, "site.yaml"), []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(status int, want string, args ...string) {
		t.Helper()
		cmd := exec.Command(filepath.Join(filepath.Dir(os.Getenv("SLIPWAY_MIRROR")), "terraform-provider-slipway"), append(args, "site.yaml")...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "SLIPWAY_USER=root", "SLIPWAY_PRIVATE_KEY_FILE="+n.Lab.State("id_ed25519"),
			"SLIPWAY_KNOWN_HOSTS_FILE="+n.Lab.State("known_hosts"))
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != status || !strings.Contains(string(out), want) {
			t.Fatalf("%v: %v, want status %d and %q:\n%s", args, err, status, want, out)
		}
	}
	run(0, "companion: deployed", "apply", "--yes")
	run(0, "nothing to do", "apply")
	run(0, "no drift", "check")
	n.On(t, "echo x >/etc/slipway-companion")
	run(2, "file[/etc/slipway-companion]", "check")
	run(0, "repair file[/etc/slipway-companion]", "apply", "--yes")
	if got := n.On(t, "cat /etc/slipway-companion /var/tmp/companion"); got != "one\nran\n" {
		t.Errorf("the node has %q", got)
	}

	state, lost := filepath.Join(dir, "companion.slipway.json"), filepath.Join(dir, "lost")
	if err := os.Rename(state, lost); err != nil {
		t.Fatal(err)
	}
	run(1, "managed by the state file with lineage", "apply", "--yes")
	owner := n.On(t, `sed -E 's/.*"owners":\{"companion":"([^"]*)".*/\1/' /var/lib/slipway/ledger.json`)
	run(0, "companion: deployed", "apply", "--yes", "--take-over", strings.TrimSpace(owner))
	run(0, "torn down", "destroy", "--yes")
	if got := n.On(t, "ls /etc/slipway-companion /var/lib/slipway 2>&1 | grep -c 'No such file'; rm /var/tmp/companion"); strings.TrimSpace(got) != "2" {
		t.Error(fmt.Sprint("something is left on the node: ", got))
	}
}
