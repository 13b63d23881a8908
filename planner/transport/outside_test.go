package transport

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// evil sets the title of the terminal that shows it.
const evil = "\x1b]0;owned\a\u202e"

// What a server says, before and after it has proven who it is, does nothing to the terminal that shows an error.
func TestTextFromServersIsPrintedCleaned(t *testing.T) {
	h := &hop{node: "web1", address: "web1:22", hosts: &hostKeys{node: "web1"}, keys: &keyring{names: []string{"id"}}}
	w := &wire{}
	refusal := func(err error, accepts []string) error {
		return h.refusal(t.Context(), err, w, &verifier{hop: h}, login{accepts: accepts}, time.Second)
	}
	for what, err := range map[string]error{
		"algorithms":  refusal(&ssh.AlgorithmNegotiationError{What: "key exchange" + evil}, nil),
		"methods":     refusal(errors.New("no"), []string{"password" + evil}),
		"key refusal": refusal(fmt.Errorf("x: %w", errors.New("no "+evil)), []string{"publickey"}),
		"other":       refusal(errors.New(evil), nil),
		"bastion": h.unreachable(t.Context(), &ssh.OpenChannelError{Reason: ssh.ConnectionFailed, Message: evil},
			time.Second, ""),
		"signal": &ExitError{Status: 255, Signal: evil},
		"any":    &Error{Kind: Busy, Node: "web1", Message: evil},
	} {
		for _, format := range []string{"%v", "%s", "%+v"} {
			if got := fmt.Sprintf(format, err); strings.ContainsAny(got, "\x1b\a\u202e") {
				t.Errorf("%s: %s prints %q", what, format, got)
			}
		}
	}
}
