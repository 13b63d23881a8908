package lab

import (
	"os/exec"
	"testing"
)

// Node is one machine of a lab.
type Node struct {
	Lab     Lab
	Name    string // node7
	Address string
}

// On runs a command on the node as root and returns what it printed.
func (n Node) On(t testing.TB, command string) string {
	t.Helper()
	out, err := n.Command(command).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %s: %v\n%s", n.Name, command, err, out)
	}
	return string(out)
}

// Command returns a command, not started yet, that runs on the node as root.
func (n Node) Command(command string) *exec.Cmd {
	return exec.Command("ssh", "-F", n.Lab.State("ssh_config"), n.Name, command)
}

// Fail breaks the node: hang (packets vanish), link (the cable is pulled), freeze (TCP connects, nobody answers), off
// (power cut).
func (n Node) Fail(t testing.TB, mode string) {
	t.Helper()
	n.Lab.Must(t, "fail", n.Name, mode)
}

// Heal undoes Fail and returns when the node answers.
func (n Node) Heal(t testing.TB) {
	t.Helper()
	n.Lab.Must(t, "heal", n.Name)
}

// Wipe reinstalls the node: an empty disk and a new host key.
func (n Node) Wipe(t testing.TB) {
	t.Helper()
	n.Lab.Must(t, "wipe", n.Name)
}

// Become reinstalls the node as one of a kind that the lab has, and as it was when the test ends.
func (n Node) Become(t testing.TB, kind string) {
	t.Helper()
	t.Cleanup(func() { n.Wipe(t) })
	n.Lab.Must(t, "wipe", n.Name, kind)
}
