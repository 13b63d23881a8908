package converge

import (
	"os"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Identity says which machine a node is, so that one machine is recognised under two names and two addresses, and what
// the machine is like. Each part may be empty when it cannot be found out.
type Identity struct {
	// Ledger is made with the node's ledger and gone with it. A copy of the disk has it too.
	Ledger string `json:"ledger,omitempty"`
	// Machine is the machine-id. A copy of the disk has it too, and a sandbox that of its host.
	Machine string `json:"machine,omitempty"`
	// Boot is the boot id of the running kernel. A sandbox, and some containers, have that of their host.
	Boot string `json:"boot,omitempty"`
	Root string `json:"root,omitempty"` // device and inode of the node's root directory: links lead to the same one
	// Facts are what the machine is like; they do not say which one it is. nil: the node has not said it.
	Facts *resource.Facts `json:"facts,omitempty"`
}

// Running reports whether the identity is that of a running machine.
func (i Identity) Running() bool { return i.Boot != "" && i.Root != "" }

// Same reports whether two identities are those of one machine. Two machines never run with one boot id below one root;
// a machine that was restarted in between is not recognised.
func (i Identity) Same(other Identity) bool {
	return i.Running() && i.Boot == other.Boot && i.Root == other.Root
}

// MayBe reports whether two identities, taken at any two times, may be those of one machine: a restart changes boot id
// and root, and a copy of a disk looks like the machine restarted. The way to know is to look at both within one boot.
func (i Identity) MayBe(other Identity) bool {
	switch {
	case i.Same(other):
		return true
	case i.Ledger != "" && other.Ledger != "":
		return i.Ledger == other.Ledger
	}
	return i.Machine == "" || other.Machine == "" || i.Machine == other.Machine
}

// identityLimit bounds each part of an identity, in bytes.
const identityLimit = 64

// Bounded leaves out the parts that no slipway sends: an identity comes from a node, and is kept. The controller calls
// it for every summary, and nodes do not.
func (i Identity) Bounded() Identity {
	for _, part := range []*string{&i.Ledger, &i.Machine, &i.Boot, &i.Root} {
		if len(*part) > identityLimit {
			*part = ""
		}
	}
	i.Facts = i.Facts.Bounded()
	return i
}

// identify returns the node's identity without that of its ledger. Machine-id and boot id are those of the machine that
// the session runs on, also for a sandbox: its root distinguishes it from others.
func identify(s *system.System) Identity {
	return Identity{
		Machine: machineText("/etc/machine-id"), Boot: machineText("/proc/sys/kernel/random/boot_id"), Root: s.RootID(),
		Facts: facts(s),
	}
}

// machineText returns the text of a file of the machine, empty when it cannot be read.
func machineText(path string) string {
	content, _ := os.ReadFile(path)
	return strings.TrimSpace(string(content))
}
