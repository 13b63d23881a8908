package resources_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What enroll writes passes `terraform fmt` and `terraform validate`, and is planned; the import blocks import. The state's
// nodes come back as an inventory, and that as the same configuration. Hosts and labels may be words of HCL.
func TestTextEnroll(t *testing.T) {
	s := newSandbox(t)
	c := newCommandLine(t)
	inventory := filepath.Join(t.TempDir(), "hosts.ini")
	s.must(os.WriteFile(inventory, []byte("[web]\nfor for=gold null=x\nnull if=y\nweb1 ansible_connection=local tier=gold\nweb[2:3]\n9-x.y ansible_host=2001:db8::1 "+
		"ansible_user=ops ansible_ssh_common_args='-o ProxyJump=j@gate.example.com:22' ansible_become=yes slipway_rack=r1\n"), 0o600))
	s.must(os.Remove(filepath.Join(c.dir, "versions.tf")))
	for form, want := range map[string]string{"objects": "Plan: 1 to add, 0 to change, 0 to destroy.", "resources": "Plan: 6 to import, 1 to add, "} {
		config, notes := c.slipway("", "enroll", inventory, "-o", form, "--site", "lon1")
		if notes != "" {
			t.Error(notes)
		}
		c.configure(config)
		c.run(0, "fmt", "-check", "-no-color")
		c.run(0, "validate", "-no-color")
		if out := c.run(2, "plan", "-input=false", "-no-color", "-detailed-exitcode", "-out=plan.bin"); !strings.Contains(out, want) {
			t.Errorf("the plan of %s does not say %q:\n%s", form, want, out)
		}
		back := filepath.Join(t.TempDir(), "inventory.yaml")
		ansible, notes := c.slipway(c.run(0, "show", "-json", "plan.bin"), "inventory", "-")
		if notes != "" {
			t.Error(notes)
		}
		s.must(os.WriteFile(back, []byte(ansible), 0o600))
		got, _ := c.slipway("", "enroll", back, "-o", "document")
		want, _ := c.slipway("", "enroll", inventory, "-o", "document", "--site", "site")
		if sorted(got) != sorted(want) {
			t.Errorf("%s comes back as\n%s\nnot as\n%s", form, got, want)
		}
	}
}

// sorted returns the nodes of a document that enroll wrote in the order of their texts.
func sorted(document string) string {
	nodes := strings.Split(document, "\n  - ")
	slices.Sort(nodes[1:])
	for i := range nodes {
		nodes[i] = strings.TrimSpace(nodes[i])
	}
	return strings.Join(nodes, "\n")
}
