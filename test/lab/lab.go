// Package lab runs tests on the real nodes of the lab script beside it: each with its own systemd, sshd and apt. It needs root,
// for network namespaces, and says loudly when tests do not run for want of it.
package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inside is set in the process that runs in the lab's control namespace, where the nodes can be reached.
const inside = "SLIPWAY_LAB_INSIDE"

// Lab is one lab of the machine, told from others by its name.
type Lab struct {
	Name  string // of at most eight letters: it becomes part of interface and namespace names
	Nodes int    // node1 to nodeN
}

// Main is a package's TestMain: it boots the lab, runs the test binary again where the nodes can be reached, and takes the lab down. The
// working directory must be a folder beside the one of this package.
func (l Lab) Main(m *testing.M) {
	if os.Getenv(inside) != "" {
		os.Exit(m.Run())
	}
	if why := l.cannotRun(); why != "" {
		fmt.Printf("=== TESTS ON REAL NODES DO NOT RUN: %s ===\n", why)
		os.Exit(0)
	}
	os.Exit(l.runInside())
}

// cannotRun tells what is missing, empty when nothing is.
func (l Lab) cannotRun() string {
	switch {
	case os.Getuid() != 0:
		return "they need root, to make network namespaces and boot nodes"
	case os.Getenv("SLIPWAY_MIRROR") == "":
		return "SLIPWAY_MIRROR is not set; `make test` builds the provider and sets it"
	}
	return ""
}

func (l Lab) runInside() (status int) {
	defer func() {
		if err := l.Run("down"); err != nil && status == 0 {
			status = 1
		}
	}()
	if err := l.Run("up", fmt.Sprint(l.Nodes)); err != nil {
		fmt.Println("the lab does not come up:", err)
		return 1
	}
	cmd := exec.Command("nsenter", append([]string{"--net=/run/netns/" + l.Name + "-ctl", "--", os.Args[0]}, os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	fmt.Println(err)
	return 1
}

// Run runs the lab script: up, down, fail, heal, wipe.
func (l Lab) Run(args ...string) error {
	cmd := exec.Command("../lab/lab", args...)
	cmd.Env = append(os.Environ(), "LAB_NAME="+l.Name)
	cmd.Stderr = os.Stderr
	if out, err := cmd.Output(); err != nil {
		return fmt.Errorf("lab %s: %w %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// Must runs the lab script and ends the test when it fails.
func (l Lab) Must(t testing.TB, args ...string) {
	t.Helper()
	if err := l.Run(args...); err != nil {
		t.Fatal(err)
	}
}

// State names a file of the lab: id_ed25519, known_hosts, ssh_config, inventory.
func (l Lab) State(name string) string {
	dir := os.Getenv("LAB_DIR")
	if dir == "" {
		dir = "/var/tmp/slipway-lab"
	}
	return filepath.Join(dir, "state-"+l.Name, name)
}

// On runs a command on a node as root and returns what it printed.
func (l Lab) On(t testing.TB, node, command string) string {
	t.Helper()
	out, err := exec.Command("ssh", "-F", l.State("ssh_config"), node, command).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %s: %v\n%s", node, command, err, out)
	}
	return string(out)
}

// Address of the node with a number.
func Address(n int) string { return fmt.Sprintf("10.231.1.%d", n) }
