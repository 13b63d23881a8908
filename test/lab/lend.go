package lab

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Variables that name the node that a test binary of another package may use, and the lab script.
const (
	lentNode   = "SLIPWAY_LAB_NODE" // e2e/node7
	lentScript = "SLIPWAY_LAB_COMMAND"
)

// Lend returns the variables with which [Borrow], in another test binary, finds the node.
func (n Node) Lend() ([]string, error) {
	command, err := filepath.Abs(script())
	return []string{lentNode + "=" + n.Lab.Name + "/" + n.Name, lentScript + "=" + command}, err
}

// Borrow returns the node that a test may use, and skips the test when there is none. The end-to-end tests lend one to
// every package with a lab_test.go.
func Borrow(t testing.TB) Node {
	t.Helper()
	lent := os.Getenv(lentNode)
	if lent == "" {
		t.Skipf("NOT RUN: %s names no node of a lab, so nothing was tried on a real one; `make test` as root does",
			lentNode)
	}
	name, node, _ := strings.Cut(lent, "/")
	number, err := strconv.Atoi(strings.TrimPrefix(node, "node"))
	if err != nil || os.Getenv(lentScript) == "" {
		t.Fatalf("%s is %q and %s is %q: a node like e2e/node7 and the lab's script are wanted", lentNode, lent,
			lentScript, os.Getenv(lentScript))
	}
	return Lab{Name: name}.Node(number)
}
