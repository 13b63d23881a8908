package remote

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"
)

// What sudo and PAM print when an account may not do what it should, and what the error says about it.
func TestErrorsOfAccountsSayWhatTheyAre(t *testing.T) {
	yes := true
	for name, test := range map[string]struct {
		sudo, forced, password string
		code                   converge.Code
		words                  []string
		lacks                  string
	}{
		"rule for other commands": {sudo: `shift; echo "Sorry, user tester is not allowed to execute '$*' as root on web1." >&2; exit 1`, code: converge.CodeSudo,
			words: []string{"is not allowed to execute", "web1", "do not allow /bin/sh", "tester ALL=(root) NOPASSWD: ALL"}},
		"no rule": {sudo: `echo "tester is not in the sudoers file." >&2; exit 1`, password: "x", code: converge.CodeSudo,
			words: []string{"is not in the sudoers file", "no rule in sudoers", "tester ALL=(root) ALL"}},
		"terminal": {sudo: `echo "sudo: sorry, you must have a tty to run sudo" >&2; exit 1`, code: converge.CodeSudo,
			words: []string{"you must have a tty", "Defaults:tester !requiretty"}},
		"no sudo": {sudo: `echo "/bin/sh: 1: exec: sudo: not found" >&2; exit 127`, code: converge.CodeSudo,
			words: []string{"not found", "sudo is not installed"}},
		"sudo of an expired account": {sudo: `echo 'sudo: Account expired or PAM config lacks an "account" section for sudo, contact your system administrator' >&2; exit 1`,
			code: converge.CodeSudo, words: []string{"Account expired", "has expired", "chage"}},
		"expired password": {forced: `echo "WARNING: Your password has expired." >&2; echo "Password change required but no TTY available." >&2; exit 1`,
			code: converge.CodeShell, words: []string{"Password change required", "passwd tester the password"}, lacks: "/bin/sh"},
		"expired password behind a banner": {forced: `printf %0600d 0; echo "Password change required but no TTY available." >&2; exit 1`,
			code: converge.CodeShell, words: []string{"000000", "passwd tester the password"}, lacks: "/bin/sh"},
		"banner without a shell": {forced: `printf %0600d 0; exit 1`, code: converge.CodeShell,
			words: []string{"does not run commands", "000000", "A shell such as /bin/sh is needed"}},
		"banner of sudo": {sudo: `printf %0600d 0; exit 1`, code: converge.CodeSudo,
			words: []string{"does not let the user \"tester\"", "000000", "NOPASSWD rule in sudoers"}},
		"no login": {forced: `echo "This account is currently not available."; exit 1`, code: converge.CodeShell,
			words: []string{"currently not available", "nologin", "usermod -s /bin/sh tester"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, sshtest.Options{Forced: test.forced})
			if test.sudo != "" {
				n.program("sudo", test.sudo)
				n.connection.Sudo, n.connection.SudoPassword = &yes, test.password
			}
			_, _, err := n.converge(n.helpers(good))
			refused(t, err, test.code, test.words...)
			if strings.Contains(err.Error(), "umask") {
				t.Errorf("the message shows the bootstrap: %v", err)
			}
			const shown = 400 // of a message, in what Terraform prints of a run
			start := string([]rune(err.Error())[:min(shown, len([]rune(err.Error())))])
			for _, word := range test.words {
				if !strings.Contains(start, word) {
					t.Errorf("the first %d characters lack %q: %s", shown, word, start)
				}
			}
			if test.lacks != "" && strings.Contains(err.Error(), test.lacks) {
				t.Errorf("%q is in: %v", test.lacks, err)
			}
		})
	}
}

// Login scripts print what they like, also what a session of slipway has printed.
func TestBannersAreNotTakenForTheBootstrap(t *testing.T) {
	for _, banner := range []string{"slipway-bootstrap fail not_root", "slipway-bootstrap have", "slipway-bootstrap need linux/amd64"} {
		n := newNode(t, sshtest.Options{})
		n.limits.start = 2 * time.Second
		s, err := n.limits.converge(t.Context(), n.on(noisyConn{n.conn, `echo "` + banner + `"; `}), n.connection, n.helpers(good), manifest(), func(converge.Result) {})
		if err != nil || s.Protocol != converge.Protocol {
			t.Errorf("%s: summary %v, error %v", banner, s, err)
		}
	}
}
