// Package lab runs tests on the real nodes of the lab script beside it: each has its own systemd, sshd and apt. It
// needs root for network namespaces, and prints a line when tests do not run for this reason.
package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"testing"
)

// inside is set in the process that runs in the lab's control namespace, where the nodes can be reached.
const inside = "SLIPWAY_LAB_INSIDE"

// Lab is one lab of the machine, identified by its name.
type Lab struct {
	Name  string // at most eight letters: it is part of the names of interfaces and namespaces
	Nodes int    // node1 to nodeN
	// Packages that the nodes can install besides those of the lab script. They are fetched, with what they depend on.
	Packages []string
	// Kinds of nodes that [Node.Become] makes, of those of the lab script. What they have is made before the tests begin.
	Kinds []string
	// Parallel is how many tests that call t.Parallel run at once, unless -parallel says otherwise; 0 is the default of
	// go test. Tests wait for nodes more than they compute, so it may well be more than the machine has processors.
	Parallel int
}

// Main is a package's TestMain: it starts the lab, runs the test binary again where the nodes can be reached, and stops
// the lab. The working directory must be a folder beside the one of this package.
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

// cannotRun returns why tests cannot run, empty when they can.
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
	// An interrupt ends the tests, which get it too; the lab is taken down all the same.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	defer func() {
		if err := l.Run("down"); err != nil {
			fmt.Println("the lab does not come down:", err)
			status = max(status, 1)
		}
	}()
	if err := l.Run("up", fmt.Sprint(l.Nodes)); err != nil {
		fmt.Println("the lab does not come up:", err)
		return 1
	}
	if len(l.Packages) > 0 {
		if err := l.Run(append([]string{"pkg"}, l.Packages...)...); err != nil {
			fmt.Println("the lab's packages cannot be fetched:", err)
			return 1
		}
	}
	if len(l.Kinds) > 0 {
		if err := l.Run(append([]string{"build"}, l.Kinds...)...); err != nil {
			fmt.Println("the lab's kinds of nodes cannot be made:", err)
			return 1
		}
	}
	args := []string{"--net=/run/netns/" + l.Name + "-ctl", "--", os.Args[0]}
	if l.Parallel > 0 {
		args = append(args, fmt.Sprintf("-test.parallel=%d", l.Parallel))
	}
	cmd := exec.Command("nsenter", append(args, os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1) // -1 is a signal
	}
	fmt.Println(err)
	return 1
}

// script is the lab's command.
func script() string {
	if command := os.Getenv(lentScript); command != "" {
		return command
	}
	return "../lab/lab"
}

// Run runs the lab script: up, down, fail, heal, wipe.
func (l Lab) Run(args ...string) error {
	cmd := exec.Command(script(), args...)
	cmd.Env = append(os.Environ(), "LAB_NAME="+l.Name)
	cmd.Stderr = os.Stderr
	if out, err := cmd.Output(); err != nil {
		return fmt.Errorf("lab %v: %w %s", args, err, out)
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

// Node returns the lab's n-th node, counted from 1.
func (l Lab) Node(n int) Node {
	return Node{Lab: l, Name: fmt.Sprintf("node%d", n), Address: Address(n)}
}

// Address returns the address of the n-th node, up to 250.
func Address(n int) string { return fmt.Sprintf("10.231.1.%d", n) }
