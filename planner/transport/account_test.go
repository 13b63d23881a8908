package transport

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"
)

// An account that PAM refuses gets what PAM says in a banner, after its key was accepted, and then the end of the
// connection.
func TestRefusedAccountIsNotARefusedKey(t *testing.T) {
	const pam = "Your account has expired; please contact your system administrator.\n"
	denied := sshtest.Start(t, sshtest.Options{Denied: pam})
	refusal(t, denied.Connection(), Auth, "Your account has expired; please contact your system administrator.",
		`the user "tester" (connection.user)`)

	through := sshtest.Start(t, sshtest.Options{}).Connection()
	through.Bastions = []site.Bastion{denied.Bastion()}
	through.KnownHosts = append(through.KnownHosts, denied.KnownHost())
	refusal(t, through, Auth, "bastion ", "Your account has expired")

	_, foreign := sshtest.NewPrivateKey(t, "")
	strict := sshtest.Start(t, sshtest.Options{Banner: strings.Repeat("Authorized use only. ", 100) +
		"This account is locked.\n"})
	c := strict.Connection()
	c.PrivateKey = foreign
	if text := refusal(t, c, Auth, "does not let the user", "authorized_keys",
		"Authorized use only.").Error(); len(text) > 1000 {
		t.Errorf("the error has %d bytes: %s", len(text), text)
	}
}
