package remote

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"
)

// What a node prints in the place of the bootstrap does nothing to the terminal that shows the error.
func TestTextOfTheBootstrapIsPrintedCleaned(t *testing.T) {
	n := newNode(t, sshtest.Options{})
	n.program("uname", `printf "\033]0;owned\007"`)
	_, _, err := n.converge(n.helpers(good))
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\a") {
		t.Errorf("the error prints %q", err)
	}
}
