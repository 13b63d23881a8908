package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestFactsOfKinds makes a file from a template with facts on a node of each kind that the lab has. Nothing is known of
// them before the first apply.
func TestFactsOfKinds(t *testing.T) {
	t.Parallel()
	three := nodes.Take(t, 3)
	becomeOpenRC(t, three[1])
	three[2].Become(t, "dnf")
	before := fingerprints(t, three...)
	const template = `$${facts.hostname} $${facts.os.name} $${facts.os.family} $${facts.os.release} $${facts.service_provider} $${facts.architecture} $${facts.interfaces.eth0.addresses[0]}` +
		`%%{ if facts.os.family == \"RedHat\" } rpm%%{ endif }\n`
	w := newWorkspace(t, config{site: "facts", nodes: three, more: []string{"facts"}, services: `
resource "slipway_service" "facts" {
  name          = "facts"
  selectors     = []
  configuration = { file = { "/etc/slipway-facts" = { template = "` + template + `" } } }
}
`}.hcl(t))
	w.must(w.plan(), 2, "content known in the run")
	w.must(w.apply(), 0)
	w.must(w.plan(), 0, "No changes")
	arch := strings.TrimSpace(three[0].On(t, "uname -m"))
	for i, want := range []string{
		"Debian Debian 12 systemd %s %s\n", "Debian Debian 12 openrc %s %s\n", "lab RedHat 9.4 systemd %s %s rpm\n",
	} {
		n := three[i]
		if got := n.On(t, "cat /etc/slipway-facts"); got != n.Name+" "+fmt.Sprintf(want, arch, n.Address) {
			t.Errorf("%s has %q, want %q", n.Name, got, want)
		}
	}
	w.must(w.destroy(), 0)
	assertUntouched(t, before, three...)
}
